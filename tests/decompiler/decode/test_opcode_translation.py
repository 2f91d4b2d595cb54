"""One instruction becomes the right micro-ops: a wrong one here would be wrong in the text and in the proof alike."""

from __future__ import annotations

from types import CodeType
from typing import Any, List, Tuple

import pytest
from decompile_tools import function_code

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import NULL_SECOND
from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.decode import decode
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.opcodes import Translator

Ops = List[Tuple[str, Any]]
CODE = function_code("def f(a, b): return g(a.x, 7)")
SEVEN = CODE.co_consts.index(7)

ROWS: List[Tuple[str, int, Ops]] = [
    ("LOAD_FAST", 1, [("LOAD_LOCAL", "b")]),
    ("LOAD_CONST", SEVEN, [("CONST", 7)]),
    ("RETURN_CONST", SEVEN, [("CONST", 7), ("RETURN", None)]),
    ("LOAD_FAST_LOAD_FAST", 0x01, [("LOAD_LOCAL", "a"), ("LOAD_LOCAL", "b")]),
    ("STORE_FAST_LOAD_FAST", 0x10, [("STORE_LOCAL", "b"), ("LOAD_LOCAL", "a")]),
    ("BINARY_OP", 10, [("BINARY", "-")]),
    ("BINARY_OP", 23, [("INPLACE", "-")]),
    ("UNARY_NOT", 0, [("UNARY", "not")]),
    ("BINARY_SLICE", 0, [("BUILD_SLICE", 2), ("SUBSCR", None)]),
    ("FORMAT_VALUE", 2 | 4, [("FORMAT", ("r", 1))]),
    ("FORMAT_SIMPLE", 0, [("FORMAT", ("", 0))]),
    ("UNPACK_EX", 1 | 2 << 8, [("UNPACK_EX", (1, 2))]),
    ("CALL_INTRINSIC_1", 6, [("LIST_TO_TUPLE", None)]),
    ("END_SEND", 0, [("SWAP", 2), ("POP", None)]),
    ("NOP", 0, []),
    ("RESUME", 0, []),
]


def translated(opname: str, arg: int, version: Tuple[int, int] = (3, 13), code: CodeType = CODE) -> Ops:
    translator = Translator(code, facts_for(version))
    translator.translate(Raw(offset=4, start=4, opname=opname, arg=arg, after=6))
    assert all(op.offset == 4 for op in translator.ops)
    return [(op.kind, op.arg) for op in translator.ops]


@pytest.mark.parametrize(("opname", "arg", "ops"), ROWS, ids=[f"{row[0]} {row[1]}" for row in ROWS])
def test_an_instruction_becomes_its_micro_ops(opname: str, arg: int, ops: Ops) -> None:
    assert translated(opname, arg) == ops


def test_a_comparison_is_read_as_each_version_writes_it() -> None:
    assert translated("COMPARE_OP", 4, (3, 11)) == [("COMPARE", ">")]
    assert translated("COMPARE_OP", 4 << 4 | 4, (3, 12)) == [("COMPARE", ">")]
    assert translated("COMPARE_OP", 4 << 5 | 16 | 4, (3, 13)) == [("COMPARE", ">"), ("TO_BOOL", None)]


def test_what_3_14_spells_anew_is_what_it_was() -> None:
    assert translated("LOAD_FAST_BORROW", 1, (3, 14)) == [("LOAD_LOCAL", "b")]
    assert translated("LOAD_FAST_BORROW_LOAD_FAST_BORROW", 0x01, (3, 14)) == [("LOAD_LOCAL", "a"), ("LOAD_LOCAL", "b")]
    assert translated("LOAD_SMALL_INT", 200, (3, 14)) == [("CONST", 200)]
    assert translated("LOAD_COMMON_CONSTANT", 0, (3, 14)) == [("LOAD_ASSERTION_ERROR", None)]
    assert translated("LOAD_COMMON_CONSTANT", 3, (3, 14)) == [("CONST", all)]
    assert translated("BINARY_OP", 26, (3, 14)) == [("SUBSCR", None)]
    assert translated("POP_ITER", 0, (3, 14)) == [("POP", None)]
    assert translated("NOT_TAKEN", 0, (3, 14)) == []
    assert translated("BUILD_INTERPOLATION", 2 | 2 << 2 | 1, (3, 14)) == [("BUILD_INTERPOLATION", ("r", 1))]
    with pytest.raises(Malformed, match="no operator 26"):
        translated("BINARY_OP", 26, (3, 13))


def test_the_null_of_a_call_is_where_each_version_expects_it() -> None:
    g = CODE.co_names.index("g") << 1 | 1
    assert translated("LOAD_GLOBAL", g, (3, 11)) == [("PUSH_NULL", None), ("LOAD_GLOBAL", "g")]
    assert translated("LOAD_GLOBAL", g, (3, 13)) == [("LOAD_GLOBAL", "g"), ("PUSH_NULL", None)]


def test_a_call_without_keyword_arguments_is_one_wherever_its_two_nulls_were_pushed() -> None:
    def call_after(*instructions: Tuple[str, int]) -> Ops:
        translator = Translator(CODE, facts_for((3, 14)))
        for opname, arg in (*instructions, ("CALL_FUNCTION_EX", 1)):
            translator.translate(Raw(offset=4, start=4, opname=opname, arg=arg, after=6))
        return [(op.kind, op.arg) for op in translator.ops]

    dynamo = call_after(("PUSH_NULL", 0), ("PUSH_NULL", 0), ("SWAP", 3), ("SWAP", 2))
    assert dynamo == [("PUSH_NULL", None), ("SWAP", 2), ("CALL_EX", (0, NULL_SECOND))]
    assert call_after(("PUSH_NULL", 0)) == [("CALL_EX", (0, NULL_SECOND))]
    assert call_after(("SWAP", 3), ("SWAP", 2))[-1] == ("CALL_EX", (1, NULL_SECOND))


def test_an_opcode_without_a_translation_is_named() -> None:
    with pytest.raises(ValueError, match="LOAD_MOON at 4 has no translation"):
        translated("LOAD_MOON", 0)


def test_a_whole_function_is_the_same_program_whatever_the_version() -> None:
    ops = [(op.kind, op.arg) for op in decode(function_code("def f(a):\n a.x = -a[0]\n return a is None")).ops]
    assert ops == [
        ("LOAD_LOCAL", "a"),
        ("CONST", 0),
        ("SUBSCR", None),
        ("UNARY", "-"),
        ("LOAD_LOCAL", "a"),
        ("STORE_ATTR", "x"),
        ("LOAD_LOCAL", "a"),
        ("CONST", None),
        ("IS", 0),
        ("RETURN", None),
    ]
