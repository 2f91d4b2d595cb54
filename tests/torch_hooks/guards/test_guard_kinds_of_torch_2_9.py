"""Guards of torch 2.9, which are printed without types and values."""

from __future__ import annotations

import sys

import pytest

from depyf.torch_hooks.guards.condition_cache import tests_of as read_with_cache
from depyf.torch_hooks.guards.guard_kinds import Leaf


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        (Leaf("TYPE_MATCH", "___check_type_id(L['n'], 94300)", "L['n']", "int"), "type(n) is int"),
        (
            Leaf("TYPE_MATCH", "___check_type_id(L['n'], 94300)"),
            "the type of n is still the one it was when this was compiled",
        ),
        (
            Leaf("ID_MATCH", f"___check_obj_id(G['sys'], {id(sys)})", "G['sys']", "module"),
            "sys is sys.modules['sys']",
        ),
        (
            Leaf("GLOBAL_STATE", "___check_global_state()"),
            "torch's global switches are as they were: grad mode, autocast, default dtype, threads",
        ),
    ],
)
def test_guards_that_torch_2_9_prints_without_types_and_values_can_be_read(leaf, expected):
    assert [test.text for test in read_with_cache(leaf)] == [expected]
