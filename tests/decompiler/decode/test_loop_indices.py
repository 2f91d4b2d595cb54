"""What a loop of 3.15 keeps above its iterator stays beside it: in another place the interpreter would crash."""

from __future__ import annotations

import collections
import re
from types import CodeType

import pytest
from decompile_tools import assert_proved, function_code

from depyf.decompiler.bytecode.microops import AT_START
from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION
from depyf.decompiler.decode import decode, problem
from depyf.decompiler.decode.instructions import OPCODE_TABLES, raw_instructions

# Opcodes that the running Python does not have are only named in tests that are skipped there.
NUMBERS = collections.defaultdict(int, {name: n for n, name in OPCODE_TABLES[RUNNING_VERSION].OPNAMES.items()})
only_with_indices = pytest.mark.skipif(not RUNNING.iterators_have_indices, reason="iterators are one stack entry here")


def changed(code: CodeType, opname: str, *instead: int) -> CodeType:
    """Return the code with the bytes of the first such instruction replaced."""
    raw = next(raw for raw in raw_instructions(code, RUNNING_VERSION) if raw.opname == opname)
    data = bytearray(code.co_code)
    data[raw.offset : raw.offset + len(instead)] = bytes(instead)
    return code.replace(co_code=bytes(data))


def test_an_iterator_is_one_entry_of_the_stack() -> None:
    program = decode(function_code("def f(a):\n for b in a:\n  for c in b:\n   return c"))
    kinds = [(op.kind, op.arg) for op in program.ops]
    assert "PUSH_INDEX" not in dict(kinds)
    returned = [place for place, (kind, _) in enumerate(kinds) if kind == "RETURN"][0]
    assert kinds[returned - 4 : returned] == [("SWAP", 2), ("POP", None)] * 2


@only_with_indices
def test_a_return_out_of_loops_and_with_statements_is_proved() -> None:
    assert_proved("""
        def f(a, b):
            for c in a:
                with b as d:
                    for e in c:
                        with e:
                            if d:
                                return [x + e for x in a if [*b for b in x]]
                            break
                    else:
                        continue
                    yield from d
    """)


@only_with_indices
@pytest.mark.parametrize(
    ("source", "opname", "instead", "reason"),
    [
        ("def f(a):\n for b in a: g(b)", "GET_ITER", (NUMBERS["PUSH_NULL"], 0, NUMBERS["PUSH_NULL"], 0), "FOR_ITER"),
        ("def f(a):\n for b in a:\n  return b", "SWAP", (NUMBERS["SWAP"], 2), "the index of a loop|leaves|takes"),
        ("def f(a):\n for b in a: g(b)", "GET_ITER", (NUMBERS["GET_ITER"], 3), "for generators only"),
        ("def f(a):\n for b in a: return b", "SWAP", (NUMBERS["COPY"], 2), "finds the index of a loop"),
        ("def f(a):\n for b in a: return b", "SWAP", (NUMBERS["COPY"], 3), "finds what a loop is over"),
        ("def f(a):\n import os", "IMPORT_NAME", (NUMBERS["IMPORT_NAME"], 3), "no meaning with the argument 3"),
    ],
)
def test_the_parts_of_a_loop_are_not_used_as_objects(source: str, opname: str, instead: tuple, reason: str) -> None:
    code = function_code(source)
    assert problem(code) is None
    found = problem(changed(code, opname, *instead))
    assert found is not None and re.search(reason, found), found


@only_with_indices
def test_the_iterator_of_a_generator_expression_is_taken_before_the_generator_is_made() -> None:
    code = next(c for c in function_code("def f(a): return (x for x in a)").co_consts if isinstance(c, CodeType))
    assert problem(code) is None
    assert [(op.kind, op.arg) for op in decode(code).ops][:2] == [("LOAD_LOCAL", ".0"), ("GET_ITER", AT_START)]
    after = function_code("def f(a):\n for x in a:\n  yield x")
    assert [(op.kind, op.arg) for op in decode(after).ops][:2] == [("LOAD_LOCAL", "a"), ("GET_ITER", None)]
