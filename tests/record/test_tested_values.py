"""What two versions want different is found by value, and what a person would act on comes first."""

from __future__ import annotations

import pytest

from depyf.record.guard_conditions import PythonTest, TensorProperties, TensorTest, TorchState, TypeTest, ValueTest
from depyf.record.tested_values import changes, values_tested


def tensor(name, *sizes, dtype="torch.float32", strides=(None,)):
    return TensorTest(name, TensorProperties("torch.Tensor", dtype, "cpu", False, sizes, strides))


def changed(then, now):
    return [str(one) for one in changes(values_tested(then), values_tested(now))]


def test_plain_values_come_before_sizes_and_the_nearest_first():
    then = [
        tensor("x", 2, 8),
        PythonTest("'_hook' in self.__dict__"),
        PythonTest("len(args) == 1"),
        ValueTest("self.inner.number", "int", "self.inner.number == 0"),
        ValueTest("self.kind", "str", "self.kind == 'sparse'"),
        TorchState(True, "torch.float32", False, 4),
    ]
    now = [
        tensor("x", 2, 9),
        PythonTest("'_hook' not in self.__dict__"),
        PythonTest("len(args) == 2"),
        ValueTest("self.inner.number", "int", "self.inner.number == 1"),
        ValueTest("self.kind", "str", "self.kind == 'full'"),
        TorchState(False, "torch.float32", False, 4),
    ]
    assert changed(then, now) == [
        "torch.is_grad_enabled(), which is not so now",
        "self.kind == 'sparse', now 'full'",
        "self.inner.number == 0, now 1",
        "len(args) == 1, now 2",
        "x.size(1) == 8, now 9",
        "'_hook' in self.__dict__, now it is not",
    ]


@pytest.mark.parametrize(
    "then, now, text",
    [
        (PythonTest("a is None"), TypeTest("a", "torch.nn.modules.conv.Conv2d"), "a is None, now a Conv2d"),
        (TypeTest("a", "m.Embedding"), PythonTest("a is None"), "a to be an Embedding, now None"),
        (TypeTest("a", "m.Mine"), TypeTest("a", "m.Other"), "a to be a Mine, now an Other"),
        (TypeTest("a", "m.Mine"), TypeTest("a", "n.Mine"), "a to be a m.Mine, now a n.Mine"),
        (PythonTest("a is None"), tensor("a", 2), "a is None, now a Tensor"),
        (PythonTest("not d"), PythonTest("len(d) == 2"), "len(d) == 0, now 2"),
        (ValueTest("a", "float", "a == 1.0"), ValueTest("a", "int", "a == 1"), "a == 1.0, now 1, an int"),
        (tensor("a", 2), tensor("a", 2, 3), "a.dim() == 1, now 2"),
        (tensor("a", 2), tensor("a", 2, dtype="torch.int8"), "a.dtype is torch.float32, now torch.int8"),
    ],
)
def test_each_form_of_a_change_reads_as_a_sentence(then, now, text):
    assert changed([then], [now]) == [text]


def test_a_value_that_one_version_leaves_free_is_no_change():
    assert changed([ValueTest("n", "int", "n == 3")], [TypeTest("n", "int")]) == []
    assert changed([tensor("x", 2, 3)], [tensor("x", None, 3), PythonTest("2 <= x.size()[0]")]) == []
    assert changed([PythonTest("a == 1")], [PythonTest("b == 2")]) == []


def test_attributes_of_one_name_and_sizes_that_change_alike_are_named_once():
    then = [PythonTest(f"{name}.training is True") for name in ("self", "self.layers[0]", "self.layers[1]")]
    now = [PythonTest(f"{name}.training is False") for name in ("self", "self.layers[0]", "self.layers[1]")]
    assert changed(then, now) == ["self.training is True, now False"]
    assert changed([tensor("x", 2), tensor("y", 2)], [tensor("x", 3), tensor("y", 3)]) == ["x.size(0) == 2, now 3"]


def test_strides_are_named_where_the_sizes_are_the_same():
    rows, columns = tensor("x", 2, 3, strides=(3, 1)), tensor("x", 2, 3, strides=(1, 2))
    assert changed([rows], [columns]) == ["x.stride(0) == 3, now 1"]
    assert changed([rows], [tensor("x", 2, 4, strides=(4, 1))]) == ["x.size(1) == 3, now 4"]


def test_guards_on_single_axes_are_part_of_the_sizes():
    found = values_tested([tensor("x", None, None, None, 8), *map(PythonTest, _AXES)])
    assert found["x.size()"].condition == "x.size() == (2 or more, 2 to 15, 4, 8)"
    assert not set(_AXES) & set(found)


_AXES = ("2 <= x.size()[0]", "2 <= x.size()[1] <= 15", "x.size()[2] == 4")


def test_a_size_that_must_equal_another_one_is_not_called_any():
    found = values_tested([tensor("x", None, 4), tensor("y", None, None), *map(PythonTest, _EQUAL_AXES)])
    assert found["y.size()"].condition == "y.size() == (x.size(0), 2*x.size(0))"
    assert found["x.size()"].condition == "x.size() == (2 or more, 4)"
    assert not set(_EQUAL_AXES) & set(found)


_EQUAL_AXES = ("2 <= x.size()[0]", "y.size()[0] == x.size()[0]", "2 <= y.size()[1]", "y.size()[1] == 2*x.size()[0]")
