"""Prove readable texts of the README example's frame, as torch 2.13 generates it on CPython 3.11."""

from __future__ import annotations

import sys
from types import CodeType
from typing import Set

import pytest

from depyf.decompiler.prove import Assumption, Grade, Verdict, prove

pytestmark = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the bytes below are CPython 3.11's")

FRAME = bytes.fromhex(
    "97007407000000000000000000007409000000000000000000006a05000000000000000078017d04a6000000ab0000000000"
    "000000007d057c007c017409000000000000000000006a06000000000000000078017d067c05a6010000ab01000000000000"
    "00000100a6020000ab0200000000000000007e047e067d03660067017c036402190000000000000000007c03640119000000"
    "000000000000670178016402640185021900000000000000000063027c016701a2020100670163027e037265670078026402"
    "190000000000000000006402640285023c000000780164021900000000000000000063020100670163027801640219000000"
    "0000000000006302010067016302780164021900000000000000000078017801640119000000000000000000630278016402"
    "1900000000000000000063020100670263026402640085023c00000078020100670063030100740e00000000000000000000"
    "6303630278017801640319000000000000000000630264033d006303630267026302a2010200630363028e00530067007802"
    "6402190000000000000000006402640285023c00000078016402190000000000000000006302010067016302780164021900"
    "0000000000000000630201006701630278016402190000000000000000007801780164011900000000000000000063027801"
    "64021900000000000000000063020100670263026402640085023c0000007802010067006303010074100000000000000000"
    "00006303630278017801640319000000000000000000630264033d006303630267026302a2010200630363028e005300"
)
NAMES = (
    "torch", "abs", "sum", "__compiled_fn_1", "__import_torch_dot__dynamo_dot_utils",
    "record_pregraph_bytecode_enter", "record_pregraph_bytecode_exit", "__resume_at_102_2", "__resume_at_112_3",
)  # fmt: skip
LOCALS = ("a", "b", "x", "graph_out_0", "tmp_1", "tmp_2", "tmp_3")
OWN = {"graph_out_0", "tmp_1", "tmp_2", "tmp_3"}

READABLE = """
def toy_example(a, b):
    started = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(started)
    graph_out_0 = __compiled_fn_1(a, b)
    condition, x_1 = graph_out_0[0], graph_out_0[1]
    del graph_out_0
    if condition:
        del condition
        return __resume_at_102_2([], [], b, x_1)
    del condition
    return __resume_at_112_3([], [], b, x_1)
"""


def compiled(source: str) -> CodeType:
    """Return the code of the one function that `source` defines."""
    (code,) = [c for c in compile(source, "<test>", "exec").co_consts if isinstance(c, CodeType)]
    return code


def frame() -> CodeType:
    """Return the frame, 179 instructions of Dynamo's."""
    return compiled("def toy_example(a, b): pass").replace(
        co_code=FRAME,
        co_names=NAMES,
        co_varnames=LOCALS,
        co_nlocals=7,
        co_consts=(None, 1, 0, -1),
        co_stacksize=7,
    )


def installed(name: str) -> bool:
    """Return whether Dynamo installs this name in the globals."""
    return name.startswith(("__compiled_fn_", "__resume_at_", "__import_"))


def proof(source: str, own: Set[str] = OWN) -> Verdict:
    """Return the verdict on `source` as a decompilation of the frame."""
    return prove(frame(), compiled(source), constant_globals=installed, own_names=own)


def test_a_readable_text_of_the_readme_frame_is_proved() -> None:
    verdict = proof(READABLE)
    assert verdict.grade is Grade.PROVED_UNDER, str(verdict)
    assert set(verdict.assumptions) == {
        Assumption.INSTALLED_GLOBALS_CONSTANT,
        Assumption.TEMPORARIES,
    }


WRONG = {
    "the condition lives on through the resume function": ("    del condition\n", ""),
    "the graph's outputs live on": ("    del graph_out_0\n", ""),
    "arguments of a resume function are swapped": ("b, x_1)", "x_1, b)"),
    "the resume functions are swapped": ("__resume_at_102_2", "__resume_at_112_3"),
    "the branch is flipped": ("if condition", "if not condition"),
    "two lists become one": ("([], [], b", "(*[[]] * 2, b"),
    "a list becomes a tuple": ("([], []", "([], ()"),
    "the graph runs before the timer stops": (
        "_exit(started)\n    graph_out_0 = __compiled_fn_1(a, b)",
        "_exit\n    graph_out_0 = __compiled_fn_1(a, b)",
    ),
    "outputs are read in another order": (
        "condition, x_1 = graph_out_0[0], graph_out_0[1]",
        "x_1, condition = graph_out_0[1], graph_out_0[0]",
    ),
    "an output is read after the branch": (", x_1 = graph_out_0[0], graph_out_0[1]", " = graph_out_0[0]"),
    "a variable that the code uses is bound": ("x_1", "b"),
}


@pytest.mark.parametrize("title", WRONG)
def test_a_wrong_text_of_the_readme_frame_is_refuted(title: str) -> None:
    old, new = WRONG[title]
    assert old in READABLE
    assert proof(READABLE.replace(old, new)).grade is Grade.REFUTED


def test_a_name_of_the_user_that_the_code_has_no_use_for_is_free_for_a_temporary() -> None:
    verdict = proof(READABLE.replace("x_1", "x"))
    assert verdict.grade is Grade.PROVED_UNDER and Assumption.TEMPORARIES in verdict.assumptions


def test_a_text_that_drops_a_name_of_the_user_is_refuted() -> None:
    assert not proof(READABLE, own=set()).holds
