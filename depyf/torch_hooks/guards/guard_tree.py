"""The guards of one compiled version, as records that a person can read.

When to call this.  The bytecode hook runs before Dynamo builds the guards, so they cannot be described there.
There are two later moments, and `describe_guards` serves both with the same result:

- Dynamo emits the structured trace event `dynamo_cpp_guards_str` once the guards are built, with the compile
  id of the version and the printed guard tree as payload.  Pass that text, or the function that would print it.
  This is the better moment: it does not depend on the cache entry, which may be gone (with its module) when the
  session ends.
- `torch._dynamo.eval_frame._debug_get_cache_entry_list(code)` lists the entries that live now; pass the
  `guard_manager` of one.  This also works for what was compiled before the session.

Torch keeps no structured form of a guard, so both ways end in printed lines; `guard_kinds` reads one of them.
`tree_leaves` finds them, and nothing here imports torch.
"""

from __future__ import annotations

import functools
import re
from types import CodeType
from typing import Iterator

from depyf.record.guard_conditions import GuardTest, PythonTest
from depyf.record.records import GuardRecord
from depyf.torch_hooks.guards.condition_cache import tests_of
from depyf.torch_hooks.guards.guard_kinds import METADATA_GUARD, Leaf
from depyf.torch_hooks.guards.origins import Origin, end_of_condition, origins_in, split_range
from depyf.torch_hooks.guards.source_names import A_SOURCE, readable
from depyf.torch_hooks.guards.tree_leaves import printed_guards
from depyf.torch_hooks.internals.torch_text import scrub

_ABSENT_MARK = re.compile(r"hasattr\([^ ]*, '_dynamo_(?P<mark>\w+)_indices'\) == False *(?:#|$)")
_ROOT = re.compile(r"[^'\"]*?\b([LG])\[(?:'([^']*)'|\"([^\"]*)\")\]")

# Guards that torch hangs on the first of the values they relate.
_ON_SEVERAL_VALUES = ("NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "SYMBOLIC_SHAPE_GUARD")


def describe_guards(guard_manager: object, code: CodeType) -> tuple[GuardRecord, ...]:
    """Return the guards of one version of `code`, in reading order.

    `guard_manager` is as `printed_guards` takes it.  The order is that of the
    parameters, then globals, then conditions on several values, then the state of torch itself; it does not
    depend on which guards failed how often (torch moves those to the front).  Text in an unknown form yields
    what of it could be read.
    """
    records: list[tuple[tuple[int, int, str, int], GuardRecord]] = []
    names = code.co_varnames + code.co_freevars + code.co_cellvars
    places: dict[str, tuple[Origin, ...]] = {}  # many guards have few origins
    for position, (leaf, comment) in enumerate(_leaves(guard_manager)):
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


def _leaves(guards: object) -> Iterator[tuple[Leaf, str]]:
    """Yield the leaves of a guard tree, each with the comment that names its origin."""
    waiting: tuple[Leaf, str] | None = None  # that dimension marks are absent: guards on more of them may follow
    for kind, printed, source, type_name in printed_guards(guards):
        if printed.startswith("___check_metadata_"):  # a lambda to the tree, a kind of its own to torch
            kind = METADATA_GUARD
        mark = _ABSENT_MARK.match(printed) if "_dynamo_" in printed else None
        if mark is not None and waiting is not None and waiting[0].source == source:
            leaf, comment = waiting
            waiting = Leaf(kind, "", source, type_name, (*leaf.absent_marks, mark["mark"])), comment
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        cut = end_of_condition(printed)
        if mark is None:
            yield Leaf(kind, printed[:cut].strip(), source, type_name), printed[cut:]
        else:
            waiting = Leaf(kind, "", source, type_name, (mark["mark"],)), printed[cut:]
    if waiting is not None:
        yield waiting


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
