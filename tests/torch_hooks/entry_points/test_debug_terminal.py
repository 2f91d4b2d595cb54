"""A real pdb in a real pseudo-terminal: the pause, breakpoints in the dumped files, values of locals."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
from forked_programs import ForkedProgram
from torch_probes import AOT_EAGER_INTERPRETS, COPIES_POSITIONS, RUNS_UNDER_MODES, needs

pty = pytest.importorskip("pty")

PROGRAM = """
import sys, torch, depyf

def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b

backend, folder = sys.argv[1:]
compiled = torch.compile(toy_example, backend=backend)
with depyf.prepare_debug(folder):
    for sign in (1, -1):
        compiled(torch.full((10,), 3.0), torch.full((10,), 7.0) * sign)
print("DUMPED", flush=True)
with depyf.debug():
    result = compiled(torch.full((10,), 3.0), torch.full((10,), 7.0))
print("RESULT", result.tolist(), flush=True)
"""

RUNNING_STAGE = {"eager": "Captured_Graph", "aot_eager": "Forward_graph", "inductor": "kernel"}


class Terminal:
    """A program on a pseudo-terminal, with commands typed into it."""

    def __init__(self, arguments: list[str]) -> None:
        self.ours, theirs = pty.openpty()
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONBREAKPOINT"}
        environment.update(TERM="dumb", COLUMNS="400", OMP_NUM_THREADS="1", PYTHONPATH=os.pathsep.join(sys.path))
        environment.update(NO_COLOR="1")
        self.process = ForkedProgram(arguments, (theirs, theirs, theirs), environment)
        os.close(theirs)
        self.seen = ""

    def read_until(self, pattern: str, seconds: float = 120) -> str:
        """Return the output since the last call, up to `pattern`."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            assert time.monotonic() < deadline, f"no {pattern!r} in:\n{self.seen}"
            if select.select([self.ours], [], [], 1)[0]:
                try:
                    more = os.read(self.ours, 65536).decode("utf-8", "replace")
                except OSError:  # the program ended and its terminal is gone
                    more = ""
                assert more, f"the program ended before {pattern!r}:\n{self.seen}"
                self.seen += more.replace("\r\n", "\n")
        end = re.search(pattern, self.seen).end()
        text, self.seen = self.seen[:end], self.seen[end:]
        return text

    def type(self, command: str) -> str:
        """Type a pdb command and return the output up to the next prompt."""
        os.write(self.ours, (command + "\n").encode())
        return self.read_until(r"\(Pdb\) ")

    def rest(self) -> str:
        """Return what is shown until the program has ended."""
        while select.select([self.ours], [], [], 60)[0]:
            try:
                more = os.read(self.ours, 65536).decode("utf-8", "replace")
            except OSError:
                break
            if not more:
                break
            self.seen += more.replace("\r\n", "\n")
        return self.seen

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)
        os.close(self.ours)


def has_compiler() -> bool:
    from shutil import which

    return any(which(name) for name in ("g++", "c++", "clang++"))


def line_of(file: Path, pattern: str) -> int:
    """Return the number of the first line of `file` that matches and is no comment."""
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if re.search(pattern, line) and not line.lstrip().startswith("#"):
            return number
    raise AssertionError(f"no {pattern!r} in {file.name}:\n{file.read_text()}")


def running_graph(folder: Path, backend: str) -> Path:
    """Return the file of the entry frame's graph that the backend runs."""
    files = sorted(folder.glob("__compiled_fn_*"), key=lambda path: int(re.findall(r"\d+", path.name)[0]))
    return next(path for path in files if RUNNING_STAGE[backend] in path.name)


INTERPRETS = pytest.mark.skipif(AOT_EAGER_INTERPRETS, reason="this torch interprets such graphs: no code to stop in")


@pytest.mark.parametrize("backend", ["eager", pytest.param("aot_eager", marks=INTERPRETS), "inductor"])
def test_breakpoints_in_the_frame_and_in_the_running_graph_are_hit(tmp_path, backend):
    if backend == "inductor" and not has_compiler():
        pytest.skip("inductor needs a C++ compiler")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    folder = tmp_path / "dump"
    terminal = Terminal([str(program), backend, str(folder)])
    try:
        terminal.read_until("DUMPED\n")
        pause = terminal.read_until(r"\(Pdb\) ")
        frame = folder / "__transformed_code_0_for_toy_example.py"
        graph = running_graph(folder, backend)
        assert "paused" in pause
        assert str(frame) in pause
        assert str(graph) in pause

        assert "Breakpoint 1" in terminal.type(f"b {frame}:{line_of(frame, '__compiled_fn_')}")
        line = line_of(graph, {"eager": "torch.abs", "aot_eager": "aten.abs", "inductor": r"args\.clear\(\)"}[backend])
        assert "Breakpoint 2" in terminal.type(f"b {graph}:{line}")

        stop = terminal.type("c")
        assert f"{frame}(" in stop
        assert "tensor([3., 3., 3., 3., 3., 3., 3., 3., 3., 3.])" in terminal.type("p a")
        assert "tensor([7., 7., 7., 7., 7., 7., 7., 7., 7., 7.])" in terminal.type("p b")

        stop = terminal.type("c")
        assert f"{graph}({line})" in stop
        assert "tensor([3., 3., 3., 3., 3., 3., 3., 3., 3., 3.])" in terminal.type("p list(locals().values())")

        assert "Deleted breakpoint 1" in terminal.type("clear 1")
        assert "Deleted breakpoint 2" in terminal.type("clear 2")
        os.write(terminal.ours, b"c\n")
        assert "RESULT [5.25, 5.25" in terminal.read_until(r"RESULT .*\n")
        assert terminal.process.wait(60) == 0
    finally:
        terminal.close()


