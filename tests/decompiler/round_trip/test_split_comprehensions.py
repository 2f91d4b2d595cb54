"""Comprehensions that a graph break splits: the rest runs in a resume function, without handlers.

The codes are derived from ordinary ones as Dynamo does: saved values are pushed, the iterator is a parameter.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType, FunctionType

import pytest
from decompile_tools import function_code

from depyf.decompiler.pipeline import decompile_frame
from depyf.decompiler.prove import Assumption, prove
from depyf.torch_hooks.internals.generated_code import DYNAMO

inlined = pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are inlined from 3.12 on")
HEAD = "def f(x, given, it):\n    "


def cut(body: str, *put_aside: str) -> CodeType:
    """Return the code of a function that begins with a comprehension over `it`, split where Dynamo splits it."""
    code = function_code(HEAD + body)
    raw = bytearray(code.co_code)
    start = next(i.offset for i in dis.get_instructions(code) if i.argval == "it")
    aside = [i.offset for i in dis.get_instructions(code) if i.opname == "LOAD_FAST_AND_CLEAR"][: len(put_aside)]
    swap = aside[-1] + 2  # in between: GET_ITER
    names = {name: number for number, name in enumerate(code.co_varnames)}
    pushes = [("PUSH_NULL", 0) if name == "NULL" else ("LOAD_FAST", names[name]) for name in put_aside]
    instead = [*pushes, ("LOAD_FAST", names["it"])]
    instead += [("NOP", 0)] * ((swap + 2 - start) // 2 - len(instead))
    for index, (name, arg) in enumerate(instead):
        raw[start + 2 * index : start + 2 * index + 2] = bytes([dis.opmap[name], arg])
    return code.replace(co_code=bytes(raw), co_exceptiontable=b"")


CUT = {
    "stored": ("r = [x(i) for i in it]\n    return r", "NULL"),
    "returned": ("return [x(i) for i in it]", "NULL"),
    "dict": ("r = {i: x(i) for i in it}\n    return r", "NULL"),
    "set with a condition": ("return {x(i) for i in it if g(i)}", "NULL"),
    "two loops": ("r = [x(i, j) for i in it for j in x(i)]\n    return r", "NULL", "NULL"),
    "one in another": ("return [[x(i, j) for i in g(j)] for j in it]", "NULL", "NULL"),
    "pairs, discarded": ("[x(k, v) for k, v in it]\n    return x", "NULL", "NULL"),
    "walrus": ("r = [y := x(i) for i in it]\n    return r, y", "NULL"),
}


@inlined
@pytest.mark.parametrize("title", CUT)
def test_a_comprehension_split_by_a_graph_break_comes_back_as_it_was_written(title: str) -> None:
    body, *put_aside = CUT[title]
    result = decompile_frame(cut(body, *put_aside))
    assert result.proved, result.verdict
    assert result.rung == "idioms"
    assert result.source.strip() == HEAD + body
    assert Assumption.NOT_SEEN_IN_TRACEBACKS in result.verdict.assumptions


@inlined
def test_the_variable_of_a_split_comprehension_gets_its_earlier_value_back() -> None:
    code = cut("r = [x(i) for i in it]\n    return r, i\n    i = 0", "given")
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.source.strip() == HEAD + "r = [x(i) for i in it]\n    i = given\n    return r, i"
    assert result.code is not None
    for run in (code, result.code):
        assert FunctionType(run, {})(lambda i: i * 2, 7, iter([1, 2])) == ([2, 4], 7)


@inlined
def test_a_comprehension_inside_a_try_must_still_restore_its_variables() -> None:
    source = "def f(x, i):\n    {}\n        r = [x(i) for i in x]\n    {}\n        r = i\n    return r, i"
    code = function_code(source.format("try:", "except ValueError:"))
    assert prove(code.replace(co_exceptiontable=b""), code).grade.name in ("REFUTED", "UNPROVED")


RESUME = """
    def torch_dynamo_resume_in_f_at_3(___stack0, x):
        __is_tracing_resume_prologue = True
        y = ___stack0
        __is_tracing_resume_prologue = False
        return y + x{}
"""


def test_marker_variables_of_dynamo_are_hidden_in_resume_functions() -> None:
    result = decompile_frame(function_code(RESUME.format("")), generator=DYNAMO)
    assert result.proved, result.verdict
    assert [line.strip() for line in result.source.splitlines()[1:]] == ["y = ___stack0", "return y + x"]
    outer = function_code("def f(a):\n" + RESUME.format("") + "\n    return torch_dynamo_resume_in_f_at_3(a, 1)")
    result = decompile_frame(outer, generator=DYNAMO)
    assert result.proved, result.verdict
    assert "__is_tracing" not in result.source
    assert result.code is not None
    assert [const for const in outer.co_consts if isinstance(const, CodeType)][0] in result.code.co_consts


def test_marker_variables_that_the_function_can_read_are_shown() -> None:
    for source in (RESUME.format(" + len(locals())"), "def f(a):\n" + RESUME.format(" + len(locals())") + "    return a"):
        result = decompile_frame(function_code(source), generator=DYNAMO)
        assert result.proved, result.verdict
        assert result.source.count("__is_tracing_resume_prologue") == 2
