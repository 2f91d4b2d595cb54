"""The guards of torch 2.2, which has no guard trees, and the reasons of its recompiles read like those of newer torch."""

from __future__ import annotations

import pytest

from depyf.torch_hooks.guards.flat_guards import as_tree, with_plain_attributes
from depyf.torch_hooks.guards.frame_values import Variables
from depyf.torch_hooks.guards.guard_tree import describe_guards
from depyf.torch_hooks.guards.mismatches import read_mismatch
from depyf.torch_hooks.guards.recompile_reasons import read_reasons
from depyf.torch_hooks.guards.torch_switches import known_states, with_changed_states


def f(x, values):
    return x


@pytest.mark.parametrize(
    ("line", "condition"),
    [
        ("___guarded_code.valid", "every object that this was compiled with still lives"),
        ("___compile_config_hash() == '67c1'", "torch's configuration is the one that this was compiled under"),
        (
            "(___skip_backend_check() or ___current_backend() == ___lookup_backend(140332533783168))",
            "the backend is the one that this was compiled with",
        ),
        (
            "___check_tensors(L['x'], L['values']['p'], tensor_check_names=tensor_check_names)",
            "x, values['p']: tensors with the properties that they had",
        ),
        (
            "hasattr(L['x'], '_dynamo_dynamic_indices') == False",
            "not any(hasattr(x, f'_dynamo_{mark}_indices') for mark in ('dynamic',))",
        ),
    ],
)
def test_a_guard_has_words_in_the_place_of_helpers_of_torchs_own(line, condition):
    (guard,) = describe_guards(as_tree([line], are_new=False), f.__code__)
    assert guard.condition == condition


@pytest.mark.parametrize(
    ("reason", "condition", "actual"),
    [
        ("___guarded_code.valid", "every object that it was compiled with", "one of them was freed"),
        (
            "___check_global_state()",
            "torch's global switches as they were (grad mode, autocast, default dtype, threads)",
            "one of them changed",
        ),
        (
            "Duplicate tensor found where not expected! L['x']should not alias to anything, but is aliased",
            "x to be another tensor than the others",
            "one tensor",
        ),
        ("set(L['values'].keys()) == {'a'}", "set(values.keys()) == {'a'}", "{'a', 'b'}"),
    ],
)
def test_the_reason_of_a_recompile_has_words_in_the_place_of_helpers_of_torchs_own(reason, condition, actual):
    found = read_mismatch(reason, Variables(local={"values": {"a": 1, "b": 2}}, of_module={}))
    assert (found.condition, found.actual) == (condition, actual)


def test_versions_that_torch_names_no_id_of_are_no_failure_of_the_record():
    (found,) = read_reasons("[\"L['n'] == 1\", \"L['n'] == 2\", \"L['n'] == 3\"]")
    assert found.version == "" and len(found.some) == 2


def test_tensors_that_are_one_are_named_together():
    tensor = object()
    variables = Variables(local={"x": tensor, "n": 2, "y": tensor}, of_module={})
    reason = "Duplicate tensor found where not expected! L['y']should not alias to anything, but is aliased"
    found = read_mismatch(reason, variables)
    assert (found.condition, found.actual) == ("x, y to be different tensors", "one tensor")


def test_the_code_of_a_function_is_named_as_newer_torch_does():
    reason = "___check_obj_id(getattr(L['fn'], '__code__', None), 94000)"
    assert with_plain_attributes(reason) == "___check_obj_id(L['fn'].__code__, 94000)"


def test_the_global_switch_that_changed_is_named_from_what_was_read_before():
    torch = pytest.importorskip("torch")
    before = known_states()
    assert with_changed_states("___check_global_state()", before) == "___check_global_state()"
    with torch.no_grad():
        assert with_changed_states("___check_global_state()", before) == "GLOBAL_STATE changed: grad_mode"
        assert with_changed_states("L['n'] == 1", before) == "L['n'] == 1"
