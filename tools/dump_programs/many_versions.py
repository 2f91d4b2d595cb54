"""A function with a graph break that is compiled twelve times, and one whose sizes are dynamic."""

import torch

import depyf


def scaled(x, n):
    y = x * n
    torch._dynamo.graph_break()
    return y + 1


def sized(x, y):
    if x.shape[0] > 2 * y.shape[0]:
        return x[: y.shape[0]] + y
    if x.shape[0] % 3 == 0:
        return x.sum() + y
    if 4 <= x.shape[0] < 20:
        x = x * x.shape[0]
    return x.sum() * y.shape[0] // 2


with torch._dynamo.config.patch(recompile_limit=64):
    compiled = torch.compile(scaled, backend="eager", dynamic=False)
    with depyf.prepare_debug("dump/static"):
        for n in range(12):
            compiled(torch.ones(3), n)
    compiled = torch.compile(sized, backend="aot_eager", dynamic=True)
    with depyf.prepare_debug("dump/dynamic"):
        for one in range(3, 30, 4):
            for other in (4, 9):
                compiled(torch.ones(one), torch.ones(other))

marked = torch.ones(8, 4)
torch._dynamo.mark_dynamic(marked, 0, min=2, max=64)
static = torch.ones(8, 4)
torch._dynamo.mark_static(static)
torch._dynamo.reset()
compiled = torch.compile(lambda x: x.sum(0) * x.shape[0], backend="eager")
with depyf.prepare_debug("dump/marked"):
    for x in (marked, static, torch.ones(9, 4), torch.ones(10, 4)):
        compiled(x)
