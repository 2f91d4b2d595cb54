"""Graphs that no frame calls: exported, failed, standalone; and one compiled function inside another."""

import torch

import depyf


class Exported(torch.nn.Module):
    def forward(self, x, flag):
        return x.cos() * 3 if flag else x


def between(x):
    return inner(x)


inner = torch.compile(lambda x: x.sin(), backend="aot_eager")
between = torch.compiler.disable(between)


def outer(x):
    return between(x + 1) * 2


with depyf.prepare_debug("dump/exported"):
    torch.compile(lambda x: x.sin(), backend="eager")(torch.ones(2))
    program = torch.export.export(Exported(), (torch.ones(2), True), strict=True)
    shapes = {"x": {0: torch.export.Dim("batch", min=2, max=16)}, "flag": None}
    torch.export.export(Exported(), (torch.ones(4, 2), True), dynamic_shapes=shapes, strict=True)
    print(program.module()(torch.ones(2), True).tolist())
with depyf.prepare_debug("dump/not_strict"):
    torch.export.export(Exported(), (torch.ones(2), True), strict=False)
torch._dynamo.reset()
with depyf.prepare_debug("dump/inside_another"):
    torch.compile(outer, backend="eager")(torch.ones(3))
torch._dynamo.reset()
with depyf.prepare_debug("dump/explained"):
    print(torch._dynamo.explain(outer)(torch.ones(3)).graph_count)
with depyf.prepare_debug("dump/standalone"):
    for factor in (2, 3):
        module = torch.fx.symbolic_trace(lambda x, factor=factor: (x.sin() * factor,))
        artifact = torch._inductor.standalone_compile(module, [torch.ones(3)], dynamic_shapes="from_example_inputs")
        print(artifact(torch.ones(3))[0].tolist())
