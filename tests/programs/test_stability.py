"""Two runs of one program write identical files, also when the second one hits torch's caches."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from repository import ROOT, SUPPORT
from torch_probes import CACHE_KEEPS_POST_GRAD, NAMES_TYPES, SKIPS_PRE_GRAD, needs

PROGRAM = SUPPORT / "capture_program.py"


def run(folder, cache, *backends, program=PROGRAM, seed="random"):
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), "PYTHONHASHSEED": seed}
    environment["PYTHONPATH"] = str(ROOT)
    environment.pop("TORCH_TRACE", None)
    subprocess.run(
        [sys.executable, str(program), str(folder), *backends],
        env=environment,
        check=True,
        cwd=str(folder.parent),
        timeout=280,
    )
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("timings.json", "times.js")
    }


def without_pre_grad(text):
    """Remove every trace of the pre-grad passes, which torch skips on a warm cache."""
    record = json.loads(text) if text.startswith(b"{") else None
    if record is None:
        return [line for line in text.splitlines() if b"BEFORE_PRE_GRAD" not in line]
    record["files"] = [name for name in record["files"] if "BEFORE_PRE_GRAD" not in name]
    for graph in record["graphs"]:
        graph["stages"] = [part for part in graph["stages"] if part["stage"] != "BEFORE_PRE_GRAD"]
        graph["skipped"] = []
    return record


@needs(CACHE_KEEPS_POST_GRAD, "text of the post-grad graph in Inductor's cache")
def test_a_cold_and_a_warm_run_write_identical_files_except_skipped_passes(tmp_path):
    cache = tmp_path / "cache"
    backends = ("eager", "aot_eager", "inductor")
    cold = run(tmp_path / "first", cache, *backends)
    warm = run(tmp_path / "second", cache, *backends)
    assert [name for name in cold if not (SKIPS_PRE_GRAD and ".BEFORE_PRE_GRAD." in name)] == list(warm)
    differ = [name for name in warm if without_pre_grad(cold[name]) != without_pre_grad(warm[name])]
    assert not [name for name in differ if ".kernel_" not in name]
    graphs = json.loads(warm["toy_inductor/manifest.json"])["graphs"]
    assert [graph.get("skipped", []) for graph in graphs] == [["BEFORE_PRE_GRAD"] if SKIPS_PRE_GRAD else []] * 3
    stages = {name.split(".")[1] for name in cold if name.startswith("toy_inductor/__compiled")}
    assert {"Captured_Graph", "BEFORE_PRE_GRAD", "Joint_graph", "Forward_graph", "Backward_graph"} <= stages
    assert {"AFTER_POST_GRAD", "kernel_0", "kernel_1"} <= stages
    assert not [path for path in tmp_path.iterdir() if path.name not in ("first", "second", "cache")], (
        "no trace file or folder is left behind"
    )


RECOMPILES = """
import sys
import depyf, torch

class A: k = 1
class B: k = 2
def add_one(x): return x + 1
def add_two(x): return x + 2

@torch.compile(backend="eager")
def of_type(x, o): return x * o.k
@torch.compile(backend="eager")
def of_object(x, call): return call(x)
@torch.compile(backend="eager")
def of_set(x, names): return x * len(names) if "a" in names else x
@torch.compile(backend="eager")
def breaking(x):
    print(object)
    return x + 1

with depyf.prepare_debug(sys.argv[1]):
    for o in A(), B():
        of_type(torch.ones(2), o)
    of_type(torch.ones(2, 2), B())
    for call in add_one, add_two:
        of_object(torch.ones(2), call)
    for names in {"a", "b", "ccc", "dddd"}, {"a", "b"}:
        of_set(torch.ones(2), names)
    breaking(torch.ones(2))
"""


def test_recompile_reasons_are_worded_identically_in_every_run(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(RECOMPILES)
    one = run(tmp_path / "one", tmp_path, program=program, seed="1")
    other = run(tmp_path / "other", tmp_path, program=program, seed="2")
    assert list(one) == list(other)
    assert not [name for name in one if one[name] != other[name]]
    frames = json.loads(one["manifest.json"])["frames"]
    other_type = "type(o) is A" if NAMES_TYPES else "the type of o is still the one it was when this was compiled"
    found = [reason for frame in frames for reason in frame.get("recompile_reasons", ())]
    assert [reason.replace("L['x']", "x") for reason in found] == [  # torch 2.6 names it so
        f"0/0: this failed: {other_type}",
        "0/1: tensor 'x' rank mismatch. expected 1, actual 2",
        f"0/0: this failed: {other_type}",
        "1/0: this failed: call still has the body it had when this was compiled",
        "2/0: this failed: names == {'a', 'b', 'ccc', 'dddd'}",
    ]
