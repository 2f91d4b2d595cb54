"""The walk-through as a notebook: made from its page, so that the two cannot differ.

    python tools/notebook.py            write docs/walkthrough.ipynb
    python tools/notebook.py --check    exit 1 when it is not what the page gives
    python tools/notebook.py --run      run its cells by nbclient and compare what they print with the page

A block of the page becomes a cell, by the words after its language (`tools/executed_blocks.py` explains them): `file=`
writes the file, a command runs by `%%bash`, and `show=` or `part=` prints the file or the lines of it that are shown.
The outputs in the notebook are those of the page, which are run whenever the docs are built.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from executed_blocks import FENCE, ROOT, Block, Page, blocks_of, commands_of, contains, environment_of, matches

PAGE = ROOT / "docs" / "walkthrough.md"
NOTEBOOK = ROOT / "docs" / "walkthrough.ipynb"
SECONDS = 900  # of one cell

INTRODUCTION = f"""\
*This notebook is made from the page of the same name (`docs/{PAGE.name}`). It runs wherever torch and depyf are
installed, and writes its files beside it. The next cell defines how lines of a file are shown.*
"""
SHOW = '''\
import glob
import pathlib


def show(name, start="", lines=None):
    """Print a file that depyf wrote; from a piece of its text on, and so many lines, if they are given."""
    (path,) = glob.glob(name)
    text = pathlib.Path(path).read_text().rstrip("\\n")
    print("\\n".join(text[text.index(start) :].split("\\n")[:lines]))
'''


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell: prose, or code and the lines that it prints; `part` where they may be a run of those that are shown."""

    kind: str  # "markdown" or "code"
    source: str
    prints: Optional[Tuple[str, ...]] = None


def cells_of(page: str) -> Iterator[Cell]:
    """Yield the cells of a page, in order."""
    yield Cell("markdown", INTRODUCTION)
    yield Cell("code", SHOW)
    end = 0
    for match, block in zip(FENCE.finditer(page), blocks_of(page)):
        prose = page[end : match.start()].strip("\n")
        if prose:
            yield Cell("markdown", prose)
        end = match.end()
        yield from _cells_of_block(block, match[0])
    if page[end:].strip():
        yield Cell("markdown", page[end:].strip("\n"))


def _cells_of_block(block: Block, whole: str) -> Iterator[Cell]:
    name = block.value("file")
    shown = block.text.rstrip("\n").split("\n")
    if name is not None:
        yield Cell("code", f"%%writefile {name}\n{block.text}")
    elif block.language == "console" and "recorded" not in block.words and "(Pdb) " not in block.text:
        for command, printed in commands_of(block.text):
            yield Cell("code", f"%%bash\n({command}) 2>&1", tuple(printed))
    elif block.value("show"):
        yield Cell("code", f"show({block.value('show')!r})", tuple(shown))
    elif block.value("part"):
        count = len(shown) if "..." not in (line.strip() for line in shown[:-1]) else None
        start = "\n".join(shown[: 2 if shown[0].startswith("def ") else 1])  # the source has the same `def`
        yield Cell("code", f"show({block.value('part')!r}, start={start!r}, lines={count})", tuple(shown))
    else:
        yield Cell("markdown", whole)


def notebook_of(cells: List[Cell]) -> Dict[str, Any]:
    """Return the notebook as its file format has it (nbformat 4.5)."""
    return {
        "cells": [_json_of(number, cell) for number, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _json_of(number: int, cell: Cell) -> Dict[str, Any]:
    found: Dict[str, Any] = {"cell_type": cell.kind, "id": f"cell-{number}", "metadata": {}}
    found["source"] = cell.source.rstrip("\n").splitlines(keepends=True)
    if cell.kind == "code":
        text = [line + "\n" for line in cell.prints or ()]
        found["execution_count"] = None
        found["outputs"] = [{"name": "stdout", "output_type": "stream", "text": text}] if text else []
    return found


def text_of(page: str) -> str:
    """Return the text of the notebook's file."""
    return json.dumps(notebook_of(list(cells_of(page))), indent=1, ensure_ascii=False) + "\n"


def run(page: str, folder: Path) -> List[str]:
    """Run the cells in a folder by nbclient; return a line for each that does not print what the page shows."""
    import nbformat
    from nbclient import NotebookClient

    cells = list(cells_of(page))
    notebook = nbformat.reads(text_of(page), as_version=4)
    before, own = dict(os.environ), environment_of(folder)
    os.environ.clear()  # the kernel gets this process's environment
    os.environ.update(own)
    place = {"metadata": {"path": str(folder)}}
    try:
        NotebookClient(notebook, timeout=SECONDS, allow_errors=True, resources=place).execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
    plain = Page(PAGE.stem, folder, {}).plain
    return [
        f"{cell.source.splitlines()[-1]}: prints\n{text}"
        for cell, done in zip(cells, notebook.cells)
        for text in [plain("".join(one.get("text", "") for one in done.get("outputs", [])))]
        if cell.prints is not None and not _is_shown(cell.prints, text.rstrip("\n").split("\n"))
    ]


def _is_shown(shown: Tuple[str, ...], printed: List[str]) -> bool:
    printed = [] if printed == [""] else printed
    return matches(shown, printed) or ("..." in (line.strip() for line in shown) and contains(printed, shown))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare the file with the page")
    parser.add_argument("--run", action="store_true", help="run the cells and compare what they print")
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    if options.check:
        return 0 if NOTEBOOK.read_text(encoding="utf-8") == text_of(page) else 1
    if not options.run:
        NOTEBOOK.write_text(text_of(page), encoding="utf-8")
        return 0
    folder = Path(tempfile.mkdtemp()) / PAGE.stem
    folder.mkdir()
    try:
        differences = run(page, folder)
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)
    print("\n".join(differences) or f"{NOTEBOOK}: as shown")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
