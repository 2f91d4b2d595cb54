"""The guards of one compiled version, as records that a person can read.

When to call this.  The bytecode hook runs before Dynamo builds the guards, so they cannot be described there.
There are two later moments, and `describe_guards` serves both with the same result:

- Dynamo emits the structured trace event `dynamo_cpp_guards_str` once the guards are built, with the compile
  id of the version and the printed guard tree as payload.  Pass that text.  This is the better moment: it
  does not depend on the cache entry, which may be gone (with its module) when the session ends.
- `torch._dynamo.eval_frame._debug_get_cache_entry_list(code)` lists the entries that live now; pass the
  `guard_manager` of one.  This also works for what was compiled before the session.

Torch keeps no structured form of a guard, so both ways end in printed lines; `guard_kinds` reads one of them.
The printed tree is the whole interface, and nothing here imports torch.
"""

from __future__ import annotations

import functools
import re
from types import CodeType

from depyf.record.guard_conditions import GuardTest, PythonTest
from depyf.record.records import GuardRecord
from depyf.torch_hooks.guards.condition_cache import tests_of
from depyf.torch_hooks.guards.guard_kinds import Leaf
from depyf.torch_hooks.guards.origins import Origin, end_of_condition, origins_in, split_range
from depyf.torch_hooks.guards.source_names import A_SOURCE, readable
from depyf.torch_hooks.internals.torch_text import scrub, type_from_repr

_MANAGER = re.compile(r"(?:KeyManager: |ValueManager: )?\w*GuardManager: source=")
_LEAF = re.compile(r"(?P<kind>[A-Z][A-Z0-9_]+)(?:: (?P<text>.*))?$", re.DOTALL)
_ABSENT_MARK = re.compile(r"hasattr\([^ ]*, '_dynamo_(?P<mark>\w+)_indices'\) == False *(?:#|$)")
_ROOT = re.compile(r"[^'\"]*?\b([LG])\[(?:'([^']*)'|\"([^\"]*)\")\]")

# Guards that torch hangs on the first of the values they relate.
_ON_SEVERAL_VALUES = ("NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "SYMBOLIC_SHAPE_GUARD")


def describe_guards(guard_manager: object, code: CodeType) -> tuple[GuardRecord, ...]:
    """Return the guards of one version of `code`, in reading order.

    `guard_manager` is a guard manager of torch's or the text that one prints.  The order is that of the
    parameters, then globals, then conditions on several values, then the state of torch itself; it does not
    depend on which guards failed how often (torch moves those to the front).  Text in an unknown form yields
    what of it could be read.
    """
    records: list[tuple[tuple[int, int, str, int], GuardRecord]] = []
    names = code.co_varnames + code.co_freevars + code.co_cellvars
    places: dict[str, tuple[Origin, ...]] = {}  # many guards have few origins
    for position, (leaf, comment) in enumerate(_leaves(str(guard_manager))):
        if comment not in places:
            places[comment] = origins_in(comment, code.co_filename)
        order = _reading_order(leaf, names, position)
        tests, origins = tests_of(leaf), places[comment]
        asked = [(test, origins[0]) for test in tests] if len(origins) == 1 else _with_origins(tests, origins)
        for test, origin in asked:
            records.append((order, GuardRecord(test, _expression(leaf.source), leaf.kind, *origin)))
    records.sort(key=lambda item: item[0])
    return _without_repetition([record for _, record in records])


def _with_origins(tests: tuple[GuardTest, ...], origins: tuple[Origin, ...]) -> list[tuple[GuardTest, Origin]]:
    """Return each test with its origin; a range whose bounds have different origins becomes two tests."""
    found: list[tuple[GuardTest, Origin]] = []
    for test in tests:
        if isinstance(test, PythonTest):
            found += [(PythonTest(bound.condition), bound.origin) for bound in split_range(test.text, origins)]
        else:
            found.append((test, origins[-1]))
    return found


def _leaves(text: str) -> list[tuple[Leaf, str]]:
    """Return the leaves of a printed guard tree, each with its value and the comment that names its origin."""
    found: list[tuple[Leaf, str]] = []
    # For each depth, the source and type of the manager that the lines below it belong to.
    managers: list[tuple[str, str]] = []
    marks: tuple[str, ...] = ()  # names of dimension marks that are absent, gathered while they are about one value
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
        kind, printed = match.groups()
        mark = _ABSENT_MARK.match(printed) if "_dynamo_" in printed else None
        if mark is None:
            marks = ()
        else:
            marks = (*marks, mark["mark"])
            if len(marks) > 1:
                found[-1] = (Leaf(kind, "", source, type_name, marks), found[-1][1])
                continue
        cut = end_of_condition(printed)
        condition = printed[:cut].strip() if mark is None else ""
        found.append((Leaf(kind, condition, source, type_name, marks), printed[cut:]))
    return found


@functools.lru_cache(maxsize=4096)
def _manager(line: str) -> tuple[str, str]:
    """Return the value that a manager is for, and its type."""
    rest = line[line.index("source=") + len("source=") :]
    ends = [end for end in (rest.find(", accessed_by="), rest.find(", type=")) if end >= 0]
    return rest[: min(ends, default=len(rest))], type_from_repr(rest.rpartition(", type=")[2])


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Return (depth, text) of each node of the tree; the value of a guard may print on many lines."""
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
    """Return the value as torch spells it, without the ids that the names of Dynamo's globals hold."""
    return scrub(source)


@functools.lru_cache(maxsize=4096)
def _root(source: str) -> tuple[str, str]:
    """Return whether a source begins in the locals (L) or globals (G), and with which name; empty where neither."""
    root = _ROOT.match(source)
    return ("", "") if root is None else (root.group(1), root.group(2) or root.group(3) or "")


def _without_repetition(records: list[GuardRecord]) -> tuple[GuardRecord, ...]:
    """Return the records without those whose condition came before."""
    first: dict[str, GuardRecord] = {}
    for record in records:
        first.setdefault(record.test.text, record)
    return tuple(first.values())
