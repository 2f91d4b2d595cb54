"""The guards of the versions of one function, as functions that return whether all of them hold.

Each version has one, with the guards that set it apart; those that several or all versions have stand once, in a
function that these call. Guards of repeated layers are one condition, with the numbers that it holds for
(`condition_groups`):

    and all(
        type(value) is torch.nn.Linear and 'forward' not in value.__dict__
        for i in range(50)
        for value in (self.blocks[i].a, self.blocks[i].b)
    )
"""

from __future__ import annotations

import re
from typing import FrozenSet, Mapping, Sequence

from depyf.record.guard_conditions import VALUE, NoDimensionMarks, SameBody, SameObject, TensorTest
from depyf.record.records import FrameRecord, GuardRecord, Location
from depyf.record.tested_values import upper_bound
from depyf.report.call_signature import Signature
from depyf.report.condition_groups import condition_lines
from depyf.report.guarded_values import value_and_forms
from depyf.report.index_patterns import fold
from depyf.report.repeated_layers import NO_LAYERS, RepeatedLayers, with_layers_once
from depyf.report.shortened_records import ShortPaths
from depyf.text import python_source
from depyf.text.number_ranges import in_ranges

SHARED_GUARDS = "def __guard_of_"  # how a function begins with guards that versions share
_MOST_TENSORS = 6  # that are listed where all of them are meant
_WORTH_BRACES = 3  # names of one parent in a list
_WORTH_A_FUNCTION = 6  # conditions that some versions share, and not all
_MOST_LINES = 12  # of libraries that are headings; the guards for more are grouped by file
_MOST_IDENTITIES = 8  # beside the lines that asked for them; more are lists at the end
OF_SIZES = "compiles for sizes 0 and 1 apart (torch._dynamo.mark_unbacked avoids it)"


def guard_functions(
    versions: Sequence[tuple[FrameRecord, str]], name: str, signature: Signature, paths: ShortPaths
) -> list[str]:
    """Return the functions of versions and their names, then those of the guards that several of them share.

    `name` is that of the function in names of shared guards. Conditions that Python cannot express are comments.
    """
    guarded = [(frame, own_name) for frame, own_name in versions if frame.guards]
    groups = _shared([frame for frame, _ in guarded])
    shared = frozenset(condition for conditions in groups.values() for condition in conditions)
    names = {members: _shared_name(members, [frame for frame, _ in guarded], name) for members in groups}
    first_uses = _first_uses([frame for frame, _ in versions])
    lines: list[str] = []
    for frame, own_name in versions:
        place = guarded.index((frame, own_name)) if frame.guards else -1
        calls = [names[members] for members in groups if place in members]
        own = _Conditions(frame, without=shared, has_layers_once=len(guarded) == 1 and not first_uses)
        lines += [*_function(frame, own, own_name, signature, _Headings(paths, first_uses), calls), "", ""]
    for members, conditions in groups.items():
        frame, _ = guarded[members[0]]
        found = _Conditions(frame, only=conditions)
        lines += [*_function(frame, found, names[members], signature, _Headings(paths, first_uses), []), "", ""]
    return lines[:-2]


_OF_SIZE = re.compile(r"\.size\(\d+\)$")


def _first_uses(frames: Sequence[FrameRecord]) -> dict[str, Location]:
    """Return the lines that first use the sizes of tensors, where a recompile names them, by tensor.

    Torch makes the guard on a tensor at the first line that touches it, be it to hand it on.
    """
    failed = [one for frame in frames for one in frame.failed_guards if one.first_used and _OF_SIZE.search(one.about)]
    return {_OF_SIZE.sub("", one.about): one.location for one in failed if one.location is not None}


