"""Runs for the tests of the page: a real one, kept in tests/samples, and records that are made up."""

from __future__ import annotations

import shutil
from pathlib import Path

from repository import ROOT

from depyf.record.records import (
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    GraphRecord,
    Location,
    NodeSource,
    SessionRecord,
    SkipRecord,
    StageRecord,
    UserFile,
    Versions,
)
from depyf.record.saved_form import to_json

# A program of two linear layers with a graph break, trained by Inductor with provenance tracking; a skipped function.
SAMPLE = ROOT / "tests" / "samples" / "page_run"

NASTY = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<!--<script>",
    "]]>",
    "'\"`\\",
    "&lt;b&gt;",
    "\u2028\u2029",
    "\x00\x01\x1b[31m\x7f",
    "\u202etxt.exe",
    "\ud800",
    "日本語 é 🎉",
)
EVIL = " ".join(NASTY)


def sample_folder(tmp_path: Path) -> Path:
    """Return a copy of the kept run."""
    folder = tmp_path / "run"
    shutil.copytree(SAMPLE, folder)
    return folder


def write_run(folder: Path, record: SessionRecord, texts: dict[str, str] = {}) -> Path:
    """Write a folder as prepare_debug would leave it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    (folder / "manifest.json").write_text(to_json(record), encoding="utf-8", errors="backslashreplace")
    return folder


def hostile_record() -> tuple[SessionRecord, dict[str, str]]:
    """Return a record of which each text that a program can choose is an attack, and the texts of its files."""
    file = f"/home/{EVIL}/{EVIL}.py"
    place = Location(file, 3, EVIL, EVIL)
    broken = GraphBreak((EVIL,), place, EVIL, (EVIL,), (place,), own_call=0)
    skip = SkipRecord("graph break", EVIL, "1/0", (broken,), (EVIL,), place)
    function = FunctionRecord(
        "f_0", EVIL, EVIL, file, 2, f"def f():\n    '{EVIL}'\n    {EVIL}\n", "file", title=EVIL, compiled_in_calls=1
    )
    other = FunctionRecord(EVIL, EVIL, EVIL, file, 9, EVIL, "missing", title=EVIL, skips=(skip,))
    frame = FrameRecord(
        "0/0", "f_0", 0, "__transformed_code_0_for_f.py", EVIL, "replaced", "PROVED", (EVIL,), EVIL,
        graphs=("__compiled_fn_1",), graph_breaks=(broken,), recompile_reasons=(EVIL,),
    )  # fmt: skip
    stage = StageRecord("Captured_Graph", 0, "__compiled_fn_1.Captured_Graph.0.py")
    graph = GraphRecord(
        "__compiled_fn_1", "0/0", (stage,), sources=(NodeSource((place,), ("x",)),), without_frame=EVIL, skipped=(EVIL,)
    )
    record = SessionRecord(
        functions=(function, other), frames=(frame,), graphs=(graph,), files=(frame.file, stage.file),
        versions=Versions("1.0", "3.11", EVIL), problems=(EVIL,), user_files=(UserFile(file, "0"),), import_folders=("/home",), not_offered=(EVIL,),
    )  # fmt: skip
    graph_text = f"class GraphModule(torch.nn.Module):\n    # File: {EVIL}:3 in f, code: {EVIL}\n    x = {EVIL}\n"
    return record, {frame.file: f"def f():\n    return __compiled_fn_1('{EVIL}')\n", stage.file: graph_text}
