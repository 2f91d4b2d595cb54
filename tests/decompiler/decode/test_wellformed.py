"""Code that the interpreter could not run safely is never proved equal to anything, and the listing has the reason."""

from __future__ import annotations

import ast
import re
import types
from types import CodeType
from typing import Any, List

import pytest
from decompile_tools import function_code, newer_bytecode

from depyf.decompiler import Grade, decompile_frame
from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION
from depyf.decompiler.decode import decode, problem
from depyf.decompiler.decode.instructions import OPCODE_TABLES, Raw, raw_instructions
from depyf.decompiler.prove import Assumption, prove

CALL = function_code("def f(a): return g(a)")
CHAIN = function_code("def f(a):\n b = c = a\n return b + c")
BRANCH = function_code("def f(a):\n if a:\n  g(1)\n return a")
TRY = function_code("def f(a):\n try:\n  return a.b\n except E as e:\n  raise G from e")
LOOP = function_code("def f(a):\n for b in a:\n  g(b)")
WITH = function_code("def f(a):\n with a:\n  g()")
GENERATOR = function_code("def f(a):\n yield a\n g()")
# 3.13 loads cells as locals.
# What loads a cell to make a closure of it.
CLOSURE = {(3, 11): "LOAD_CLOSURE", (3, 12): "LOAD_CLOSURE", (3, 13): "LOAD_FAST"}.get(RUNNING_VERSION, "LOAD_FAST_BORROW")
NUMBERS = {name: number for number, name in OPCODE_TABLES[RUNNING_VERSION].OPNAMES.items()}


def places(code: CodeType, opname: str) -> List[Raw]:
    return [raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == opname]


