"""Handlers of Pythons before 3.11 are found by the stack of blocks; a wrong one would be a wrong `except` in the text.

The ops are as the translator makes them of 3.9 and 3.10, so these tests run on every Python.
"""

from __future__ import annotations

from opcode import opmap
from types import CodeType
from typing import List, Tuple

import pytest
from decompile_tools import assert_same_text, function_code

from depyf.decompiler import decompile_frame
from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import PLAIN, Handler, Op
from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.decompiler.decode import problem
from depyf.decompiler.decode.block_stacks import unstacked

only_with_blocks = pytest.mark.skipif(not RUNNING.blocks_are_stacked, reason="handlers are found by a table")
copied_finally = pytest.mark.skipif(RUNNING.finally_is_subroutine, reason="handlers end with other instructions")
subroutine = pytest.mark.skipif(not RUNNING.finally_is_subroutine, reason="handlers end with other instructions")


def ops(*rows: Tuple[object, ...]) -> List[Op]:
    """Return ops of (kind, argument); the argument of a jump is the index that it leads to."""
    jumps = ("JUMP", "SETUP_FINALLY", "SETUP_WITH", "EXC_MATCH", "BRANCH_FALSE", "BRANCH_TRUE")
    found = []
    for index, (kind, *rest) in enumerate(rows):
        arg = rest[0] if rest else None
        target = arg if kind in jumps else -1
        found.append(Op(str(kind), None if kind in jumps else arg, 2 * index, target))  # type: ignore[arg-type]
    return found


EXCEPT = (
    ("SETUP_FINALLY", 5), ("LOAD_GLOBAL", "g"), ("POP",), ("POP_BLOCK",), ("JUMP", 12),
    ("COPY", 1), ("LOAD_GLOBAL", "E"), ("EXC_MATCH", 14), ("POP",), ("POP",), ("POP",), ("POP_EXCEPT",),
    ("CONST", None), ("RETURN",), ("RERAISE", 0),
)  # fmt: skip


def test_the_six_values_of_a_handler_become_the_exception_and_the_one_before() -> None:
    found, handlers = unstacked(ops(*EXCEPT), "GONE")
    kinds = [op.kind for op in found]
    assert kinds == [
        "LOAD_GLOBAL", "POP", "JUMP",
        "PUSH_EXC_INFO", "LOAD_GLOBAL", "CHECK_EXC_MATCH", "BRANCH_FALSE", "POP", "POP_EXCEPT",
        "CONST", "RETURN", "RERAISE", "COPY", "POP_EXCEPT", "RERAISE",
    ]  # fmt: skip
    body, clause = found[0].handler, found[4].handler
    assert (handlers[body].target, handlers[body].depth, handlers[body].lasti) == (3, 0, False)
    assert (handlers[clause].target, handlers[clause].depth, handlers[clause].lasti) == (12, 1, True)
    assert [found[index].handler for index in (2, 8, 9, 12)] == [-1] * 4


def test_a_loop_at_the_start_of_a_handler_saves_the_exception_once() -> None:
    rows = (
        ("SETUP_FINALLY", 5), ("LOAD_GLOBAL", "g"), ("POP",), ("POP_BLOCK",), ("JUMP", 8),
        ("LOAD_GLOBAL", "h"), ("BRANCH_TRUE", 5), ("RERAISE", 0), ("CONST", None), ("RETURN",),
    )  # fmt: skip
    found, _ = unstacked(ops(*rows), "GONE")
    (saves,) = [index for index, op in enumerate(found) if op.kind == "PUSH_EXC_INFO"]
    (again,) = [op for op in found if op.kind == "BRANCH_TRUE"]
    assert again.target == saves + 1


def test_a_call_that_takes_what_waited_before_a_block_leaves_the_handler_the_rest() -> None:
    rows = (
        ("CONST", 1), ("LOAD_GLOBAL", "g"), ("CONST", 2), ("SETUP_FINALLY", 12), ("SETUP_FINALLY", 9),
        ("CALL", (1, None, PLAIN)), ("POP_BLOCK",), ("POP_BLOCK",), ("RETURN",),
        ("LOAD_GLOBAL", "h"), ("POP",), ("RERAISE", 0), ("LOAD_GLOBAL", "h"), ("POP",), ("RERAISE", 0),
    )  # fmt: skip
    found, handlers = unstacked(ops(*rows), "GONE")
    (call,) = [op for op in found if op.kind == "CALL"]
    inner = handlers[call.handler]
    outer = handlers[handlers_around(found, handlers, inner.target)]
    assert (inner.depth, outer.depth) == (1, 1)


def handlers_around(found: List[Op], handlers: List[Handler], place: int) -> int:
    """Return the handler that an exception finds that leaves the handler at a place: that of its clean-up."""
    return found[handlers[found[place].handler].target].handler


