"""The guards of a version as a function: its conditions one by one, and valid Python whatever the record holds."""

from __future__ import annotations

import ast

import pytest

from depyf.record.guard_conditions import (
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
from depyf.record.records import FrameRecord, GuardRecord
from depyf.report.call_signature import Signature
from depyf.report.guard_function import guard_functions
from depyf.report.shortened_records import ShortPaths

FLOATS = TensorProperties("torch.Tensor", "torch.float32", "cuda:1", False, (None, 3), (3, None))


def function_of(*tests):
    guards = tuple(map(GuardRecord, tests))
    frame = FrameRecord("0/0", "f", 0, "f.py", "", "replaced", "PROVED", guards=guards)
    return "\n".join(guard_functions([(frame, "__guard")], "f", Signature(("x",), "x", "x"), ShortPaths()))


@pytest.mark.parametrize(
    ("test", "pieces"),
    [
        (TypeTest("d['a and b']", "int"), ["type(d['a and b']) is int"]),
        (TypeTest("x", "m.class"), ["type(x).__module__ + '.' + type(x).__qualname__ == 'm.class'"]),
        (ValueTest("s", "str", "s == 'a and b'"), ["type(s) is str", "s == 'a and b'"]),
        (ValueTest("s", "str", "s == ' or '"), ["type(s) is str", "s == ' or '"]),
        (
            TensorTest("self.w", FLOATS),
            [
                "type(self.w) is torch.Tensor",
                "self.w.dtype is torch.float32",
                "self.w.device == torch.device('cuda', 1)",
                "self.w.requires_grad is False",
                "self.w.dim() == 2",
                "self.w.size(1) == 3",
                "self.w.stride(0) == 3",
            ],
        ),
        (
            TorchState(False, "", False, 4),
            [
                "not torch.is_grad_enabled()",
                "not torch.are_deterministic_algorithms_enabled()",
                "torch.get_num_threads() == 4",
            ],
        ),
        (
            NoDimensionMarks("x", ("dynamic",)),
            ["not any(hasattr(x, f'_dynamo_{mark}_indices') for mark in ('dynamic',))"],
        ),
        (PythonTest("2 <= n and (n < 9 or m)"), ["2 <= n", "(n < 9 or m)"]),
        (PythonTest("n < 9 or m"), ["(n < 9 or m)"]),
        (InWords("a and b are as they were"), []),
        (SameObject("a and b"), []),
        (SameBody("f"), []),
    ],
)
def test_a_guard_is_shown_as_the_conditions_that_it_consists_of(test, pieces):
    assert list(test.parts) == pieces
    if pieces and not isinstance(test, PythonTest):
        assert test.text == " and ".join(pieces)


@pytest.mark.parametrize(
    "test",
    [
        TypeTest("self.class", "int"),
        ValueTest("x", "int", "x == 1 or y"),
        ValueTest("x", "int", "x == 1  # the first"),
        ValueTest("x", "int", "x ==\n1"),
        ValueTest("x", "int", "x := 1"),
        TensorTest("x.", FLOATS),
        TensorTest("x if y else z", FLOATS),
        PythonTest("x ==\n1"),
        PythonTest("x == 1  # the first"),
    ],
)
def test_what_is_no_condition_of_python_is_a_comment(test):
    text = function_of(PythonTest("before"), test, PythonTest("after"))
    (function,) = ast.parse(text).body
    (expected,) = ast.parse("def __guard(x): return before and after").body
    assert ast.dump(function) == ast.dump(expected)
    assert "# also: " in text
