"""The page shows what the record and the table of lines have, and reads nothing else."""

from __future__ import annotations

import builtins
import dataclasses
import io
import os

import pytest
from page_runs import SAMPLE

from depyf.line_table.folders import read_file, read_records
from depyf.line_table.table import build
from depyf.page.page_data import known_lines, page_data
from depyf.problems import Problems
from depyf.record.guard_conditions import PythonTest, TensorProperties, TensorTest
from depyf.record.records import (
    FailedGuard,
    FrameRecord,
    FunctionRecord,
    GraphRecord,
    GuardRecord,
    Location,
    SessionRecord,
    Specialization,
    StageRecord,
)
from depyf.record.saved_form import from_json, to_json
from depyf.torch_hooks.frames.functions import Functions


@pytest.fixture(scope="module")
def record():
    return read_records(str(SAMPLE))[0][1]


@pytest.fixture(scope="module")
def data(record):
    return page_data(record, lambda name: read_file(str(SAMPLE), name))


def part(data, kind, name):
    row = next(one for one in data.overview[kind] if name in (one["name"], one.get("key")))
    return row, data.parts[row["part"]]


def test_links_of_a_graph_are_those_of_the_table_of_lines(record, data):
    table = build(record, lambda name: read_file(str(SAMPLE), name), known_lines(record))
    for graph in record.graphs:
        _, found = part(data, "graphs", graph.name)
        for stage in found["stages"]:
            shown = {
                (line, name, tuple((found["places"][place][1]) for place in found["chains"][chain]))
                for line, _, name, _, chains, _ in stage["rows"]
                for chain in chains
            }
            rows = [row for row in table.rows if row.file == stage["file"] and row.source is not None]
            assert shown == {(row.line, row.name, tuple(call.line for call in row.calls)) for row in rows}
            assert rows or stage["stage"] == "kernel"


def test_each_line_of_a_function_has_the_state_that_it_came_to(data):
    _, found = part(data, "functions", "Net.forward_0")
    states = found["versions"][0]["states"]
    assert found["source"]["line"] == 11
    assert states[12]["graphs"] == ["__compiled_fn_2"]
    assert states[13]["graphs"] == ["__compiled_fn_2"]
    assert states[14] == {"broke": 1, "in_python": 1, "asked": 1}
    assert states[15]["graphs"] == ["__compiled_fn_5"]  # by way of the resume function
    assert 11 not in states


def test_a_break_is_listed_once_and_one_that_leaves_a_function_to_python_first(data):
    breaks = data.overview["breaks"]
    assert [one["at"][2] for one in breaks] == ['print("in a loop")', 'print("half way")']
    assert breaks[0]["left_to_python"] == ["skipped"]
    assert breaks[1]["compile_ids"] == ["0/0", "0/1"]


def test_guards_that_set_versions_apart_come_first(data):
    _, found = part(data, "functions", "Net.forward_0")
    for version in found["versions"][:2]:
        flags = [bool(found["guards"][number][3] & 8) for number in version["guards"]]
        assert any(flags) and flags == sorted(flags, reverse=True)
    first = found["guards"][found["versions"][0]["guards"][0]]
    assert first[0] == "type(scale) is float and scale == 1.0"
    assert first[2][1:3] == (19, "return hidden * scale / width")  # the line that asked for it, in what it calls


def test_a_recompile_has_the_values_then_and_now(data):
    (again,) = data.overview["recompiles"]
    assert again["compile_id"] == "0/1"
    assert (again["failed"][0]["condition"], again["failed"][0]["now"]) == ("scale == 1.0", "2.0")


def test_kernels_without_lines_are_counted(record):
    plain = dataclasses.replace(
        record,
        graphs=tuple(
            dataclasses.replace(
                graph, kernels=tuple(dataclasses.replace(kernel, sources=()) for kernel in graph.kernels)
            )
            for graph in record.graphs
        ),
    )
    without = page_data(plain, lambda name: read_file(str(SAMPLE), name)).overview["graphs"]
    tracked = page_data(record, lambda name: read_file(str(SAMPLE), name)).overview["graphs"]
    assert [one["kernels_linked"] for one in tracked] == [one["kernels_all"] for one in tracked]
    assert all(0 < one["kernels_linked"] < one["kernels_all"] for one in without[:1])


