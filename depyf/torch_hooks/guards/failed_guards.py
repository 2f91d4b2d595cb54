"""The guards of earlier versions that failed, so that Dynamo compiled again: records made of torch's reasons.

`failures` reads them while Dynamo reports, when the values of the frame can be read; `failed_guards` makes the records
once the guards of those versions are known, which hold the lines and types that torch leaves out.
"""

from __future__ import annotations

import linecache
import math
import re
from dataclasses import dataclass, replace
from typing import Callable, Dict, List, Sequence, Tuple

from depyf.record.guard_conditions import TensorTest, TorchState, TypeTest
from depyf.record.records import FailedGuard, GuardRecord, Location
from depyf.record.stack_text import read_stack
from depyf.record.vocabulary import FITS_NOW, TORCH_WORDS
from depyf.text.lines import shortened
from depyf.torch_hooks.guards.compiled_values import CompiledValues, key_difference
from depyf.torch_hooks.guards.frame_values import Variables
from depyf.torch_hooks.guards.guard_errors import guard_that_raised
from depyf.torch_hooks.guards.guard_kinds import METADATA_GUARD
from depyf.torch_hooks.guards.mismatches import (
    ALIVE,
    DISPATCH_KEYS,
    EXPRESSION,
    IDENTITY,
    LENGTH,
    METADATA,
    MODES,
    SAME_OBJECT,
    TORCH_STATE,
    TYPE,
    Mismatch,
    of_switches,
    read_mismatch,
    words_of_modes,
)
from depyf.torch_hooks.guards.origins import Bound, Origin, origins_in, split_range
from depyf.torch_hooks.guards.other_causes import UNKNOWN_VERSION, GuardedVersion, distances_of, with_other_causes
from depyf.torch_hooks.guards.recompile_reasons import Cause, Reason, runs
from depyf.torch_hooks.guards.size_reads import reads_size
from depyf.torch_hooks.guards.source_names import readable
from depyf.torch_hooks.guards.torch_switches import with_states_then
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.code_owners import is_in_torch
from depyf.torch_hooks.internals.torch_text import scrub, with_sorted_sets

GuardsOf = Callable[[str], Sequence[GuardRecord]]  # given the compile id of a version


@dataclass(frozen=True)
class Failure:
    """One guard that failed for one version, or in the same way for several."""

    version: str  # compile id of the newest one
    mismatch: Mismatch
    origin: Origin
    others: Tuple[str, ...] = ()  # the compile ids of the other versions, newest first
    some: Tuple[Tuple[str, Mismatch], ...] = ()  # of the oldest of those, and of the newest ones; oldest first
    calls: Tuple[Location, ...] = ()  # that led to the line that asked for the guard, outermost first
    advice: str = ""  # torch's, on how to avoid the recompile
    first_used: bool = False  # the line is the first that uses the tensor, and asks for nothing

    @property
    def expected_of_others(self) -> str:
        """The values that the other versions were compiled for, where they are others and all are known."""
        values = [mismatch.expected for _, mismatch in self.some]
        if not values or not all(values) or set(values) == {self.mismatch.expected}:
            return ""
        if len(set(values)) == 1:
            return values[0]
        return values[0] + (", " if len(values) == len(self.others) else ", ..., ") + ", ".join(values[1:])

    def led_by(self, version: str) -> Failure:
        """Return the same with one of the other versions in the place of the newest one."""
        found = dict(self.some)
        if version not in found:
            return self
        every = [self.version, *self.others]
        others = tuple([one for one in every if one != version])
        some = {**found, self.version: self.mismatch}
        listed = tuple([(one, some[one]) for one in reversed(others) if one in some])
        return replace(self, version=version, mismatch=found[version], others=others, some=listed)

    def record(self) -> FailedGuard:
        """Return what the record of the session holds of it."""
        return FailedGuard(
            self.version,
            shortened(scrub(self.mismatch.condition)),
            self.mismatch.expected,
            self.mismatch.actual,
            self.origin.location,
            runs(self.others),
            self.origin.of_sizes,
            self.expected_of_others,
            shortened(scrub(self.mismatch.about)),
            self.mismatch.aspect if self.mismatch.aspect in (FITS_NOW, TORCH_WORDS) else "",
            self.calls,
            self.advice,
            self.first_used,
        )


def failures(
    reasons: Sequence[Reason], variables: Variables, guards_of: GuardsOf = lambda version: ()
) -> Tuple[Failure, ...]:
    """Return the guards that failed, newest version first, with the values that `variables` hold now."""
    return tuple(dict.fromkeys(_of_all(reason, variables, guards_of) for reason in reasons if reason.version))