def changed(code: CodeType, opname: str, *, to: str = "", arg: int = -1, which: int = 0) -> CodeType:
    """Return the code with one instruction replaced by another, or with another argument."""
    raw = places(code, opname)[which]
    data = bytearray(code.co_code)
    data[raw.offset] = NUMBERS[to or opname]
    data[raw.offset + 1] = raw.arg if arg < 0 else arg
    if to:
        data[raw.offset + 2 : raw.after : 2] = bytes([NUMBERS["NOP"]]) * ((raw.after - raw.offset) // 2 - 1)
    return code.replace(co_code=bytes(data))


def assert_is_unproved(original: CodeType, other: CodeType, reason: str) -> None:
    assert problem(original) is None
    found = problem(other)
    assert found is not None and re.search(reason, found), found
    verdict = prove(other, other)
    assert verdict.grade is Grade.UNPROVED and re.search(reason, verdict.reason), verdict
    for verdict in (prove(original, other), prove(other, original)):
        assert verdict.grade in (Grade.UNPROVED, Grade.REFUTED), verdict
    result = decompile_frame(other)  # the first rung is tried before the code is verified
    assert result.verdict.grade is Grade.UNPROVED and re.search(f"not well formed: .*({reason})", result.verdict.reason)
    assert not result.bugs


@newer_bytecode
def test_a_call_with_more_arguments_than_the_stack_holds_is_not_proved() -> None:
    assert_is_unproved(CALL, changed(CALL, "CALL", arg=5), "CALL")


@newer_bytecode
def test_a_copy_of_no_entry_is_not_proved() -> None:
    assert_is_unproved(CHAIN, changed(CHAIN, "COPY", arg=0), "COPY at .* argument 0")


@newer_bytecode
def test_a_copy_from_below_the_stack_is_not_proved() -> None:
    assert_is_unproved(CHAIN, changed(CHAIN, "COPY", arg=9), "COPY at .* needs 9 values")


@pytest.mark.parametrize("which", range(len(places(TRY, "RERAISE"))))
def test_an_exception_raised_again_at_the_place_of_another_is_not_proved(which: int) -> None:
    now = places(TRY, "RERAISE")[which].arg
    assert_is_unproved(TRY, changed(TRY, "RERAISE", arg=2 if now < 2 else 3, which=which), "RERAISE at")


def test_stacks_of_different_depth_where_paths_meet_are_not_proved() -> None:
    assert_is_unproved(BRANCH, changed(BRANCH, "POP_TOP", to="NOP"), "is reached with|leaves")


def test_a_stack_deeper_than_the_frame_is_not_proved() -> None:
    assert_is_unproved(CALL, CALL.replace(co_stacksize=1), "co_stacksize is 1")


@newer_bytecode
def test_a_jump_into_an_instruction_is_not_proved() -> None:
    raw = next(raw for raw in raw_instructions(BRANCH, RUNNING_VERSION) if raw.opname.startswith("POP_JUMP"))
    assert_is_unproved(BRANCH, changed(BRANCH, raw.opname, arg=2), "no instruction begins")


def test_a_jump_out_of_the_code_is_not_proved() -> None:
    raw = next(raw for raw in raw_instructions(BRANCH, RUNNING_VERSION) if raw.opname.startswith("POP_JUMP"))
    assert_is_unproved(BRANCH, changed(BRANCH, raw.opname, arg=250), "no instruction begins")


def test_code_that_runs_off_its_end_is_not_proved() -> None:
    last = raw_instructions(CHAIN, RUNNING_VERSION)[-1].opname
    assert_is_unproved(CHAIN, changed(CHAIN, last, to="POP_TOP", which=-1), "runs off the end")


def test_a_loop_over_what_is_no_iterator_is_not_proved() -> None:
    number = NUMBERS["BUILD_LIST"]
    raw = places(LOOP, "GET_ITER")[0]
    data = bytearray(LOOP.co_code)
    data[raw.offset], data[raw.offset + 1] = number, 1
    if RUNNING.iterators_have_indices:
        data[raw.offset + 2 : raw.offset + 4] = NUMBERS["PUSH_NULL"], 0
    assert_is_unproved(LOOP, LOOP.replace(co_code=bytes(data)), "FOR_ITER at .* a list")


@pytest.mark.parametrize("field", ["co_names", "co_consts", "co_varnames"])
def test_a_table_that_is_too_short_is_not_proved(field: str) -> None:
    code = function_code("def f(): return g.x + 1000") if field != "co_varnames" else CHAIN
    values: Any = {"co_names": (), "co_consts": (), "co_varnames": ("a",)}[field]
    changes = {field: values, **({"co_nlocals": 1} if field == "co_varnames" else {})}
    assert_is_unproved(code, code.replace(**changes), "uses|of a shorter table")


def test_variables_of_one_name_are_not_proved() -> None:
    code = function_code("def f(a, b): return a - b")
    assert_is_unproved(code, code.replace(co_varnames=("a", "a")), "same name")


@pytest.mark.parametrize(
    "source",
    [
        "def f(a): return lambda: a",
        "def f(a):\n return g\n lambda: a",  # a cell that nothing reads: only who lists the variables notices
        "def f():\n a = g\n return a\n lambda: a",
        "def f(b, a):\n yield g\n return\n lambda: (a, b)",
    ],
)
@newer_bytecode
def test_a_cell_that_is_not_made_where_the_frame_begins_is_not_proved(source: str) -> None:
    code = function_code(source)
    assert_is_unproved(code, changed(code, "MAKE_CELL", to="NOP"), "making each of its cells")


@newer_bytecode
def test_a_cell_made_in_place_of_another_is_not_proved() -> None:
    code = function_code("def f(a, b):\n return g\n lambda: (a, b)")
    assert_is_unproved(code, changed(code, "MAKE_CELL", arg=1), "making each of its cells")


@newer_bytecode
def test_cells_may_be_made_in_any_order() -> None:
    code = function_code("def f(a, b):\n return g\n lambda: (a, b)")
    other = changed(changed(code, "MAKE_CELL", arg=1), "MAKE_CELL", arg=0, which=1)
    assert other.co_code != code.co_code and prove(code, other).grade is Grade.PROVED


def test_a_function_with_too_few_cells_is_not_proved() -> None:
    code = function_code("def f(a, b): return lambda: a + b")
    assert_is_unproved(code, changed(code, "BUILD_TUPLE", arg=1).replace(co_stacksize=9), "1 cells for 2")


@newer_bytecode
def test_a_handler_that_keeps_more_than_the_stack_holds_is_not_proved() -> None:
    table = bytearray(TRY.co_exceptiontable)
    table[3] += 4  # depth 0 -> 2
    assert_is_unproved(TRY, TRY.replace(co_exceptiontable=bytes(table)), "handler that keeps 2")


@newer_bytecode
def test_a_truncated_exception_table_is_not_proved() -> None:
    assert_is_unproved(TRY, TRY.replace(co_exceptiontable=TRY.co_exceptiontable[:-1]), "exception table")


@newer_bytecode
def test_a_handler_that_finds_no_exception_is_not_proved() -> None:
    push = next(i for i, raw in enumerate(raw_instructions(WITH, RUNNING_VERSION)) if raw.opname == "PUSH_EXC_INFO")
    start = raw_instructions(WITH, RUNNING_VERSION)[push].start // 2
    table = WITH.co_exceptiontable
    assert table[2] == start
    moved = table[:2] + bytes([start + 1]) + table[3:]
    assert_is_unproved(WITH, WITH.replace(co_exceptiontable=moved), "WITH_EXCEPT_START at")


@newer_bytecode
def test_a_generator_that_no_generator_object_runs_is_not_proved() -> None:
    assert_is_unproved(GENERATOR, changed(GENERATOR, "RETURN_GENERATOR", to="NOP"), "does not begin like one|takes 1")
    assert_is_unproved(GENERATOR, GENERATOR.replace(co_flags=GENERATOR.co_flags & ~0x20), "for generators only")


@newer_bytecode
def test_what_close_and_throw_rely_on_is_compared() -> None:
    resume = places(GENERATOR, "RESUME")[1]
    assert_is_unproved(GENERATOR, changed(GENERATOR, "RESUME", arg=resume.arg + 1, which=1), "RESUME 2")


@pytest.mark.skipif(not RUNNING.generators_wrapped_in_handler, reason="this Python has no such handler")
def test_a_generator_without_its_handler_of_stopiteration_is_not_the_one_with_it() -> None:
    assert_is_unproved(GENERATOR, GENERATOR.replace(co_exceptiontable=b""), "StopIteration")


@pytest.mark.skipif(not RUNNING.local_loads_are_unchecked, reason="this Python tests every load of a local")
def test_a_load_that_does_not_test_for_a_value_is_not_one_that_does() -> None:
    code = function_code("def f(a):\n if a:\n  b = 1\n return b")
    assert_is_unproved(code, changed(code, "LOAD_FAST_CHECK", to="LOAD_FAST"), "may have no value")


@pytest.mark.skipif(not RUNNING.branches_need_bool, reason="this Python tests for truth where it branches")
def test_a_branch_on_what_is_no_bool_is_not_proved() -> None:
    assert_is_unproved(BRANCH, changed(BRANCH, "TO_BOOL", to="NOP"), "relies on a bool")


@pytest.mark.skipif(not RUNNING.function_attributes_are_set_after, reason="one instruction sets them in this Python")
def test_defaults_and_annotations_are_not_exchanged() -> None:
    code = function_code("def f():\n def g(a: int = 3): return a\n return g")
    swapped = changed(changed(code, "SET_FUNCTION_ATTRIBUTE", arg=1), "SET_FUNCTION_ATTRIBUTE", arg=4, which=1)
    assert_is_unproved(code, swapped, "compiler.s order")


@pytest.mark.skipif(not RUNNING.compare_shift, reason="the argument of COMPARE_OP is the operator in this Python")
def test_a_comparison_that_changes_when_it_is_specialised_is_not_proved() -> None:
    code = function_code("def f(a): return a < 1")
    assert_is_unproved(code, changed(code, "COMPARE_OP", arg=places(code, "COMPARE_OP")[0].arg ^ 6), "specialised")


@newer_bytecode
def test_a_reader_of_malformed_code_gets_its_instructions_and_the_reason() -> None:
    result = decompile_frame(changed(CALL, "CALL", arg=5))
    assert result.rung == "disassembly" and not result.bugs
    assert "not well formed" in str(result.verdict) and "not well formed" in result.source
    ast.parse(result.source)


def test_what_the_compiler_emits_is_well_formed() -> None:
    work = [compile(open(module.__file__, encoding="utf-8").read(), "m", "exec") for module in (ast, re, types)]
    while work:
        code = work.pop()
        assert problem(code) is None, code
        work.extend(const for const in code.co_consts if isinstance(const, CodeType))


@newer_bytecode
def test_a_comprehension_in_an_except_clause_that_borrows_the_slot_of_a_cell_is_well_formed() -> None:
    source = """
    async def f():
        try:
            x
        except* x:
            match g:
                case [] if x:
                    def inner():
                        nonlocal a
                    from fake import a
                case b:
                    if [u for a in g]:
                        pass
        except* x:
            g[a] = x
    """
    assert problem(function_code(source)) is None


@pytest.mark.parametrize("code", [CALL, GENERATOR, function_code("class K:\n def f(a): pass")])
@newer_bytecode
def test_a_frame_that_never_begins_is_not_proved(code: CodeType) -> None:
    assert_is_unproved(code, changed(code, "RESUME", to="NOP"), "begin with RESUME")


@newer_bytecode
def test_an_instruction_before_the_frame_has_begun_is_not_proved() -> None:
    code = function_code("def f(a):\n del a\n g()")
    (resume,) = places(code, "RESUME")
    data = code.co_code
    swapped = data[: resume.start] + data[resume.after : resume.after + 2] + data[resume.start : resume.after]
    assert_is_unproved(code, code.replace(co_code=swapped + data[resume.after + 2 :]), "begin with RESUME")


@newer_bytecode
def test_a_frame_without_its_free_variables_is_not_proved() -> None:
    (inner,) = [const for const in function_code("def f(a): return lambda: g(a)").co_consts if type(const) is CodeType]
    unread = changed(inner, "LOAD_DEREF", to="LOAD_CONST", arg=0)
    assert_is_unproved(unread, changed(unread, "COPY_FREE_VARS", to="NOP", arg=0), "copy of its free variables")


@newer_bytecode
def test_a_jump_to_before_the_frame_has_begun_is_not_proved() -> None:
    code = function_code("def f(a):\n lambda: a\n while True:\n  g()")
    (back,) = [raw for raw in raw_instructions(code, RUNNING_VERSION) if "JUMP_BACKWARD" in raw.opname]
    assert_is_unproved(code, changed(code, back.opname, arg=back.after // 2), "before the frame has begun")


@newer_bytecode
def test_a_function_inside_that_would_crash_is_not_proved_by_showing_its_instructions() -> None:
    code = function_code("def f(a):\n def g(): return a + 1\n return g")
    inside = tuple(changed(c, "BINARY_OP", to="PUSH_EXC_INFO") if type(c) is CodeType else c for c in code.co_consts)
    bad = code.replace(co_consts=inside)
    result = decompile_frame(bad)
    assert not result.proved and "not well formed: in g: PUSH_EXC_INFO" in result.source
    otherwise = function_code("def f(a):\n def g(): return a + 1\n g\n return g")
    for other in (bad, otherwise.replace(co_consts=inside)):
        assert prove(bad, other).grade is Grade.UNPROVED


def test_a_function_with_a_cell_for_its_closure_is_not_proved() -> None:
    code = function_code("def f(a): return lambda: a")
    assert_is_unproved(code, changed(code, "BUILD_TUPLE", to="NOP"), "a cell for its closure")


@pytest.mark.parametrize("over", ["(a, a)", "not a", "77", "f'{a}b'"])
def test_a_loop_over_what_is_surely_no_iterator_is_not_proved(over: str) -> None:
    code = function_code(f"def f(a):\n for b in {over}:\n  g(b)")
    no_index = "PUSH_NULL" if RUNNING.iterators_have_indices else "NOP"
    assert_is_unproved(code, changed(code, "GET_ITER", to=no_index), "FOR_ITER at .* (is no|on an) iterator")


@newer_bytecode
def test_a_function_over_what_may_be_no_cell_is_proved_only_if_closures_are_cells() -> None:
    code = function_code("def f(a, b):\n def g(): return a\n return g")
    other = changed(code, CLOSURE, to="LOAD_FAST", arg=1)
    result = decompile_frame(other)
    assert result.proved and Assumption.CLOSURES_ARE_CELLS in result.verdict.assumptions, result.source


def test_code_whose_meaning_depends_on_it_is_verified_before_it_is_decoded() -> None:
    closure = function_code("def f(a): return g(a, lambda: a)").replace(co_stacksize=1)
    many = "".join(f"a.x{number}\n " for number in range(300))  # more names than one byte counts
    for code in (closure, function_code(f"def f(a):\n {many}g(a, a)").replace(co_stacksize=1)):
        with pytest.raises(Malformed):
            decode(code, verifies=False)


def test_a_program_that_was_not_verified_is_verified_before_it_is_proved() -> None:
    malformed = CALL.replace(co_stacksize=1)
    program = decode(malformed, verifies=False)
    assert not program.is_verified
    other = function_code("def f(a):\n b = g\n return b(a)")
    for compiled in (CALL, other):
        assert prove(malformed, compiled, program_a=program, is_compiled=True).grade is Grade.UNPROVED


@pytest.mark.parametrize("to", ["POP_TOP", "STORE_FAST"])
@newer_bytecode
def test_an_exception_that_stays_the_one_handled_after_the_frame_is_not_proved(to: str) -> None:
    code = function_code("def f(a):\n try:\n  a()\n except E:\n  g()\n return a")
    assert_is_unproved(code, changed(code, "POP_EXCEPT", to=to, arg=0), "a saved exception for an object")


@newer_bytecode
def test_a_cell_made_of_a_cell_is_not_proved() -> None:
    code = function_code("def f(a):\n lambda: a\n return g")
    (place,) = places(code, "LOAD_GLOBAL")
    twice = code.co_code[: place.start] + bytes([NUMBERS["MAKE_CELL"], 0]) + code.co_code[place.start :]
    found = problem(code.replace(co_code=twice))
    assert found is not None and "which holds one" in found


@pytest.mark.skipif(not RUNNING.generators_wrapped_in_handler, reason="the handler came with 3.12")
def test_a_generator_whose_handler_only_raises_again_is_not_proved() -> None:
    code = function_code("def f(a): return (b.c for b in a)")
    (inner,) = [const for const in code.co_consts if type(const) is CodeType]
    table = bytearray(inner.co_exceptiontable)
    (stop,) = [raw.start // 2 for raw in places(inner, "CALL_INTRINSIC_1")]
    assert table[2] == stop
    table[2] += 1
    assert_is_unproved(inner, inner.replace(co_exceptiontable=bytes(table)), "handler")


def test_the_negation_of_a_constant_is_well_formed() -> None:
    assert problem(compile("def h(y: not f''): pass", "<test>", "exec", dont_inherit=True)) is None
