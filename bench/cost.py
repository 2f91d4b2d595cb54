"""Measure the cost of depyf while torch compiles: its own CPU time against that of the compilation.

    python bench/cost.py [--backend eager|inductor] [--layers 64] [--profile] [--repeat 3]

The model has `--layers` layers and one graph break in the middle. Each measurement is a process of its own with cold
caches. Prints for each: the CPU time of torch's compilation (the first calls, less depyf's part), depyf's own CPU time
(its bytecode hook, its handlers of torch's events, entering and leaving the context: the clock runs whenever one of
these is on the stack), the ratio, and the CPU time of the same program without depyf, which shows work that torch does
only because a handler is installed.

A full garbage collection may happen in either part: it walks everything that torch has loaded and takes longer than
all of depyf's work. The clock stops meanwhile, and the time of full collections is printed. Collections of the young
generations are included.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Clock:
    """CPU time of this process while at least one of the watched functions is on the stack."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.parts: Dict[str, float] = {}
        self.calls = 0
        self.collecting = 0.0  # time of full garbage collections, not part of `seconds`
        self._depth = 0
        self._collection_began = 0.0
        gc.callbacks.append(self._at_collection)

    def _at_collection(self, phase: str, info: Dict[str, int]) -> None:
        if info["generation"] < 2 or not self._depth:
            return
        if phase == "start":
            self._collection_began = time.process_time()
        else:
            self.collecting += time.process_time() - self._collection_began

    def watch(self, owner: Any, name: str) -> None:
        """Run the clock inside a method."""
        method: Callable[..., Any] = getattr(owner, name)
        label = f"{owner.__name__}.{name}"

        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._depth:
                return method(*args, **kwargs)
            self._depth += 1
            self.calls += 1
            begin, collecting = time.process_time(), self.collecting
            try:
                return method(*args, **kwargs)
            finally:
                spent = time.process_time() - begin - (self.collecting - collecting)
                self._depth -= 1
                self.seconds += spent
                self.parts[label] = self.parts.get(label, 0.0) + spent

        setattr(owner, name, timed)


def watched() -> Clock:
    """Return a clock on every entry point by which torch or the user enters depyf."""
    from depyf.torch_hooks.entry_points.prepare_debug import prepare_debug
    from depyf.torch_hooks.internals.structured_trace import TraceHandler
    from depyf.torch_hooks.session.capture import Capture

    clock = Clock()
    for owner, names in (
        (Capture, ("on_bytecode", "on_custom_stage")),
        (TraceHandler, ("emit",)),
        (prepare_debug, ("__enter__", "__exit__")),
    ):
        for name in names:
            clock.watch(owner, name)
    return clock


def model(layers: int, kind: str) -> Any:
    """Return a module of that many layers with a graph break in the middle, and its input."""
    import torch

    class Block(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(width)
            self.up = torch.nn.Linear(width, 2 * width)
            self.down = torch.nn.Linear(2 * width, width)

        def forward(self, x: Any) -> Any:
            return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            make = (lambda: torch.nn.Linear(16, 16)) if kind == "linear" else (lambda: Block(16))
            self.first = torch.nn.Sequential(*[make() for _ in range(layers // 2)])
            self.second = torch.nn.Sequential(*[make() for _ in range(layers - layers // 2)])

        def forward(self, x: Any) -> Any:
            x = self.first(x)
            torch._dynamo.graph_break()
            return self.second(x)

    torch.manual_seed(0)
    return Model(), torch.randn(4, 16)


def child(options: argparse.Namespace) -> None:
    """Compile once, with or without depyf, and print the times as JSON."""
    import torch

    torch.set_num_threads(1)
    module, argument = model(options.layers, options.model)
    warm = torch.compile(lambda x: x + 1, backend=options.backend)
    warm(torch.ones(2))  # imports and other work of a process's first compilation
    torch._dynamo.reset()  # otherwise the context would also show what was compiled before it
    compiled = torch.compile(module, backend=options.backend)
    clock, folder = None, tempfile.mkdtemp()
    profiler = None
    if options.child == "on":
        import depyf

        clock = watched()
        if options.profile:
            import cProfile

            profiler = cProfile.Profile(time.process_time)
        begin = time.process_time()
        session = depyf.prepare_debug(folder)
        if profiler:
            profiler.enable()
        with session:
            compiled(argument)
        if profiler:
            profiler.disable()
            import pstats

            pstats.Stats(profiler, stream=sys.stderr).sort_stats("cumulative").print_stats("depyf", 70)
    else:
        begin = time.process_time()
        compiled(argument)
    total = time.process_time() - begin
    frames = 0
    if options.child == "on":
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as stream:
            frames = len(json.load(stream)["frames"])
    shutil.rmtree(folder, ignore_errors=True)
    own = clock.seconds if clock is not None else 0.0
    parts, collecting = (clock.parts, clock.collecting) if clock is not None else ({}, 0.0)
    print(json.dumps({"total": total, "own": own, "frames": frames, "parts": parts, "collecting": collecting}))


def measure(options: argparse.Namespace, mode: str) -> Dict[str, Any]:
    """Measure once in a process of its own."""
    cache = tempfile.mkdtemp()
    env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=cache, OMP_NUM_THREADS="1", TORCHINDUCTOR_COMPILE_THREADS="1")
    command = [sys.executable, os.path.abspath(__file__), "--child", mode, "--backend", options.backend]
    command += ["--layers", str(options.layers), "--model", options.model] + ["--profile"] * options.profile
    output = subprocess.run(
        command, env=env, check=True, stdout=subprocess.PIPE, stderr=None if options.profile else subprocess.DEVNULL
    ).stdout
    shutil.rmtree(cache, ignore_errors=True)
    result: Dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="eager", help="backend of torch.compile")
    parser.add_argument("--layers", type=int, default=64, help="layers of the model")
    parser.add_argument("--model", default="linear", choices=("linear", "block"), help="kind of layer")
    parser.add_argument("--repeat", type=int, default=3, help="measurements with and without depyf")
    parser.add_argument("--profile", action="store_true", help="profile depyf's functions (slows them down)")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    ratios: List[float] = []
    for _ in range(options.repeat):
        on, off = measure(options, "on"), measure(options, "off")
        compile_time = on["total"] - on["own"] - on["collecting"]
        ratios.append(on["own"] / compile_time)
        parts = ", ".join(f"{name} {seconds * 1000:.0f}" for name, seconds in on["parts"].items())
        print(
            f"compile {compile_time:.3f} s, depyf {on['own'] * 1000:.0f} ms = {ratios[-1]:.1%} "
            f"({on['frames']} frames; {parts}; full collections {on['collecting'] * 1000:.0f}); "
            f"without depyf {off['total']:.3f} s",
            flush=True,
        )
    print(f"{options.backend}, {options.layers} {options.model} layers: median {sorted(ratios)[len(ratios) // 2]:.1%}")


if __name__ == "__main__":
    main()