def _of_all(reason: Reason, variables: Variables, guards_of: GuardsOf) -> Failure:
    failure = _of_one(reason.version, reason.cause, variables, guards_of)
    listed = zip(reason.versions, reason.some)
    some = [(one, _of_one(one, cause, variables, guards_of).mismatch) for one, cause in listed]
    return replace(failure, advice=reason.cause.advice, others=reason.every[1:], some=tuple(some))


def _of_one(version: str, cause: Cause, variables: Variables, guards_of: GuardsOf) -> Failure:
    bounds = split_range(with_sorted_sets(cause.condition), origins_in(cause.comment, variables.file))
    failed = [Failure(version, read_mismatch(bound.condition, variables), bound.origin) for bound in bounds]
    found = failed[0] if len(failed) > 1 and _is_below(failed[0].mismatch, bounds[0]) else failed[-1]
    if found.mismatch.aspect == TORCH_WORDS:
        raised = guard_that_raised(cause.condition, guards_of(version), variables)
        return found if raised is None else replace(found, mismatch=raised)
    place = found.origin.location
    if not cause.calls or place is None or place.line != cause.calls[-1].line:
        return found
    whole = replace(place, file=cause.calls[-1].file)  # the comment has the end of the path alone
    return replace(found, origin=found.origin._replace(location=whole), calls=cause.calls[:-1])


def _is_below(mismatch: Mismatch, lower: Bound) -> bool:
    """Return whether it is the lower bound of a range that failed: the value is less than it."""
    value = mismatch.parts[-1][1] if mismatch.parts else ""
    return value.isdecimal() and lower.least is not None and int(value) < lower.least


def failed_guards(
    found: Sequence[Failure],
    guards_of: GuardsOf,
    values_of: Callable[[str], CompiledValues] = lambda version: CompiledValues(),
    new: GuardedVersion = UNKNOWN_VERSION,
) -> Tuple[FailedGuard, ...]:
    """Return the records, with what is known of those versions beside torch's words: lines, types, keys and names.

    Torch names no line for the guard on a tensor, nor the class that a tensor was of, and of all guards that fail the
    first alone: `new` is compared for the others, and the version that is nearest to it comes first.  `guards_of`
    returns the guards of the version with that compile id, `values_of` what its variables held when it was compiled.
    """
    known = {
        one: GuardedVersion(one, guards_of(one), values_of(one))
        for failure in found
        for one in (failure.version, *[version for version, _ in failure.some])
    }
    records: Dict[FailedGuard, float] = {}  # with the distance of the version from the new one
    farthest: float = 0
    for failure in found:
        likewise = [known[one] for one, _ in reversed(failure.some)]
        distances = distances_of(failure.mismatch, [known[failure.version], *likewise], new)
        nearest = failure.led_by(min(distances, key=distances.__getitem__))
        completed = _completed(nearest, known[nearest.version])
        record, distance = with_other_causes(completed.record(), completed.mismatch, known[nearest.version], new)
        records[record] = distance
        farthest = max(farthest, *distances.values(), distance)
    nearest_first = sorted(records, key=records.__getitem__)
    return tuple([replace(one, is_nearest=records[one] == 0 < farthest < math.inf) for one in nearest_first])


def _completed(failure: Failure, version: GuardedVersion) -> Failure:
    mismatch, guards, values = failure.mismatch, version.guards, version.values
    complete = _COMPLETED.get(mismatch.aspect)
    if complete is not None:
        failure = replace(failure, mismatch=complete(mismatch, guards, values))
        return _with_calls(_with_line(failure, _first_guard_on(mismatch.subject, guards)), guards, values)
    guard = _guard_on(mismatch.subject, guards) if mismatch.is_of_tensor else None
    if guard is None:
        return _with_calls(failure, guards, values)
    if failure.origin.location is None:
        failure = replace(_with_first_use(failure, guard, values), first_used=True)
    elif failure.origin.of_sizes:  # torch names the line that touches the tensor first
        used = _with_first_use(failure, guard, values)
        failure = _with_calls(failure, guards, values) if used.origin.location is None else used
    else:
        failure = _with_calls(failure, guards, values)
    if mismatch.aspect == TYPE and isinstance(guard.test, (TensorTest, TypeTest)):
        failure = replace(failure, mismatch=replace(mismatch, expected=guard.test.type_name))
    return failure


def _with_line(failure: Failure, guard: GuardRecord | None) -> Failure:
    """Add the line of a guard on the same value, where torch names none."""
    if guard is None or failure.origin.location is not None:
        return failure
    return replace(failure, origin=failure.origin._replace(location=guard.location))


