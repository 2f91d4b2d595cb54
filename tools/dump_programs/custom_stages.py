"""Backends of their own: announced stages, a split graph, one that fails, one that returns something else."""

import torch
from torch._dynamo.utils import lazy_format_graph_code
from torch.fx.passes.split_module import split_module

import depyf


def staged(graph_module, example_inputs):
    lazy_format_graph_code("my stage", graph_module)
    for node in list(graph_module.graph.nodes):
        if node.op == "call_method" and node.target == "sin":
            node.target = "cos"
    graph_module.recompile()
    lazy_format_graph_code("after my pass", graph_module)
    return graph_module.forward


def splitting(graph_module, example_inputs):
    sines = 0

    def piece_of(node):
        nonlocal sines
        sines += "sin" in str(node.target)
        return sines

    lazy_format_graph_code("before split", graph_module)
    split = split_module(graph_module, None, piece_of)
    lazy_format_graph_code("after split", split)
    for name, piece in split.named_children():
        lazy_format_graph_code(f"piece {name}", piece)
    return split.forward


def failing(graph_module, example_inputs):
    lazy_format_graph_code("before it fails", graph_module)
    raise RuntimeError("not today")


def interpreting(graph_module, example_inputs):
    return torch.fx.Interpreter(graph_module).run


def ignoring(graph_module, example_inputs):
    return lambda *args: (args[0] * 0,)


class Wrapper:
    def __call__(self, graph_module, example_inputs):
        return torch._dynamo.lookup_backend("aot_eager")(graph_module, example_inputs)


def program(x):
    y = (x * 2).sin().sin() + 3
    torch._dynamo.graph_break()
    return y.sin()


for backend in (staged, splitting, failing, interpreting, ignoring, Wrapper()):
    torch._dynamo.reset()
    name = getattr(backend, "__name__", "wrapper")
    with depyf.prepare_debug(f"dump/{name}"):
        try:
            print(torch.compile(program, backend=backend)(torch.ones(3)).shape)
        except torch._dynamo.exc.BackendCompilerFailed as error:
            print(type(error).__name__)
with depyf.prepare_debug("dump/wild", clean_wild_fx_code=False):
    module = torch.fx.symbolic_trace(lambda x: x.sin() + 1)
    torch.compile(module, backend="eager")(torch.ones(3))