def _shared(frames: Sequence[FrameRecord]) -> dict[tuple[int, ...], FrozenSet[str]]:
    """Return the conditions that several versions share, by the places of these; those that all share are the last."""
    if len(frames) < 2:
        return {}
    holders: dict[str, list[int]] = {}
    for place, frame in enumerate(frames):
        for condition in _every_condition(frame):
            holders.setdefault(condition, []).append(place)
    groups: dict[tuple[int, ...], list[str]] = {}
    for condition, places in holders.items():
        if len(places) > 1:
            groups.setdefault(tuple(places), []).append(condition)
    everyone = tuple(range(len(frames)))
    kept = [members for members in groups if members == everyone or len(groups[members]) >= _WORTH_A_FUNCTION]
    return {members: frozenset(groups[members]) for members in sorted(kept, key=lambda one: (len(one), one))}


def _shared_name(members: Sequence[int], frames: Sequence[FrameRecord], name: str) -> str:
    if len(members) == len(frames):
        return f"__guard_of_all_for_{name}"
    return f"__guard_of_{'_'.join([str(frames[place].index) for place in members])}_for_{name}"


def _every_condition(frame: FrameRecord) -> set[str]:
    return {piece for guard in frame.guards for piece in guard.test.parts or (guard.condition,)}


class _Conditions:
    """The guards of a version that belong into one function: those of a set, or all but those of a set."""

    def __init__(
        self,
        frame: FrameRecord,
        only: FrozenSet[str] = frozenset(),
        without: FrozenSet[str] = frozenset(),
        has_layers_once: bool = False,
    ) -> None:
        guards, self.layers = with_layers_once(frame.guards) if has_layers_once else (frame.guards, NO_LAYERS)
        self._only = only
        self._without = without
        self._has_all = not only and not without
        self._written: dict[str, tuple[str, ...]] = {}  # the forms that a value has: torch asks for some things twice
        self.guards: list[GuardRecord] = []
        self.unmarked: list[str] = []
        self.tensors: set[str] = set()
        for guard in guards:
            test = guard.test
            if isinstance(test, NoDimensionMarks):
                if self._has_all or self._belongs(test.text):
                    self.unmarked.append(test.subject)
                continue
            self.guards.append(guard)
            if isinstance(test, TensorTest):
                if test.has_parts if self._has_all else any(map(self._belongs, test.parts)):
                    self.tensors.add(test.subject)

    def _belongs(self, condition: str) -> bool:
        return condition in self._only if self._only else condition not in self._without

    def of(self, guards: Sequence[GuardRecord]) -> tuple[list[tuple[str, tuple[str, ...]]], list[GuardRecord]]:
        """Return the values that the guards test, with the forms of their conditions that are Python, each once.

        Beside them, the guards that Python cannot express.
        """
        found: list[tuple[str, tuple[str, ...]]] = []
        words: list[GuardRecord] = []
        for guard in guards:
            if not guard.test.has_parts:
                words += [guard] if self._belongs(guard.condition) else []
                continue
            subject, forms = value_and_forms(guard.test)
            written = self._written.get(subject, ())
            if written:
                forms = tuple([form for form in forms if form not in written])
            self._written[subject] = written + forms
            if not self._has_all:
                forms = tuple([form for form in forms if self._belongs(form.replace(VALUE, subject))])
            if forms:
                found.append((subject, forms))
        return found, words

    def identities(self, most: int) -> list[GuardRecord]:
        """Return the guards on objects and functions that must stay the same; none where they are `most` or fewer."""
        found = [guard for guard in self.guards if _is_identity(guard)]
        found = [guard for guard in found if self._belongs(guard.condition)]
        return found if self.layers.count([guard.condition for guard in found]) > most else []

    def belonging(self) -> list[GuardRecord]:
        """Return the guards of which at least one condition belongs into the function."""
        if self._has_all:
            return self.guards
        return [guard for guard in self.guards if any(map(self._belongs, guard.test.parts or (guard.condition,)))]


def _is_identity(guard: GuardRecord) -> bool:
    return isinstance(guard.test, (SameObject, SameBody))


