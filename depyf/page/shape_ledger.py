"""The ledger of dynamic shapes: each symbol in the inputs of a graph, which size it is, and what is asked of it.

Torch prints symbols in the types of a graph's inputs: `L_tokens_: "i64[4, s27][s20, 1]cpu"`. The guards of the version
state what must hold of that size, and the guard of an earlier version that failed, for which number it was compiled
before. A symbol that torch made a number while it traced is in no input: the record has it, with the line that did it.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from depyf.page.graph_parts import RowsByFile
from depyf.page.place_table import Data, PlaceTable
from depyf.record.records import FrameRecord, GraphRecord, SessionRecord, Specialization
from depyf.record.vocabulary import CAPTURED_GRAPH
from depyf.report.story_order import root_of

_INPUT = re.compile(r'(?P<name>\w+):\s+(?P<types>"[^"]*"(?:\s*\\?\s*"[^"]*")*)')  # a long type is several strings
_STRING = re.compile(r'"([^"]*)"')
_TENSOR = re.compile(r"\w+\[(?P<sizes>[^\]]*)\](?:\[(?P<strides>[^\]]*)\])?")
_SYMBOL = re.compile(r"[su]\d+")
_INPUTS = re.compile(r"def forward\((?P<inputs>.*?)\):\n", re.DOTALL)
_NO_LETTER = re.compile(r"\W+")
_AXIS = re.compile(r"\(\)\[(\d+)\]$")  # x.size()[0] is shown as x.size(0)

Use = Tuple[str, str, int]  # input, "size" or "stride", axis


def shape_ledger(record: SessionRecord, rows: RowsByFile, places: PlaceTable) -> List[Data]:
    """Return the symbols of all graphs, in the order of the graphs."""
    holders = {name: frame for frame in reversed(record.frames) for name in frame.graphs}
    found: List[Data] = []
    for graph in record.graphs:
        frame = holders.get(graph.name)
        for symbol, uses in _symbols(graph, rows).items():
            found.append(_row(record, graph, frame, symbol, uses, places))
    for frame in record.frames:
        found += [_specialized(record, frame, one, places) for one in frame.specialized]
    return found


def _specialized(record: SessionRecord, frame: FrameRecord, size: Specialization, places: PlaceTable) -> Data:
    """Return the row of a symbol that became a number."""
    root = root_of(record, frame.function)
    return {
        "symbol": size.symbol,
        "graph": frame.graphs[0] if frame.graphs else "",
        "compile_id": frame.compile_id,
        "function": None if root is None else root.key,
        "uses": [_AXIS.sub(r"(\1)", one) for one in size.sources],
        "guards": [],
        "before": [],
        "value": size.value,
        "at": places.of(size.location),
    }


def _symbols(graph: GraphRecord, rows: RowsByFile) -> Dict[str, List[Use]]:
    """Return the symbols in the inputs of a captured graph, with the sizes and strides that are one of them."""
    part = next((part for part in graph.stages if part.stage == CAPTURED_GRAPH), None)
    text = "" if part is None else rows.text(part.file)
    if "Sym(" not in text:
        return {}
    inputs = _INPUTS.search(text)
    found: Dict[str, List[Use]] = {}
    for one in _INPUT.finditer(inputs["inputs"] if inputs is not None else ""):
        type_name = "".join(_STRING.findall(one["types"]))
        tensor = _TENSOR.match(type_name)
        if type_name.startswith("Sym("):
            found.setdefault(type_name[4:-1], [])
        elif tensor is not None:
            for kind, listed in (("size", tensor["sizes"]), ("stride", tensor["strides"] or "")):
                for axis, text_of_one in enumerate(listed.split(", ")):
                    if _SYMBOL.fullmatch(text_of_one):
                        found.setdefault(text_of_one, []).append((one["name"], kind, axis))
    return found


def _row(
    record: SessionRecord,
    graph: GraphRecord,
    frame: Optional[FrameRecord],
    symbol: str,
    uses: List[Use],
    places: PlaceTable,
) -> Data:
    subjects = _subjects(frame)
    named = [(subjects.get(name, name), kind, axis) for name, kind, axis in uses]
    spelled = [text for name, kind, axis in named for text in (f"{name}.{kind}()[{axis}]", f"{name}.{kind}({axis})")]
    guards: List[List[Any]] = []
    before: List[Data] = []
    for guard in () if frame is None else frame.guards:
        if any(text in guard.condition for text in spelled) and len(guard.condition) < 200:
            guards.append([guard.condition, places.of(guard.location)])
    for failed in () if frame is None else frame.failed_guards:
        if failed.about in spelled:
            before.append(
                {
                    "version": failed.version,
                    "condition": failed.condition,
                    "now": failed.now,
                    "at": places.of(failed.location),
                }
            )
    root = None if frame is None else root_of(record, frame.function)
    return {
        "symbol": symbol,
        "graph": graph.name,
        "compile_id": graph.compile_id,
        "function": None if root is None else root.key,
        "uses": [f"{name}.{kind}({axis})" for name, kind, axis in named],
        "guards": guards,
        "before": before,
    }


def _subjects(frame: Optional[FrameRecord]) -> Dict[str, str]:
    """Return what a reader calls each input of a graph: L_tokens_ is L['tokens'], and that is `tokens`."""
    found: Dict[str, str] = {}
    for guard in () if frame is None else frame.guards:
        subject = getattr(guard.test, "subject", "")
        if subject and guard.expression:
            found.setdefault(_NO_LETTER.sub("_", guard.expression), subject)
    return found
