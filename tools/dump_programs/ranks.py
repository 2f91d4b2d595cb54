"""Two ranks that compile different things, and two that compile the same."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import depyf


def shift(x):
    x = x + 1
    if dist.get_rank() == 1:
        torch._dynamo.graph_break()
    return x * 2


def other(x):
    return x - 1


def reduced(x):
    x = x * 2
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    return x


def summed(x):
    x = x * 2
    dist.all_reduce(x)
    torch._dynamo.graph_break()
    return x + 1


def differ(rank):
    compiled = torch.compile(other, backend="aot_eager")
    for size in (3, 5) if rank == 1 else (3,):
        compiled(torch.ones(size))
    for function in (shift, other) if rank == 0 else (other, shift):
        torch.compile(function, backend="eager")(torch.ones(3))
    torch.compile(reduced, backend="eager")(torch.ones(3))
    if rank == 1:
        dist.all_reduce(torch.ones(3))  # for rank 0, which waits for it in compiled code


def same(rank):
    print(torch.compile(summed, backend="aot_eager")(torch.full((3,), rank + 1.0)).tolist())


def work(rank, program, port, is_early):
    """One rank, known before the context or only inside.  Rank 0 leaves first: what is printed has one order."""
    name = f"dump/{program.__name__}"
    start = dict(init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    if is_early:
        dist.init_process_group("gloo", **start)
    with depyf.prepare_debug(name):
        if not is_early:
            dist.init_process_group("gloo", **start)
        program(rank)
        dist.barrier()
        if rank == 1:
            dist.barrier()
    if rank == 0:
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    for program, is_early in ((differ, True), (same, False)):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        mp.spawn(work, (program, port, is_early), nprocs=2)
    for folder, _, files in sorted(os.walk("dump")):
        print(folder, sorted(files))