_AXIS = re.compile(r"(size|stride)\((\d+)\)$")
_SIZE = re.compile(r"([^\s(]\S*)\.size\((\d+)\)")


def _with_first_use(failure: Failure, guard: GuardRecord, values: CompiledValues) -> Failure:
    """Add the first line that depends on a property of a tensor, where that can be known.

    It is the first line that reads the property, or else that of the first operation on the tensor. A line that hands
    the tensor on depends on no size: a frame that has no graph and reads none has no such line.
    """
    aspect, place = _aspect_of(failure.mismatch), guard.location
    used = read_stack(values.uses.get(_placeholder(guard.expression), ""))
    calls = _first_read(guard, values, aspect)
    if not calls and place is not None and (_reads(guard, place.code, aspect) or not (used or _is_of_size(aspect))):
        calls = (*_before(place, used), place)  # the first line that touches the tensor
    calls = calls or used
    origin = failure.origin._replace(location=calls[-1] if calls else None)
    return replace(failure, origin=origin, calls=calls[:-1])


def _aspect_of(mismatch: Mismatch) -> str:
    """Return the property of the tensor that a guard is about; of an expression the size that is in it."""
    found = _SIZE.search(mismatch.text) if mismatch.aspect == EXPRESSION else None
    return mismatch.aspect if found is None or found[1] != mismatch.subject else f"size({found[2]})"


def _is_of_size(aspect: str) -> bool:
    return _AXIS.match(aspect) is not None or aspect == "dim()"


def _first_read(guard: GuardRecord, values: CompiledValues, aspect: str) -> Tuple[Location, ...]:
    """Return the calls to the first line that reads a size before any operation on the tensor; it is the last one."""
    found = _AXIS.match(aspect)
    for read in values.reads.get(guard.expression, ()) if found is not None and found[1] == "size" else ():
        calls = tuple([replace(call, code=linecache.getline(call.file, call.line).strip()) for call in read.calls])
        if found is not None and read.is_of(int(found[2]), _last_name(guard), calls[-1].code):
            return calls
    return ()


def _last_name(guard: GuardRecord) -> str:
    names: List[str] = re.findall(r"[^\W\d]\w*", guard.expression)
    return names[-1] if names else ""


def _reads(guard: GuardRecord, code: str, aspect: str) -> bool:
    """Return whether a line of code reads this property of a tensor; sizes only where their reads are not noted."""
    name, axis = aspect.partition("(")[0], _AXIS.match(aspect)
    if axis is None:
        return re.search(rf"\.{re.escape(name)}\b", code) is not None
    if name == "stride":
        return re.search(rf"\.stride\(\s*(?:(?:{axis[2]}|-\d+)\s*)?\)", code) is not None
    if private_hooks.find("shape_reader") is not None:
        return False
    rank = len(guard.test.expected.sizes) if isinstance(guard.test, TensorTest) else int(axis[2]) + 1
    return reads_size(code, int(axis[2]), rank, _last_name(guard))


def _with_calls(failure: Failure, guards: Sequence[GuardRecord], values: CompiledValues) -> Failure:
    """Add the calls that led to the line where torch names none: those to the first use of the value."""
    place = failure.origin.location
    if failure.calls or place is None or not failure.mismatch.subject:
        return failure
    names = [guard.expression for guard in guards if readable(guard.expression) == failure.mismatch.subject]
    calls = read_stack(values.uses.get(_placeholder(names[0]), "")) if names else ()
    return replace(failure, calls=_before(place, calls))


def _before(place: Location, calls: Tuple[Location, ...]) -> Tuple[Location, ...]:
    """Return the calls before `place`, or before another line of its function; none where they do not lead there.

    Calls have no lines of torch's: whether they lead to one of those cannot be seen.
    """
    own = [(number, call) for number, call in enumerate(calls) if call.file == place.file]
    here = [number for number, call in own if call.line == place.line]
    there = [number for number, call in own if call.function == place.function]
    if here or there:
        return calls[: here[0] if here else there[-1]]
    return calls if place.file.startswith("torch/") or is_in_torch(place.file) else ()


def _placeholder(name: str) -> str:
    """Return what Dynamo calls the input of a graph that is this value: L['self'].w is l_self_w."""
    return re.sub(r"[^a-zA-Z0-9]+", "_", name).lower()


_OF_MODULE = re.compile(r"\._(?:modules|parameters|buffers)$")


