"""Read what schema 1 of the saved form holds as a sentence, where the record has fields.

`READERS` recovers the fields.  This is the one place that reads sentences of ours, because a manifest of schema 1 has
nothing else; schema 2 saves the fields, but for those of guards, whose conditions are Python that other tools read.
A sentence that does not give the same text again when it is spelled from the fields is kept as it is.
"""

from __future__ import annotations

import ast
import functools
import re
from typing import Any, Callable, Dict, Optional, Tuple

from depyf.record.guard_conditions import (
    GuardTest,
    InWords,
    NoDimensionMarks,
    PythonTest,
    SameBody,
    SameObject,
    TensorProperties,
    TensorTest,
    TorchState,
    TypeTest,
    ValueTest,
)
from depyf.record.records import (
    AND_THEN,
    SKIP_KINDS,
    GraphBreak,
    GuardRecord,
    RankDifference,
    SessionRecord,
    SkipRecord,
)

Fields = Dict[str, Any]


def _read_guard(fields: Fields) -> Fields:
    """Replace the condition by the test that it spells."""
    condition, is_python = fields.pop("condition"), fields.pop("is_python")
    return {"test": read_test(condition, is_python, fields.get("kind", "")), **fields}


def read_test(condition: str, is_python: bool, kind: str) -> GuardTest:
    """Return the test that the condition of a guard of this kind spells."""
    return python_test(condition, kind) if is_python else _test_in_words(condition)


def _required(reason: Optional[str]) -> str:
    if reason is None:
        raise KeyError("reason")
    return reason


def _read_break(fields: Fields) -> Fields:
    reason = fields.pop("reason", None)
    return fields if "causes" in fields else {"causes": tuple(_required(reason).split(AND_THEN)), **fields}


def _read_skip(fields: Fields) -> Fields:
    reason = fields.pop("reason", None)
    if "detail" in fields:
        return fields
    reason = _required(reason)
    return {"detail": None if reason == SKIP_KINDS.get(fields.get("kind", "")) else reason, **fields}


_VERSION = re.compile(r"\bin version (\d+) of ")


def _read_difference(fields: Fields) -> Fields:
    if "version" in fields:
        return fields
    version = _VERSION.search(fields.get("text", "")) if fields.get("kind") in ("collectives", "graph") else None
    return {"version": None if version is None else int(version[1]), **fields}


_LOST_FILES = re.compile(r"(?:a file|(?P<number>\d+) files) could not be written: (?P<why>.*)$", re.DOTALL)


def _read_session(fields: Fields) -> Fields:
    if "lost_files" in fields:
        return fields
    problems = fields.get("problems", ())
    lost = _LOST_FILES.match(problems[-1]) if problems else None
    if lost is None:
        return fields
    return {**fields, "problems": problems[:-1], "lost_files": {"number": int(lost["number"] or 1), "why": lost["why"]}}


# class of a record -> the arguments of the class, from what JSON holds; KeyError where something is missing
READERS: Dict[type, Callable[[Fields], Fields]] = {
    GuardRecord: _read_guard,
    GraphBreak: _read_break,
    SkipRecord: _read_skip,
    RankDifference: _read_difference,
    SessionRecord: _read_session,
}


# ---------------------------------------------------------------- the tests of guards

_SAME_OBJECT = SameObject("").text
_SAME_BODY = SameBody("").text
_NO_MARKS = re.compile(
    r"not any\(hasattr\((?P<subject>.*), f'_dynamo_\{mark\}_indices'\) for mark in (?P<marks>\(.*\))\)$"
)
_TYPE = (
    r"type\((?P<subject>.+?)\)(?: is (?P<dotted>[\w.]+)"
    r"|\.__module__ \+ '\.' \+ type\((?P=subject)\)\.__qualname__ == (?P<other>'[^']*'|\"[^\"]*\"))"
)
_TYPE_TEST = re.compile(_TYPE + "$", re.DOTALL)
_VALUE_TEST = re.compile(_TYPE + r" and (?P<comparison>.+)$", re.DOTALL)
_TENSOR_TEST = re.compile(
    _TYPE + r" and (?P=subject)\.dtype is (?P<dtype>torch\.\w+)"
    r"(?: and (?P=subject)\.device == torch\.device\('(?P<device>\w+)'(?:, (?P<index>\w+))?\))?"
    r" and (?P=subject)\.requires_grad is (?P<grad>True|False)(?P<shape>.*)$",
    re.DOTALL,
)
_SHAPE = re.compile(r" and (?P<what>size|stride|dim)\((?P<axis>\d*)\) == (?P<value>\d+|\([0-9, ]*\))(?= and |$)")
_STATE = re.compile(
    r"(?P<no_grad>not )?torch\.is_grad_enabled\(\)(?: and torch\.get_default_dtype\(\) is (?P<dtype>torch\.\w+))?"
    r" and (?P<free>not )?torch\.are_deterministic_algorithms_enabled\(\)"
    r" and torch\.get_num_threads\(\) == (?P<threads>\d+)$"
)


