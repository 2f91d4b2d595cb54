"""Whole programs: each operation leads to the line that has it, and each line to its operations.

The judge is the source: each operation is written once, on a line that is found by its text.
"""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path

import pytest
import torch
from capture_tools import module_from, session
from torch_probes import GUARDS_WEIGHTS, HAS_PROVENANCE, needs

from depyf.line_table import folders, questions

MODEL = """\
import torch
from {helpers} import through_atan

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())

    def forward(self, x):
        y = self.layers(x)
        for step in range(2):
            y = torch.cosh(y) * 0.1
        if y.sum() > 1e9:
            y = torch.log1p(y)
        y = through_atan(
            torch.sin(y),
        )
        return torch.sigmoid(y).sum()
"""
HELPERS = """\
import torch

def through_atan(x):
    return inner(x) + 1

def inner(x):
    return torch.atan(x)
"""
# operation in a captured graph -> text of the line that has it, and of the line that calls the function around it
PLACES = {
    "linear": ("self.layers(x)", ""),
    "tanh": ("self.layers(x)", ""),
    "cosh": ("torch.cosh(y)", ""),
    "sin": ("torch.sin(y)", ""),
    "atan": ("torch.atan(x)", "through_atan("),
    "sigmoid": ("torch.sigmoid(y)", ""),
}


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that writes the program, below some empty lines, and compiles a training step of it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(folder, backend, above=0):
        (tmp_path / "line_helpers.py").write_text("\n" * above + HELPERS)
        sys.modules.pop("line_helpers", None)
        text = "\n" * above + MODEL.format(helpers="line_helpers")
        net = module_from(tmp_path / "line_model.py", text).Net()
        linecache.checkcache()
        compiled = torch.compile(net, backend=backend)
        record = session(tmp_path / folder, lambda: compiled(torch.randn(2, 4)).backward())
        return record, folders.read_tables(str(tmp_path / folder))

    return run


def line_with(tmp_path, text):
    """Return file:line of the one line of the program that has a text."""
    found = [
        f"{path}:{number}"
        for path in tmp_path.glob("line_*.py")
        for number, line in enumerate(path.read_text().split("\n"), 1)
        if text in line and "def " not in line and "import" not in line
    ]
    (only,) = found
    return only


def check_both_ways(tmp_path, record, tables):
    seen = set()
    for part in [part for graph in record.graphs for part in graph.stages]:
        for number, line in enumerate((Path(tables[0].path) / part.file).read_text().split("\n"), 1):
            operation = re.search(r"torch\.(?:_C\._nn\.|ops\.aten\.)?(\w+)\(|torch\.ops\.aten\.(\w+)\.", line)
            name = operation and (operation[1] or operation[2])
            if name not in PLACES or " = " not in line or "#" in line:
                continue
            if name == "tanh" and part.stage != "Captured_Graph":
                continue  # the derivative of another operation, too
            own, caller = PLACES[name]
            answer = questions.ask(f"{part.file}:{number}", tables)
            (found,) = {(row.place.file, row.place.line) for one in answer.found for row in one.rows}
            assert ":".join(map(str, found)) == line_with(tmp_path, own), (part.file, number)
            for text in filter(None, (own, caller)):
                back = questions.ask(line_with(tmp_path, text), tables)
                rows = [(row.file, row.line) for one in back.found for row in one.rows]
                assert (part.file, number) in rows, (text, part.file, number)
            seen.add((part.stage, name))
    return seen


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_each_operation_leads_to_its_line_and_back(program, tmp_path, backend):
    record, tables = program("dump", backend)
    seen = check_both_ways(tmp_path, record, tables)
    modules = set() if GUARDS_WEIGHTS else {"linear", "tanh"}  # up to torch 2.4 the captured graph calls these modules
    assert {name for stage, name in seen if stage == "Captured_Graph"} == set(PLACES) - modules
    if backend == "aot_eager":
        assert {stage for stage, _ in seen} >= {"Captured_Graph", "Joint_graph", "Forward_graph", "Backward_graph"}
    calls = questions.ask(line_with(tmp_path, "torch.sin(y)"), tables)
    assert "transformed code" in {row.stage for one in calls.found for row in one.rows}


@needs(HAS_PROVENANCE, "provenance tracking")
def test_kernels_name_their_lines_and_so_does_a_warm_cache_after_all_lines_have_moved(program, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    with torch._inductor.config.patch({"trace.provenance_tracking_level": 1}):
        for folder, above in (("cold", 0), ("warm", 3)):
            record, tables = program(folder, "inductor", above)
            seen = check_both_ways(tmp_path, record, tables)
            assert {name for stage, name in seen if stage == "AFTER_POST_GRAD"} >= {"cosh", "sin", "atan", "sigmoid"}
            assert [part.stage == "BEFORE_PRE_GRAD" for graph in record.graphs for part in graph.stages].count(True) == (
                2 if folder == "cold" else 0
            )
            check_kernels(tmp_path, tables)


def check_kernels(tmp_path, tables):
    kernels = {row.name for row in tables[0].table.rows if row.stage == "kernel"}
    assert any("cosh" in name for name in kernels) and any("atan" in name for name in kernels)
    for kernel in kernels:
        answer = questions.ask(kernel, tables)
        lines = {f"{row.place.file}:{row.place.line}" for one in answer.found for row in one.rows}
        words = re.split(r"[_.]", kernel)
        for name in {"cosh", "sin", "atan", "sigmoid"} & set(words):
            assert line_with(tmp_path, PLACES[name][0]) in lines, (kernel, lines)
            back = questions.ask(line_with(tmp_path, PLACES[name][0]), tables)
            assert kernel in {row.name for one in back.found for row in one.rows}
