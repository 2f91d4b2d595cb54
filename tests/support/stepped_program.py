"""A program for tests of debuggers: a function and a module that are compiled, run and trained under `debug()`.

    python stepped_program.py FOLDER BACKEND [DEBUGGER [STEPPED_BACKEND [BREAKPOINT]]]

With a BREAKPOINT, `debug()` sets it and does not pause.

The test sets the breakpoints by the numbers of the lines that end in `# a word`.
"""

import sys

import torch

import depyf


def helper(x):
    wide = x + 1  # in helper
    return torch.cos(wide)


def function(x, scale):
    names = ["a", "b"]  # constant
    y = torch.sin(x) * scale  # in function
    print("a graph break")  # break
    z = helper(y)  # call of helper
    return (
        z
        * 2  # middle of a statement
    ).sum()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 3)

    def forward(self, x):
        hidden = self.inner(x)  # in forward
        if self.training:  # condition
            hidden = torch.tanh(hidden)  # in branch
        return hidden.square().sum()  # result of forward


def pieces(graph_module, inputs):
    """Run a graph in two pieces: a backend of the user's own."""
    from torch.fx.passes.split_module import split_module

    nodes = [node for node in graph_module.graph.nodes if node.op not in ("placeholder", "output")]
    numbers = {node: int(place >= len(nodes) / 2) for place, node in enumerate(nodes)}
    return split_module(graph_module, None, lambda node: numbers[node])


def train(model, x):
    loss = model(x)  # call of the model
    loss.backward()  # backward
    return loss


def marker(phase):
    return phase  # between


def attach():
    """Wait for the client of a debugger, where a test has one."""
    if attach_with == "debugpy":
        import debugpy

        print("PORT", debugpy.listen(("127.0.0.1", 0))[1], flush=True)
        debugpy.wait_for_client()
    elif attach_with:
        import pydevd

        pydevd.settrace("127.0.0.1", port=int(attach_with), suspend=False, patch_multiprocessing=False)


if __name__ == "__main__":
    folder, backend, attach_with, stepped, asked = [*sys.argv[1:], "", "", ""][:5]
    backend = pieces if backend == "pieces" else backend
    compiled_function = torch.compile(function, backend=backend)
    torch.manual_seed(0)
    compiled_model = torch.compile(Model(), backend=backend)
    x, data = torch.ones(2, requires_grad=True), torch.ones(5, 4)

    def once():
        result = compiled_function(x, 3)  # call of the function
        result.backward()  # backward of the function
        return result.item() + train(compiled_model, data).item()

    with depyf.prepare_debug(folder):
        expected = once()
    attach()
    with depyf.debug(pause=not asked, backend=stepped or None, breakpoints=[asked] if asked else []):
        for phase in range(2):
            marker(phase)
            found = once()
    print("RESULT", abs(found - expected) < 1e-5, flush=True)  # after
