"""The guards of one compiled version, as records that a person can read.

When to call this.  The bytecode hook runs before Dynamo builds the guards, so they cannot be described there.
There are two later moments, and `describe_guards` serves both with the same result:

- Dynamo emits the structured trace event `dynamo_cpp_guards_str` once the guards are built, with the compile
  id of the version and the printed guard tree as payload.  Pass that text.  This is the better moment: it
  does not depend on the cache entry, which may be gone (with its module) when the session ends.
- `torch._dynamo.eval_frame._debug_get_cache_entry_list(code)` lists the entries that live now; pass the
  `guard_manager` of one.  This also works for what was compiled before anyone looked.

Torch keeps no structured form of a guard, so both ways end in printed lines; `conditions` reads one of them.
The printed tree is the whole interface, and nothing here imports torch.
"""

from __future__ import annotations

import functools
import re
from types import CodeType

from depyf.record.records import GuardRecord
from depyf.torch_hooks.guards.condition_cache import conditions_of
from depyf.torch_hooks.guards.conditions import Leaf
from depyf.torch_hooks.guards.origins import Origin, end_of_condition, origins_in, told_apart
from depyf.torch_hooks.guards.source_names import A_SOURCE, readable
from depyf.torch_hooks.internals.torch_text import scrub, type_from_repr

_MANAGER = re.compile(r"(?:KeyManager: |ValueManager: )?\w*GuardManager: source=")
_LEAF = re.compile(r"(?P<kind>[A-Z][A-Z0-9_]+)(?:: (?P<text>.*))?$", re.DOTALL)
_ABSENT_MARK = re.compile(r"hasattr\([^ ]*, '_dynamo_(?P<mark>\w+)_indices'\) == False *(?:#|$)")
_ROOT = re.compile(r"[^'\"]*?\b([LG])\[(?:'([^']*)'|\"([^\"]*)\")\]")

# Guards that torch hangs on the first of the values they relate.
_ON_SEVERAL_VALUES = ("NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "SYMBOLIC_SHAPE_GUARD")


def describe_guards(guard_manager: object, code: CodeType) -> tuple[GuardRecord, ...]:
    """The guards of one version of `code`, in reading order.

    `guard_manager` is a guard manager of torch's or the text that one prints.  The order is that of the
    parameters, then globals, then conditions on several values, then the state of torch itself; it does not
    depend on which guards failed how often (torch moves those to the front).  Text in an unknown form yields
    what of it could be read.
    """
    records: list[tuple[tuple[int, int, str, int], GuardRecord]] = []
    names = code.co_varnames + code.co_freevars + code.co_cellvars
    places: dict[str, tuple[Origin, ...]] = {}  # many guards have few origins
    for position, (leaf, said) in enumerate(_leaves(str(guard_manager))):
        if said not in places:
            places[said] = origins_in(said, code.co_filename)
        order = _reading_order(leaf, names, position)
        for text, is_python in conditions_of(leaf):
            for condition, asked in told_apart(text, places[said]):
                records.append((order, GuardRecord(condition, is_python, _expression(leaf.source), leaf.kind, *asked)))
    records.sort(key=lambda item: item[0])
    return _without_repetition([record for _, record in records])


def _leaves(text: str) -> list[tuple[Leaf, str]]:
    """The leaves of a printed guard tree, with the value each looks at and the comment where it was asked for."""
    found: list[tuple[Leaf, str]] = []
    # For each depth, the source and type of the manager that the lines below it belong to.
    managers: list[tuple[str, str]] = []
    marks: list[str] = []  # names of dimension marks that are absent, gathered while they are about one value
    for depth, line in _logical_lines(text):
        if "GuardManager: source=" in line and _MANAGER.match(line) is not None:
            del managers[depth:]
            managers += [("", "")] * (depth - len(managers))
            managers.append(_manager(line))
            continue
        match = _LEAF.match(line)
        if match is None or match["text"] is None:
            # The root's own line, a pair of dict managers, or a guard on several values printed before.
            continue
        source, type_name = managers[depth - 1] if 0 < depth <= len(managers) else ("", "")
        kind, said = match.groups()
        mark = _ABSENT_MARK.match(said) if "_dynamo_" in said else None
        if mark is not None:
            marks.append(mark["mark"])
            if len(marks) > 1:
                found[-1] = (Leaf(kind, _no_marks(source, marks), source, type_name), found[-1][1])
                continue
        else:
            marks = []
        cut = end_of_condition(said)
        condition = said[:cut].strip() if mark is None else _no_marks(source, marks)
        found.append((Leaf(kind, condition, source, type_name), said[cut:]))
    return found


@functools.lru_cache(maxsize=4096)
def _manager(line: str) -> tuple[str, str]:
    """The value that a manager looks at, and its type."""
    rest = line[line.index("source=") + len("source=") :]
    ends = [end for end in (rest.find(", accessed_by="), rest.find(", type=")) if end >= 0]
    return rest[: min(ends, default=len(rest))], type_from_repr(rest.rpartition(", type=")[2])


def _no_marks(source: str, marks: list[str]) -> str:
    """One condition for the five attributes that `mark_dynamic` and its like may leave on a tensor."""
    return f"not any(hasattr({source}, f'_dynamo_{{mark}}_indices') for mark in {tuple(marks)!r})"


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """(depth, text) of each node of the tree; the value of a guard may print on many lines."""
    lines: list[tuple[int, str]] = []
    for line in text.split("\n"):
        start = line.find("+- ")
        if start >= 0 and line[:start] == "| " * (start // 2):
            lines.append((start // 2, line[start + 3 :]))
        elif lines and line.strip() and not line.startswith(("TREE_GUARD_MANAGER", "Guard latency")):
            depth, first = lines[-1]
            lines[-1] = depth, f"{first}\n{line}"
    return lines


def _reading_order(leaf: Leaf, names: tuple[str, ...], position: int) -> tuple[int, int, str, int]:
    """Sort key: parameters in order, globals, conditions on several values, then torch's own state."""
    if leaf.kind in _ON_SEVERAL_VALUES:
        return (2, 0, "", position)
    scope, name = _root(leaf.source)
    if scope == "L":
        return (0, names.index(name) if name in names else len(names), "", position)
    if scope:
        return (1, 0, readable(leaf.source), position)
    if leaf.kind == "LAMBDA_GUARD" and A_SOURCE.search(leaf.text):
        return (2, 1, "", position)
    return (3, 0, "", position)


@functools.lru_cache(maxsize=4096)
def _expression(source: str) -> str:
    """The value looked at, as torch names it; without ids, which it has in the names of globals of Dynamo's."""
    return scrub(source)


@functools.lru_cache(maxsize=4096)
def _root(source: str) -> tuple[str, str]:
    """Whether a source begins in the locals (L) or globals (G), and with which name; empty where neither."""
    root = _ROOT.match(source)
    return ("", "") if root is None else (root.group(1), root.group(2) or root.group(3) or "")


def _without_repetition(records: list[GuardRecord]) -> tuple[GuardRecord, ...]:
    """The records without those whose condition was given before."""
    seen: set[str] = set()
    kept = []
    for record in records:
        if record.condition not in seen:
            seen.add(record.condition)
            kept.append(record)
    return tuple(kept)