def _first_guard_on(subject: str, guards: Sequence[GuardRecord]) -> GuardRecord | None:
    """Return the first guard with a line of the program on a value, or else on a part of it."""
    subject = _OF_MODULE.sub("", subject)  # len(self.layers._modules): its parts are self.layers[0] ...
    found = [(readable(guard.expression), guard) for guard in guards if guard.location is not None and subject]
    own = [guard for name, guard in found if name == subject]
    inside = (f"{subject}[", f"{subject}.", f"list({subject}.values())[")
    parts = [guard for name, guard in found if name.startswith(inside)]
    return next(iter(own + parts), None)


def _state_then(mismatch: Mismatch, guards: Sequence[GuardRecord], values: CompiledValues) -> Mismatch:
    states = [guard.test for guard in guards if isinstance(guard.test, TorchState)]
    return of_switches(with_states_then(mismatch.switches, states[0])) if states else mismatch


def _keys_then(mismatch: Mismatch, guards: Sequence[GuardRecord], values: CompiledValues) -> Mismatch:
    """Name the keys that a dictionary has more or less than it had."""
    if mismatch.keys is None:
        return mismatch
    before = values.keys.get(mismatch.subject, _guarded_keys(mismatch.subject, guards))
    if str(len(before)) != mismatch.expected:
        return replace(mismatch, actual=f"{mismatch.actual}: {', '.join(mismatch.keys)}") if mismatch.keys else mismatch
    return replace(mismatch, actual=f"{mismatch.actual}, {key_difference(before, mismatch.keys)}")


def _guarded_keys(subject: str, guards: Sequence[GuardRecord]) -> Tuple[str, ...]:
    """Return the keys of a dictionary that guards test; they need not be all."""
    start = subject + "["
    found = [readable(guard.expression) for guard in guards]
    keys = [name[len(start) :].partition("]")[0] for name in found if name.startswith(start)]
    return tuple(dict.fromkeys(keys))


def _object_then(mismatch: Mismatch, guards: Sequence[GuardRecord], values: CompiledValues) -> Mismatch:
    name, _, attribute = mismatch.subject.partition(".")
    known = values.objects.get(name, "")
    if not known or attribute not in ("", "__code__"):
        return mismatch
    if mismatch.aspect == ALIVE:
        known = f"{SAME_OBJECT} ({known})"
    return replace(mismatch, expected=f"the code of {known}" if attribute else known)


def _metadata_then(mismatch: Mismatch, guards: Sequence[GuardRecord], values: CompiledValues) -> Mismatch:
    subjects = dict.fromkeys(readable(guard.expression) for guard in guards if guard.kind == METADATA_GUARD)
    before = {f"{name}.{key}": value for name, one in values.metadata.items() for key, value in one.items()}
    changed = [(name, before[name], now) for name, now in mismatch.parts if before.get(name, now) != now]
    if not changed:
        return replace(mismatch, subject=" or ".join(subjects))
    then = ", ".join(f"{name} == {value}" for name, value, _ in changed)
    now = ", ".join(f"{name} is {value}" for name, _, value in changed) if len(changed) > 1 else changed[0][2]
    return replace(mismatch, subject=changed[0][0].partition(".")[0], expected=then, actual=now)


def _device_then(mismatch: Mismatch, guards: Sequence[GuardRecord], values: CompiledValues) -> Mismatch:
    """Name the device instead of the dispatch keys where it is another one."""
    guard = _guard_on(mismatch.subject, guards)
    now = dict(mismatch.parts).get(f"{mismatch.subject}.device", "")
    then = guard.test.expected.device if guard is not None and isinstance(guard.test, TensorTest) else ""
    if not now or not then or now == then:
        return mismatch
    text = f"{mismatch.subject}.device == torch.device({then!r})"
    return Mismatch(EXPRESSION, mismatch.subject, then, now, text)


def _modes_then(mismatch: Mismatch, guards: Sequence[GuardRecord], values: CompiledValues) -> Mismatch:
    return replace(mismatch, expected=words_of_modes(values.modes))


_COMPLETED: Dict[str, Callable[[Mismatch, Sequence[GuardRecord], CompiledValues], Mismatch]] = {
    TORCH_STATE: _state_then,
    LENGTH: _keys_then,
    DISPATCH_KEYS: _device_then,
    MODES: _modes_then,
    IDENTITY: _object_then,
    ALIVE: _object_then,
    METADATA: _metadata_then,
}


def _guard_on(subject: str, guards: Sequence[GuardRecord]) -> GuardRecord | None:
    """Return the guard on the type of a value; None where there is none that names the type.

    Of a tensor the one on its properties, where there are two (torch 2.2).
    """
    for kind in (TensorTest, TypeTest):
        for guard in guards:
            if isinstance(guard.test, kind) and guard.test.subject == subject and guard.test.names_type:
                return guard
    return None
