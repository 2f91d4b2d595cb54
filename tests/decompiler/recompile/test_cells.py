"""Reordering cells, which Dynamo requires of replacement code, keeps the behaviour."""

from __future__ import annotations

import sys
from types import CellType, CodeType, FunctionType
from typing import Any, Callable, Tuple

import pytest
from decompile_tools import function_code

from depyf.decompiler import decompile_frame
from depyf.decompiler.recompile.cells import with_cells
from depyf.decompiler.recompile.restoration import CannotRecompile


def around() -> Tuple[Callable[..., Any], Callable[..., Any]]:
    b, c = "b", "c"

    def own(a: Any, d: Any) -> Any:
        e, f = a, d
        g = lambda: (e, f, a)  # noqa: E731
        e, f = f, e
        return g(), [lambda: (x, d) for x in (1,)][0]()

    def free(a: Any, d: Any) -> Any:
        x, y = a, d
        x, y = y, x
        return x, y, b, c

    return own, free


def changed(function: Callable[..., Any], cells: Tuple[str, ...], free: Tuple[str, ...]) -> Callable[..., Any]:
    code: CodeType = with_cells(function.__code__, cells, free)  # type: ignore[attr-defined]
    closure = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))  # type: ignore[attr-defined]
    return FunctionType(code, globals(), "f", None, tuple(closure[name] for name in free) or None)


def test_own_cells_in_another_order_hold_the_same_values() -> None:
    own, _ = around()
    cells = own.__code__.co_cellvars  # type: ignore[attr-defined]
    assert changed(own, tuple(reversed(cells)), ())(1, 2) == own(1, 2)


def test_free_variables_in_another_order_hold_the_same_values() -> None:
    _, free = around()
    assert changed(free, (), ("c", "b"))(1, 2) == free(1, 2) == (2, 1, "b", "c")


def test_a_cell_that_the_text_does_not_use_is_added_without_moving_values() -> None:
    _, free = around()
    code = with_cells(free.__code__, (), ("b", "unused", "c"))  # type: ignore[attr-defined]
    b, c = free.__closure__ or ()  # type: ignore[attr-defined]
    assert code.co_freevars == ("b", "unused", "c")
    assert FunctionType(code, globals(), "f", None, (b, CellType("?"), c))(1, 2) == free(1, 2)


def test_cells_that_the_original_lacks_are_refused() -> None:
    _, free = around()
    with pytest.raises(CannotRecompile, match="cells that the other has not"):
        with_cells(free.__code__, (), ("b",))  # type: ignore[attr-defined]


def test_a_frame_whose_cells_only_dropped_code_made_can_be_listed_without_a_crash() -> None:
    source = "def f(d, look):\n c = [d]\n look()\n return c\n (c for a in d)"
    found = decompile_frame(function_code(source))
    assert found.code is not None
    assert found.code.co_cellvars == ("c",)
    seen: dict = {}
    run = FunctionType(found.code, {})
    assert run(1, lambda: seen.update(sys._getframe(1).f_locals)) == [1]
    assert seen["c"] == [1]
