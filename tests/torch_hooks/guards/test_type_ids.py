"""Guards of a torch that prints ids alone name the types that they test, and `None`."""

from __future__ import annotations

import collections
import gc

import pytest

from depyf.torch_hooks.guards.guard_tree import describe_guards
from depyf.torch_hooks.guards.type_ids import name_of_type


def f(n, od):
    return n


class Settings:
    pass


def condition(kind: str, text: str) -> str:
    """Return how one guard on `n` reads in the tree that torch 2.6 prints."""
    tree = (
        "TREE_GUARD_MANAGER:\n+- RootGuardManager\n"
        "| +- GuardManager: source=L['n'], accessed_by=DictGetItemGuardAccessor('n')\n"
        f"| | +- {kind}: {text}\n"
    )
    (guard,) = describe_guards(tree, f.__code__)
    return guard.condition


@pytest.mark.parametrize(
    ("kind", "shown"),
    [(list, "list"), (collections.OrderedDict, "collections.OrderedDict"), (Settings, "test_type_ids.Settings")],
)
def test_a_guard_on_a_type_names_it(kind, shown):
    assert condition("TYPE_MATCH", f"___check_type_id(L['n'], {id(kind)})") == f"type(n) is {shown}"


@pytest.mark.parametrize(("value", "kind"), [(2, "int"), (-2, "int"), (2.5, "float"), ("a b", "str")])
def test_a_guard_on_a_plain_value_names_its_type_which_torch_compares_too(value, kind):
    assert condition("EQUALS_MATCH", f"L['n'] == {value!r}      ") == f"type(n) is {kind} and n == {value!r}"


@pytest.mark.parametrize("value", [None, True, False, ...])
def test_a_guard_on_the_id_of_a_value_that_there_is_once_names_the_value(value):
    assert condition("ID_MATCH", f"___check_obj_id(L['n'], {id(value)})") == f"n is {value!r}"


def test_the_id_of_a_type_that_is_gone_names_nothing():
    class Gone:
        pass

    identity = id(Gone)
    assert name_of_type(identity).endswith("Gone")
    del Gone
    gc.collect()
    assert name_of_type(identity) == ""
