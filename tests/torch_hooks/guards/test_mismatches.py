"""What torch prints of a guard that failed, read into its parts."""

from __future__ import annotations

import pytest

from depyf.record.guard_conditions import TensorProperties, TensorTest, TorchState
from depyf.record.records import GuardRecord, Location
from depyf.torch_hooks.guards import mismatches
from depyf.torch_hooks.guards.failed_guards import failed_guards, failures
from depyf.torch_hooks.guards.frame_values import Variables
from depyf.torch_hooks.guards.recompile_reasons import in_words, read_reasons

VARIABLES = Variables(local={"n": 4, "d": {1: 2}}, of_module={})


@pytest.mark.parametrize(
    ("printed", "aspect", "subject", "expected", "actual"),
    [
        ("tensor 'x' size mismatch at index 0. expected 3, actual 4", "size(0)", "x", "3", "4"),
        ("tensor 'x' dtype mismatch. expected Float, actual Double", "dtype", "x", "torch.float32", "torch.float64"),
        ("tensor 'x' requires_grad mismatch. expected requires_grad=1", "requires_grad", "x", "True", "False"),
        ("___check_type_id(L['n'], 123456789), type=<class 'str'>", mismatches.TYPE, "n", "str", "int"),
        ("len(L['d']) != 3", mismatches.LENGTH, "d", "3", "1"),
        ("L['n'] == 3", mismatches.EXPRESSION, "", "3", "4"),
        ("L['x'].size()[0] == 3", mismatches.EXPRESSION, "x", "3", ""),
        ("___check_obj_id(L['n'], 123456789)", mismatches.IDENTITY, "n", mismatches.SAME_OBJECT, "4"),
        ("the moon is full", mismatches.TORCH_WORDS, "", "", ""),
    ],
)
def test_a_printed_failure_has_a_value_a_property_and_what_was_expected(printed, aspect, subject, expected, actual):
    found = mismatches.read_mismatch(printed, VARIABLES)
    assert (found.aspect, found.subject, found.expected, found.actual) == (aspect, subject, expected, actual)


def test_the_ids_of_none_and_of_truth_values_that_old_torch_prints_are_read():
    found = [mismatches.read_mismatch(f"___check_obj_id(L['n'], {id(value)})", VARIABLES) for value in (True, None)]
    assert [(one.condition, one.actual) for one in found] == [("n == True", "4"), ("n is None", "4")]


def test_the_guards_of_the_version_add_the_type_and_the_line_that_torch_leaves_out():
    expected = TensorProperties("torch.Tensor", "torch.float32", "cpu", False, (3,), (1,))
    guard = GuardRecord(TensorTest("x", expected), "L['x']", "TENSOR_MATCH", Location("a.py", 7))
    reasons = read_reasons("0/0: expected type of 'x' to be a tensor type, but found <class 'int'>")
    (failed,) = failed_guards(failures(reasons, VARIABLES), lambda version: [guard])
    assert (failed.condition, failed.then, failed.now) == ("type(x) is torch.Tensor", "torch.Tensor", "int")
    assert failed.location == Location("a.py", 7)
    assert in_words(reasons)[0].startswith("0/0: expected type of 'x'"), "torch's words, from the same reading"


def test_a_switch_of_torch_that_changed_has_the_value_of_the_version():
    pytest.importorskip("torch")
    guard = GuardRecord(TorchState(False, "torch.float64", False, 3), "", "GLOBAL_STATE")
    reasons = read_reasons("0/0: GLOBAL_STATE changed: default_dtype grad_mode ")
    (failed,) = failed_guards(failures(reasons, VARIABLES), lambda version: [guard])
    assert failed.condition == "torch.get_default_dtype() is torch.float64 and torch.is_grad_enabled() is False"
    assert failed.now == "torch.get_default_dtype() is torch.float32, torch.is_grad_enabled() is True"
    reasons = read_reasons("0/0: GLOBAL_STATE changed: gravity ")
    (failed,) = failed_guards(failures(reasons, VARIABLES), lambda version: [guard])
    assert str(failed) == "0/0 needs torch's switch gravity as it was, which is not so now"
