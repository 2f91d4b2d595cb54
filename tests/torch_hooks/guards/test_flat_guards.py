"""The guards of torch 2.2, which has no guard trees, and the reasons of its recompiles read like those of newer torch."""

from __future__ import annotations

import pytest

from depyf.torch_hooks.guards.flat_guards import as_tree
from depyf.torch_hooks.guards.frame_values import Variables
from depyf.torch_hooks.guards.guard_tree import describe_guards
from depyf.torch_hooks.guards.mismatches import read_mismatch
from depyf.torch_hooks.guards.recompile_reasons import read_reasons


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
