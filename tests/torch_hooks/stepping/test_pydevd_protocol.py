"""PyCharm's debugger: pydevd's own server, driven over its own protocol."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import pytest

pytest.importorskip("torch")
pytest.importorskip("pydevd")
import stepped_program
from debug_adapter_client import Program
from pydevd_client import RESUME, STEP_INTO_MY_CODE, STEP_OVER_MY_CODE, PydevdClient
from torch_probes import AOT_EAGER_INTERPRETS, COPIES_POSITIONS, needs

PROGRAM = Path(stepped_program.__file__)
STAGES = {"eager": "Captured_Graph", "aot_eager": "Forward_graph", "inductor": "kernel_0"}
BACKENDS = [
    "eager",
    pytest.param("aot_eager", marks=pytest.mark.skipif(AOT_EAGER_INTERPRETS, reason="this torch interprets graphs")),
    pytest.param("inductor", marks=pytest.mark.skipif(not which("g++"), reason="inductor needs a C++ compiler")),
]


def line_of(word: str) -> int:
    lines = PROGRAM.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {word}"))


@needs(COPIES_POSITIONS, "positions in copied instructions")
@pytest.mark.parametrize("backend", BACKENDS)
def test_pycharm_stops_in_the_code_that_runs_and_steps_to_it(tmp_path, backend):
    """Breakpoints in a dumped file and in the user's own, steps into the graph, values of locals."""
    client = PydevdClient()
    program = Program([str(PROGRAM), str(tmp_path / "dump"), backend, str(client.port)])
    try:
        client.accept({PROGRAM: [line_of("between"), line_of("break")]})
        stop = client.stop()
        assert stop.function == "_pause"
        frame = tmp_path / "dump" / "__transformed_code_0_for_function.py"
        lines = frame.read_text().splitlines()
        call = next(number for number, line in enumerate(lines, 1) if "= __compiled_fn_" in line)
        client.set_breakpoints(frame, [call])
        stop = stop.go(RESUME)
        assert stop.place == f"stepped_program.py:{line_of('between')}"
        client.remove_breakpoint(PROGRAM, line_of("between"))
        stop = stop.go(RESUME)
        assert stop.place == f"{frame.name}:{call}"
        assert stop.variables()["x"].startswith("Tensor: tensor([1., 1.]") or "tensor([1., 1.]" in stop.variables()["x"]
        stop = stop.go(STEP_INTO_MY_CODE)
        assert STAGES[backend] in stop.file
        for _ in range(30):
            stop = stop.go(STEP_OVER_MY_CODE)
            if stop.file == frame.name:
                break
        assert stop.file == frame.name and stop.line >= call
        stop = stop.go(RESUME)
        assert stop.file == frame.name and "print_1_result" in lines[stop.line - 1]  # the user's own, carried over
        client.remove_breakpoint(PROGRAM, line_of("break"))
        client.remove_breakpoint(frame, call)
        assert stop.go(RESUME) is None
        assert program.end() == 0 and "RESULT True" in program.output
        assert f"stepped_program.py:{line_of('break')} -> {frame.name}" in program.output
    finally:
        client.close()
        program.close()
