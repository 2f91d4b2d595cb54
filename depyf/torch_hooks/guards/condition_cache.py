"""What the leaves of torch's guard tree test, each form read once.

A model with many layers has the same few guards on the values of each layer.  `guard_kinds` reads one of them, with a
name that stands for the value; here that name is replaced.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from depyf.record.guard_conditions import (
    GuardTest,
    InWords,
    NoDimensionMarks,
    PythonTest,
    SameBody,
    SameObject,
    TensorTest,
    TypeTest,
    ValueTest,
)
from depyf.torch_hooks.guards.guard_kinds import MAY_VARY, Leaf, read_guard, shown_type
from depyf.torch_hooks.guards.origins import end_of_condition
from depyf.torch_hooks.guards.source_names import readable
from depyf.torch_hooks.guards.tree_leaves import PrintedGuard

_VALUE = "LOOKED_AT"  # stands for the value that a guard tests
_PLAIN = r"[LG](?:\['[^'\\\n]*'\]|\[\d+\]|\.[^\W\d]\w*)+"
_PLAIN_SOURCE = re.compile(rf"(?:{_PLAIN}|list\(dict\.keys\({_PLAIN}\)\)\[\d+\])$")
_PLAIN_VALUE = re.compile(r" == ('[^'\\\n]*'|0|[1-9]\d*)$")
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


def form_of(guard: PrintedGuard, before: str, after: str) -> Form | None:
    """Return the form of a guard, given what torch prints before and after its value; None where it has none.

    It depends on the kind of the guard, on the type of the value and on these two texts alone.
    """
    if guard.kind in _BOUND_TO_ONE_VALUE or guard.source in after or _VALUE in before or _VALUE in after:
        return None
    printed = before + _VALUE + after
    cut = end_of_condition(printed)
    before, found, after = printed[:cut].strip().partition(_VALUE)
    if not found or not _is_whole(before, after):
        return None
    if guard.kind == "EQUALS_MATCH" and not before and guard.type_name and _PLAIN_VALUE.match(after):
        return Form((ValueTest(_VALUE, shown_type(guard.type_name), _VALUE + after),), printed[cut:])
    return Form(_read_form(guard.kind, before + _VALUE + after, guard.type_name), printed[cut:])


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
    if isinstance(test, TensorTest):
        return TensorTest(subject, test.expected)
    if isinstance(test, TypeTest):
        return TypeTest(subject, test.type_name)
    if isinstance(test, PythonTest):
        return PythonTest(test.text.replace(_VALUE, subject))
    if isinstance(test, InWords):
        return InWords(test.text.replace(_VALUE, subject))
    if isinstance(test, ValueTest):
        return ValueTest(subject, test.type_name, test.comparison.replace(_VALUE, subject))
    if isinstance(test, (SameObject, SameBody)):
        return type(test)(test.subject.replace(_VALUE, subject))
    if isinstance(test, NoDimensionMarks):
        return NoDimensionMarks(subject, test.marks)
    return test


_LAST_STEP = re.compile(r".*(?=\.(?:_modules|_parameters|_buffers)\[)", re.DOTALL)


@functools.lru_cache(maxsize=4096)
def shown_source(source: str) -> str:
    """Return a value as the user spells it, if it can replace `_VALUE` in any condition; else empty."""
    if _PLAIN_SOURCE.match(source) is None:
        return ""
    step = _LAST_STEP.match(source)
    if step is None:
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
