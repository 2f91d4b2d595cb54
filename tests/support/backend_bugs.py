"""Backends with one planted bug each, programs to find it in, and programs whose rounding alone differs."""

from __future__ import annotations

HEAD = "import torch\nimport torch.nn.functional as F\n"


def edited(change):
    """Return a backend that runs the captured graph after `change` of it."""

    def backend(module, inputs):
        change(module.graph)
        module.recompile()
        return module.forward

    return backend


def edited_backward(change):
    """Return a backend that runs AOTAutograd's graphs, the backward after `change` of it."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def backward(module, inputs):
        change(module.graph)
        module.recompile()
        return make_boxed_func(module.forward)

    return aot_autograd(fw_compiler=lambda module, inputs: make_boxed_func(module.forward), bw_compiler=backward)


def swap(before, after):
    """Return a change of a graph: the first node that calls `before` calls `after`."""

    def change(graph):
        for node in graph.nodes:
            if node.target == before:
                node.target = after
                return

    return change


def scale_constant(operation, factor):
    """Return a change of a graph: the number that the first `operation` is given is another."""

    def change(graph):
        for node in graph.nodes:
            if node.target == operation and isinstance(node.args[-1], (int, float)):
                node.args = (*node.args[:-1], node.args[-1] * factor)
                return

    return change
