"""The walk-through as a notebook: the file is what the page gives, and its cells print what it shows."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import sys
import tempfile

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import notebook  # noqa: E402

PAGE = notebook.PAGE.read_text(encoding="utf-8")


def test_the_notebook_is_what_the_page_gives():
    assert notebook.NOTEBOOK.read_text(encoding="utf-8") == notebook.text_of(PAGE), "run python tools/notebook.py"


def test_every_output_of_the_page_is_in_the_notebook():
    cells = json.loads(notebook.text_of(PAGE))["cells"]
    shown = ["".join(output["text"]) for cell in cells for output in cell.get("outputs", [])]
    for block in notebook.blocks_of(PAGE):
        if block.value("show") or block.value("part"):
            assert block.text in shown


def test_the_cells_print_what_the_notebook_shows():
    torch = pytest.importorskip("torch")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    (version,) = re.findall(r"^TORCH \?= torch==([\d.]+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    if torch.__version__.split("+")[0] != version or sys.version_info[:2] != (3, 11):
        pytest.skip(f"the docs show the output of Python 3.11 and torch {version}")
    if not any(map(shutil.which, ("g++", "c++", "clang++"))):
        pytest.skip("needs a C++ compiler")
    with tempfile.TemporaryDirectory() as top:  # a short path: lines are broken where it ends
        folder = pathlib.Path(top) / notebook.PAGE.stem
        folder.mkdir()
        assert notebook.run(PAGE, folder) == []


def test_a_cell_that_prints_something_else_is_reported():
    assert not notebook._is_shown(("a", "b"), ["a", "c"])
    assert notebook._is_shown(("a", "...", "c"), ["a", "b", "c"])
    assert notebook._is_shown((), [""])
