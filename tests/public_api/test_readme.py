"""README and CONTRIBUTING: the commands exist, the code parses, the output is real."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def shows_what_the_docs_show() -> bool:
    """Return whether the installed torch, if any, has guards and frames in the form in which the docs show them."""
    if importlib.util.find_spec("torch") is None:
        return True
    from torch_probes import COPIES_POSITIONS, PRINTS_SWITCHES

    return COPIES_POSITIONS and PRINTS_SWITCHES


newest_torch = pytest.mark.skipif(not shows_what_the_docs_show(), reason="the docs show the output of a newer torch")


def targets() -> set[str]:
    return set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_commands_of_the_docs_are_targets_of_the_makefile():
    named = set(re.findall(r"^ +(?:\$ )?make (\w+)", README + CONTRIBUTING, re.MULTILINE))
    assert {"demo", "test"} <= named <= targets()


def test_ci_calls_the_test_command_and_nothing_else():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["make test"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_readme_is_short_enough_to_be_read():
    assert len(README.splitlines()) < 200


@pytest.mark.parametrize("block", re.findall(r"^```python(?: file=\S+)?\n(.*?)^```", README, re.MULTILINE | re.DOTALL))
def test_python_in_the_readme_parses(block):
    ast.parse(block)


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[str, Path]:
    """Run the demo as on a machine without a C compiler; return its output and folder."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("demo")
    environment = {key: value for key, value in os.environ.items() if key != "CXX"}
    environment.update(PATH=str(folder), PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "toy.py"), str(folder / "dump")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout, folder / "dump"


def test_the_demo_runs_without_a_c_compiler_and_prints_the_backend_it_uses(demo):
    output, folder = demo
    assert "using backend aot_eager" in output
    assert not list(folder.glob("*kernel*"))


def test_the_demo_prints_the_file_to_open_and_the_entry_frame(demo):
    output, folder = demo
    assert str(folder / "full_code_for_toy_example_0.py") in output
    assert (folder / "__transformed_code_0_for_toy_example.py").read_text() in output


def test_everything_in_the_folder_of_the_demo_parses(demo):
    _, folder = demo
    files = list(folder.glob("*.py"))
    assert len(files) > 5
    for file in files:
        compile(file.read_bytes(), file.name, "exec", dont_inherit=True)


def test_the_docs_explain_the_name_of_every_graph_that_no_frame_calls():
    from depyf.torch_hooks.graphs.orphan_graphs import Origin

    folder = (ROOT / "docs" / "folder.md").read_text()
    (row,) = [line for line in folder.splitlines() if line.startswith("| `__compiled_fn_<word>_<n>.")]
    words = {origin.name.lower() for origin in Origin}
    assert words == set(re.findall(r"`([a-z]+)`", row))


@newest_torch
def test_the_session_in_contributing_prints_what_is_shown():
    import doctest

    pytest.importorskip("torch")
    lines = [line[4:] for line in CONTRIBUTING.splitlines() if line.startswith("    ")]
    start = lines.index(">>> from depyf.decompiler import decompile_frame")
    end = next(index for index in range(start, len(lines)) if lines[index].startswith("$"))
    test = doctest.DocTestParser().get_doctest(
        "\n".join(lines[start:end]) + "\n", {"__name__": "__main__"}, "CONTRIBUTING.md", None, None
    )
    report: list[str] = []
    # keep the globals that Dynamo added: it removes them when the code that uses them is freed
    assert doctest.DocTestRunner().run(test, out=report.append, clear_globs=False).failed == 0, "".join(report)
