"""Measure where the CPU time that `prepare_debug` adds to a compilation goes, part by part.

    python bench/parts.py [--backend eager|aot_eager|inductor] [--layers 64] [--rounds 9] [--no-parts]

The model has `--layers` blocks and one graph break. One process imports torch and depyf and compiles a small model
before the context. Each measurement is a fork of it, plain and with depyf in turn, so all start in the same state.
Prints the medians of the CPU time of both, the difference, and for each part the CPU time while it is the innermost one
on the stack:

    events     torch builds an event of its structured trace, which it does only where somebody listens
    handler    depyf receives one
    hook       depyf's bytecode hook, less what follows
    decompile, guards, graphs, files, journal, manifest, full_code, page, functions    what the names say
    enter, exit                             entering and leaving the context, less the other parts
    import     modules that are imported meanwhile
    collect    garbage collections, by generation

Where the plain run has a part, too, it is printed beside it. Whether a full collection ("collect 2") falls due depends
on how many objects have survived since the last one, in either run: the line "survivors" has those of both, and how
many of them make one due. So one run may have it and the other not, though both are as near to it.

`--no-parts` measures without the clocks of the parts, which take a few percent themselves.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
import traceback
from typing import Any, Callable, Dict, List

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# part -> the functions in which it happens: module, and name in it
PLACES = {
    "handler": [("depyf.torch_hooks.internals.structured_trace", "TraceHandler.emit")],
    "hook": [
        ("depyf.torch_hooks.session.capture", "Capture.on_bytecode"),
        ("depyf.torch_hooks.session.capture", "Capture.on_custom_stage"),
        ("depyf.torch_hooks.session.capture", "Capture.on_skip"),
    ],
    "decompile": [("depyf.decompiler.pipeline", "decompile_frame")],
    "guards": [
        ("depyf.torch_hooks.guards.guard_tree", "describe_guards"),
        ("depyf.torch_hooks.guards.failed_guards", "failed_guards"),
    ],
    "graphs": [
        ("depyf.torch_hooks.graphs.graph_files", "Graphs.add"),
        ("depyf.torch_hooks.graphs.linking", "link"),
        ("depyf.torch_hooks.graphs.recovered_graphs", "recover"),
    ],
    "files": [("depyf.torch_hooks.disk.folder", "OutputFolder.write_bytes")],
    "journal": [("depyf.torch_hooks.disk.folder", "OutputFolder.append_all")],
    "manifest": [("depyf.record.saved_form", "to_json")],
    "full_code": [("depyf.report.full_code", "render")],
    "page": [("depyf.torch_hooks.session.closing", "_write_page")],
    "functions": [("depyf.torch_hooks.frames.functions", "Functions.key_of")],
    "enter": [("depyf.torch_hooks.entry_points.prepare_debug", "prepare_debug.__enter__")],
    "exit": [("depyf.torch_hooks.entry_points.prepare_debug", "prepare_debug.__exit__")],
    "events": [("torch._logging._internal", "trace_structured"), ("torch._logging._internal", "dtrace_structured")],
    "import": [("importlib._bootstrap", "_find_and_load")],
}
IN_BOTH = ("import",)  # parts of the plain run


class Clock:
    """CPU time of this process by part: that of the innermost part on the stack."""

    def __init__(self) -> None:
        self.parts: Dict[str, float] = {}
        self.calls: Dict[str, int] = {}
        self.survivors = 0  # objects that have become old: what makes a full collection due
        self._stack: List[str] = []
        self._since = 0.0
        self._young = 0

    def push(self, part: str) -> None:
        """Enter a part."""
        now = time.process_time()
        if self._stack:
            self.parts[self._stack[-1]] = self.parts.get(self._stack[-1], 0.0) + now - self._since
        self._stack.append(part)
        self.calls[part] = self.calls.get(part, 0) + 1
        self._since = time.process_time()

    def pop(self) -> None:
        """Leave it."""
        now = time.process_time()
        part = self._stack.pop()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._since
        self._since = time.process_time()

    def at_collection(self, phase: str, info: Dict[str, int]) -> None:
        """Count a garbage collection as a part of its own, and the objects that it leaves to the oldest generation."""
        if phase == "start":
            self._young = len(gc.get_objects(0)) + len(gc.get_objects(1)) if info["generation"] == 1 else 0
            self.push(f"collect {info['generation']}")
        else:
            self.pop()
            if info["generation"] == 1:
                self.survivors += self._young - info["collected"]

    def timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        """Return `function` as a part."""

        def run(*args: Any, **kwargs: Any) -> Any:
            self.push(part)
            try:
                return function(*args, **kwargs)
            finally:
                self.pop()

        return run

    def watch(self, part: str, module: str, name: str) -> None:
        """Count the time in a function as that part, wherever a module has bound it; not where torch has no such."""
        owner: Any = importlib.import_module(module)
        *parents, last = name.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        function = getattr(owner, last, None)
        if function is None and module.startswith("torch."):
            return
        timed = self.timed(function, part)
        setattr(owner, last, timed)
        for other in list(sys.modules.values()) if not parents else ():
            if getattr(other, "__dict__", {}).get(last) is function:
                setattr(other, last, timed)


def model(name: str, layers: int) -> Any:
    """Return a module of that many blocks with a graph break in the middle, whose code objects are its own.

    Dynamo's cache hangs on code objects: what the first model compiles was compiled before the context.
    """
    import torch

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "length_programs", "blocks.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module.Net(layers)


def measure(options: argparse.Namespace, compiled: Any, argument: Any, on: bool) -> Dict[str, Any]:
    """Compile in this process, with or without depyf."""
    import depyf

    folder, clock = tempfile.mkdtemp(), Clock()
    if options.parts:
        gc.callbacks.append(clock.at_collection)
        for part, places in PLACES.items():
            for module, name in places if on or part in IN_BOTH else ():
                clock.watch(part, module, name)
    begin = os.times()
    if on:
        with depyf.prepare_debug(folder):
            compiled(argument)
    else:
        compiled(argument)
    end = os.times()
    shutil.rmtree(folder, ignore_errors=True)
    spent = sum(end[:4]) - sum(begin[:4])
    return {"total": spent, "parts": clock.parts, "calls": clock.calls, "survivors": clock.survivors}


def fork(options: argparse.Namespace, compiled: Any, argument: Any, on: bool) -> Dict[str, Any]:
    """Measure in a fork of this process."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        with os.fdopen(writer, "w") as stream:
            try:
                with open(os.devnull, "w", encoding="utf-8") as sys.stderr:
                    found = measure(options, compiled, argument, on)
            except BaseException:  # a fork must not return, whatever happens
                found = {"error": traceback.format_exc()}
            json.dump(found, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    result: Dict[str, Any] = json.loads(text) if text else {"error": f"the process ended with status {status}"}
    if "error" in result:
        sys.exit(str(result["error"]))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="eager", help="backend of torch.compile")
    parser.add_argument("--layers", type=int, default=64, help="blocks of the model")
    parser.add_argument("--rounds", type=int, default=9, help="measurements with and without depyf")
    parser.add_argument("--no-parts", dest="parts", action="store_false", help="measure the sum only")
    options = parser.parse_args()
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # CUDA does not work in a fork of a process that has used it
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # neither do worker processes
    import torch

    torch.set_num_threads(1)
    argument = torch.randn(4, 16)
    with torch.no_grad():
        torch.compile(model("warm", 2), backend=options.backend)(argument)
        import depyf  # noqa: F401

        compiled = torch.compile(model("net", options.layers), backend=options.backend)
        seen: Dict[bool, List[Dict[str, Any]]] = {True: [], False: []}
        for _ in range(options.rounds):
            for on in (True, False):
                seen[on].append(fork(options, compiled, argument, on))
    off, on_ = (statistics.median(run["total"] for run in seen[on]) for on in (False, True))
    print(
        f"{options.backend}, {options.layers} layers: plain {off:.3f} s, with depyf {on_:.3f} s, {on_ / off - 1:+.3f}"
    )
    plain = {
        part: statistics.median(run["parts"].get(part, 0) for run in seen[False]) for part in seen[False][0]["parts"]
    }
    rows = []
    for part in sorted({part for run in seen[True] for part in run["parts"]}):
        seconds = statistics.median(run["parts"].get(part, 0.0) for run in seen[True])
        calls = statistics.median(run["calls"].get(part, 0) for run in seen[True])
        rows.append((seconds - plain.get(part, 0.0), part, seconds, calls))
    for above, part, seconds, calls in sorted(rows, reverse=True):
        beside = f", {plain[part] * 1000:.1f} without depyf" if part in plain else ""
        print(f"{above / off:+7.3f}  {part:12} {seconds * 1000:7.1f} ms in {calls:5.0f} calls{beside}")
    print(f"{(on_ - off - sum(row[0] for row in rows)) / off:+7.3f}  the rest")
    survivors = [round(statistics.median(run["survivors"] for run in seen[on])) for on in (True, False)]
    due = len(gc.get_objects(2)) // 4
    print(f"survivors: {survivors[0]}, {survivors[1]} without depyf; about {due} of them make a full collection due")


if __name__ == "__main__":
    main()
