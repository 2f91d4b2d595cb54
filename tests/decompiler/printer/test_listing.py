"""The listing is the last resort: it shows any code object, and marks what its instructions refer to and is not there."""

from __future__ import annotations

import ast
import dis
import importlib.util
import random
import types
from opcode import opmap

import pytest
from decompile_tools import newer_bytecode

from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.decompiler.printer.instruction_text import MISSING
from depyf.decompiler.printer.listing import annotated_disassembly, instructions_as_text


def sample(a, b=1, *rest, c, **named):
    """Documented."""
    try:
        for item in rest:
            if item < a.attribute:
                yield [lambda: item, b, f"{a!r:>{b}}"]
    except ValueError as error:
        return named[c], error, sample, {"red": 1, **named}


CODE = sample.__code__


def listed(code: types.CodeType, reason: str = "") -> str:
    text, lines = annotated_disassembly(code, {}, reason)
    compile(text, "listing.py", "exec")  # a valid file, whatever the code is
    assert instructions_as_text(code, {})
    shown = text.split("\n")
    for offset, line in lines:
        assert str(offset) in shown[line - 1]
    return text


def test_every_instruction_has_a_line():
    offsets = [instruction.offset for instruction in dis.get_instructions(CODE)]
    assert [offset for offset, _ in annotated_disassembly(CODE, {})[1]] == offsets


@pytest.mark.parametrize("module", ["ast", "typing", "asyncio.tasks"])
def test_arguments_are_those_that_dis_finds(module):
    work = [importlib.util.find_spec(module).loader.get_code(module)]
    while work:
        code = work.pop()
        work.extend(const for const in code.co_consts if isinstance(const, types.CodeType))
        for instruction, line in zip(dis.get_instructions(code), instructions_as_text(code, {})[1:]):
            assert line[2:].split()[:2] == [str(instruction.offset), instruction.opname]
            if isinstance(instruction.argval, str) and instruction.opcode not in dis.hasconst:
                assert line.endswith(instruction.argval)
            if instruction.opcode in dis.hasjrel:
                assert line.endswith(f"to {instruction.argval}")


def test_each_source_line_is_named_once_where_it_begins():
    code = compile("x = 1\ny = (x +\n  2)\n", "two.py", "exec")
    text = listed(code)
    begins = ["# line 0 of the original file"] if RUNNING.frames_begin_with_resume else []
    assert [line.strip() for line in text.split("\n") if "# line" in line][: len(begins) + 2] == [
        *begins, "# line 1 of the original file", "# line 2 of the original file"]


@pytest.mark.parametrize("changes", [{"co_names": ()}, {"co_consts": ()}, {"co_names": (), "co_consts": ()}])
def test_what_is_not_there_is_marked(changes):
    assert MISSING in listed(CODE.replace(**changes))


def test_a_constant_nested_too_deeply_to_show_is_shortened():
    deep = ()
    for _ in range(5000):  # many more, and CPython itself crashes when the code object is made
        deep = (deep,)
    code = compile("x = 'here'", "deep.py", "exec")
    text = listed(code.replace(co_consts=(deep,) * len(code.co_consts)))
    assert "((((" in text and len(text) < 5000


def test_a_constant_that_refers_to_the_same_tuples_again_and_again_is_shortened():
    doubled = (1, 2)
    for _ in range(22):  # its whole text has 50 MB
        doubled = (doubled, doubled)
    code = compile("x = 'here'", "wide.py", "exec")
    assert len(listed(code.replace(co_consts=(doubled,) * len(code.co_consts)))) < 5000


@pytest.mark.parametrize("table", [b"\xff", b"\x7f" * 100_000, b"\x80", b"\x00" * 3])
@newer_bytecode
def test_a_malformed_exception_table_is_named(table):
    assert "exception table is malformed" in listed(CODE.replace(co_exceptiontable=table))


@pytest.mark.parametrize("table", [b"", b"\xf0", b"\xff" * 50_000])
def test_a_location_table_that_is_not_whole_hides_no_instruction(table):
    code = CODE.replace(**{"co_linetable" if hasattr(CODE, "co_linetable") else "co_lnotab": table})
    assert len(annotated_disassembly(code, {})[1]) == len(annotated_disassembly(CODE, {})[1])
    listed(code)


def test_any_bytes_are_listed():
    chosen = random.Random(1)
    real = [number for name, number in opmap.items() if number < 130 and name not in ("ENTER_EXECUTOR", "LOAD_FAST_AND_CLEAR")]
    for _ in range(300):
        data = bytearray(CODE.co_code)
        for _ in range(chosen.randrange(1, 20)):
            at = chosen.randrange(0, len(data) - 40) | 1
            data[at - 1], data[at] = chosen.choice(real), chosen.randrange(256)
        listed(CODE.replace(co_code=bytes(data)))


def test_names_that_no_source_can_spell_leave_a_valid_file():
    names = ("if", "if", ".0", "__debug__", "_2", "a b", "\ud800", "x")
    code = CODE.replace(co_varnames=(*names, *CODE.co_varnames[8:])[: len(CODE.co_varnames)], co_name="__debug__")
    listed(code, reason="two\nlines \r of \0 a \u2028 hostile \x1b name")
    assert isinstance(ast.parse(listed(code)).body[0], ast.FunctionDef)