def _test_in_words(text: str) -> GuardTest:
    if text.endswith(_SAME_OBJECT):
        return SameObject(text[: -len(_SAME_OBJECT)])
    if text.endswith(_SAME_BODY):
        return SameBody(text[: -len(_SAME_BODY)])
    return InWords(text)


def python_test(text: str, kind: str) -> GuardTest:
    """Return the test that the expression `text` of a guard of this kind spells."""
    read = _read_marks if text.startswith("not any(hasattr(") else _OF_KIND.get(kind)
    found = None if read is None else read(text)
    return PythonTest(text) if found is None or found.text != text else found


def _read_marks(text: str) -> Optional[GuardTest]:
    match = _NO_MARKS.match(text)
    return None if match is None else NoDimensionMarks(match["subject"], _tuple(match["marks"]))


def _read_type(text: str) -> Optional[GuardTest]:
    match = _TYPE_TEST.match(text)
    return None if match is None else TypeTest(match["subject"], _type_name(match))


def _read_value(text: str) -> Optional[GuardTest]:
    match = _VALUE_TEST.match(text)
    return None if match is None else ValueTest(match["subject"], _type_name(match), match["comparison"])


def _read_tensor(text: str) -> Optional[GuardTest]:
    match = _TENSOR_TEST.match(text)
    if match is None:
        return None
    device = f"{match['device'] or ''}{':' + match['index'] if match['index'] else ''}"
    shape = match["shape"].replace(f" and {match['subject']}.", " and ")
    return TensorTest(match["subject"], _properties(_type_name(match), match["dtype"], device, match["grad"], shape))


@functools.lru_cache(maxsize=1024)
def _properties(type_name: str, dtype: str, device: str, grad: str, shape: str) -> TensorProperties:
    found = {(part["what"], part["axis"]): part["value"] for part in _SHAPE.finditer(shape)}
    count = int(found.get(("dim", ""), 0)) or len(_tuple(found.get(("size", ""), "()")))
    sizes, strides = (_sizes(found, what, count) for what in ("size", "stride"))
    return TensorProperties(type_name, dtype, device, grad == "True", sizes, strides)


def _sizes(found: Dict[Tuple[str, str], str], what: str, count: int) -> Tuple[Optional[int], ...]:
    """Return the sizes or strides of all dimensions, None where nothing is expected."""
    if (what, "") in found:
        return _tuple(found[what, ""])
    fixed = [found.get((what, str(axis))) for axis in range(count)]
    return tuple([None if size is None else int(size) for size in fixed])


def _read_state(text: str) -> Optional[GuardTest]:
    match = _STATE.match(text)
    if match is None:
        return None
    return TorchState(match["no_grad"] is None, match["dtype"] or "", match["free"] is None, int(match["threads"]))


def _type_name(match: re.Match[str]) -> str:
    return match["dotted"] or str(ast.literal_eval(match["other"]))


@functools.lru_cache(maxsize=64)
def _tuple(text: str) -> Tuple[Any, ...]:
    value: Tuple[Any, ...] = ast.literal_eval(text)
    return value


_OF_KIND: Dict[str, Callable[[str], Optional[GuardTest]]] = {
    "TYPE_MATCH": _read_type,
    "FAKE_SCRIPT_TYPE_MATCH": _read_type,
    "EQUALS_MATCH": _read_value,
    "TENSOR_MATCH": _read_tensor,
    "GLOBAL_STATE": _read_state,
}
