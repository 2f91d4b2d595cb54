"""Breakpoints of pdb's kind in the user's own files, carried over to the files that run in their place."""

from __future__ import annotations

import bdb
from typing import Any, Dict, List, Tuple

from depyf.torch_hooks.stepping.user_breakpoints import Announcer, CarryLine, Place

# What of a breakpoint the carried ones share; when it changes they are set anew.
_Shape = Tuple[str, int, Any, bool, bool]


class PdbBreakpoints:
    """The breakpoints that were set for those of the user's; `carry` brings them up to date."""

    def __init__(self, debugger: bdb.Bdb, carry_line: CarryLine, announcer: Announcer) -> None:
        self.debugger = debugger
        self._carry_line = carry_line
        self._announcer = announcer
        self._carried: Dict[int, Tuple[_Shape, List[Any]]] = {}  # number of the user's -> those set for it
        self._targets: Dict[int, Tuple[Place, ...]] = {}

    def carry(self) -> None:
        """Set what the breakpoints in the user's files ask for, and remove what none asks for any more."""
        mine = {id(one) for _, ones in self._carried.values() for one in ones}
        points = {point.number: point for point in _all_points() if id(point) not in mine}
        for number in list(self._carried):
            if number not in points or self._carried[number][0] != _shape(points[number]):
                self._remove(number)
            elif points[number].temporary and not all(_is_set(one) for one in self._carried[number][1]):
                self.debugger.clear_bpbynumber(number)  # it was hit, where its code runs
                self._remove(number)
                del points[number]
        for number, point in points.items():
            if number not in self._carried:
                self._carry_one(point)

    def carry_anew(self) -> None:
        """Carry all over again: the files that run have changed."""
        for point in _all_points():
            if point.number in self._carried:
                found = self._carry_line(point.file, point.line)
                if found is None or found.targets != self._targets[point.number]:
                    self._remove(point.number)
        self.carry()

    def remove(self) -> None:
        """Remove all that were set."""
        for number in list(self._carried):
            self._remove(number)

    def _carry_one(self, point: Any) -> None:
        found = self._carry_line(point.file, point.line)
        if found is None:
            return
        self._announcer.announce(found.text)
        added = []
        for file, line in found.targets:
            before = {id(one) for one in _all_points()}
            self.debugger.set_break(file, line, point.temporary, point.cond)
            new = [one for one in _all_points() if id(one) not in before]
            for one in new:
                one.enabled, one.ignore = point.enabled, point.ignore
            added += new
        self._carried[point.number] = (_shape(point), added)
        self._targets[point.number] = found.targets

    def _remove(self, number: int) -> None:
        for one in self._carried.pop(number)[1]:
            if _is_set(one):
                self.debugger.clear_bpbynumber(one.number)


def _all_points() -> List[Any]:
    return [point for point in bdb.Breakpoint.bpbynumber if point is not None]


def _is_set(point: Any) -> bool:
    return any(one is point for one in bdb.Breakpoint.bpbynumber)


def _shape(point: Any) -> _Shape:
    return point.file, point.line, point.cond, point.enabled, point.temporary
