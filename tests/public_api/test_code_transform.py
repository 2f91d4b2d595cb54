"""`depyf.code_transform` and `depyf.utils` as programs written for depyf 0.20 use them."""

from __future__ import annotations

import ast
import dis
import functools
from types import FunctionType

import pytest
from decompile_tools import newer_bytecode

import depyf
from depyf.code_transform import (
    Instruction,
    add_indentation,
    convert_instruction,
    fix_irregular_code,
    nop_instruction,
    nop_unreachable_bytecode,
    parse_exception_table,
    propagate_line_nums,
    remove_indentation,
)
from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION
from depyf.utils import collect_all_code_objects, decompile_ensure, get_code_owner, get_function_signature


def compiled_like(code, text):
    """Compile a text as programs do, and return the first code object of that name."""
    compiled = compile(fix_irregular_code(code, text), "<text>", "exec")
    return next(found for found in collect_all_code_objects(compiled) if found.co_name == code.co_name)


def closure():
    scale, unused = 3, 5

    def scaled(x):
        if False:
            unused  # noqa: B018
        return x * scale

    return scaled


def counter():
    count = 0

    def counted():
        nonlocal count
        count += 1
        return count

    return counted


def with_cell(x):
    return [lambda: x, lambda: x + 1]


def recursive(n):
    return [n, lambda: recursive(n - 1)]


@pytest.mark.parametrize(
    ("make", "arguments"), [(closure, (2,)), (counter, ()), (lambda: with_cell, (2,)), (lambda: recursive, (2,))]
)
def test_code_compiled_from_the_fixed_text_replaces_the_code_of_the_function(make, arguments):
    function = make()
    new = compiled_like(function.__code__, depyf.decompile(function.__code__))
    assert new.co_freevars == function.__code__.co_freevars and new.co_cellvars == function.__code__.co_cellvars
    expected = make()(*arguments)
    function.__code__ = new
    result = function(*arguments)
    assert result == expected or [type(value) for value in result] == [type(value) for value in expected]


def test_variables_that_the_text_has_lost_are_made_again_without_any_effect():
    def original(a):
        kept = lambda: (a, lost)  # noqa: E731
        lost = other = 1
        return kept, other

    new = compiled_like(original.__code__, "def original(a):\n    return locals()\n")
    assert set(original.__code__.co_varnames) <= {*new.co_varnames, *new.co_cellvars}
    assert set(new.co_cellvars) == {"a", "lost"}
    assert FunctionType(new, {"locals": locals})(1) == {"a": 1}


def test_a_text_that_lacks_nothing_is_returned_as_it_is():
    text = "def f(a):  # a comment\n    return a\n"
    assert fix_irregular_code(compiled_like(compile(text, "", "exec").co_consts[0], text), text) is text
    assert fix_irregular_code((lambda a: a).__code__, "lambda a: a\n") == "lambda a: a\n"
    with pytest.raises(SyntaxError):
        fix_irregular_code(closure.__code__, "def closure(:\n")


def sample(a):
    for one in a:
        try:
            print(one)
        except ValueError:
            return 1
    return 2


def test_instructions_of_dis_can_be_changed():
    instructions = [convert_instruction(one) for one in dis.get_instructions(sample)]
    assert [one.opname for one in instructions] == [one.opname for one in dis.get_instructions(sample)]
    (loop,) = [one for one in instructions if one.opname == "FOR_ITER"]
    assert loop.is_jump() and loop.get_jump_target() in [one.offset for one in instructions]
    assert "FOR_ITER" in loop.short_inst_repr()
    first = instructions[0]
    with pytest.raises(ValueError, match="no jump"):
        first.get_jump_target()
    assert nop_instruction(loop) is loop and loop.opname == "NOP" and not loop.is_jump()
    assert len({loop, loop, Instruction(0, "A", None, None, "")}) == 2


def test_every_instruction_gets_its_line():
    instructions = [convert_instruction(one) for one in dis.get_instructions(sample)]
    assert any(one.starts_line is None for one in instructions)
    propagate_line_nums(instructions)
    first = sample.__code__.co_firstlineno
    assert {one.starts_line for one in instructions} <= set(range(first, first + 7))


@newer_bytecode
def test_the_exception_table_leads_to_instructions():
    code = sample.__code__
    offsets = [one.offset for one in dis.get_instructions(code)]
    handlers = parse_exception_table(code.co_exceptiontable)
    assert handlers and all(one.start in offsets and one.end >= one.start and one.target in offsets for one in handlers)


def test_unreachable_instructions_are_made_to_do_nothing():
    code = sample.__code__
    instructions = [convert_instruction(one) for one in dis.get_instructions(code)]
    before = [one.opname for one in instructions]
    after = [one.opname for one in nop_unreachable_bytecode(code, instructions)]
    # The compiler of 3.9 leaves a jump behind the RERAISE of the handler.
    dead_jumps = [("JUMP_ABSOLUTE", "NOP")] if RUNNING_VERSION == (3, 9) else []
    assert [(old, new) for old, new in zip(before, after) if old != new] == dead_jumps
    end = next(index for index, one in enumerate(instructions) if one.opname.startswith("RETURN"))
    dead = [*instructions[: end + 1], Instruction(dis.opmap["POP_TOP"], "POP_TOP", None, None, "", 10_000)]
    without_handlers = code.replace(co_exceptiontable=b"") if hasattr(code, "co_exceptiontable") else code
    assert nop_unreachable_bytecode(without_handlers, dead)[-1].opname == "NOP"


def test_indentation_is_added_and_removed():
    text = "if a:\n    b\n"
    assert add_indentation(text, 2) == "  if a:\n      b\n"
    assert remove_indentation(add_indentation(text)) == text


# -- depyf.utils


def test_code_objects_come_each_before_those_inside_it():
    def outer():
        def first():
            return lambda: 1

        def second():
            return 2

        return first, second

    names = [code.co_name for code in collect_all_code_objects(outer.__code__)]
    assert names == ["outer", "first", "<lambda>", "second"]


def test_the_signature_has_every_kind_of_parameter_and_starts_a_definition():
    def f(a, /, b, *rest, c, **options):
        pass

    def g(*, c):
        pass

    assert get_function_signature(f.__code__) == "def f(a, /, b, *rest, c, **options):\n"
    assert get_function_signature(g.__code__, "other") == "def other(*, c):\n"
    ast.parse(get_function_signature((lambda x: x).__code__) + "    pass")


class Adder:
    def __call__(self, a):
        return a + 1

    @functools.lru_cache(None)  # noqa: B019
    def method(self):
        return 1


def test_the_owner_of_code_is_the_function_inside_every_wrapper():
    def f(a):
        return a

    @functools.wraps(f)
    def wrapper(a):
        return f(a)

    method = Adder.method.__wrapped__
    for thing in (f, functools.partial(f, 1), functools.lru_cache(None)(f), wrapper, functools.partial(wrapper, 1)):
        assert get_code_owner(thing) is f
    assert get_code_owner(Adder()) is Adder.__call__
    assert get_code_owner(Adder().__call__) is Adder.__call__
    assert get_code_owner(Adder().method) is method
    assert get_code_owner(len) is len and get_code_owner(Adder) is Adder


def test_a_function_or_a_lambda_is_decompiled_under_another_name():
    space: dict = {}
    exec(depyf.Decompiler(lambda a, b: a * b).decompile(overwite_fn_name="product"), space)
    exec(decompile_ensure(sample, "renamed"), space)
    assert space["product"](2, 3) == 6 and space["renamed"](()) == 2
