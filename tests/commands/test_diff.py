"""`depyf diff` is silent on two runs of one program, and names what changed between two."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

import depyf
from depyf.__main__ import main

torch = pytest.importorskip("torch")

PROGRAM = """
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        x = torch.relu(x)
        torch._dynamo.graph_break()
        return x.sin() + 1


def main(backend):
    torch.compile(Net(), backend=backend)(torch.ones(2, 3))
"""


@pytest.fixture
def run(tmp_path):
    def record(name, text, backend="eager"):
        path = tmp_path / f"{name}_program.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        torch._dynamo.reset()
        sys.modules[path.stem] = module
        try:
            spec.loader.exec_module(module)
            with depyf.prepare_debug(tmp_path / name, include_earlier=False):
                module.main(backend)
        finally:
            del sys.modules[path.stem]
        return str(tmp_path / name)

    return record


def told(capsys, *arguments):
    capsys.readouterr()
    status = main(["diff", *arguments])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_two_runs_of_one_program_are_alike(run, capsys, backend):
    assert told(capsys, run("a", PROGRAM, backend), run("b", PROGRAM, backend)) == (0, "no difference\n")


def test_lines_that_only_moved_are_no_difference(run, capsys):
    moved = PROGRAM.replace("\n\nclass", "\n# a comment\n\n\n\nclass")
    assert told(capsys, run("a", PROGRAM), run("b", moved)) == (0, "no difference\n")


def test_a_changed_line_names_its_function_graph_and_kernel(run, capsys):
    changed = PROGRAM.replace("torch.relu(x)", "torch.tanh(x)")
    status, out = told(capsys, run("a", PROGRAM, "inductor"), run("b", changed, "inductor"))
    assert status == 1
    assert "Net.forward (" in out
    assert "    - x = torch.relu(x)\n    + x = torch.tanh(x)\n" in out
    assert "= torch.relu(" in out.split("graph\n")[1]
    assert "cpp_fused_relu_0" in out and "cpp_fused_tanh_0" in out
    assert "the rest of" not in out


def test_a_break_and_a_version_more_are_named(run, capsys):
    fewer = PROGRAM.replace("        torch._dynamo.graph_break()\n", "")
    more = PROGRAM + "    torch.compile(Net(), backend=backend)(torch.ones(4, 3))\n"
    folder = run("a", PROGRAM)
    status, out = told(capsys, folder, run("b", fewer))
    assert status == 1
    assert ", at `torch._dynamo.graph_break()`\n" in out.partition("  break\n    - ")[2]
    status, out = told(capsys, folder, run("c", more), "--json")
    rows = json.loads(out)
    assert status == 1
    assert {row["kind"] for row in rows} == {"versions", "recompile"}
    assert any("needs x.size(0) == 2, now 4" in row["second"] for row in rows)
    assert ("compiled once", "compiled 2 times") in {(row["first"], row["second"]) for row in rows}


def test_nothing_outside_the_folders_is_read(run, capsys, tmp_path):
    folder = run("a", PROGRAM)
    outside = tmp_path / "secret.py"
    outside.write_text("password = 1\n")
    manifest = tmp_path / "a" / "manifest.json"
    graph = next((tmp_path / "a").glob("*Captured_Graph*"))
    manifest.write_text(manifest.read_text().replace(graph.name, "../secret.py"))
    other = run("b", PROGRAM)
    assert "password" not in told(capsys, folder, other)[1]
    linked = next((tmp_path / "b").glob("*Captured_Graph*"))
    linked.unlink()
    linked.symlink_to(outside)
    status, out = told(capsys, run("c", PROGRAM), other)
    assert status == 1 and "password" not in out


def test_a_reason_that_is_a_sentence_ends_before_the_line_of_the_break(run, capsys):
    reading = PROGRAM.replace("torch._dynamo.graph_break()", "x = x + x.sum().item()")
    _, text = told(capsys, run("a", reading), run("b", PROGRAM))
    (line,) = [line for line in text.splitlines() if "at `x = x + x.sum().item()`" in line]
    assert ".," not in line


def test_scripts_get_kinds_from_a_fixed_list_and_the_names_of_the_summary(run, capsys):
    folder = run("a", PROGRAM, "aot_eager")
    status, out = told(capsys, folder, run("b", PROGRAM.replace("sin() + 1", "cos() + 1"), "aot_eager"), "--json")
    rows = [row for row in json.loads(out) if row["function"] == "the rest of Net.forward after line 8"]
    assert status == 1 and {row["kind"] for row in rows} == {"graph", "later stages"}
    assert "Forward_graph" in next(row["about"] for row in rows if row["kind"] == "later stages")
