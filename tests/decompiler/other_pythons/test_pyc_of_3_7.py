"""`.pyc` files of 3.7, on which depyf does not run: their texts, and that its code is read as what it does there."""

from __future__ import annotations

import base64
import subprocess
import textwrap

import pytest

from depyf.decompiler.bytecode.code_flags import CO_FUTURE_ANNOTATIONS
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.decode.depth_changes import depth_change
from depyf.decompiler.decode.instructions import OPCODE_TABLES, Raw
from depyf.decompiler.other_pythons import compiler_for
from depyf.decompiler.pipeline import decompile_frame
from depyf.decompiler.prove import prove
from depyf.decompiler.prove.verdict import Grade
from depyf.decompiler.pyc import read_marshalled

OLD = (3, 7)


@pytest.fixture(scope="module")
def compilers():
    """Compile by 3.7 and by 3.8."""
    with compiler_for(OLD) as old, compiler_for((3, 8)) as new:
        if old is None or new is None:
            pytest.skip("no CPython 3.7 and 3.8 found")
        yield old, new


def function_in(code):
    (found,) = [const for const in code.co_consts if isinstance(const, CODE_TYPES)]
    return found


SHAPES = {
    "return out of a loop": "for x in a:\n  if x: return x\n  return 1",
    "break and else": "for x in a:\n  if x: break\nelse: b()\nreturn c",
    "while": "while a:\n  while b:\n    if c: continue\n    d()\n  if e: break",
    "while True": "while True:\n  try:\n    a()\n  except E: break",
    "return out of finally": "try: return a()\nfinally: b()",
    "return a constant out of finally": "try:\n  if a: return 1\n  c()\nfinally: b()",
    "finally that returns": "try: return a()\nfinally: return b()",
    "finally that breaks": "for x in a:\n  try: return x\n  finally: break",
    "loop with finally": "for x in a:\n  try:\n    if x: continue\n    if b: break\n    return c\n  finally: d()",
    "finally in finally": "try:\n  try: return a\n  finally: b()\nfinally: c()",
    "with": "with a as b:\n  if b: return c\n  d()\ne()",
    "with in a loop": "for x in a:\n  with x:\n    if b: break\n    if c: continue\n    d()",
    "two equal returns in with": "with a:\n  if b: return c()\n  if d: return c()\n  e()\nf()",
    "chain in with": "with a:\n  return 0 < b <= c()",
    "except": "try: a()\nexcept E: return b\nexcept (F, G): return 1\nelse: c()",
    "return out of except as": "try: a()\nexcept E as e:\n  if e: return e.x\n  b()",
    "continue out of except as": "for x in a:\n  try: x()\n  except E as e: continue\n  b()",
    "loop in except": "try: a()\nexcept E:\n  for x in b:\n    if x: return x\n    break",
    "list to iterate": "for x in [a, b]: c(x)\nreturn [d for d in [a, 1]]",
    "membership": "return a in [b, c], a in {1, 2}",
    "unpacked": "return (*a, b)",
    "dict comprehension": "return {b(x): c(x) for x in a}",
    "annotated tuple": "x: a = (b, c)\nreturn x",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_text_of_every_shape_is_proved(shape, compilers):
    body = textwrap.indent(SHAPES[shape], "  ")
    code = function_in(compilers[0](f"def f(a, b, c, d, e, f):\n{body}\n", "shape.py", "exec", 0))
    result = decompile_frame(code, compiler=compilers[0])
    assert result.proved and result.rung == "idioms", result.source


ASYNC = """
async def f(a, b, c):
    async for x, y in a:
        if x:
            return b
        async with c as d:
            if d: continue
            return y
    return [z async for z in a], {z: 1 async for z.q in a}
"""


def test_asynchronous_loops_are_those_of_the_source(compilers):
    result = decompile_frame(function_in(compilers[0](ASYNC, "shape.py", "exec", 0)), compiler=compilers[0])
    assert result.proved and "async for x, y in a:" in result.source and "z async for z in a" in result.source


# What the two versions compile to different programs: order of a value and its key, of unbinding and restoring the
# exception, lists to iterate over, and a value that is released at another moment.
DIFFERENT = {"dict comprehension", "continue out of except as", "return out of except as", "list to iterate", "membership"}


@pytest.mark.parametrize("shape", sorted(set(SHAPES) - DIFFERENT))
def test_code_of_3_7_is_read_as_the_program_that_code_of_3_8_is(shape, compilers):
    """The reader of 3.8 is tested by what functions do, so this tests that of 3.7."""
    text = f"def f(a, b, c, d, e, f):\n{textwrap.indent(SHAPES[shape], '  ')}\n"
    old, new = [function_in(compiler(text, "shape.py", "exec", 0)) for compiler in compilers]
    assert prove(old, new).grade is Grade.PROVED


def test_an_operation_that_only_3_7_has_under_the_handler_of_an_async_loop_is_no_equal_program(compilers):
    text = "async def f(a, {0}):\n async for {0} in a: pass\n"
    old, new = [function_in(compiler(text.format("x"), "s.py", "exec", 0)) for compiler in compilers]
    assert prove(old, new).grade is Grade.PROVED
    text = text.replace("{0} in", "{0}, y in")
    old, new = [function_in(compiler(text.format("x"), "s.py", "exec", 0)) for compiler in compilers]
    assert prove(old, new).grade is Grade.REFUTED


def test_the_table_of_depths_is_that_of_the_interpreter(compilers):
    program = "import dis, opcode\nfor line in open(0):\n  n, a = line.split()\n  n, a = int(n), int(a)\n  "
    program += "print(dis.stack_effect(n, a if n >= opcode.HAVE_ARGUMENT else None))"
    wanted = []
    for number, name in OPCODE_TABLES[OLD].OPNAMES.items():
        for arg in (2, 3):
            try:
                wanted.append((number, arg, depth_change(Raw(0, 0, name, arg, 2)), name))
            except ValueError:  # Malformed: it opens, closes or leaves blocks, or jumps
                continue
    wanted = [row for row in wanted if row[3] != "NOP"]  # its compiler has no effect of it
    rows = "".join([f"{number} {arg}\n" for number, arg, _, _ in wanted])
    found = subprocess.run([compilers[0].python, "-c", program], input=rows, stdout=subprocess.PIPE, text=True, check=True)
    assert [(row[3], row[2]) for row in wanted] == [
        (row[3], int(effect)) for row, effect in zip(wanted, found.stdout.split())
    ]


def test_future_annotations_are_known_by_the_flag_that_3_7_has_for_them(compilers):
    text = "from __future__ import annotations\ndef f(a: b) -> c:\n  return a\n"
    code = compilers[0](text, "shape.py", "exec", 0)
    assert code.co_flags & CO_FUTURE_ANNOTATIONS and not code.co_flags & 0x100000
    result = decompile_frame(code, compiler=compilers[0])
    assert result.proved and result.source == text.replace("\ndef", "\n\n\ndef").replace("  return", "    return")


# def f(a):
#     for x in a:
#         try:
#             if x: continue
#             return 1
#         finally: x()
#     with a: return x
MARSHALLED = (
    "YwAAAAAAAAAAAAAAAAIAAABAAAAAcwwAAABkAGQBhABaAGQCUwApA2MBAAAAAAAAAAIAAAAJAAAAQwAAAHM2AAAAeCB8AEQAXRh9"
    "AXoKfAFyEncGZAFTAHwBgwABAFgAcQZXAHwAjwYBAHwBUwBRAFIAWABkAFMAKQJO6QEAAACpACkC2gFh2gF4cgEAAAByAQAAAPoE"
    "cy5wedoBZgEAAABzEAAAAAABCgECAQQAAgEEAQwBBgByBQAAAE4pAXIFAAAAcgEAAAByAQAAAHIBAAAAcgQAAADaCDxtb2R1bGU+"
    "AQAAAPMAAAAA"
)


def test_without_an_interpreter_the_text_is_marked():
    module = read_marshalled(base64.b64decode(MARSHALLED), OLD)
    assert decompile_frame(module, compiler=None).source == textwrap.dedent(
        """\
        # UNPROVED: no Python 3.7 to check it with
        def f(a):
            for x in a:
                try:
                    if not x:
                        return 1
                finally:
                    x()
            with a:
                return x
        """
    )
