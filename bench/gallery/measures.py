"""What the folder of one trial shows: numbers for the index, and what is wrong with it."""

from __future__ import annotations

import ast
import collections
import json
import os
from typing import Any, Counter, Dict, Iterator, List

from bench.zoo_checks import parses, read
from depyf.record.records import SessionRecord
from depyf.record.saved_form import from_json
from depyf.report.break_summary import distinct_breaks

PROOFS = ("PROVED", "PROVED_UNDER")
Measures = Dict[str, Any]


def measures(folder: str) -> Measures:
    """Return the numbers of a folder that `prepare_debug` wrote."""
    record = read_record(folder)
    operators = operators_of(folder, record)
    return {
        "frames": len(record.frames),
        "grades": dict(collections.Counter(frame.grade for frame in record.frames)),
        "graphs": len(record.graphs),
        "breaks": [[len(same), same[0].reason] for same in distinct_breaks(record)],
        "recompiles": sum(bool(frame.recompile_reasons) for frame in record.frames),
        "recompile_reasons": sorted({why for frame in record.frames for why in frame.recompile_reasons})[:5],
        "not_compiled": sorted({skip.reason for function in record.functions for skip in function.skips}),
        "operators": sum(operators.values()),
        "kinds": [[name, count] for name, count in operators.most_common(12)],
        "compile_seconds": round(compile_seconds(folder), 2),
        "python": record.versions.python,
        "torch": record.versions.torch,
    }


def read_record(folder: str) -> SessionRecord:
    """Return the record that a folder's manifest holds."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        return from_json(file.read())


def complaints(folder: str, compiled: int) -> Iterator[str]:
    """Yield what depyf did wrong, by its own record and files; Dynamo compiled so many frames."""
    record = read_record(folder)
    for frame in record.frames:
        if frame.installed != "replaced":
            yield f"{frame.file} is {frame.installed}"
        if frame.grade not in PROOFS:
            yield f"{frame.file} is {frame.grade}: {frame.divergence}"
    if len(record.frames) != compiled:
        yield f"Dynamo compiled {compiled} frames, the manifest has {len(record.frames)}"
    yield from (f"a problem: {line}" for line in record.problem_lines)
    for name in record.files:
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            yield f"{name} is missing"
        elif not parses(path):
            yield f"{name} is not Python"
    yield from _of_the_page(folder, record)


def _of_the_page(folder: str, record: SessionRecord) -> Iterator[str]:
    path = os.path.join(folder, "index.html")
    if not os.path.exists(path):
        yield "there is no page"
        return
    text = read(path)
    yield from (f"the page does not name {graph.name}" for graph in record.graphs if graph.name not in text)
    parts = sorted(os.listdir(os.path.join(folder, "page")))
    shown = sum(name.startswith("graph_") for name in parts)
    if shown != len(record.graphs):
        yield f"the page shows {shown} of {len(record.graphs)} graphs"
    if "times.js" not in parts:
        yield "the page has no times"


def compile_seconds(folder: str) -> float:
    """Return the time that torch compiled for, by its own metrics."""
    path = os.path.join(folder, "timings.json")
    if not os.path.exists(path):
        return 0.0
    timings = json.loads(read(path))
    metrics = [one.get("compilation_metrics") or {} for one in timings.get("compilations", [])]
    return sum(one.get("duration_us") or 0 for one in metrics) / 1e6


def operators_of(folder: str, record: SessionRecord) -> Counter[str]:
    """Count the operators of the captured graphs, by the names that the graphs' text has for them."""
    files: List[str] = [
        stage.file for graph in record.graphs for stage in graph.stages if stage.stage == "Captured_Graph"
    ]
    counts: Counter[str] = collections.Counter()
    for name in files:
        path = os.path.join(folder, name)
        if os.path.exists(path) and parses(path):
            counts.update(_operators(ast.parse(read(path))))
    return counts


def _operators(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr
        elif isinstance(node, ast.BinOp):
            yield type(node.op).__name__.lower()
