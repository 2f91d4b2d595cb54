"""What the watch for the first NaN costs while it is armed: time of training steps with it, over time without it.

    python bench/nan_watch.py [--steps 20] [--size 256]

A model of four layers is trained under `debug(pause=False)`, with and without `stop_on_nan=True`, in turns; the ratio
is that of the medians. Printed for each backend, and for a small and a large batch.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import tempfile
import time

import torch

import depyf

BACKENDS = ("eager", "aot_eager", "inductor")


class Block(torch.nn.Module):
    """One layer, with a norm and an activation."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(size, size), torch.nn.LayerNorm(size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.nn.functional.gelu(self.linear(self.norm(x)))


def measure(backend: str, batch: int, size: int, steps: int) -> tuple[float, float]:
    """Return the median time of a step in milliseconds, without and with the watch."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[Block(size) for _ in range(4)])
    compiled = torch.compile(model, backend=backend)
    data = torch.randn(batch, size)

    def step() -> float:
        started = time.perf_counter()
        compiled(data).square().mean().backward()
        model.zero_grad()
        return (time.perf_counter() - started) * 1000

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        with depyf.prepare_debug(folder):
            step()
        times: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(steps):
            for watched in times:
                with depyf.debug(pause=False, stop_on_nan=watched):
                    step()
                    times[watched].append(step())
    return statistics.median(times[False]), statistics.median(times[True])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--size", type=int, default=256)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for backend in BACKENDS:
        for batch in (8, 1024):
            plain, watched = measure(backend, batch, arguments.size, arguments.steps)
            ratio = f"{watched / plain:5.1f} times"
            print(f"{backend:>10}, batch {batch:>5}: {plain:8.2f} ms, watched {watched:8.2f} ms, {ratio}", flush=True)


if __name__ == "__main__":
    main()
