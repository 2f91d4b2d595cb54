"""Hostile code gets an answer: no hang, no crash, and a listing with the reason where there is no proved text."""

from __future__ import annotations

import sys
from opcode import opmap
from types import CodeType
from typing import Any, List

import pytest
from decompile_tools import function_code, newer_bytecode

from depyf.decompiler import decompile_frame
from depyf.decompiler.bytecode import budget
from depyf.decompiler.bytecode.budget import Budget, OverBudget
from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION
from depyf.decompiler.decode import decode
from depyf.decompiler.decode.instructions import OPCODE_TABLES, exception_ranges, raw_instructions, read_exception_table
from depyf.decompiler.prove import TOO_MUCH_WORK, bisimulation, prove

LOOP = function_code("def f(a):\n for b in a:\n  g(b)\n return a")
TRY = function_code("def f(a):\n try:\n  a()\n finally:\n  try:\n   g()\n  except E:\n   h()")


def test_a_loop_that_ends_anywhere_gets_an_answer() -> None:
    (loop,) = [raw for raw in raw_instructions(LOOP, RUNNING_VERSION) if raw.opname == "FOR_ITER"]
    for arg in range(len(LOOP.co_code) // 2):
        data = bytearray(LOOP.co_code)
        data[loop.offset + 1] = arg
        assert not decompile_frame(LOOP.replace(co_code=bytes(data))).bugs


def written(entries: List[Any]) -> bytes:
    table = bytearray()
    for start, end, target, depth, lasti in entries:
        entry = [number(value) for value in (start // 2, (end - start) // 2, target // 2, depth << 1 | lasti)]
        table += bytes([entry[0][0] | 128]) + entry[0][1:] + b"".join(entry[1:])
    return bytes(table)


def number(value: int) -> bytes:
    """Return a number as exception tables have it: six bits in a byte, a mark if others follow."""
    assert value < 64 * 64
    return bytes([value]) if value < 64 else bytes([value >> 6 | 64, value & 63])


def test_handlers_that_lead_to_each_other_get_an_answer() -> None:
    entries = [tuple(entry) for entry in exception_ranges(TRY)]
    entries = [entry for entry in entries if max(entry[:3]) < 128]
    targets = [raw.start for raw in raw_instructions(TRY, RUNNING_VERSION) if raw.start < 128]
    for number, (start, end, _, depth, lasti) in enumerate(entries):
        for target in targets:
            for kept in (depth, 0):
                changed = [*entries[:number], (start, end, target, kept, lasti), *entries[number + 1 :]]
                code = TRY.replace(co_exceptiontable=written(changed))
                assert not decompile_frame(code).bugs


@newer_bytecode
def test_handlers_in_a_circle_are_named() -> None:
    code = function_code("def f(a):\n try:\n  a()\n except E:\n  g()\n  h()")
    entries = exception_ranges(code)
    handler = next(raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == "PUSH_EXC_INFO")
    first = entries[0]
    circle = [tuple(first), (handler.start, handler.after + 4, handler.start, 0, False)]
    result = decompile_frame(code.replace(co_exceptiontable=written(circle)))
    assert not result.bugs


def calls_made(code: CodeType) -> int:
    count = 0

    def counted(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += 1

    sys.setprofile(counted)
    try:
        decompile_frame(code)
    finally:
        sys.setprofile(None)
    return count


def test_many_comprehensions_over_a_variable_that_is_a_cell_elsewhere_take_linear_time() -> None:
    start = "def f(a):\n x = 1\n def g(): return x\n"
    few, many = [
        calls_made(function_code(start + " try:\n  b = [x for x in a()]\n except E: pass\n" * count))
        for count in (10, 80)
    ]
    assert many < 12 * few


def test_the_budget_of_a_program_ends_what_needs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    left = Budget(1)
    with pytest.raises(OverBudget, match="a program of 1 operations"):
        left.charge(budget.STEPS_FOR_EACH_OP + budget.STEPS_AT_LEAST + 1)
    monkeypatch.setattr(budget, "STEPS_FOR_EACH_OP", 0)
    monkeypatch.setattr(budget, "STEPS_AT_LEAST", 3)
    result = decompile_frame(LOOP)
    assert result.rung == "disassembly" and "more steps than" in result.source and not result.bugs


def test_a_string_made_of_what_is_none_is_no_bug() -> None:
    code = function_code("def f(a): return f'{a}x{a}'")
    none = code.replace(co_consts=tuple(None if const == "x" else const for const in code.co_consts))
    assert not decompile_frame(none).bugs


def test_an_import_from_a_level_that_is_no_number_is_no_bug() -> None:
    code = function_code("def f():\n from .a import b\n return b")
    strange = code.replace(co_consts=tuple("1" if const == 1 else const for const in code.co_consts))
    assert not decompile_frame(strange).bugs


def test_a_comprehension_variable_that_is_free_or_a_cell_outside_is_not_confused_with_it() -> None:
    for source in (
        "def f(a):\n x = 1\n def g(): return x\n return [x for x in a], g",
        "def f(a):\n x = 1\n def g(): return x\n return [lambda: x for x in a], g",
        "def f(x):\n def g(a):\n  y = [x for x in a]\n  return x, y\n return g",
        "def f(x):\n def g(a):\n  try:\n   y = [x for x in a]\n  except E:\n   return x\n  return x, y\n return g",
    ):
        code = function_code(source)
        result = decompile_frame(code)
        assert result.proved and result.rung == "idioms", source
        assert decode(code).ops


def with_constant(value: object) -> CodeType:
    code = function_code("def f(a): return 77, a")
    return code.replace(co_consts=tuple(value if const == 77 else const for const in code.co_consts))


def test_a_constant_nested_without_end_gets_an_answer() -> None:
    deep: Any = (1,)
    for _ in range(5000):
        deep = (deep,)
    result = decompile_frame(with_constant(deep))
    assert "a constant is nested too deeply" in result.source and not result.bugs


def test_a_constant_that_refers_to_itself_twice_at_each_level_gets_an_answer() -> None:
    shared: Any = (1, 2)
    for _ in range(19):  # more would take the interpreter itself too long
        shared = (shared, shared)
    result = decompile_frame(with_constant(shared))
    assert "or too large" in result.source and not result.bugs


def test_functions_nested_without_end_get_an_answer() -> None:
    outer = function_code("def f(a):\n def g(b): return b\n return g")
    inner = outer
    for _ in range(3000):
        inner = outer.replace(co_consts=tuple(inner if isinstance(c, CodeType) else c for c in outer.co_consts))
    result = decompile_frame(inner)
    assert "functions are nested" in result.source and not result.bugs


MAKES_TWO = function_code("def f(a):\n def f(b): return b\n def f(b): return -b\n return f")


def test_functions_that_share_their_code_at_every_level_get_an_answer() -> None:
    inner = MAKES_TWO
    for _ in range(40):
        inner = MAKES_TWO.replace(co_consts=tuple(inner if isinstance(c, CodeType) else c for c in MAKES_TWO.co_consts))
    result = decompile_frame(inner)
    assert "share their code too often" in result.source and not result.bugs
    assert prove(inner, inner.replace(co_name="other")).reason.endswith("share their code too often")


def test_functions_made_of_one_constant_in_many_places_get_an_answer() -> None:
    (load, other) = [
        raw
        for raw in raw_instructions(MAKES_TWO, RUNNING_VERSION)
        if raw.opname == "LOAD_CONST" and isinstance(MAKES_TWO.co_consts[raw.arg], CodeType)
    ]
    data = bytearray(MAKES_TWO.co_code)
    data[other.offset + 1] = load.arg
    twice = inner = MAKES_TWO.replace(co_code=bytes(data))
    for _ in range(40):
        consts = list(twice.co_consts)
        consts[load.arg], consts[other.arg] = inner, None
        inner = twice.replace(co_consts=tuple(consts))
    result = decompile_frame(inner)
    assert "made in too many places" in result.source and not result.bugs


def test_a_long_constant_in_many_places_gets_a_short_listing() -> None:
    code = function_code("def f(a):\n" + " a = 'x'\n" * 300 + " return a")
    long = code.replace(co_consts=tuple("\n" * 200_000 if const == "x" else const for const in code.co_consts))
    result = decompile_frame(long)
    assert "more steps than" in result.source and len(result.source) < 200_000 and not result.bugs


def test_a_long_constant_in_one_place_is_proved() -> None:
    assert decompile_frame(function_code(f"def f(a): return a + {'x' * 500_000!r}")).proved


def test_a_long_name_in_many_places_gets_a_short_listing() -> None:
    code = function_code("def f():\n" + " g()\n" * 300)
    result = decompile_frame(code.replace(co_names=("g" * 200_000,)))
    assert "more steps than" in result.source and len(result.source) < 500_000 and not result.bugs


@pytest.mark.skipif(RUNNING_VERSION < (3, 11), reason="except* came with 3.11")
def test_tests_of_an_exception_group_that_lead_back_to_each_other_get_an_answer() -> None:
    code = function_code("def f(a):\n try:\n  a()\n except* E:\n  a.b\n except* E:\n  a.b")
    raws = raw_instructions(code, RUNNING_VERSION)
    first, second = [index for index, raw in enumerate(raws) if raw.opname == "CHECK_EG_MATCH"]
    (load,) = [raw for raw in raws[second - 1 : second]]
    # What the second clause does not match is tested again, without end.
    miss = next(raw for raw in raws[second:] if raw.opname == "POP_TOP" and raw.start > raws[second + 2].after)
    assert load.opname == "LOAD_GLOBAL" and miss.opname == "POP_TOP" and first < second
    for raw in raws[second:]:
        if raw.opname != "POP_TOP":
            continue
        data = bytearray(code.co_code)
        back = (raw.after + 2 - load.start) // 2
        data[raw.after : raw.after + 2] = bytes([opmap["JUMP_BACKWARD"], back & 255])
        assert not decompile_frame(code.replace(co_code=bytes(data))).bugs


def test_a_with_block_that_never_ends_gets_an_answer() -> None:
    code = function_code("def f(a, b):\n with a:\n  with b:\n   while True: pass\n  a()\n return b")
    assert not decompile_frame(code).bugs


def test_more_values_than_any_instruction_takes_are_not_unpacked() -> None:
    code = function_code("def f(a):\n b, c = a\n raise b")
    (unpack,) = [raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == "UNPACK_SEQUENCE"]
    wide = bytes([opmap["EXTENDED_ARG"], 1]) + code.co_code[unpack.start : unpack.after]
    data = code.co_code[: unpack.start] + wide + code.co_code[unpack.after :]
    result = decompile_frame(code.replace(co_code=data, co_stacksize=5000))
    assert "more than the code could use" in result.source


def test_a_proof_ends_when_the_states_of_its_places_need_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    one = function_code("def f(a):\n b = a()\n while a:\n  b = a.b\n return b")
    other = function_code("def f(a):\n b = a()\n while True:\n  if not a: break\n  b = a.b\n return b")
    assert prove(one, other).holds
    monkeypatch.setattr(bisimulation, "MOST_ENTRIES", 1)
    assert prove(one, other).reason == TOO_MUCH_WORK


def test_an_expression_nested_without_end_gets_an_answer() -> None:
    code = function_code("def f(a): return -a")
    (minus,) = [raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == "UNARY_NEGATIVE"]
    data = code.co_code
    many = data[: minus.start] + data[minus.start : minus.after] * 5000 + data[minus.after :]
    result = decompile_frame(code.replace(co_code=many))
    assert not result.bugs


@newer_bytecode
def test_a_class_made_of_nothing_is_no_bug() -> None:
    code = function_code("def f():\n return g()")
    data = bytearray(code.co_code)
    (load,) = [raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == "LOAD_GLOBAL"]
    numbers = {name: number for number, name in OPCODE_TABLES[RUNNING_VERSION].OPNAMES.items()}
    order = ["PUSH_NULL", "LOAD_BUILD_CLASS"] if RUNNING.null_is_first else ["LOAD_BUILD_CLASS", "PUSH_NULL"]
    for place, name in enumerate([*order, *["NOP"] * ((load.after - load.start) // 2 - 2)]):
        data[load.start + 2 * place] = numbers[name]
        data[load.start + 2 * place + 1] = 0
    assert not decompile_frame(code.replace(co_code=bytes(data))).bugs


@pytest.mark.parametrize("keyword", ["with", "async with"])
@newer_bytecode
def test_a_manager_that_is_entered_without_a_handler_is_no_bug(keyword: str) -> None:
    code = function_code(f"async def f(a):\n {keyword} a:\n  g()\n {keyword} a as b:\n  g()")
    assert not decompile_frame(code.replace(co_exceptiontable=b"")).bugs


@pytest.mark.parametrize("other", ["a", 10**9, (1,), -1, None])
def test_a_pattern_of_a_length_that_is_no_small_number_is_no_bug(other: object) -> None:
    for pattern in ("[1, 2, 3]", "[1, 2, *_, 3]", "[_, _, *_]"):
        code = function_code(f"def f(a):\n match a:\n  case {pattern}: return g")
        for number in (2, 3):
            changed = code.replace(co_consts=tuple(other if const == number else const for const in code.co_consts))
            assert not decompile_frame(changed).bugs


def test_a_pattern_of_a_class_with_strange_attributes_is_no_bug() -> None:
    code = function_code("def f(a):\n match a:\n  case K(b=1): return g")
    for other in (7, ("b", 2), "b"):
        strange = code.replace(co_consts=tuple(other if const == ("b",) else const for const in code.co_consts))
        assert not decompile_frame(strange).bugs
    (match,) = [raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == "MATCH_CLASS"]
    (many,) = [number for number, name in OPCODE_TABLES[RUNNING_VERSION].OPNAMES.items() if name == "EXTENDED_ARG"]
    data = code.co_code[: match.start] + bytes([many, 255] * 3) + code.co_code[match.start :]
    assert not decompile_frame(code.replace(co_code=data)).bugs


def replaced(code: CodeType, opname: str, new: str, which: int = 0) -> CodeType:
    numbers = {name: number for number, name in OPCODE_TABLES[RUNNING_VERSION].OPNAMES.items()}
    raw = [raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == opname][which]
    return code.replace(co_code=code.co_code[: raw.offset] + bytes([numbers[new]]) + code.co_code[raw.offset + 1 :])


@pytest.mark.skipif(RUNNING.asserts_read_global, reason="no instruction loads AssertionError")
def test_an_assertion_error_in_a_comprehension_is_no_bug() -> None:
    code = function_code("def f(a): return {g(b) for b in a}")
    inside = tuple(
        replaced(c, "LOAD_FAST", "LOAD_ASSERTION_ERROR", 1) if type(c) is CodeType else c for c in code.co_consts
    )
    assert not decompile_frame(code.replace(co_consts=inside)).bugs


@newer_bytecode
def test_an_except_star_clause_that_keeps_what_it_caught_is_no_bug() -> None:
    code = function_code("def f(a):\n try:\n  a()\n except* E:\n  g()")
    pops = [raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == "POP_TOP"]
    branch = "POP_JUMP_FORWARD_IF_FALSE" if RUNNING_VERSION[:2] == (3, 11) else "POP_JUMP_IF_FALSE"
    for which in range(len(pops)):
        assert not decompile_frame(replaced(code, "POP_TOP", branch, which)).bugs


@newer_bytecode
def test_a_loop_that_only_copies_and_stores_gets_an_answer() -> None:
    code = function_code("def f(b):\n    global d\n    c = d = g(b)\n")
    raws = raw_instructions(code, RUNNING_VERSION)
    copy = next(raw for raw in raws if raw.opname == "COPY")
    store = next(raw for raw in raws if raw.opname == "STORE_GLOBAL")
    changed = bytearray(code.co_code)
    changed[store.offset : store.offset + 2] = bytes((opmap["JUMP_BACKWARD"], (store.offset + 2 - copy.offset) // 2))
    assert decompile_frame(code.replace(co_code=bytes(changed))).rung == "disassembly"


@newer_bytecode
def test_clauses_of_an_exception_group_that_share_a_handler_get_an_answer() -> None:
    code = function_code("def f(a, b, c):\n try:\n  a()\n except* b:\n  a\n except* c:\n  a.d")
    entries = [tuple(entry) for entry in exception_ranges(code)]
    targets = sorted({entry[2] for entry in entries})
    for number, (start, end, _, depth, lasti) in enumerate(entries):
        for target in targets:
            changed = [*entries[:number], (start, end, target, depth, lasti), *entries[number + 1 :]]
            assert not decompile_frame(code.replace(co_exceptiontable=written(changed))).bugs


@pytest.mark.parametrize("start", [5, 100])
def test_an_entry_of_the_exception_table_without_its_mark_is_not_well_formed(start: int) -> None:
    number = [start] if start < 64 else [64 | start >> 6, start & 63]
    entry = [*number, 1, 1, 0]
    assert read_exception_table(bytes([entry[0] | 128, *entry[1:]]))[0].start == 2 * start
    with pytest.raises(Malformed):
        read_exception_table(bytes(entry))
