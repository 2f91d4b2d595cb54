"""Breakpoints of an editor in the user's own files, carried over to the files that run in their place.

debugpy (VS Code) and PyCharm both run pydevd inside the program. It has one debugger object, which holds the
breakpoints by file and calls `on_breakpoints_changed` when the editor has changed them. While the context is open an
attribute of that object shadows the method, so that a breakpoint is carried over whenever it is set. The arguments of
a breakpoint's class differ between debugpy and PyCharm: one that is carried over is copied, and one that the program
asks for is made by the names of the arguments.
"""

from __future__ import annotations

import copy
import inspect
import sys
import threading
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

from depyf.torch_hooks.stepping.user_breakpoints import Announcer, CarriedLine, CarryLine, Place

_CHANGED = "on_breakpoints_changed"
_ANY_FUNCTION = "None"  # pydevd's way to spell that a breakpoint is bound to no function
_FIRST_ID = -1_000_000  # editors count upwards from 0

# file, line, condition, hit condition, message to log
_Key = Tuple[str, int, Any, Any, Any]


def running_pydevd() -> Any:
    """Return pydevd's debugger object, None where no editor controls this process or it lacks what is used here."""
    pydevd = sys.modules.get("pydevd")
    debugger = getattr(pydevd, "get_global_debugger", lambda: None)()
    needed = ("file_to_id_to_line_breakpoint", "breakpoints", "consolidate_breakpoints", _CHANGED)
    return debugger if all(hasattr(debugger, name) for name in needed) else None


class PydevdBreakpoints:
    """The breakpoints that were set for those of the editor's; `carry` brings them up to date."""

    def __init__(self, debugger: Any, carry_line: CarryLine, announcer: Announcer) -> None:
        self._debugger = debugger
        self._carry_line = carry_line
        self._announcer = announcer
        self._changed: Callable[..., Any] = getattr(debugger, _CHANGED)
        self._lock = threading.RLock()  # the editor's requests arrive in another thread
        self._ids = _FIRST_ID
        self._carried: Dict[_Key, List[Tuple[str, int]]] = {}  # the editor's -> file and id of those set for it
        self._targets: Dict[_Key, Tuple[Place, ...]] = {}
        self._asked: Dict[_Key, Any] = {}  # that the program asks for, at lines that run

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Carry breakpoints over now and whenever the editor changes them; remove what was set when left."""

        def changed(*args: Any, **kwargs: Any) -> Any:
            result = self._changed(*args, **kwargs)
            self.carry()
            return result

        vars(self._debugger)[_CHANGED] = changed
        try:
            self.carry()
            yield
        finally:
            if vars(self._debugger).get(_CHANGED) is changed:
                del vars(self._debugger)[_CHANGED]
            self.remove()

    def carry(self) -> None:
        """Set what the breakpoints in the user's files ask for, and remove what none asks for any more."""
        with self._lock:
            wanted = {_key(file, point): point for file, point in self._points() if not self._is_ours(point)}
            wanted.update(self._asked)
            stale = [key for key in self._carried if key not in wanted or self._is_lost(key)]
            added = [key for key in wanted if key not in self._carried or key in stale]
            files = {file for key in stale for file, _ in self._take(key)}
            for key in added:
                files.update(self._add(key, wanted[key]))
            self._update(files)

    def set_places(self, places: Sequence[Place]) -> None:
        """Set breakpoints at lines that run, for the program; they are removed with the others."""
        for file, line in places:
            point = _new_point(line)
            self._asked[_key(file, point)] = point
        self.carry()

    def carry_anew(self) -> None:
        """Carry all over again: the files that run have changed."""
        with self._lock:
            for key in list(self._carried):
                found = self._found_for(key)
                if found is None or found.targets != self._targets[key]:
                    self._update({file for file, _ in self._take(key)})
            self.carry()

    def remove(self) -> None:
        """Remove all that were set."""
        with self._lock:
            self._asked.clear()
            self._update({file for key in list(self._carried) for file, _ in self._take(key)})

    def _points(self) -> Iterator[Tuple[str, Any]]:
        for file, points in list(self._debugger.file_to_id_to_line_breakpoint.items()):
            for point in list(points.values()):
                yield file, point

    def _is_ours(self, point: Any) -> bool:
        number = getattr(point, "breakpoint_id", None)
        return isinstance(number, int) and self._ids <= number < _FIRST_ID

    def _is_lost(self, key: _Key) -> bool:
        """Return whether the editor has replaced the breakpoints of a file, and ours with them."""
        by_file = self._debugger.file_to_id_to_line_breakpoint
        return any(number not in by_file.get(file, {}) for file, number in self._carried[key])

    def _found_for(self, key: _Key) -> CarriedLine | None:
        return CarriedLine((key[:2],), "") if key in self._asked else self._carry_line(key[0], key[1])

    def _add(self, key: _Key, point: Any) -> List[str]:
        found = self._found_for(key)
        if found is None:
            return []
        if found.text:
            self._announcer.announce(found.text)
        added = []
        for file, line in found.targets:
            self._ids -= 1
            canonical = _canonical(file)
            carried = copy.copy(point)
            carried.line, carried.func_name, carried.breakpoint_id = line, _ANY_FUNCTION, self._ids
            self._debugger.file_to_id_to_line_breakpoint.setdefault(canonical, {})[self._ids] = carried
            added.append((canonical, self._ids))
        self._carried[key] = added
        self._targets[key] = found.targets
        return [file for file, _ in added]

    def _take(self, key: _Key) -> List[Tuple[str, int]]:
        """Take out what was set for a breakpoint; return the files and ids."""
        taken = self._carried.pop(key)
        for file, number in taken:
            self._debugger.file_to_id_to_line_breakpoint.get(file, {}).pop(number, None)
        return taken

    def _update(self, files: set[str]) -> None:
        """Have the debugger use what is set in these files now."""
        for file in files:
            points = self._debugger.file_to_id_to_line_breakpoint.get(file, {})
            self._debugger.consolidate_breakpoints(file, points, self._debugger.breakpoints)
        if files:
            self._changed()


def _key(file: str, point: Any) -> _Key:
    more = [getattr(point, name, None) for name in ("condition", "hit_condition", "expression")]
    return (file, point.line, *more)


def _new_point(line: int) -> Any:
    """Return a breakpoint that stops whenever a line runs."""
    LineBreakpoint: Any = sys.modules["_pydevd_bundle.pydevd_breakpoints"].LineBreakpoint
    values = {"breakpoint_id": _FIRST_ID - 1, "line": line, "func_name": _ANY_FUNCTION}
    names = inspect.signature(LineBreakpoint).parameters.values()
    required = {one.name: None for one in names if one.default is one.empty}
    return LineBreakpoint(**{**required, **{name: values[name] for name in values if name in required}})


def _canonical(file: str) -> str:
    """Return a path in the form in which pydevd has the files of breakpoints."""
    files: Any = sys.modules.get("pydevd_file_utils")
    for name in ("canonical_normalized_path", "normcase"):
        canonical = getattr(files, name, None)
        if canonical is not None:
            return str(canonical(file))
    return file