def _function(
    frame: FrameRecord,
    conditions: _Conditions,
    name: str,
    signature: Signature,
    headings: _Headings,
    calls: Sequence[str],
) -> list[str]:
    head = python_source.bracketed("def " + name, ", ".join(signature.names), ":")
    if not frame.guards:
        return [*head, "    # (the guards of this version were not seen)", "    ..."]
    inside = " " * 8
    lines: list[str] = []
    is_first = True
    gathered = conditions.identities(_MOST_IDENTITIES)
    shown = [guard for guard in conditions.belonging() if not (gathered and _is_identity(guard))]
    for heading, group in headings.of(shown, is_short=bool(calls)):
        python, others = conditions.of(group)
        layers = conditions.layers
        parts, words = condition_lines(python, inside, is_first, layers), _words(others, inside, layers)
        lines += [*_comment(heading, inside), *parts, *words] if parts or words else []
        is_first = is_first and not parts
    lines += [*_words(gathered, inside, conditions.layers), *_about_marks(conditions, inside)]
    for call in calls:
        lines += python_source.bracketed(inside + ("" if is_first else "and ") + call, ", ".join(signature.names), "")
        is_first = False
    if is_first:
        return [*head, *(line[4:] for line in lines), "    return True"]
    return [*head, "    return (", *lines, "    )"]


def _about_marks(conditions: _Conditions, indent: str) -> list[str]:
    """List the tensors that may not carry what `mark_dynamic` and its like leave on one, unless it is all of them."""
    tensors = conditions.unmarked
    if conditions.layers.count(tensors) > _MOST_TENSORS and set(tensors) == conditions.tensors:
        return python_source.comment("also: no dimension of these tensors is marked dynamic or static", indent)
    if not tensors:
        return []
    return _listed("also: no dimension of", tensors, " is marked dynamic or static", indent, conditions.layers)


class _Headings:
    """Groups guards under the lines that asked for them."""

    def __init__(self, paths: ShortPaths, first_uses: Mapping[str, Location]) -> None:
        self._paths = paths
        self._first_uses = first_uses  # of tensors: the line that the reason of a recompile names

    def of(self, guards: Sequence[GuardRecord], is_short: bool) -> list[tuple[str, list[GuardRecord]]]:
        """Group the guards under headings: lines of the user's, lines of torch's own, and the rest.

        Unless it `is_short`, guards for many lines of libraries are grouped by file.
        """
        sizes = [guard for guard in guards if guard.of_sizes]
        bounds = [guard for guard in guards if guard.from_torch and not guard.of_sizes and upper_bound(guard.test)]
        placed = [guard for guard in guards if self._place(guard) is not None] if self._first_uses else []
        torch = [guard for guard in guards if guard.from_torch and not guard.of_sizes]
        torch = [guard for guard in torch if guard not in bounds and guard not in placed]
        ambient = [guard for guard in guards if guard.location is None]
        related = [guard for guard in ambient if _RELATED.match(guard.condition)]
        users = [guard for guard in guards if guard.location is not None and not guard.of_sizes]
        users = [guard for guard in users if not guard.from_torch or guard in placed]
        groups = self._by_line(users, _MOST_LINES if not is_short else len(users))
        groups += [(f"from torch, which {OF_SIZES}:", sizes)] if sizes else []
        groups += [(f"{OF_BOUNDS} {line}", group) for line, group in self._by_line(bounds, len(bounds))]
        groups += [("from torch itself:", torch)] if torch else []
        groups += [("from torch, which takes sizes that are equal for one:", related)] if related else []
        rest = [guard for guard in ambient if guard not in related]
        return groups + ([("Dynamo itself:", rest)] if rest else [])

    def _place(self, guard: GuardRecord) -> Location | None:
        return self._first_uses.get(guard.test.subject) if isinstance(guard.test, TensorTest) else None

    def _by_line(self, guards: Sequence[GuardRecord], most: int) -> list[tuple[str, list[GuardRecord]]]:
        """Group the guards by the line that asked for them; those of libraries by file if they are many."""
        paths = self._paths
        lines: dict[tuple[str, int], list[GuardRecord]] = {}
        places: dict[tuple[str, int], Location] = {}
        for guard in guards:
            place = self._place(guard) or guard.location
            if place is not None:
                lines.setdefault((place.file, place.line), []).append(guard)
                places.setdefault((place.file, place.line), place)
        is_own = {file: paths.is_of_program(file) for file, _ in lines}
        is_many = sum(not is_own[file] for file, _ in lines) > most
        groups: dict[str, list[GuardRecord]] = {}
        files: dict[str, list[int]] = {}
        for (file, line), group in lines.items():
            if is_many and not is_own[file]:
                files.setdefault(file, []).append(line)
                groups.setdefault(file, []).extend(group)
            else:
                groups.setdefault(asked_by(paths.location(places[file, line])), []).extend(group)
        return [
            (f"{paths.of(name)}, {_numbered(files[name])}:" if name in files else name, group)
            for name, group in groups.items()
        ]


