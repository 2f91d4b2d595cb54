"""Measure what skipping the guards saves: TorchCompileWrapperWithCustomDispatcher against plain torch.compile.

A module with N small modules inside (each with an attribute that Dynamo guards) is compiled once and called often,
with and without guards in turns, in one process. Prints the median time of a call for each, and their ratio.

    python bench/dispatcher.py [--modules 100] [--calls 300] [--rounds 30] [--backend inductor]
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any, Callable, List

import torch

from depyf.optimization import TorchCompileWrapperWithCustomDispatcher


class Add(torch.nn.Module):
    """Add a number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def forward(self, x: Any) -> Any:
        return x + self.number


class Chain(TorchCompileWrapperWithCustomDispatcher):
    """Add many numbers; a call dispatches directly to the one compiled version."""

    def __init__(self, modules: int, backend: str) -> None:
        self.parts = torch.nn.ModuleList([Add(number) for number in range(modules)])
        super().__init__(torch.compile(self.forward, backend=backend))

    def forward(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def __call__(self, x: Any) -> Any:
        with self.dispatch_to_code(0):
            return self.forward(x)


def microseconds(function: Callable[[Any], Any], x: Any, calls: int) -> float:
    """Return the mean time of one call, in microseconds."""
    start = time.perf_counter()
    for _ in range(calls):
        function(x)
    return (time.perf_counter() - start) / calls * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=int, default=100, help="small modules, each with its guards")
    parser.add_argument("--calls", type=int, default=300, help="calls in one round")
    parser.add_argument("--rounds", type=int, default=30, help="rounds; the median is printed")
    parser.add_argument("--backend", default="inductor", help="backend of torch.compile")
    options = parser.parse_args()
    torch.set_num_threads(1)
    chain, x = Chain(options.modules, options.backend), torch.ones(1)
    expected = chain.compiled_callable(x)
    assert torch.equal(chain(x), expected), "the two ways of calling compute different results"
    guarded: List[float] = []
    direct: List[float] = []
    for _ in range(options.rounds):
        guarded.append(microseconds(chain.compiled_callable, x, options.calls))
        direct.append(microseconds(chain, x, options.calls))
    one, other = statistics.median(guarded), statistics.median(direct)
    print(f"{options.modules} modules, backend {options.backend}")
    print(f"a call: {one:.1f} us with guards, {other:.1f} us without, ratio {one / other:.2f}")


if __name__ == "__main__":
    main()
