"""`depyf run script.py` records what torch.compile does, and leaves the program as it is."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time

import pytest
from repository import ROOT

from depyf.commands.live_line import LiveLine

pytest.importorskip("torch")
from torch_probes import ANNOUNCES_COMPILATIONS, needs  # noqa: E402

PROGRAM = """
import io
import os
os.environ["TORCHDYNAMO_VERBOSE"] = "1"  # read while torch._dynamo is imported
import torch
assert torch._dynamo.config.verbose

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2

print(f(torch.ones(2)).tolist())
"""
OWN_CONTEXT = """
import depyf, torch
f = torch.compile(lambda x: x + 1, backend="eager")
with depyf.prepare_debug("own"):
    f(torch.ones(2))
print("done")
"""


def run(folder, text, *options):
    (folder / "program.py").write_text(text)
    command = [sys.executable, "-m", "depyf", "run", *options, "program.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_a_program_is_recorded_whole_and_reads_its_own_environment(tmp_path):
    done = run(tmp_path, PROGRAM)
    assert (done.returncode, done.stdout) == (0, "[4.0, 4.0]\n")
    assert "depyf: 2 frames (2 proved), 2 graphs, 1 graph break" in done.stderr
    assert "\r" not in done.stderr  # no live line without a terminal
    assert (tmp_path / "depyf_output" / "full_code_for_f_0.py").is_file()


def test_what_a_program_records_itself_goes_to_its_own_folder(tmp_path):
    done = run(tmp_path, OWN_CONTEXT, "-o", "other")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert (tmp_path / "own" / "manifest.json").is_file()
    assert "NestedSessionError" not in done.stderr


def test_a_program_that_imports_no_torch_pays_nothing_for_it(tmp_path):
    done = run(tmp_path, "import sys\nprint('torch' in sys.modules)\n")
    assert (done.returncode, done.stdout) == (0, "False\n")
    assert done.stderr.startswith("depyf: the program compiled nothing")


SLOW_BACKEND = """
import time, torch
def slow(module, inputs):
    time.sleep(1)
    return module
torch.compile(lambda x: x + 1, backend=slow)(torch.ones(2))
print("over")
"""


def test_a_warning_that_torch_prints_while_the_line_is_there_starts_on_the_left():
    from depyf.commands.live_line import LiveLine

    stream = io.StringIO()
    line = LiveLine(stream, lambda: "1 frame")
    line.begin()
    deadline = time.monotonic() + 30
    while not stream.getvalue() and time.monotonic() < deadline:
        time.sleep(0.05)
    drawn = stream.getvalue()
    line.end()
    assert "depyf: 1 frame, " in drawn and drawn.endswith("\r")


@needs(ANNOUNCES_COMPILATIONS, "announcement of a compilation")
def test_a_line_on_the_terminal_counts_while_torch_compiles_and_is_erased(tmp_path):
    (tmp_path / "program.py").write_text(SLOW_BACKEND)
    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(
        [sys.executable, "-m", "depyf", "run", "program.py"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=follower,
        text=True,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    assert process.communicate(timeout=60)[0] == "over\n"
    text = shown.decode()
    live, _, rest = text.rpartition("\r\x1b[K")
    assert "depyf: 0 frames, 0 graphs, 0 breaks, 0 recompiles, " in live
    assert rest.startswith("depyf: 1 frame (1 proved), 1 graph")


def test_the_live_line_leaves_alone_what_the_program_has_begun_to_print():
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    line = LiveLine(stream, lambda: "1 frame")
    line.begin()
    line.end()  # before the first drawing
    assert stream.getvalue() == ""
    line.begin()
    while "1 frame" not in stream.getvalue():
        time.sleep(0.01)
    line.end()
    assert stream.getvalue().endswith("\r\x1b[K")
