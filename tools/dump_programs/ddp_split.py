"""The pieces that DistributedDataParallel makes of one graph."""

import torch
import torch.distributed as dist

import depyf


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(400, 400) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x


dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
with depyf.prepare_debug("dump"):
    parallel = torch.nn.parallel.DistributedDataParallel(Net(), bucket_cap_mb=1.01)
    torch.compile(parallel, backend="aot_eager")(torch.ones(2, 400)).sum().backward()
dist.destroy_process_group()
