"""Measure the cost of a call after the context: Dynamo's own code against ours, alternating in one process.

    python bench/calls.py [--blocks 200] [--calls 200] [--backend eager]

Each program is compiled once inside `prepare_debug`. A hook keeps the code that Dynamo made for its first frame; ours
is the code in Dynamo's cache afterwards. Both run as functions with the same globals and arguments: a block times some
calls of one and then of the other, in an order that alternates from block to block. Prints the median of the ratios
ours / Dynamo's, and of a control, Dynamo's / Dynamo's, in CPU time of the thread.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from types import FunctionType
from typing import Any, Callable, Dict, List, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PROGRAMS: Dict[str, str] = {
    "one graph": """
def program(a, b):
    return (a + b).relu() * 2
""",
    "a graph break and a branch": """
def program(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b
""",
    "a module with 16 layers": """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(16)])

    def forward(self, a, b):
        return self.layers(a) + b

program = Model()
""",
    "a loop and side effects": """
log = []

def program(a, b):
    for step in range(4):
        a = a + step * b
        log.append(step)
    torch._dynamo.graph_break()
    del log[:]
    return {"a": a, "b": [b, a * 2]}
""",
}


def make(text: str) -> Any:
    """Return the program, with code objects of its own."""
    import torch

    namespace: Dict[str, Any] = {"torch": torch, "__name__": "bench_calls"}
    exec(compile(text, "<bench_calls>", "exec"), namespace)
    return namespace["program"]


def clocked(program: Callable[..., Any], arguments: Tuple[Any, ...], calls: int) -> float:
    """Return the CPU time of that many calls."""
    begin = time.thread_time()
    for _ in range(calls):
        program(*arguments)
    return time.thread_time() - begin


def ratios(one: Callable[..., Any], other: Callable[..., Any], arguments: Tuple[Any, ...], options: Any) -> List[float]:
    """Return the times of `one` divided by those of `other`, one ratio for each block, sorted."""
    found = []
    for block in range(options.blocks):
        if block % 2:
            first, second = clocked(one, arguments, options.calls), clocked(other, arguments, options.calls)
        else:
            second, first = clocked(other, arguments, options.calls), clocked(one, arguments, options.calls)
        found.append(first / second)
    return sorted(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=200, help="ratios measured for each program")
    parser.add_argument("--calls", type=int, default=200, help="calls in one block")
    parser.add_argument("--backend", default="eager", help="backend of torch.compile")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    arguments = (torch.ones(4, 4), torch.ones(4, 4))
    for name, text in PROGRAMS.items():
        with torch.no_grad():
            theirs, ours, first = codes(make(text), arguments, options.backend)
            measured = torch._dynamo.disable(ratios)
            same = measured(theirs, theirs, (*first, *arguments), options)
            mine = measured(ours, theirs, (*first, *arguments), options)
        middle = options.blocks // 2
        print(f"{name:28} ours / Dynamo's {mine[middle]:.4f}, control {same[middle]:.4f}", flush=True)


def codes(program: Any, arguments: Tuple[Any, ...], backend: str) -> Tuple[FunctionType, FunctionType, Tuple[Any, ...]]:
    """Return the first frame as Dynamo made it and as depyf did, and `self` where the program is a module."""
    import torch
    from torch._dynamo.convert_frame import register_bytecode_hook
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    import depyf

    torch._dynamo.reset()
    made: List[Any] = []
    handle = register_bytecode_hook(lambda code, new_code: made.append(new_code))
    folder = tempfile.mkdtemp()
    with depyf.prepare_debug(folder) as session:
        torch.compile(program, backend=backend)(*arguments)
    handle.remove()
    shutil.rmtree(folder, ignore_errors=True)
    assert session.record is not None
    assert {frame.installed for frame in session.record.frames} == {"replaced"}
    function = getattr(program, "forward", program)
    first = (program,) if function is not program else ()
    function = getattr(function, "__func__", function)
    ours = _debug_get_cache_entry_list(function.__code__)[0].code
    scope = function.__globals__
    return FunctionType(made[0], scope), FunctionType(ours, scope), first


if __name__ == "__main__":
    main()
