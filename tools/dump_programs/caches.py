"""Inductor with its caches on: once cold, once warm, and what autotuning tried."""

import os
import shutil

import torch
import torch._functorch.config
import torch._inductor.config

import depyf

for part in ("fxgraph", "aotautograd"):  # compiled C++ is kept: it takes most of the time
    shutil.rmtree(os.path.join(os.environ["TORCHINDUCTOR_CACHE_DIR"], part), ignore_errors=True)
torch._inductor.config.fx_graph_cache = True
torch._functorch.config.enable_autograd_cache = True


def straight(a, b):
    y = (a * 2 + b).relu()
    torch._dynamo.graph_break()
    return y.sum(-1)


class Choice:
    def __init__(self, name, description):
        self.name, self.description = name, description


def autotuning(graph_module, example_inputs):
    from torch._inductor import select_algorithm

    small, big, broken = Choice("mm_0", "BLOCK_M=16"), Choice("mm_1", "BLOCK_M=64"), Choice("mm_2", "")
    for saver in select_algorithm.get_algorithm_selector_cache().feedback_saver_fns:
        saver({small: 0.5, big: 0.25, broken: float("inf")}, "mm", [], [small, big, broken], None, {})
        saver({}, "bmm", [], [], None)
    return graph_module.forward


for name in ("cold", "warm"):
    torch._dynamo.reset()
    with depyf.prepare_debug(f"dump/{name}"):
        x = torch.ones(3, 4, requires_grad=True)
        torch.compile(straight, backend="inductor")(x, torch.ones(4)).sum().backward()
torch._dynamo.reset()
with depyf.prepare_debug("dump/autotuning"):
    torch.compile(straight, backend=autotuning)(torch.ones(3, 4), torch.ones(4))
print(repr(depyf.inspect(straight)))
