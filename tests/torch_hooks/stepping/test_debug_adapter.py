"""VS Code's debugger: a real debugpy server, driven over the Debug Adapter Protocol."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from shutil import which

import pytest

pytest.importorskip("torch")
pytest.importorskip("debugpy")
import stepped_program
from debug_adapter_client import Client, Program
from torch_probes import AOT_EAGER_INTERPRETS, COPIES_POSITIONS, needs

from depyf.record.saved_form import from_json

PROGRAM = Path(stepped_program.__file__)
BACKENDS = [
    "eager",
    pytest.param("aot_eager", marks=pytest.mark.skipif(AOT_EAGER_INTERPRETS, reason="this torch interprets graphs")),
    pytest.param("inductor", marks=pytest.mark.skipif(not which("g++"), reason="inductor needs a C++ compiler")),
    "pieces",
]
# What each backend runs as Python, besides transformed code.
STAGES = {
    "eager": {"Captured_Graph"},
    "aot_eager": {"Forward_graph", "Backward_graph"},
    "inductor": {"kernel_0", "kernel_1"},
    "pieces": {"Backend_graph"},
}


def line_of(word: str, file: Path = PROGRAM) -> int:
    """Return the number of the line that ends in a comment."""
    return next(number for number, line in enumerate(file.read_text().splitlines(), 1) if line.endswith(f"# {word}"))


def running_files(folder: Path) -> dict[str, list[int]]:
    """Return {file with code that runs: lines of the statements in its functions}, from the manifest."""
    record = from_json((folder / "manifest.json").read_text())
    names = [frame.file for frame in record.frames] + [name for graph in record.graphs for name in graph.linked_files]
    return {name: statements(folder / name) for name in names}


def statements(file: Path) -> list[int]:
    """Return the lines of the statements in the bodies of the functions of a file."""
    tree = ast.parse(file.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    kernels = [node for node in functions if node.name == "call"]
    return sorted({statement.lineno for node in kernels or functions for statement in node.body})


@pytest.fixture
def start(tmp_path):
    """Start the program and connect to it; the program waits at its pause."""
    opened = []

    def begin(backend, before=None, stepped="", asked="", **options):
        folder = tmp_path / "dump"
        program = Program([str(PROGRAM), str(folder), backend, "debugpy", stepped, asked])
        opened.append(program)
        client = Client(program, (lambda: before(folder)) if before else dict, **options)
        opened.append(client)
        return folder, program, client

    yield begin
    for one in reversed(opened):
        one.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_breakpoints_are_hit_in_every_file_whose_code_runs(start, backend):
    """Half of them are set before the pause, half at it; function and module, forward and backward."""

    def before(folder):
        files = running_files(folder)
        return {str(folder / name): files[name] for name in sorted(files)[::2]}

    folder, program, client = start(backend, before)
    files = running_files(folder)
    stop = client.stop()
    assert "_pause" in stop.frames[0]["name"]
    for name in sorted(files)[1::2]:
        assert all(one["verified"] for one in client.set_breakpoints(folder / name, files[name]))
    client.set_breakpoints(PROGRAM, [line_of("between")])
    stop = stop.resume()
    assert stop.place == f"stepped_program.py:{line_of('between')}"
    hits: dict[str, set] = {}
    stop = stop.resume()
    while stop.file != "stepped_program.py":
        hits.setdefault(stop.file, set()).add(stop.line)
        stop = stop.resume()
    assert set(hits) == set(files)
    assert all(hits[name] <= set(files[name]) for name in files)
    stages = {re.sub(r"^.*?\.|\.\d+\.py$|\.py$", "", name) for name in files if name.startswith("__compiled")}
    assert stages == STAGES[backend]
    for name in files:
        client.set_breakpoints(folder / name, [])
    client.set_breakpoints(PROGRAM, [])
    assert stop.resume() is None
    assert program.end() == 0 and "RESULT True" in program.output


def to_the_first_marker(client):
    """Leave the pause, and return the stop at the marker before the first run, which no debugger has compiled."""
    client.set_breakpoints(PROGRAM, [line_of("between")])
    return client.stop().resume()


@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_lead_to_the_graph_and_back_without_frames_of_torch(start, backend):
    folder, program, client = start(backend)
    stop = to_the_first_marker(client)
    client.set_breakpoints(PROGRAM, [line_of("call of the function")])
    stop = stop.resume()
    trail = [stop.place]

    def go(command, until):
        nonlocal stop
        for _ in range(30):
            stop = stop.go(command)
            trail.append(stop.place)
            if until():
                return
        raise AssertionError(trail)

    def text():
        path = Path(stop.frames[0]["source"]["path"])
        return path.read_text().splitlines()[stop.line - 1]

    go("stepIn", lambda: True)
    assert stop.file == "__transformed_code_0_for_function.py", trail
    if "__compiled_fn_" not in text():
        go("next", lambda: "__compiled_fn_" in text())
    assert stop.variables()["x"].startswith("tensor([1., 1.]")
    assert stop.evaluate("x.shape[0] + 40") == "42"
    go("stepIn", lambda: True)
    assert stop.file.startswith("__compiled_fn_") and STAGE_OF_FORWARD[backend] in stop.file, trail
    assert any("tensor" in value for value in stop.variables().values())
    go("stepOut", lambda: stop.file.startswith("__transformed_code"))
    assert trail[-1].startswith("__transformed_code_0_for_function.py"), trail
    client.set_breakpoints(PROGRAM, [])
    go("stepOut", lambda: stop.file == "stepped_program.py")
    assert stop.frames[0]["name"] == "once", trail
    known = ("stepped_program.py", "__transformed_code_", "__compiled_fn_")
    assert all(place.startswith(known) for place in trail), trail
    assert stop.resume() is None
    assert program.end() == 0 and "RESULT True" in program.output


STAGE_OF_FORWARD = {
    "eager": "Captured_Graph",
    "aot_eager": "Forward_graph",
    "inductor": "kernel_0",
    "pieces": "Backend",
}


def test_a_condition_decides_whether_a_breakpoint_in_a_dumped_file_stops(start):
    folder, program, client = start("eager")
    stop = to_the_first_marker(client)
    frame = folder / "__transformed_code_0_for_function.py"
    graph = next(one for one in running_files(folder) if "Captured_Graph" in one)
    client.set_breakpoints(PROGRAM, [])
    client.set_breakpoints(frame, [(statements(frame)[0], "scale == 3"), (statements(frame)[-1], "scale == 4")])
    client.set_breakpoints(folder / graph, [(statements(folder / graph)[-1], "1 > 2")])
    stop = stop.resume()
    assert stop.place == f"{frame.name}:{statements(frame)[0]}"
    assert stop.resume().place == f"{frame.name}:{statements(frame)[0]}"  # of the second run
    client.set_breakpoints(frame, [])
    assert client.ask("threads")["threads"]
    client.send("continue", threadId=stop.thread)
    assert client.stop() is None
    assert program.end() == 0


OWN_LINES = (
    "in helper",
    "constant",
    "in function",
    "break",
    "call of helper",
    "middle of a statement",
    "in forward",
    "condition",
    "in branch",
    "result of forward",
)
# The stages that stop in place of a line; none: its code runs inside a kernel.
OUTCOMES = {
    "eager": {**dict.fromkeys(OWN_LINES, {"Captured_Graph"}), "break": {"transformed"}},
    "aot_eager": {**dict.fromkeys(OWN_LINES, {"Forward_graph", "Backward_graph"}), "break": {"transformed"}},
    "inductor": {
        **dict.fromkeys(OWN_LINES[:6], set()),
        **dict.fromkeys(OWN_LINES[7:], {"kernel_1"}),  # a product of matrices in the backward
        "in forward": {"kernel_0", "kernel_1"},
        "break": {"transformed"},
    },
}


@needs(COPIES_POSITIONS, "positions in copied instructions")
@pytest.mark.parametrize("backend", BACKENDS[:3])
def test_breakpoints_in_the_users_own_file_are_hit_or_answered(start, backend):
    lines = {word: line_of(word) for word in OWN_LINES}
    folder, program, client = start(backend, lambda folder: {PROGRAM: [lines[word] for word in OWN_LINES[::2]]})
    stop = client.stop()
    client.set_breakpoints(PROGRAM, [*lines.values(), line_of("between")])
    stop = stop.resume().resume()
    hits = set()
    while stop.line != line_of("between") or stop.file != PROGRAM.name:
        hits.add(stop.place)
        stop = stop.resume()
    client.set_breakpoints(PROGRAM, [])
    assert stop.resume() is None  # what was carried over is removed with those it was carried for
    assert program.end() == 0 and "RESULT True" in program.output
    found, missed = {}, []
    for word, line in lines.items():
        (text,) = re.findall(rf"debug\(\): breakpoint stepped_program.py:{line}\b(.*)", program.output)
        targets = re.findall(r"__[\w.]+:\d+", text)
        missed += [(word, text) for one in targets if one not in hits]
        found[word] = {kind_of(one) for one in targets}
        if not targets:
            assert "inside a kernel" in text and "debug(backend='eager') can" in text, text
        if word in ("constant", "condition"):
            assert "no statement of the compiled code stems from it" in text, text
    assert not missed
    expected = dict(OUTCOMES[backend])
    if backend == "inductor" and not names_every_line(folder):  # torch 2.9 names the last one of a fused chain
        expected.update({"in forward": {"kernel_0"}, "result of forward": set()})
    assert found == expected


def names_every_line(folder) -> bool:
    """Return whether torch's comment on a product in a backward names all lines that it comes of."""
    texts = [path.read_text() for path in folder.glob("*.kernel_1.py")]
    return any("," in names for text in texts for names in re.findall(r"Source Nodes: \[(.*?)\]", text))


