"""Programs to compile under prepare_debug, and checks of the files that they leave."""

from __future__ import annotations

import ast
import bdb
import importlib.util
import logging
import os
import sys
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import torch
from torch_probes import HAS_TRACE

import depyf
from depyf.record.saved_form import from_json


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def docs_example(inputs):
    x = inputs["x"]
    y = inputs["y"]
    x = x.cos().cos()
    if x.mean() > 0.5:
        x = x / 1.1
    return x * y


def straight(a, b):
    return (a * 2 + b).relu().sum(-1)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, a, b):
        return self.linear(a).tanh() + b.sum()


def run_toy(function, grad=False, times=8):
    """Call the function so that both branches are taken; return all results."""
    torch.manual_seed(0)
    results = []
    for _ in range(times):
        a = torch.randn(10, requires_grad=grad)
        out = function(a, torch.randn(10))
        results.append(out.detach().clone())
        if grad:
            out.sum().backward()
            results.append(a.grad.clone())
    return results


def run_docs(function):
    torch.manual_seed(0)
    results = []
    for size in (10, 10, 8, 8):
        inputs = {name: torch.randn(size, requires_grad=True) for name in "xy"}
        out = function(inputs)
        out.sum().backward()
        results += [out.detach().clone(), inputs["x"].grad.clone(), inputs["y"].grad.clone()]
    return results


def same(one, other):
    return len(one) == len(other) and all(torch.allclose(a, b, atol=1e-6) for a, b in zip(one, other))


def dump(folder, function, run, backend="eager", **options):
    """Compile and run inside prepare_debug; return (results, record, compiled function)."""
    torch._dynamo.reset()
    prepare = options.pop("prepare", {})
    compiled = torch.compile(function, backend=backend, **options)
    context = depyf.prepare_debug(str(folder), **prepare)
    with context:
        results = run(compiled)
    return results, from_json((Path(folder) / "manifest.json").read_text()), compiled


class KernelsByCompileId(logging.Handler):
    """Read torch's trace independently of depyf: compile id -> texts of the modules that Inductor generated or loaded."""

    def __init__(self):
        super().__init__()
        self.texts = defaultdict(list)

    def emit(self, record):
        metadata = getattr(record, "metadata", {})
        if "inductor_output_code" in metadata:
            compile_id = f"{metadata['frame_id']}/{metadata['frame_compile_id']}"
            self.texts[compile_id].append(record.payload)

    def __enter__(self):
        if HAS_TRACE:
            torch._logging._internal.trace_log.addHandler(self)
        return self

    def __exit__(self, *_):
        if HAS_TRACE:
            torch._logging._internal.trace_log.removeHandler(self)


def assert_kernels_belong_to_their_graphs(folder, record, kernels):
    """Assert that each kernel file holds a module that torch logged under its graph's compile id, and none is missing."""
    if not HAS_TRACE:
        return  # there is nothing to compare with
    files = defaultdict(list)
    for graph in record.graphs:
        for part in graph.kernels:
            text = (Path(folder) / part.file).read_text()
            files[graph.compile_id].append(text.split("\n", 1)[1])
    assert {key: sorted(texts) for key, texts in files.items()} == {
        key: sorted(texts) for key, texts in kernels.texts.items()
    }


def stage_files(record):
    """Return the files of each graph without its number, which keeps increasing within a process."""
    return [[part.file.split(".", 1)[1] for part in graph.stages + graph.kernels] for graph in record.graphs]


def module_from(path, text):
    """Return a module with that text from a file, because some torch versions compile functions without a file differently."""
    Path(path).write_text(text)
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_all_parse(folder):
    for path in Path(folder).glob("*.py"):
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)


def statement_lines(path, inside=None):
    """Return the first lines of the statements in the functions of a file, or only in the function `inside`."""
    lines = []
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.FunctionDef) and inside in (None, node.name):
            lines += [statement.lineno for statement in node.body]
    return sorted(set(lines))


class Breakpoints(bdb.Bdb):
    """A debugger without a terminal that records where it stopped, and the locals there."""

    def __init__(self):
        super().__init__()
        self.hits = []

    def user_line(self, frame):
        if self.break_here(frame):
            self.hits.append(
                (os.path.basename(frame.f_code.co_filename), frame.f_lineno, dict(frame.f_locals))
            )
        self.set_continue()


@contextmanager
def breakpoints(*places):
    """Set breakpoints at (path, line) and yield the debugger while it traces."""
    debugger = Breakpoints()
    for path, line in places:
        problem = debugger.set_break(str(path), line)
        assert problem is None, problem
    debugger.reset()
    before = sys.gettrace()  # of a coverage run
    sys.settrace(debugger.trace_dispatch)
    try:
        yield debugger
    finally:
        sys.settrace(before)


def session(folder, program):
    """Run `program` inside prepare_debug, check what holds for every program, return the record."""
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)):
        program()
    record = from_json((folder / "manifest.json").read_text())
    assert not record.problems, record.problems
    assert_all_parse(folder)
    assert [frame.file for frame in record.frames if frame.installed != "replaced"] == []
    return record


def stages(graph):
    return [part.stage for part in graph.stages]


def first_line(folder, part):
    return (folder / part.file).read_text().splitlines()[0]
