"""A borrowed value whose object may be gone is not proved: running such code would crash the interpreter."""

from __future__ import annotations

import re
from types import CodeType

import pytest
from decompile_tools import function_code

from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION
from depyf.decompiler.decode import problem
from depyf.decompiler.decode.instructions import OPCODE_TABLES, raw_instructions

pytestmark = pytest.mark.skipif(not RUNNING.loads_may_borrow, reason="every load owns what it pushes")
NUMBERS = {name: number for number, name in OPCODE_TABLES[RUNNING_VERSION].OPNAMES.items()}

BORROWED = {"LOAD_FAST": "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST": "LOAD_FAST_BORROW_LOAD_FAST_BORROW"}


def borrowing(source: str) -> CodeType:
    """Return the code of a function whose first strong load of variables is a borrowed one."""
    code = function_code(source)
    raw = next(raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname in BORROWED)
    data = bytearray(code.co_code)
    data[raw.offset] = NUMBERS[BORROWED[raw.opname]]
    assert problem(code) is None
    return code.replace(co_code=bytes(data))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(a, b):\n a = b\n return a", "assigns a borrowed value"),
        ("def f(a, b):\n return [a, (a := b())]", "a changes at .* while its value is borrowed"),
        ("def f(a, b, c):\n return g(a, b if c else 0)", "a borrowed value is left on the stack"),
        ("def f(a, b):\n return g(a, [x for x in b])", "a borrowed value is left on the stack"),
    ],
)
def test_a_borrowed_value_that_its_variable_may_not_keep_is_not_proved(source: str, reason: str) -> None:
    found = problem(borrowing(source))
    assert found is not None

    assert re.search(reason, found), found


def test_a_table_that_is_too_short_is_not_proved() -> None:
    code = function_code("def f(a):\n return a.x + 1000")
    for changed in (code.replace(co_names=()), code.replace(co_consts=())):
        found = problem(changed)
        assert found is not None and "of a shorter table" in found


@pytest.mark.parametrize(
    "source",
    [
        "def f(a, b):\n return a[b](a, b=b)",
        "def f(a, b):\n with a:\n  with b:\n   return a.x",
        "def f(a):\n try:\n  return a.x\n finally:\n  print(a)",
        "async def f(a):\n async with a as b:\n  return [await c(a) async for c in b]",
        "def f(a):\n return [(x, a) for x in a if a(x)], a",
    ],
)
def test_what_the_compiler_borrows_is_well_formed(source: str) -> None:
    code = function_code(source)
    assert any("BORROW" in raw.opname for raw in raw_instructions(code, RUNNING_VERSION)) and problem(code) is None