def kind_of(place: str) -> str:
    return "transformed" if place.startswith("__transformed") else place.split(".")[1]


def test_nothing_stays_set_in_the_debugger_when_debug_is_left(start):
    folder, program, client = start("eager", lambda folder: {PROGRAM: [line_of("in function"), line_of("after")]})
    stop = client.stop().resume()
    assert "Captured_Graph" in stop.file
    client.set_breakpoints(PROGRAM, [line_of("in function"), line_of("after")])
    while stop.file != PROGRAM.name:
        stop = stop.resume()
    assert stop.evaluate("'on_breakpoints_changed' in vars(__import__('pydevd').get_global_debugger())") == "False"
    left = "[p for f in __import__('pydevd').get_global_debugger().breakpoints.items() if 'Captured' in f[0] for p in f[1]]"
    assert stop.evaluate(left) == "[]"
    assert stop.resume() is None


def test_a_breakpoint_that_the_program_asks_for_stops_in_the_editor_without_a_pause(start):
    folder, program, client = start("eager", asked=f"stepped_program.py:{line_of('in function')}")
    stop = client.stop()
    assert stop.file.endswith("Captured_Graph.0.py") and stop.frames[0]["name"] == "forward"
    assert any("tensor" in value for value in stop.variables().values())
    client.set_breakpoints(folder / stop.file, [])  # what the editor sets in that file does not remove it
    assert stop.resume().place == stop.place  # of the second run
    client.set_breakpoints(PROGRAM, [line_of("after")])
    stop = stop.resume()
    assert stop.place == f"stepped_program.py:{line_of('after')}"
    left = "[p for f in __import__('pydevd').get_global_debugger().breakpoints.items() if 'Captured' in f[0] for p in f[1]]"
    assert stop.evaluate(left) == "[]"
    assert stop.resume() is None
    assert program.end() == 0 and "RESULT True" in program.output
