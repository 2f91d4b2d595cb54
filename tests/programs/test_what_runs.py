"""The folder reports as running what a profiler and a debugger observe, for every kind of backend."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import unusual_backends
from backend_programs import PROGRAMS
from torch_probes import (
    AOT_EAGER_INTERPRETS,
    COMPILES_STANDALONE,
    EXPORTS_WITHOUT_DYNAMO,
    HAS_AOT_INDUCTOR,
    HAS_FLEX_ATTENTION,
    HAS_REGIONS,
    HAS_WHILE_LOOP,
    needs,
)

from depyf.record.saved_form import from_json

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs run in forked children")

# Programs of which the debugger does not see all that ran: they generate code anew at each call, which is no longer
# linked once the context is left, run other code from the second call on, or run in another thread.
BEYOND_THE_DEBUGGER = {
    "edited_at_each_call",
    "edited_after_the_first_call",
    "compiled_by_aot_autograd_at_the_second_call",
    "thread",
}
if not EXPORTS_WITHOUT_DYNAMO:
    BEYOND_THE_DEBUGGER.add("aot_inductor")  # the export runs a graph, once
NEEDED = {
    **dict.fromkeys(("exported_in_the_backend", "exported_and_decomposed"), (EXPORTS_WITHOUT_DYNAMO, "such export")),
    **dict.fromkeys(("standalone_compile", "pieces_compiled_for_each_shape_when_it_comes"),
                    (COMPILES_STANDALONE, "torch._inductor.standalone_compile")),
    "aot_inductor": (HAS_AOT_INDUCTOR, "torch._inductor.aoti_compile_and_package"),
    "attention_with_a_score_function": (HAS_FLEX_ATTENTION, "flex_attention"),
    "loop": (HAS_WHILE_LOOP, "while_loop"),
    **{name: (HAS_REGIONS, "nested_compile_region") for name in PROGRAMS if "nested_compile_region" in name},
}  # fmt: skip


def marked(names):
    return [pytest.param(name, marks=needs(*NEEDED[name])) if name in NEEDED else name for name in names]



@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """Run all programs; return what was observed of each, with its record and folder."""
    top = tmp_path_factory.mktemp("programs")
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(top / "torchinductor")}
    command = [sys.executable, unusual_backends.__file__, str(top)]
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout
    lines = [json.loads(line[len("RESULT ") :]) for line in output.splitlines() if line.startswith("RESULT ")]
    return {seen["program"]: {**seen, "folder": top / seen["program"]} for seen in lines}


def record_of(seen):
    assert "error" not in seen, seen["error"]
    return from_json((seen["folder"] / "manifest.json").read_text())


def parts_of(record):
    return [part for graph in record.graphs for part in graph.stages + graph.kernels]


@pytest.mark.parametrize("name", marked(PROGRAMS))
def test_the_files_that_are_reported_as_running_are_those_that_a_profiler_observes(name, observed):
    seen = observed[name]
    record = record_of(seen)
    assert not record.problems
    assert sorted(part.file for part in parts_of(record) if part.runs) == seen["ran"]
    first_lines = {path.name: path.read_text().split("\n", 1)[0] for path in seen["folder"].glob("__compiled_fn*.py")}
    assert sorted(file for file, line in first_lines.items() if "this code runs" in line) == seen["ran"]
    assert not seen["elsewhere"], "generated code that is on disk under no name"


@pytest.mark.parametrize("name", marked(sorted(set(PROGRAMS) - BEYOND_THE_DEBUGGER)))
def test_breakpoints_are_hit_in_the_files_that_are_linked(name, observed):
    seen = observed[name]
    assert sorted(part.file for part in parts_of(record_of(seen)) if part.runs and part.linked) == seen["hit"]


def executions(seen):
    return {part.stage: part.execution for part in parts_of(record_of(seen))}


def test_a_graph_that_an_interpreter_runs_names_the_interpreter(observed):
    for name, interpreter in (
        ("interpreter", "Interpreter"),
        ("interpreter_subclass", "Cosines"),
        ("interpreter_made_at_each_call", "Cosines"),
    ):
        seen = observed[name]
        assert executions(seen) == {"Captured_Graph": "node by node"}
        (path,) = Path(seen["folder"]).glob("__compiled_fn_*.Captured_Graph.0.py")
        first = path.read_text().split("\n", 1)[0]
        assert first.endswith(f": run node by node by {interpreter}; this text is not executed.")


def test_a_graph_that_is_held_and_never_called_is_not_shown_as_what_runs(observed):
    for name in ("lru_cache", "source_of_the_graph_executed_by_the_backend"):
        seen = observed[name]
        assert executions(seen)["Captured_Graph"] == "not called"
        (path,) = Path(seen["folder"]).glob("__compiled_fn_*.Captured_Graph.0.py")
        assert path.read_text().split("\n", 1)[0].endswith(": not called so far inside the context.")


def test_a_backward_that_was_compiled_and_not_called_is_shown_as_not_called(observed):
    seen = observed["inductor_backward_never_called"]
    kernels = {part.made_for: part for graph in record_of(seen).graphs for part in graph.kernels}
    assert kernels["forward"].execution == "ran"
    if "backward" in kernels:  # compiled with its forward
        assert kernels["backward"].execution == "not called" and not kernels["backward"].runs


def test_what_a_backend_compiles_when_a_graph_is_called_is_filed_with_the_graph(observed):
    (graph,) = record_of(observed["vllm_piecewise_backend"]).graphs
    # torch 2.2 loads the same code once for two pieces: the file of the second names that of the first
    idle = [part for part in graph.kernels if part.execution == "not called" or not part.linked]
    assert len(idle) == 2, "for any shape"
    assert sum(part.execution == "ran" for part in graph.kernels) == 2, "for the shape that came"
    assert "Backend_graph" in executions(observed["vllm_piecewise_backend"]), "the graph that calls the pieces"


@needs(AOT_EAGER_INTERPRETS, "interpreter in aot_eager")
def test_a_backward_that_an_interpreter_ran_is_not_reported_as_idle(observed):
    assert executions(observed["aot_eager_training"])["Backward_graph"] == "node by node"


def test_graphs_that_are_compiled_when_they_are_called_are_linked_as_the_stages_that_torch_logs(observed):
    stages = executions(observed["compiled_by_aot_autograd_at_the_second_call"])
    assert stages["Forward_graph"] == stages["Backward_graph"] == "ran"
    assert "Backend_graph" not in stages


def test_the_edited_graph_is_on_disk_as_it_runs(observed):
    (path,) = observed["edited_graph"]["folder"].glob("__compiled_fn_*.Edited_graph.0.py")
    assert "l_x_.cos()" in path.read_text()
