"""Decode: bytes of one CPython become micro-ops of none, so that no later stage needs a version."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.microops import ENDS, stack_effect
from depyf.decompiler.decode import decode


def kinds(code):
    return [op.kind for op in decode(code).ops]


def test_a_return_is_two_ops_in_every_version():
    assert kinds((lambda: 1).__code__) == ["CONST", "RETURN"]
    assert kinds((lambda a: a).__code__) == ["LOAD_LOCAL", "RETURN"]


def test_two_loads_in_one_instruction_are_two_ops():
    assert kinds((lambda a, b: a + b).__code__) == ["LOAD_LOCAL", "LOAD_LOCAL", "BINARY", "RETURN"]


def test_a_call_names_its_arguments_and_where_the_callable_is():
    (call,) = [op for op in decode((lambda f: f(1, key=2)).__code__).ops if op.kind == "CALL"]
    argc, names, _ = call.arg
    assert argc == 2 and names in (("key",), "names from the stack")


def test_waiting_for_another_generator_is_one_op():
    def wait(other):
        yield from other

    found = kinds(wait.__code__)
    assert found.count("YIELD_FROM") == 1 and "YIELD" not in found and not [kind for kind in found if kind == "SEND"]


def test_jumps_and_handlers_name_ops_by_their_index():
    def guarded(a):
        try:
            while a:
                a()
        except ValueError:
            return 1

    found = decode(guarded.__code__)
    assert found.handlers and all(0 <= handler.target < len(found.ops) for handler in found.handlers)
    assert all(-1 <= op.target < len(found.ops) and -1 <= op.handler < len(found.handlers) for op in found.ops)
    assert any(found.ops[handler.target].kind == "PUSH_EXC_INFO" for handler in found.handlers)


def test_code_that_nothing_leads_to_is_gone():
    def stops(a):
        return a
        a()

    assert kinds(stops.__code__) == ["LOAD_LOCAL", "RETURN"]


@pytest.mark.parametrize("version", [(3, 6), (2, 7)])
def test_a_version_without_tables_is_refused(version):
    with pytest.raises((ValueError, KeyError, LookupError)):
        decode((lambda: 1).__code__, version)


def test_the_stack_is_empty_where_a_function_returns():
    depth = 0
    for op in decode((lambda a, b: [a.x(b), {1: b}]).__code__).ops:
        popped, pushed = stack_effect(op)
        depth += pushed - popped
        assert depth >= 0
    assert depth == 0 and op.kind in ENDS
