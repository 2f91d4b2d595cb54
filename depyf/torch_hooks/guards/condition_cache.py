"""What the leaves of torch's guard tree test, each form read once.

A model with many layers has the same few guards on the values of each layer.  `guard_kinds` reads one of them, with a
name that stands for the value; here that name is replaced.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from depyf.record.guard_conditions import GuardTest, NoDimensionMarks, ValueTest, with_subject
from depyf.torch_hooks.guards.guard_kinds import MAY_VARY, Leaf, read_guard, shown_type
from depyf.torch_hooks.guards.origins import end_of_condition
from depyf.torch_hooks.guards.source_names import readable
from depyf.torch_hooks.guards.tree_leaves import Row

_VALUE = "LOOKED_AT"  # stands for the value that a guard tests
_PLAIN = r"[LG](?:\['[^'\\\n]*'\]|\[\d+\]|\.[^\W\d]\w*)+"
_PLAIN_SOURCE = re.compile(rf"{_PLAIN}$")
_NTH_KEY = re.compile(r"(list\(dict\.keys\()(.*)(\)\)\[\d+\])$")
_PLAIN_VALUE = re.compile(r" == ('[^'\\\n]*'|0|[1-9]\d*)$")
_PLAIN_VALUE_AND_REST = re.compile(r"( == (?:'[^'\\\n#]*'|0|[1-9]\d*)) *(  # .*)?$", re.DOTALL)
_BOUND_TO_ONE_VALUE = ("ID_MATCH", "NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "LAMBDA_GUARD")


class Form(NamedTuple):
    """What the guards test that torch prints alike for many values, with `_VALUE` for the value."""

    tests: tuple[GuardTest, ...]
    comment: str  # where they were asked for

    def about(self, subject: str) -> list[GuardTest]:
        """Return the tests of a value, given as the user spells it."""
        return [moved_to(subject, test) for test in self.tests]


def without_marks(marks: tuple[str, ...]) -> Form:
    """Return the form of a guard that a tensor has none of these marks."""
    return Form((NoDimensionMarks(_VALUE, marks),), "")


def form_with_own_value(guard: Row, after: str) -> Form | None:
    """Return the form of a comparison with a plain value, given what torch prints after what it compares, if it is one.

    The values differ from guard to guard, so these forms are many.
    """
    kind, _, source, type_name = guard
    value = _PLAIN_VALUE_AND_REST.match(after) if kind == "EQUALS_MATCH" and type_name else None
    if value is None or source in after or _VALUE in after:
        return None
    return Form((ValueTest(_VALUE, shown_type(type_name), _VALUE + value[1]),), value[2] or "")


def form_of(kind: str, type_name: str, before: str, after: str) -> Form | None:
    """Return the form of a guard, given what torch prints before and after its value; None where it has none.

    The value, whose type has that name, is not in the text after it.
    """
    if kind in _BOUND_TO_ONE_VALUE or _VALUE in before or _VALUE in after:
        return None
    printed = before + _VALUE + after
    cut = end_of_condition(printed)
    before, found, after = printed[:cut].strip().partition(_VALUE)
    if not found or not _is_whole(before, after):
        return None
    if kind == "EQUALS_MATCH" and not before and type_name and _PLAIN_VALUE.match(after):
        return Form((ValueTest(_VALUE, shown_type(type_name), _VALUE + after),), printed[cut:])
    return Form(_read_form(kind, before + _VALUE + after, type_name), printed[cut:])


def _is_whole(before: str, after: str) -> bool:
    """Return whether what stands between is a value of its own, and not a part of another one."""
    return (not before or before[-1] in "( ") and (not after or after[0] in ",) ")


def tests_of(leaf: Leaf) -> tuple[GuardTest, ...]:
    """Return what `leaf` tests, the most useful first; never empty, never raises for odd text."""
    shown = "" if leaf.kind in _BOUND_TO_ONE_VALUE else shown_source(leaf.source)
    if shown:
        if leaf.absent_marks:
            return (NoDimensionMarks(shown, leaf.absent_marks),)
        before, found, after = leaf.text.partition(leaf.source)
        is_whole = found and _is_whole(before, after)
        if is_whole and leaf.kind == "EQUALS_MATCH" and not before and leaf.type_name and _PLAIN_VALUE.match(after):
            # each has its own value
            return (ValueTest(shown, shown_type(leaf.type_name), shown + after),)
        if is_whole and leaf.source not in after and _VALUE not in leaf.text:
            shared = _read_form(leaf.kind, before + _VALUE + after, leaf.type_name)
            return tuple([moved_to(shown, test) for test in shared])
    return read_guard(leaf) if depends_on_modules(leaf.kind, leaf.text, leaf.type_name) else _read_once(*leaf)


def depends_on_modules(kind: str, text: str, type_name: str) -> bool:
    """Return whether a guard is on a module by its id: which module that is shows in what is loaded now."""
    return kind == "ID_MATCH" and (type_name == "module" or "'module'" in text)


def moved_to(subject: str, test: GuardTest) -> GuardTest:
    """Return the same test of another value, which `_VALUE` stands for."""
    return with_subject(test, _VALUE, subject)


_LAST_STEP = re.compile(r".*(?=\.(?:_modules|_parameters|_buffers)\[)", re.DOTALL)


@functools.lru_cache(maxsize=4096)
def shown_source(source: str) -> str:
    """Return a value as the user spells it, if it can replace `_VALUE` in any condition; else empty."""
    key = _NTH_KEY.match(source)
    if _PLAIN_SOURCE.match(source if key is None else key[2]) is None:
        return ""
    step = _LAST_STEP.match(source)
    if key is not None:  # each key of a dictionary has a guard
        held = shown_source(key[2])
        shown = held and key[1] + held + key[3]
    elif step is None:
        shown = readable(source)
    else:  # few modules have many parts, of few names
        holder = shown_source(step[0])
        shown = holder and holder + readable(source[step.end() :])
    return "" if MAY_VARY.search(shown) is not None or _VALUE in shown else shown


@functools.lru_cache(maxsize=1024)
def _read_form(kind: str, text: str, type_name: str) -> tuple[GuardTest, ...]:
    return read_guard(Leaf(kind, text, _VALUE, type_name))


@functools.lru_cache(maxsize=1024)
def _read_once(*leaf: Any) -> tuple[GuardTest, ...]:
    """Read a leaf once, given its fields: every frame has the same guards on torch's own state."""
    return read_guard(Leaf(*leaf))
