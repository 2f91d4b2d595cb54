"""Two runs of one program must diff clean, also when the second one finds everything in torch's caches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("capture_program.py")


def run(folder, cache, *backends):
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), "PYTHONHASHSEED": "random"}
    environment["PYTHONPATH"] = str(PROGRAM.parent.parent)
    environment.pop("TORCH_TRACE", None)
    subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), *backends],
        env=environment,
        check=True,
        cwd=str(folder.parent),
        timeout=280,
    )
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "timings.json"
    }


def test_a_cold_and_a_warm_run_give_the_same_files_with_the_same_bytes(tmp_path):
    cache = tmp_path / "cache"
    backends = ("eager", "aot_eager", "inductor")
    cold = run(tmp_path / "first", cache, *backends)
    warm = run(tmp_path / "second", cache, *backends)
    assert list(cold) == list(warm)
    differ = [name for name in cold if cold[name] != warm[name] and ".kernel_" not in name]
    assert not differ
    stages = {name.split(".")[1] for name in cold if name.startswith("toy_inductor/__compiled")}
    assert {"Captured_Graph", "BEFORE_PRE_GRAD", "Joint_graph", "Forward_graph", "Backward_graph"} <= stages
    assert {"AFTER_POST_GRAD", "kernel_0", "kernel_1"} <= stages
    assert not [path for path in tmp_path.iterdir() if path.name not in ("first", "second", "cache")], (
        "no trace file or folder is left behind"
    )
