"""DEPYF_REMOVE_TEMP=0 gives every stack value a name; the text is still proved."""

from __future__ import annotations

import ast

import pytest

from depyf.decompiler import decompile, decompile_frame
from depyf.decompiler.printer.parsed_trees import text_of


def nested(a, b):
    x = divmod(abs(a) + b[0] * 2, max(*b, key=lambda one: -one))
    if x[0] > 3:
        return [x[1] + 1, len(b)]
    for index in range(len(b)):
        x = x + (b[index].bit_length() + index,)
    return sorted(x)[0].bit_length() if a else {"a": len(b) + 1}


def rebinding(a):
    def other():
        nonlocal a
        a = 10
        return 1

    return a + other() + a


def in_order(log):
    return (log.append(1) or log)[len(log) - 1] + len([log.append(2), log.append(3)])


CALLS = [
    (nested, (5, [1, 2, 3])),
    (nested, (0, [1, 2])),
    (nested, (-1, [3, 1])),
    (rebinding, (1,)),
    (in_order, ([],)),
]


@pytest.mark.parametrize(("function", "arguments"), CALLS)
def test_the_text_with_temporaries_is_proved_and_computes_the_same(function, arguments, monkeypatch):
    plain = decompile(function)
    monkeypatch.setenv("DEPYF_REMOVE_TEMP", "0")
    result = decompile_frame(function.__code__)
    assert result.rung == "temporaries" and result.proved
    assert "__temp_1 = " in result.source and "__temp" not in plain
    names = {}
    exec(compile(result.source, "text", "exec"), names)
    copied = [list(one) if isinstance(one, list) else one for one in arguments]
    if "__enclosing" not in result.source:
        assert names[function.__name__](*copied) == function(*arguments)


def test_each_statement_has_one_operation_and_each_temporary_is_deleted(monkeypatch):
    monkeypatch.setenv("DEPYF_REMOVE_TEMP", "0")
    text = decompile(in_order)
    (function,) = ast.parse(text).body
    for statement in function.body:
        operations = [node for node in ast.walk(statement) if isinstance(node, (ast.Call, ast.BinOp, ast.Subscript))]
        assert len(operations) <= 1, text_of(statement)
    assert text.count("del __temp_") >= 3


def test_any_other_value_of_the_switch_removes_temporaries(monkeypatch):
    for value in ("1", "", "yes"):
        monkeypatch.setenv("DEPYF_REMOVE_TEMP", value)
        assert "__temp_" not in decompile(nested)
