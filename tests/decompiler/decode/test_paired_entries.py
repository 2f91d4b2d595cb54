"""A `with` statement is the same program whatever the version keeps on the stack for its exit."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved, function_code, newer_bytecode

from depyf.decompiler.bytecode.microops import Handler
from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION
from depyf.decompiler.decode import decode, problem
from depyf.decompiler.decode.instructions import raw_instructions

SOURCE = "def f(a):\n with a as b:\n  return b"


@newer_bytecode
def test_the_exit_of_a_with_statement_is_one_stack_entry() -> None:
    program = decode(function_code(SOURCE))
    kinds = [op.kind for op in program.ops]
    assert kinds[:2] == ["LOAD_LOCAL", "BEFORE_WITH"] and "LOAD_SPECIAL" not in kinds
    body = program.handlers[program.ops[2].handler]
    assert isinstance(body, Handler) and body.depth == 1
    returned = kinds.index("RETURN")
    names = [(op.kind, op.arg) for op in program.ops[returned - 6 : returned]]
    assert names[0] == ("SWAP", 2) and names[1:4] == [("CONST", None)] * 3 and names[-1] == ("POP", None)
    assert program.ops[returned - 2].kind == "CALL" and program.ops[returned - 2].arg[0] == 2


def test_a_return_out_of_nested_with_statements_in_a_loop_is_proved() -> None:
    assert_proved("""
        def f(a, b):
            for c in a:
                with c as d, b(d):
                    try:
                        if d:
                            return d.x, c
                        if a:
                            break
                        continue
                    finally:
                        with c:
                            c(d)
    """)


@pytest.mark.skipif(not RUNNING.exits_have_receivers, reason="one instruction begins a with statement")
@pytest.mark.parametrize("arg", [0, 2, 3])
def test_methods_that_no_with_statement_loads_are_not_proved(arg: int) -> None:
    code = function_code(SOURCE)
    raw = next(raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == "LOAD_SPECIAL")
    data = bytearray(code.co_code)
    data[raw.offset + 1] = arg
    found = problem(code.replace(co_code=bytes(data)))
    assert problem(code) is None and found is not None and "not at the beginning of a `with` statement" in found