@pytest.mark.parametrize(
    "changes",
    [
        {5: ("STORE_LOCAL", "kind")},  # the type of the exception, which micro-ops do not have
        {8: ("LOAD_GLOBAL", "E")},
        {11: ("POP",)},  # the exception that was handled before is dropped
        {11: ("POP_BLOCK",)},
        {14: ("POP_EXCEPT",)},
        {4: ("JUMP", 5)},
    ],
)
def test_a_stack_that_no_compiler_makes_is_refused(changes: object) -> None:
    rows = {**dict(enumerate(EXCEPT)), **changes}  # type: ignore[dict-item]
    with pytest.raises(Malformed):
        unstacked(ops(*(rows[index] for index in range(len(EXCEPT)))), "GONE")


TRY = function_code("def f(a):\n try:\n  return a.b\n except E as e:\n  raise G from e")
WITH = function_code("def f(a):\n with a as b:\n  g()")
RETURNS = function_code("def f(a):\n try:\n  a()\n except E:\n  return h(a)")


def changed(code: CodeType, opname: str, to: str, which: int = 0) -> CodeType:
    places = [at for at in range(0, len(code.co_code), 2) if code.co_code[at] == opmap[opname]]
    data = bytearray(code.co_code)
    data[places[which]] = opmap[to]
    return code.replace(co_code=bytes(data))


@only_with_blocks
@pytest.mark.parametrize(
    "code, opname, to",
    [
        (TRY, "POP_BLOCK", "NOP"), (WITH, "POP_BLOCK", "POP_EXCEPT"), (RETURNS, "ROT_FOUR", "ROT_THREE"),
        (RETURNS, "POP_EXCEPT", "NOP"), (WITH, "SETUP_WITH", "SETUP_FINALLY"), (TRY, "DUP_TOP", "NOP"),
        pytest.param(TRY, "RERAISE", "RETURN_VALUE", marks=copied_finally),
        pytest.param(WITH, "POP_EXCEPT", "POP_TOP", marks=copied_finally),
        pytest.param(WITH, "WITH_EXCEPT_START", "DUP_TOP", marks=copied_finally),
        pytest.param(TRY, "END_FINALLY", "RETURN_VALUE", marks=subroutine),
        pytest.param(WITH, "WITH_CLEANUP_FINISH", "POP_TOP", marks=subroutine),
        pytest.param(WITH, "WITH_CLEANUP_START", "DUP_TOP", marks=subroutine),
    ],
)  # fmt: skip
def test_code_whose_blocks_do_not_fit_is_not_well_formed(code: CodeType, opname: str, to: str) -> None:
    assert problem(code) is None
    assert problem(changed(code, opname, to)) is not None


def waiting(source: str, callee: str, argument: str) -> CodeType:
    """Return the code of a function in which a callable and its argument are loaded first, as Dynamo leaves them."""
    code = function_code(source)
    loads = bytes([opmap["LOAD_FAST"], code.co_varnames.index(callee), opmap["LOAD_FAST"], code.co_varnames.index(argument)])
    at = code.co_code.index(loads)
    data = bytearray(loads + code.co_code[:at] + code.co_code[at + 4 :])
    for place in range(4, at + 4, 2):
        if data[place] == opmap["SETUP_FINALLY"]:
            data[place + 1] -= 4 // RUNNING.jump_unit
    return code.replace(co_code=bytes(data), co_stacksize=code.co_stacksize + 2)


MANAGERS = """
def f(call, x, c, d):
    c.__enter__()
    try:
        d.__enter__()
        try:
            y = call(x)
        finally:
            d.__exit__(None, None, None)
    finally:
        c.__exit__(None, None, None)
    return y
"""


@only_with_blocks
def test_a_call_whose_values_wait_on_the_stack_while_context_managers_are_entered_is_decompiled() -> None:
    result = decompile_frame(waiting(MANAGERS, "call", "x"))
    assert str(result.verdict) == "proved"
    assert result.source.strip() == MANAGERS.strip()


@only_with_blocks
@pytest.mark.parametrize(
    "source",
    [
        "def f(g, a):\n try:\n  g(a)\n except:\n  pass\n return 1",  # how many values are left depends on who raised
        "def f(g, a, b):\n with b:\n  g(a)",  # the exit method is out of place
    ],
)
def test_a_handler_that_continues_where_the_stack_is_uncertain_is_refused(source: str) -> None:
    assert problem(waiting("def f(g, a):\n try:\n  g(a)\n except:\n  raise g", "g", "a")) is None
    assert problem(waiting(source, "g", "a")) is not None


def test_statements_with_handlers_come_back_as_they_were_written() -> None:
    assert_same_text("""
        async def f(a, b):
            async with a as c:
                try:
                    await c()
                except (A, B) as e:
                    return e
                except C:
                    pass
                else:
                    b()
                finally:
                    with b:
                        await a
            async for i in a:
                print(i)
    """)
