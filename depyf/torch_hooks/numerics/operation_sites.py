"""Operation sites: where an operation runs, read cheaply from the stack, and the line of the user's behind it."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from depyf.errors import UserError
from depyf.line_table.folders import FolderTable, read_tables
from depyf.line_table.rows import Row
from depyf.record.records import Location
from depyf.record.stack_text import read_stack
from depyf.record.vocabulary import CAPTURED_GRAPH
from depyf.torch_hooks.internals.code_owners import is_in_torch

_HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")
_ENGINE = "run_backward"  # the engine's method, which one function of torch.autograd's calls (2.2: two do)
_RUN_NODE = "run_node"  # the method of torch.fx.Interpreter that runs one node
INDUCTOR_MARK = "assert_size_stride"  # a global of each module of Inductor's (it deletes `async_compile`)
_GENERATED = "<eval_with_key>"  # the file name of a graph module's code, as long as it is in no file

Places = Tuple[Optional[Location], Optional[Location]]


@dataclass(frozen=True)
class Site:
    """Where an operation runs: a line of Python, or a node of a graph that is run node by node."""

    file: str = ""
    line: int = 0
    function: str = ""
    node: Any = None
    graph: str = ""  # name of the graph that the node is of
    is_generated: bool = False  # a line of Inductor's Python, which is somebody's only with a table of lines


def current_site() -> Site | None:
    """Return the innermost line that is neither torch's nor depyf's, or the node that an interpreter of torch's runs.

    None where a backward of torch's is in between.
    """
    for frame in _frames(sys._getframe(1)):
        code = frame.f_code
        if _ENGINE in code.co_names and is_in_torch(code.co_filename, "autograd"):
            return None
        if code.co_name == _RUN_NODE and "n" in code.co_varnames and is_in_torch(code.co_filename, "fx"):
            return Site(node=frame.f_locals["n"])
        if code.co_filename.startswith(_GENERATED):
            node = _node_at(frame.f_locals.get("self"), frame.f_lineno)
            return Site(code.co_filename, frame.f_lineno, code.co_name, node)
        if not is_in_torch(code.co_filename) and not code.co_filename.startswith(_HERE):
            return Site(code.co_filename, frame.f_lineno, code.co_name, is_generated=INDUCTOR_MARK in frame.f_globals)
    return None


def frame_of(site: Site) -> FrameType | None:
    """Return the frame that runs at a site now; None where it is none of this thread's."""
    for frame in _frames(sys._getframe(1)):
        if (frame.f_code.co_filename, frame.f_lineno) == (site.file, site.line):
            return frame
    return None


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _node_at(module: Any, line: int) -> Any:
    """Return the node of a graph module whose code is on a line of its text; None where torch has no table."""
    numbers = getattr(module, "_lineno_map", None)
    start = getattr(module, "_prologue_start", 0) or 0
    index = None if not numbers else numbers.get(line - start)
    nodes = [] if index is None else list(module.graph.nodes)
    return nodes[index] if index is not None and index < len(nodes) else None


class SiteLines:
    """Finds the lines of sites, with the tables of the folders that hold their files."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder  # of the newest files
        self._tables: Dict[str, Tuple[FolderTable, ...]] = {}

    def places(self, site: Site | None) -> Places:
        """Return the line of the user's at a site, and the line of the file of depyf's."""
        if site is None:
            return None, None
        if site.node is not None:
            return self._of_node(site)
        rows = self._rows(site)
        is_missing = os.path.isabs(site.file) and not os.path.exists(site.file)  # written only if a session sees it run
        if rows is None and (site.is_generated or is_missing):
            return None, None
        if rows is None:
            return Location(site.file, site.line, site.function, _code(site.file, site.line)), None
        here = Location(site.file, site.line, "", _code(site.file, site.line))
        return self._user_line(rows), here

    def of_kernel(self, file: str, line: int) -> Location | None:
        """Return the line of the user's behind the call of a kernel, where torch wrote it down."""
        return self._user_line(self._rows(Site(file, line)) or [])

    def of_caller(self) -> Location | None:
        """Return the innermost line of the user's that runs now, itself or as transformed code."""
        for frame in _frames(sys._getframe(1)):
            file, line = frame.f_code.co_filename, frame.f_lineno
            if is_in_torch(file) or file.startswith(_HERE):
                continue
            rows = self._rows(Site(file, line))
            user = (
                Location(file, line, frame.f_code.co_name, _code(file, line)) if rows is None else self._user_line(rows)
            )
            if user is not None and not is_in_torch(user.file):
                return user
        return None

    def _of_node(self, site: Site) -> Places:
        stack = read_stack(str(site.node.meta.get("stack_trace") or ""))
        graph = next((self._location(one, row) for one, row in self._captured(site)), None)
        return innermost(stack), graph

    def _captured(self, site: Site) -> Iterator[Tuple[FolderTable, Row]]:
        for one in self._tables_of(self._folder or ""):
            for row in one.table.rows:
                if row.stage == CAPTURED_GRAPH and row.name == site.node.name and row.file.startswith(site.graph + "."):
                    yield one, row

    def _location(self, one: FolderTable, row: Row) -> Location:
        path = os.path.join(one.path, row.file)
        return Location(path, row.line, "", _code(path, row.line))

    def _rows(self, site: Site) -> List[Row] | None:
        """Return what is on a line of a file of depyf's; None if the file is none."""
        name = os.path.basename(site.file)
        for one in self._tables_of(os.path.dirname(site.file)):
            if name in one.record.files:
                rows = [row for row in one.table.rows if row.file == name and row.is_on(site.line)]
                return [row for row in rows if row.line == site.line] or rows
        return None

    def _user_line(self, rows: Sequence[Row]) -> Location | None:
        found = [place for place in (innermost(row.calls) for row in rows) if place is not None]
        return found[0] if found else None

    def _tables_of(self, folder: str) -> Tuple[FolderTable, ...]:
        if folder not in self._tables:
            try:
                self._tables[folder] = read_tables(folder)[:1] if os.path.isdir(folder) else ()
            except UserError:
                self._tables[folder] = ()
        return self._tables[folder]


def innermost(calls: Sequence[Location]) -> Location | None:
    """Return the innermost line that is not torch's own; the innermost of all where each is."""
    own = [place for place in calls if not is_in_torch(place.file)]
    return own[-1] if own else calls[-1] if calls else None


def _code(file: str, line: int) -> str:
    return linecache.getline(file, line).strip()
