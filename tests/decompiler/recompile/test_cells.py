"""Reordering cells, which Dynamo requires of replacement code, keeps the behaviour."""

from __future__ import annotations

from types import CellType, CodeType, FunctionType
from typing import Any, Callable, Tuple

import pytest

from depyf.decompiler.recompile.cells import with_cells


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
    with pytest.raises(ValueError, match="cells that the other has not"):
        with_cells(free.__code__, (), ("b",))  # type: ignore[attr-defined]
