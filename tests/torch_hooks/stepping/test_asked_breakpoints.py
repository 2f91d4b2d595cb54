"""Breakpoints that a program asks for: `debug(breakpoints=[...])`."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
import depyf
from depyf.errors import UserError
from depyf.torch_hooks.stepping.asked_breakpoints import asked_places

SOURCE = """\
import sys, torch, depyf


def helper(x):
    # a comment

    return torch.cos(x) + 1


class Model(torch.nn.Module):
    def forward(self, x):
        y = torch.sin(x)
        return helper(y) * 2


def plain(x):
    return x


if __name__ == "__main__":
    model = Model()
    compiled = torch.compile(model, backend="eager")
    with depyf.prepare_debug(sys.argv[1]):
        compiled(torch.zeros(2))
    with depyf.debug(pause=False, breakpoints=["asked.py:7", plain]):
        plain(compiled(torch.zeros(2)))
    compiled(torch.zeros(2))
    print("THE END")
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    (folder / "asked.py").write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("asked", folder / "asked.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch._dynamo.reset()
    with depyf.prepare_debug(folder / "dump", include_earlier=False):
        torch.compile(module.Model(), backend="eager")(torch.ones(2))
    return module, folder


def shown(asked, folder):
    return [f"{file.rpartition('/')[2]}:{line}" for file, line in asked_places([asked], str(folder / "dump"), None)]


def test_every_way_to_ask_for_a_line_leads_to_the_code_that_runs(program):
    module, folder = program
    (graph,) = (folder / "dump").glob("*Captured_Graph.0.py")
    lines = [line.partition("#")[0] for line in graph.read_text().splitlines()]
    sin, cos = (next(n for n, line in enumerate(lines, 1) if f"= torch.{name}(" in line) for name in ("sin", "cos"))
    assert shown("asked.py:7", folder) == shown((module.helper, 7), folder) == [f"{graph.name}:{cos}"]
    model = module.Model()
    compiled = torch.compile(model, backend="eager")
    for asked in ("Model.forward", module.Model.forward, model.forward, model, compiled, "asked.py:12"):
        assert shown(asked, folder) == [f"{graph.name}:{sin}"]
    assert shown(f"{graph.name}:{cos}", folder) == [f"{graph.name}:{cos}"]
    assert shown(module.plain, folder) == ["asked.py:17"]  # not compiled: it runs where it stands


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("missing", r"no function 'missing' was compiled; those that were: Model.forward"),
        ("nowhere.py:3", r"there is no file nowhere.py"),
        ("asked.py:15", r"asked.py:15 has no code; the nearest that has is 16: def plain\(x\):"),
        ("asked.py:seven", r"'asked.py:seven' is none of FILE:LINE"),
        (3, r"3 is none of FILE:LINE, a function or module, its name, or \(function, line\)"),
        ((print, 1), r"is none of FILE:LINE"),
    ],
)
def test_what_cannot_be_is_answered_with_what_can(program, asked, answer):
    with pytest.raises(UserError, match=answer):
        shown(asked, program[1])


def test_a_line_outside_of_its_function_and_a_line_of_a_dumped_file_without_code_are_refused(program):
    module, folder = program
    with pytest.raises(UserError, match=r"helper has no line 30: it is at asked.py:4-7"):
        shown((module.helper, 30), folder)
    (graph,) = (folder / "dump").glob("*Captured_Graph.0.py")
    with pytest.raises(UserError, match=rf"{graph.name}:1 has no code; the nearest that has is \d+: "):
        shown(f"{graph.name}:1", folder)
    with pytest.raises(UserError, match="expected a list"):
        with depyf.debug(pause=False, breakpoints="asked.py:7"):
            pass


def test_pdb_stops_at_the_lines_without_a_pause_before_and_not_after_the_context(program, tmp_path):
    done = subprocess.run(
        [sys.executable, str(program[1] / "asked.py"), str(tmp_path / "dump")],
        input="p 'first'\nc\np 'second'\nc\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    stops = re.findall(r"> \S*/(\S+)\(\d+\)(\w+)", done.stdout)
    stops = [(re.sub(r"\d+(?=\.Captured)", "N", file), function) for file, function in stops]
    assert stops == [("__compiled_fn_N.Captured_Graph.0.py", "forward"), ("asked.py", "plain")], done.stdout
    assert "_pause" not in done.stdout and done.stdout.endswith("THE END\n")
