"""Grouped conditions are Python that holds exactly where each of the conditions does."""

from __future__ import annotations

import random
from types import SimpleNamespace

from depyf.record.guard_conditions import PythonTest, TensorProperties, TensorTest, TypeTest, ValueTest
from depyf.report.condition_groups import condition_lines
from depyf.report.guarded_values import value_and_forms
from depyf.text.python_source import WIDTH


def text_of(tests):
    return "\n".join(condition_lines([value_and_forms(test) for test in tests], "    ", True))


class Tensor:
    """What conditions on a tensor ask for."""

    def __init__(self, size):
        self.dtype, self.requires_grad, self._size = "float32", True, size

    def size(self):
        return self._size

    def stride(self):
        return (1,)


def model():
    blocks = [
        SimpleNamespace(index=number, eps=1e-5, weight=Tensor((16,)), bias=Tensor((number % 2,)), own={})
        for number in range(6)
    ]
    return SimpleNamespace(blocks=blocks, head=Tensor((16,)), keys=[str(number) for number in range(6)])


def asked_of(number):
    weight = TensorProperties("Tensor", "'float32'", "", True, (16,), (1,))
    bias = TensorProperties("Tensor", "'float32'", "", True, (number % 2,), (1,))
    block = f"self.blocks[{number}]"
    return [
        TypeTest(block, "SimpleNamespace"),
        PythonTest(f"'forward' not in {block}.__dict__"),
        PythonTest(f"'update' not in {block}.own"),
        ValueTest(f"{block}.index", "int", f"{block}.index == {number}"),
        ValueTest(f"{block}.eps", "float", f"{block}.eps == 1e-05"),
        ValueTest(f"self.keys[{number}]", "str", f"self.keys[{number}] == '{number}'"),
        TensorTest(f"{block}.weight", weight),
        TensorTest(f"{block}.bias", bias),
    ]


ALL = [test for number in range(6) for test in asked_of(number)]
NAMES = {"SimpleNamespace": SimpleNamespace, "Tensor": Tensor}


def holds(text, value):
    return eval(f"({text})", {**NAMES, "self": value})


def changed(chance):
    """Return a model in which one thing is not what the guards ask for, and that thing."""
    value = model()
    block = chance.choice(value.blocks)
    what = chance.choice(["index", "eps", "weight", "bias", "own", "forward", "keys", "type"])
    if what == "own":
        block.own["update"] = 1
    elif what == "keys":
        value.keys[chance.randrange(6)] = "x"
    elif what == "type":
        value.blocks[block.index] = object()
    elif what in ("weight", "bias"):
        getattr(block, what)._size = (7,)
    else:
        setattr(block, what, None)
    return value, what


def test_a_call_that_one_guard_refuses_is_refused_by_the_folded_guards():
    text = text_of(ALL)
    assert holds(text, model())
    chance = random.Random(3)
    for _ in range(60):
        value, what = changed(chance)
        try:
            is_held = holds(text, value)
        except AttributeError:
            is_held = False
        assert not is_held, what


def test_repeated_layers_take_few_lines_within_the_width():
    lines = text_of(ALL).split("\n")
    assert len(lines) < 24 and max(map(len, lines)) <= WIDTH
    assert "for i in range(6)" in text_of(ALL)


def test_few_conditions_are_written_one_by_one():
    tests = [TypeTest("a[0]", "int"), TypeTest("a[1]", "int"), PythonTest("a[2] is b")]
    assert text_of(tests) == "    type(a[0]) is int and type(a[1]) is int and a[2] is b"


def test_names_that_a_program_uses_are_not_used_for_indices():
    tests = [
        TensorTest(f"i.value[{number}].item", TensorProperties("T", "d", "", True, (2,), (1,))) for number in range(9)
    ]
    text = text_of(tests)
    assert "for j in range(9)" in text and "i.value[j]" in text
    compile(f"({text})", "guards", "eval")
