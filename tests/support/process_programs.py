"""Multi-process programs for `test_processes`: `python process_programs.py NAME FOLDER`."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import sys
import time

import torch
import torch.distributed as dist
from capture_tools import module_from

import depyf


class Net(torch.nn.Module):
    """Large enough for two buckets of DistributedDataParallel (1 MB each), so that DDP splits the graph in two."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(600, 600)
        self.second = torch.nn.Linear(600, 600)

    def forward(self, x):
        return self.second(self.first(x).relu())


def shift(x):
    x = x + 1
    if dist.get_rank() == 2:
        print("rank 2 breaks here")
    return x * 2


def other(x):
    return x - 1


def reduced(x):
    x = x * 2
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    return x


def summed_over_ranks(x):
    x = x * 2
    dist.all_reduce(x)
    torch._dynamo.graph_break()
    return x + 1


def ddp(folder):
    """Run DistributedDataParallel on all ranks; one gets another batch size, one breaks a graph, one swaps the order."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    with depyf.prepare_debug(folder):
        net = torch.nn.parallel.DistributedDataParallel(Net(), bucket_cap_mb=1)
        compiled = torch.compile(net, backend="aot_eager")
        for size in (4, 6 if rank == 1 else 4):
            compiled(torch.randn(size, 600)).sum().backward()
        functions = [shift, other] if rank != 3 else [other, shift]
        for function in functions:
            torch.compile(function, backend="eager")(torch.ones(3))
    print("grad", rank, net.module.first.weight.grad.norm().item())
    dist.destroy_process_group()


class Samples(torch.utils.data.Dataset):
    """Compiles a function in the process that asks for an item."""

    def __len__(self):
        return 4

    def __getitem__(self, number):
        return torch.compile(sample, backend="eager")(torch.full((3,), float(number)))


def sample(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2


def epochs(folder):
    """Compile in workers of a DataLoader alone, which are new ones in each epoch."""
    with depyf.prepare_debug(folder):
        for _ in range(3):
            for _ in torch.utils.data.DataLoader(Samples(), num_workers=2, multiprocessing_context="fork"):
                pass


def two(folder):
    """Compile the same on all ranks: a function with a collective and a graph break."""
    dist.init_process_group("gloo")
    with depyf.prepare_debug(folder):
        summed = torch.compile(summed_over_ranks, backend="aot_eager")(torch.full((3,), dist.get_rank() + 1.0))
    print("sum", dist.get_rank(), summed.tolist())
    dist.destroy_process_group()


def hang(folder):
    """Hang: rank 0 waits in a collective that rank 1 never calls."""
    dist.init_process_group("gloo")
    with depyf.prepare_debug(folder):
        torch.compile(other, backend="eager")(torch.ones(3))
        torch.compile(reduced, backend="eager")(torch.ones(3))
        time.sleep(600)


def _late_rank(number, folder, port):
    with depyf.prepare_debug(folder) as context:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=number, world_size=2)
        torch.compile(shift, backend="eager")(torch.ones(3))
        dist.barrier()
    assert os.path.basename(context.folder) == f"rank_{number}"
    dist.destroy_process_group()


def spawn(folder):
    """Spawn children that get their rank inside the context; the parent has a context and no rank."""
    import socket

    import torch.multiprocessing as mp

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with depyf.prepare_debug(folder):
        _compile_other()
        mp.spawn(_late_rank, (folder, port), nprocs=2)


def _rank_during_a_merge(folder):
    """Leave a context while another rank, which has left already, merges the folders."""
    from depyf.torch_hooks.disk.claims import Claim
    from depyf.torch_hooks.session import closing

    close = closing.close

    def close_and_let_merge(recording):
        record = close(recording)
        assert Claim.take(folder) is not None
        return record

    closing.close = close_and_let_merge
    os.environ.update(RANK="0", WORLD_SIZE="2")
    with depyf.prepare_debug(folder):
        torch.compile(other, backend="eager")(torch.ones(2))


def merged(folder):
    child = multiprocessing.get_context("spawn").Process(target=_rank_during_a_merge, args=(folder,))
    child.start()
    child.join()
    sys.exit(child.exitcode)


def workers(folder):
    """Start both kinds of Inductor's worker pools inside the context; they end with the program."""
    from torch._inductor import config
    try:
        from torch._inductor.async_compile import AsyncCompile
    except ImportError:  # torch 2.4 and older
        from torch._inductor.codecache import AsyncCompile

    config.compile_threads = 2
    with depyf.prepare_debug(folder):
        other_method = "subprocess" if importlib.util.find_spec("torch._inductor.compile_worker") else "spawn"
        for method in ("fork", other_method) if hasattr(config, "worker_start_method") else ("",):
            if method:
                config.worker_start_method = method
            AsyncCompile.process_pool.cache_clear()
            assert AsyncCompile.process_pool().submit(os.getpid).result(120) != os.getpid(), method
        assert torch.compile(other, backend="inductor")(torch.ones(3)).tolist() == [0.0] * 3
    print("ended")


def _compile_other():
    torch.compile(other, backend="eager")(torch.ones(3))


class _Compiling(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.compile(other, backend="eager")(torch.ones(3))


def fork(folder):
    """Fork children: one that compiles, one that does not, one that calls os._exit, workers of a DataLoader."""
    with depyf.prepare_debug(folder):
        torch.compile(_first, backend="eager")(torch.ones(3))
        forking = multiprocessing.get_context("fork")
        for target, arguments in ((_compile_other, ()), (len, ((),))):
            child = forking.Process(target=target, args=arguments)
            child.start()
            child.join()
            assert child.exitcode == 0
        pid = os.fork()
        if pid == 0:
            _compile_other()
            os._exit(0)
        os.waitpid(pid, 0)
        results = list(torch.utils.data.DataLoader(_Compiling(), num_workers=1, multiprocessing_context="fork"))
        assert [result.tolist() for result in results] == [[[0.0] * 3]] * 2
        _compile_other()


def _first(x):
    return x + 1


def many(folder):
    """Compile a few functions, print `ready`, and wait to be killed."""
    with depyf.prepare_debug(folder):
        for number in range(5):
            text = f"def function_{number}(x):\n    x = x + {number}\n    torch._dynamo.graph_break()\n    return x * 2\n"
            module = module_from(f"{folder}_module_{number}.py", "import torch\n" + text)
            torch.compile(getattr(module, f"function_{number}"), backend="eager")(torch.ones(3))
        print("ready", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
