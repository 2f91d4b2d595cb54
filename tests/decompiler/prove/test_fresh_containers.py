"""Operations on containers that have not escaped: done exactly as Python does them, or left to be an event."""

from __future__ import annotations

from typing import Any, List

import pytest

from depyf.decompiler.prove.fresh_containers import Containers
from depyf.decompiler.prove.machine_state import DICT, LIST, Side
from depyf.decompiler.prove.terms import Terms


class World:
    """One machine with three unknown values."""

    def __init__(self) -> None:
        self.terms = Terms()
        self.containers = Containers(self.terms, by_value=True)
        self.side = Side()
        self.values = [self.terms.symbol() for _ in range(3)]

    def list(self) -> int:
        return self.containers.make(self.side, LIST, self.values[:])

    def const(self, value: Any) -> int:
        return self.terms.const(value)

    def slice(self, *bounds: Any) -> int:
        return self.terms.slice_of(tuple(self.const(bound) for bound in bounds))

    def items(self, reference: int) -> List[int]:
        found = self.containers.elements(self.side, reference)
        assert found is not None
        return found


@pytest.mark.parametrize("index", [0, 2, -1, -3])
def test_an_index_in_range_reads_what_python_reads(index: int) -> None:
    world = World()
    assert world.containers.get_item(world.side, world.list(), world.const(index)) == world.values[index]


@pytest.mark.parametrize("key", [3, -4, True, 1.0, "a", None], ids=repr)
def test_an_index_that_raises_or_is_no_int_is_an_event(key: Any) -> None:
    world = World()
    made = world.list()
    assert world.containers.get_item(world.side, made, world.const(key)) is None
    assert not world.containers.set_item(world.side, made, world.const(key), world.values[0])
    assert not world.containers.delete_item(world.side, made, world.const(key))
    assert world.items(made) == world.values


@pytest.mark.parametrize("bounds", [(None, None), (1, None), (None, -1), (-2, 9), (2, 1)], ids=repr)
def test_a_slice_copies_changes_and_deletes_what_python_does(bounds: Any) -> None:
    world, part = World(), slice(*bounds)
    made, new = world.list(), world.containers.make(world.side, LIST, world.values[:2])
    copied = world.containers.get_item(world.side, made, world.slice(*bounds))
    assert copied is not None and copied != made
    assert world.items(copied) == world.values[part]
    expected = world.values[:]
    expected[part] = world.values[:2]
    assert world.containers.set_item(world.side, made, world.slice(*bounds), new)
    assert world.items(made) == expected
    del expected[part]
    assert world.containers.delete_item(world.side, made, world.slice(*bounds))
    assert world.items(made) == expected


def test_a_slice_with_a_step_is_an_event() -> None:
    world = World()
    assert world.containers.get_item(world.side, world.list(), world.slice(None, None, 2)) is None


def test_a_dict_keeps_the_first_place_and_the_last_value_of_a_key() -> None:
    world = World()
    x, y, z = world.values
    a, b = world.const("a"), world.const("b")
    made = world.containers.make_dict(world.side, [a, b, a], [x, y, z])
    assert made is not None
    mapping = world.containers.container(world.side, made, DICT)
    assert mapping is not None and (mapping.keys, mapping.items) == ([a, b], [z, y])


@pytest.mark.parametrize("key", [True, 1.0, (1,), object()], ids=["True", "1.0", "tuple", "object"])
def test_a_key_that_may_equal_another_one_or_run_code_is_an_event(key: Any) -> None:
    world = World()
    assert world.containers.make_dict(world.side, [world.const(key)], world.values[:1]) is None


def test_the_same_keyword_twice_raises_so_it_is_an_event() -> None:
    world = World()
    one = world.containers.make_dict(world.side, [world.const("a")], world.values[:1])
    other = world.containers.make_dict(world.side, [world.const("a")], world.values[1:2])
    assert one is not None and other is not None
    assert not world.containers.update_dict(world.side, one, other, merge=True)
    assert world.containers.update_dict(world.side, one, other, merge=False)


def test_an_escaped_list_is_no_longer_known() -> None:
    world = World()
    made = world.list()
    world.side.heap[made].forward = world.terms.symbol()
    assert world.containers.elements(world.side, made) is None
    assert world.containers.length(world.side, made) is None


def test_after_in_a_set_is_its_elements_in_any_order() -> None:
    world = World()
    one, other = world.const(frozenset([0, 8])), world.const(frozenset([8, 0]))
    assert one != other
    membership = world.containers.membership
    assert membership(world.side, one) == membership(world.side, other)
