"""Where a breakpoint in the user's own file belongs: the lines of the files that run in its place.

Compiled code does not run the user's file, so a breakpoint there is accepted and never hit. The table of lines has the
lines of transformed code and graphs that stem from it: those that run as Python get a breakpoint of the same kind.
"""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from depyf.errors import UserError
from depyf.line_table.folders import FolderTable, read_tables, source_lines, table_of
from depyf.line_table.questions import FromUser, NoAnswer, SourceChanged, ask
from depyf.line_table.rows import Row
from depyf.record.records import SessionRecord
from depyf.record.vocabulary import BY_GRAPH_CALL, CAPTURED_GRAPH
from depyf.torch_hooks.stepping.recorded_lines import WHY_NOT, RecordedLines

Place = Tuple[str, int]  # file and line
_EAGER, _AOT_EAGER = "eager", "aot_eager"  # what `debug(backend=...)` runs in the place of kernels


@dataclass(frozen=True)
class CarriedLine:
    """What becomes of a breakpoint in a line of the user's."""

    targets: Tuple[Place, ...]  # that stop in its place
    text: str  # for the user


CarryLine = Callable[[str, int], Optional[CarriedLine]]


class LineCarrier:
    """Answers where breakpoints of the user's own files belong, for the files of one folder."""

    def __init__(self, tables: Sequence[FolderTable], backend: str | None = None) -> None:
        self._tables = tables
        self._backend = backend
        self._recorded = RecordedLines(tables)
        self._lines: Dict[str, Set[int]] = {}  # file of the user's -> lines that something stems from
        for row in [row for one in tables for row in one.table.rows]:
            for place in row.calls:
                self._lines.setdefault(normal(place.file), set()).add(place.line)

    @property
    def folders(self) -> Tuple[str, ...]:
        """The folders whose files these are."""
        return tuple([one.path for one in self._tables])

    def carry(self, file: str, line: int) -> CarriedLine | None:
        """Return what becomes of a breakpoint; None where it needs nothing: its code runs where it stands."""
        if normal(file) not in self._lines:
            return None
        here = f"{os.path.basename(file)}:{line}"
        try:
            answer = ask(f"{os.path.abspath(file)}:{line}", self._tables)
        except SourceChanged:
            return CarriedLine((), f"{here}: the file has changed since it was compiled; run the program again")
        except NoAnswer:
            return self._carry_to_next(file, line, here)
        assert isinstance(answer, FromUser)
        running = tuple(dict.fromkeys(self._targets(answer)))
        targets = tuple([place for place in running if not self._recorded.has(*place)])
        why_not = WHY_NOT if running else self._why_not()
        return CarriedLine(targets, f"{here} -> {_shown(targets)}" if targets else f"{here}: {why_not}")

    def _carry_to_next(self, file: str, line: int, here: str) -> CarriedLine | None:
        """Carry a line that nothing stems from to the next line of its function that something does."""
        first, last = _function_around(source_lines(file), line)
        known = self._lines[normal(file)]
        if not any(first <= one <= last for one in known):
            return None
        following = min((one for one in known if line < one <= last), default=0)
        gone = f"{here}: no statement of the compiled code stems from it"
        if not following:
            return CarriedLine((), f"{gone}, nor from the lines after it in its function")
        found = self.carry(file, following)
        if found is None or not found.targets:
            why_not = self._why_not() if found is None else found.text.partition(": ")[2]
            return CarriedLine((), f"{gone}; of the next, line {following}: {why_not}")
        return CarriedLine(found.targets, f"{gone}; the next is line {following} -> {_shown(found.targets)}")

    def _why_not(self) -> str:
        if self._backend == _AOT_EAGER:
            return (
                "AOTAutograd's graphs were made for this run, and have no file; debug(backend='eager') can stop there"
            )
        return "its code runs inside a kernel, where nothing can stop; debug(backend='eager') can"

    def _targets(self, answer: FromUser) -> Iterator[Place]:
        """Yield the lines that run as Python: of graphs where there are any, else of transformed code."""
        for found in answer.found:
            running = self._running_files(found.folder.record)
            rows = [
                row for row in found.rows if row.file in running and row.basis != BY_GRAPH_CALL and not row.last_line
            ]
            for row in _first_stage(rows):
                yield os.path.join(os.path.abspath(found.folder.path), row.file), row.line

    def _running_files(self, record: SessionRecord) -> Set[str]:
        names = {frame.file for frame in record.frames}
        for graph in record.graphs:
            if self._backend == _EAGER:
                names.update(stage.file for stage in graph.stages if stage.stage == CAPTURED_GRAPH)
            elif self._backend != _AOT_EAGER:
                names.update(graph.linked_files)
        return names


def carrier_of_folder(folder: str | None, backend: str | None = None) -> LineCarrier:
    """Return the carrier for a folder that `prepare_debug` has written; `backend`: that of `debug`."""
    try:
        return LineCarrier(() if folder is None else read_tables(folder), backend)
    except UserError:
        return LineCarrier(())


def carrier_of_record(folder: str, record: SessionRecord) -> LineCarrier:
    """Return the carrier for what a session has recorded so far in a folder."""
    return LineCarrier((table_of(folder, record),))


@dataclass
class Announcer:
    """Prints each line about a breakpoint once."""

    show: Callable[[str], None]

    def __post_init__(self) -> None:
        self._shown: Set[str] = set()

    def announce(self, text: str) -> None:
        """Show a text that was not shown before."""
        if text not in self._shown:
            self._shown.add(text)
            self.show(text)


def normal(file: str) -> str:
    """Return a path in the form in which paths are compared."""
    return os.path.normcase(os.path.abspath(file))


def _shown(targets: Sequence[Place]) -> str:
    return ", ".join(f"{os.path.basename(file)}:{line}" for file, line in targets)


def _first_stage(rows: Sequence[Row]) -> List[Row]:
    """Return one row for each stage of each graph: stopping at the first line of a statement is enough."""
    first: Dict[Tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault((row.file, row.stage), row)
    return list(first.values())


def _function_around(lines: Sequence[str], line: int) -> Tuple[int, int]:
    """Return the first and last line of the innermost function around a line; (0, -1) where there is none."""
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0, -1
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    spans = [(node.lineno, node.end_lineno or node.lineno) for node in functions]
    around = [span for span in spans if span[0] <= line <= span[1]]
    return min(around, key=lambda span: span[1] - span[0], default=(0, -1))