def test_nothing_but_the_files_of_the_folder_is_read(record, monkeypatch):
    texts = {name: read_file(str(SAMPLE), name) for name in record.files}
    page_data(record, texts.get)  # modules are imported by now

    def refuse(*args, **kwargs):
        raise AssertionError(f"read {args}")

    with monkeypatch.context() as context:
        for owner, name in ((builtins, "open"), (io, "open"), (os, "open"), (os, "listdir"), (os, "stat")):
            context.setattr(owner, name, refuse)
        page_data(record, texts.get)


@pytest.mark.parametrize("typed", ['L_x_: "f32[s77, 8][8, 1]cpu"', 'L_x_:\n    "f32[s77, " \\\n    "8][8, 1]cpu"'])
def test_a_symbol_is_traced_to_the_size_that_it_is_and_what_it_was_before(typed):
    place = Location("/home/me/model.py", 2, "f", "return x[:n]")
    sizes = TensorTest("x", TensorProperties("torch.Tensor", "torch.float32", "cpu", False, (None, 8), (8, 1)))
    guards = (
        GuardRecord(sizes, "L['x']", "TENSOR_MATCH"),
        GuardRecord(PythonTest("2 <= x.size()[0]"), "", "SHAPE_ENV", place),
    )
    failed = FailedGuard("0/0", "x.size(0) == 4", "4", "6", place, about="x.size(0)")
    frame = FrameRecord(
        "0/1", "f_0", 0, "t.py", "", "replaced", "PROVED", guards=guards, graphs=("g",), failed_guards=(failed,)
    )
    function = FunctionRecord("f_0", "f", "f", "/home/me/model.py", 1, "", "missing")
    stage = StageRecord("Captured_Graph", 0, "g.py")
    record = SessionRecord(functions=(function,), frames=(frame,), graphs=(GraphRecord("g", "0/1", (stage,)),))
    text = f'class G(torch.nn.Module):\n    def forward(self, s77: "Sym(s77)", {typed}):\n        y: "f32[s99]" = 1\n'
    (row,) = page_data(record, {"g.py": text, "t.py": ""}.get).overview["shapes"]
    assert (row["symbol"], row["uses"], row["function"]) == ("s77", ["x.size(0)"], "f_0")
    assert [guard[0] for guard in row["guards"]] == ["2 <= x.size()[0]"]
    assert [(one["condition"], one["now"]) for one in row["before"]] == [("x.size(0) == 4", "6")]


def test_a_symbol_that_became_a_number_has_the_line_that_asked_for_it():
    place = Location("/home/me/model.py", 2, "f", "if x.shape[0] == 6:")
    size = Specialization("s77", ("x.size()[0]",), "6", place)
    frame = FrameRecord("0/0", "f_0", 0, "t.py", "", "replaced", "PROVED", specialized=(size,))
    function = FunctionRecord("f_0", "f", "f", "/home/me/model.py", 1, "", "missing")
    record = from_json(to_json(SessionRecord(functions=(function,), frames=(frame,))))
    (row,) = page_data(record, {"t.py": ""}.get).overview["shapes"]
    assert (row["symbol"], row["uses"], row["value"]) == ("s77", ["x.size(0)"], "6")
    assert row["at"][1:3] == (2, "if x.shape[0] == 6:")


def test_what_an_earlier_context_called_is_not_lost_from_the_page(record):
    earlier = Functions(Problems(), record.functions).records
    called = [one.key for one in record.functions if one.compiled_in_calls]
    assert called
    again = page_data(dataclasses.replace(record, functions=tuple(earlier)), lambda name: "")
    assert [one["key"] for one in again.overview["functions"] if one["called_earlier"]] == called
    assert not any(one["called"] for one in again.overview["functions"])
