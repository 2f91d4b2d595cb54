"""Graph parts: the data of a graph's view, its stages as text and the links between their lines.

    stages   stage, file, text, made_for, runs, execution, rows
    rows     [line, last line, name, basis, [chain ...], sure]: a node or kernel on a line, and where it stems from
    chains   each the numbers of places, outermost call first; the last one is the line itself
    places   [file, line, code, function]
    kernels  how many kernels there are, and of how many the lines are known

All links are rows of the table of lines (`depyf.line_table`): the page adds none of its own.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from depyf.line_table.rows import Row
from depyf.line_table.table import LineTable
from depyf.page.place_table import Data, Place, PlaceTable
from depyf.record.records import GraphRecord, Location, StageRecord
from depyf.record.vocabulary import CAPTURED_GRAPH, KERNEL

Chain = Tuple[Location, ...]


class RowsByFile:
    """The rows of a table by the file that they are in."""

    def __init__(self, table: LineTable) -> None:
        self.texts = table.texts
        self._rows: Dict[str, List[Row]] = {}
        for row in table.rows:
            self._rows.setdefault(row.file, []).append(row)

    def of(self, file: str) -> Sequence[Row]:
        """Return the rows of a file."""
        return self._rows.get(file, ())

    def text(self, file: str) -> str:
        """Return the text of a file; empty where it is missing."""
        return "\n".join(self.texts.get(file, ()))


def graph_part(graph: GraphRecord, rows: RowsByFile, places: PlaceTable) -> Data:
    """Return the data of a graph's view."""
    links = _Links(places)
    stages = [_stage(part, rows, links) for part in (*graph.stages, *graph.kernels)]
    return {
        "name": graph.name,
        "compile_id": graph.compile_id,
        "stages": stages,
        "chains": links.chains,
        "places": links.places,
        "skipped": list(graph.skipped),
        "lost": list(graph.lost),
        "without_frame": graph.without_frame,
        "candidates": [part.file for part in graph.candidates],
    }


def graph_row(graph: GraphRecord, rows: RowsByFile) -> Data:
    """Return the line of a graph in the list of all: its numbers, and how far its links go."""
    captured = {row.name for part in graph.stages if part.stage == CAPTURED_GRAPH for row in rows.of(part.file)}
    kernels: Dict[Tuple[str, str], bool] = {}
    for part in graph.kernels:
        for row in rows.of(part.file) if part.stage == KERNEL else ():
            kernels[part.file, row.name] = kernels.get((part.file, row.name), False) or row.source is not None
    return {
        "name": graph.name,
        "compile_id": graph.compile_id,
        "nodes": len(captured),
        "stages": [[part.stage, part.made_for, part.file] for part in graph.stages],
        "modules": [[part.file, part.made_for, part.runs] for part in graph.kernels if part.stage == KERNEL],
        "kernels": list(dict.fromkeys(name for _, name in kernels)),
        "kernels_linked": sum(kernels.values()),
        "kernels_all": len(kernels),
        "runs": list(graph.running_files),
        "cached": list(graph.skipped),
    }


def _stage(part: StageRecord, rows: RowsByFile, links: _Links) -> Data:
    return {
        "stage": part.stage,
        "file": part.file,
        "made_for": part.made_for,
        "piece": part.piece,
        "runs": part.runs,
        "execution": part.execution,
        "text": rows.text(part.file),
        "rows": links.rows(rows.of(part.file)),
    }


class _Links:
    """Numbers the lines that the rows of one graph stem from."""

    def __init__(self, table: PlaceTable) -> None:
        self.chains: List[Tuple[int, ...]] = []
        self.places: List[Place] = []
        self._table = table
        self._chain_numbers: Dict[Chain, int] = {}
        self._known: Dict[int, int] = {}  # id of the calls, which the rows hold -> their number
        self._place_numbers: Dict[Location, int] = {}

    def rows(self, rows: Sequence[Row]) -> List[List[Any]]:
        """Return the rows of a file, those of one thing on one line together."""
        found: Dict[Tuple[int, int, str], List[Any]] = {}
        for row in rows:
            key = (row.line, row.last_line, row.name)
            if key not in found:
                found[key] = [row.line, row.reaches, row.name, row.basis, [], 1]
            if row.source is not None:
                found[key][4].append(self._chain(row.source.calls))
                found[key][5] &= int(row.source.is_sure)
        return list(found.values())

    def _chain(self, calls: Chain) -> int:
        number = self._known.get(id(calls))
        if number is None:
            number = self._chain_numbers.setdefault(calls, len(self.chains))
            if number == len(self.chains):
                self.chains.append(tuple([self._place(place) for place in calls]))
            self._known[id(calls)] = number
        return number

    def _place(self, place: Location) -> int:
        number = self._place_numbers.get(place)
        if number is None:
            number = self._place_numbers[place] = len(self.places)
            self.places.append(self._table.row_of(place))
        return number