def test_pdb_prints_instructions_at_the_pause(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import depyf\nwith depyf.debug():\n    print('INSIDE')\n")
    terminal = Terminal([str(program)])
    try:
        assert "Set breakpoints now" in terminal.read_until(r"\(Pdb\) ").rpartition("-> ")[2]
        os.write(terminal.ours, b"c\n")
        terminal.read_until("INSIDE")
        assert terminal.process.wait(60) == 0
    finally:
        terminal.close()


NAN_PROGRAM = """
import sys, torch, depyf

def f(x):
    y = x * 2
    return torch.log(y)

compiled = torch.compile(f, backend="eager")
with depyf.prepare_debug(sys.argv[1]):
    compiled(torch.ones(2))
with depyf.debug(stop_on_nan=True):
    result = compiled(torch.zeros(2))
print("RESULT", result.tolist(), flush=True)
"""


@needs(RUNS_UNDER_MODES, "compiled code under a dispatch mode")
def test_the_first_nan_pauses_in_the_graph_with_live_values(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(NAN_PROGRAM)
    terminal = Terminal([str(program), str(tmp_path / "dump")])
    try:
        terminal.read_until(r"\(Pdb\) ")
        stop = terminal.type("c")
        assert "program.py:6 in f: return torch.log(y)" in stop
        assert "Captured_Graph.0.py(" in stop
        assert "tensor([0., 0.])" in terminal.type("p y")
        os.write(terminal.ours, b"c\n")
        assert "RESULT [-inf, -inf]" in terminal.read_until(r"RESULT .*\n")
    finally:
        terminal.close()


OWN_PROGRAM = """
import sys, torch, depyf

def helper(x):
    return torch.cos(x) + 1

def f(x):
    y = torch.sin(x)
    print("break")
    z = helper(y)
    return z * 2

backend, folder, stepped = sys.argv[1:]
compiled = torch.compile(f, backend=backend)
with depyf.prepare_debug(folder):
    compiled(torch.ones(2))
with depyf.debug(backend=stepped or None):
    result = compiled(torch.zeros(2))
print("RESULT", result.tolist(), flush=True)
"""


@pytest.mark.parametrize(("backend", "stepped"), [("eager", ""), ("inductor", "eager")])
def test_breakpoints_in_the_users_own_file_stop_in_the_code_that_runs(tmp_path, backend, stepped):
    if backend == "inductor" and not has_compiler():
        pytest.skip("inductor needs a C++ compiler")
    program = tmp_path / "program.py"
    program.write_text(OWN_PROGRAM)
    terminal = Terminal([str(program), backend, str(tmp_path / "dump"), stepped])
    try:
        terminal.read_until(r"\(Pdb\) ")
        for text in ("torch.cos", "torch.sin"):
            terminal.type(f"b {program}:{line_of(program, text)}")
        stop = terminal.type("c")
        assert re.search(r"program.py:5 -> __compiled_fn_\d+.Captured_Graph.0.py:\d+", stop)
        assert re.search(r"Captured_Graph.0.py\(\d+\)forward", stop)
        assert "torch.sin(" in stop
        stop = terminal.type("c")
        assert "torch.cos(" in stop
        os.write(terminal.ours, b"c\n")
        assert "RESULT [4.0, 4.0]" in terminal.read_until(r"RESULT .*\n")
    finally:
        terminal.close()


def test_a_breakpoint_that_no_kernel_can_stop_at_is_answered(tmp_path):
    if not has_compiler():
        pytest.skip("inductor needs a C++ compiler")
    program = tmp_path / "program.py"
    program.write_text(OWN_PROGRAM)
    terminal = Terminal([str(program), "inductor", str(tmp_path / "dump"), ""])
    try:
        terminal.read_until(r"\(Pdb\) ")
        terminal.type(f"b {program}:{line_of(program, 'torch.cos')}")
        os.write(terminal.ours, b"c\n")
        seen = terminal.read_until(r"RESULT .*\n")
        assert "program.py:5: its code runs inside a kernel" in seen
        assert "debug(backend='eager') can" in seen
    finally:
        terminal.close()


STEP_PROGRAM = """
import sys, torch, depyf

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        y = torch.sin(self.inner(x))
        print("break")
        return (y * 2).sum()

backend, folder = sys.argv[1:]
compiled = torch.compile(Model(), backend=backend)

def step():
    x = torch.ones(2, requires_grad=True)
    loss = compiled(x)
    loss.backward()
    return x.grad

with depyf.prepare_debug(folder):
    step()
with depyf.debug():
    step()
    print("STEPPED", flush=True)
print("THE END", flush=True)
"""


@pytest.mark.parametrize("backend", ["eager", pytest.param("aot_eager", marks=INTERPRETS), "inductor"])
@pytest.mark.parametrize("started_by", ["debug", "pdb"])
def test_steps_never_end_in_a_frame_of_torch_or_depyf(tmp_path, backend, started_by):
    if backend == "inductor" and not has_compiler():
        pytest.skip("inductor needs a C++ compiler")
    program = tmp_path / "program.py"
    program.write_text(STEP_PROGRAM)
    start = ["-m", "pdb"] if started_by == "pdb" else []
    terminal = Terminal([*start, str(program), backend, str(tmp_path / "dump")])
    try:
        terminal.read_until(r"\(Pdb\) ")
        if started_by == "pdb":
            terminal.type("c")
        places = []
        while '-> print("STEPPED"' not in (stop := terminal.type("s")):
            places += re.findall(r"^> (.*)\((\d+)\)", stop, re.MULTILINE)
            assert len(places) < 200, places
        files = {os.path.basename(file) for file, _ in places}
        assert all(file.startswith(("program.py", "__transformed_code_", "__compiled_fn_")) for file in files), files
        assert "__transformed_code_0_for_forward.py" in files
        stages = {"eager": ["Captured"], "aot_eager": ["Forward", "Backward"], "inductor": ["kernel_0", "kernel_1"]}
        assert all(any(stage in file for file in files) for stage in stages[backend]), files
        for _ in range(3):  # over the end of the context, which is a line of its own from Python 3.10 on
            stop = terminal.type("n")
            if "THE END" in stop:
                break
        assert re.search(r"> .*program.py\(\d+\)", stop) and '-> print("THE END"' in stop
    finally:
        terminal.close()


LIVE_PROGRAM = """
import sys, torch, depyf

def helper(x):
    return torch.cos(x) + 1

def f(x):
    y = torch.sin(x)
    breakpoint()
    z = helper(y)
    return z * 2

def plain(x):
    breakpoint()
    return x

compiled = torch.compile(f, backend=sys.argv[1])
with depyf.prepare_debug(sys.argv[2], debug=True):
    plain(1)
    result = compiled(torch.zeros(2))
print("RESULT", result.tolist(), flush=True)
"""


@pytest.mark.parametrize("backend", ["eager", pytest.param("aot_eager", marks=INTERPRETS)])
def test_one_run_is_enough_where_what_is_compiled_can_be_stepped_through_at_once(tmp_path, backend):
    program = tmp_path / "program.py"
    program.write_text(LIVE_PROGRAM)
    terminal = Terminal([str(program), backend, str(tmp_path / "dump")])
    try:
        stop = terminal.read_until(r"\(Pdb\) ")
        assert f"{program}({line_of(program, 'breakpoint') + 5})plain()" in stop  # not compiled: in the user's own file
        stop = terminal.type("c")
        assert "__transformed_code_0_for_f.py(" in stop
        assert "# program.py:9: breakpoint()" in stop or not COPIES_POSITIONS
        assert "tensor([0., 0.])" in terminal.type("p y")
        terminal.type(f"b {program}:5")
        trail = []
        while not (trail and "__compiled_fn_" in trail[-1]):
            trail += re.findall(r"^> (.*)\(\d+\)", terminal.type("s"), re.MULTILINE)
            assert len(trail) < 40, trail
        files = {os.path.basename(file) for file in trail}
        assert all(file.startswith(("__transformed_code_", "__compiled_fn_")) for file in files), files
        stop = terminal.type("c")  # the breakpoint was carried over when its line was compiled
        assert re.search(r"(cos|add).*\n\(Pdb\)", stop) and RUNNING_STAGE[backend] in stop
        terminal.type("clear " + " ".join(re.findall(r"^(\d+) ", terminal.type("b"), re.MULTILINE)))
        os.write(terminal.ours, b"c\n")
        assert "RESULT [4.0, 4.0]" in terminal.read_until(r"RESULT .*\n")
        frames = [path.name for path in (tmp_path / "dump").glob("__transformed_code_*")]
        assert len(frames) == 2, frames  # Dynamo compiled nothing of the debugger's
    finally:
        terminal.close()


DECORATED_PROGRAM = """
import sys, torch, depyf

@torch.compile(backend="eager")
def f(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b

with depyf.prepare_debug(sys.argv[1]):
    f(torch.ones(2), torch.ones(2))
with depyf.debug():
    f(torch.ones(2), torch.ones(2))
"""


def test_a_breakpoint_that_is_left_set_makes_no_noise_at_the_end_of_the_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(DECORATED_PROGRAM)
    terminal = Terminal([str(program), str(tmp_path / "dump")])
    try:
        terminal.read_until(r"\(Pdb\) ")
        terminal.type(f"b {program}:6")
        assert "torch.abs(" in terminal.type("c")
        os.write(terminal.ours, b"c\n")
        assert terminal.rest().strip() == "c"
    finally:
        terminal.close()
