"""The source line of an op, by which statements that the compiler copied differ from those in the source."""

from __future__ import annotations

import ast
import inspect
import textwrap

import pytest

from depyf.decompiler.bytecode.location_table import lines_of
from depyf.decompiler.decode import decode
from depyf.decompiler.flow.source_lines import SourceLines


@pytest.mark.parametrize("function", [ast.literal_eval, inspect.getsourcefile, textwrap.dedent, inspect.cleandoc])
def test_every_op_has_the_line_of_the_stretch_that_it_lies_in(function):
    code = function.__code__
    lines = SourceLines(code)
    stretches = lines_of(code)
    for op in decode(code).ops:
        found = [line for start, end, line in stretches if start <= op.offset < end]
        assert lines.get(op.offset, -1) == (found[0] if found and found[0] is not None else -1)


def test_what_lies_outside_of_the_code_has_no_line():
    code = textwrap.dedent.__code__
    assert SourceLines(code).get(-1, -7) == -7
    assert SourceLines(code).get(len(code.co_code), -7) == -7