def _numbered(lines: Sequence[int]) -> str:
    return f"line{'s' * (len(lines) > 1)} {in_ranges(sorted(lines))}"


_SIZE = r"[^ ]+\.(?:size|stride)\(\)\[\d+\]"
_RELATED = re.compile(rf"{_SIZE} == {_SIZE}$")
OF_BOUNDS = "from torch itself, which compared the size when it traced"


def asked_by(location: Location | None) -> str:
    """Return the line; empty where it is not known."""
    if location is None:
        return ""
    place = f"{location.file}:{location.line}"
    return f"{place}: {location.code.strip()}" if location.code.strip() else place


def _words(guards: Sequence[GuardRecord], indent: str, layers: RepeatedLayers) -> list[str]:
    """Write what Python cannot express as comments; objects and functions that must stay the same as lists."""
    objects = [guard.test.subject for guard in guards if isinstance(guard.test, SameObject)]
    functions = [guard.test.subject for guard in guards if isinstance(guard.test, SameBody)]
    lists: list[str] = []
    listed: tuple[type, ...] = ()
    if layers.count(objects) > 1:
        lists += _listed("also: still the objects they were when this was compiled:", objects, "", indent, layers)
        listed += (SameObject,)
    if layers.count(functions) > 1:
        lists += _listed("also: functions that still have the bodies they had then:", functions, "", indent, layers)
        listed += (SameBody,)
    texts = layers.each([guard.condition for guard in guards if not isinstance(guard.test, listed)])
    return [line for text in texts for line in _comment(f"also: {text}", indent)] + lists


def _comment(text: str, indent: str) -> list[str]:
    if "\n" in text or "\r" in text:
        return python_source.comment(text, indent)
    return python_source.wrapped_comment(text, indent)


def _listed(start: str, things: Sequence[str], end: str, indent: str, layers: RepeatedLayers) -> list[str]:
    """Write `start a, b, c end` as comments that fit the width; a model has hundreds of things to list."""
    most = python_source.WIDTH - len(indent) - 2
    lines = [start]
    shown = _by_parent([pattern.in_words for pattern in fold(things, layers)])
    for thing in [*(f"{thing}," for thing in shown[:-1]), shown[-1] + end]:
        if len(lines[-1]) + 1 + len(thing) <= most:
            lines[-1] += " " + thing
        else:
            lines.append("      " + thing)
    return [line for one in lines for line in _comment(one, indent)]


def _by_parent(names: Sequence[str]) -> list[str]:
    """Return names with those of one parent together: builtins.{bool, int, len}."""
    children: dict[str, list[str]] = {}
    for name in names:
        parent, dot, last = name.rpartition(".")
        key = parent if dot and last.isidentifier() else name
        children.setdefault(key, []).append(last if key == parent else "")
    shown: list[str] = []
    for parent, found in children.items():
        if "" in found or len(found) < _WORTH_BRACES:
            shown += [f"{parent}.{last}" if last else parent for last in found]
        else:
            shown.append(f"{parent}.{{{', '.join(found)}}}")
    return shown
