"""Programs that make a NaN or Inf of finite values on the line that ends in `# planted`, and programs that make none.

Each has a `main(compile)` that returns a function to call: it is called once while everything is compiled, with values
that are harmless, and once more under watch with those that are not.
"""

from __future__ import annotations

HEAD = "import torch\nimport torch.nn.functional as F\n"

PLANTED = {
    "beside_an_infinite_input": """\
def f(x, bias):
    weights = F.softmax(x + bias, -1)
    logs = torch.log(x)  # planted
    return weights + logs
def main(compile):
    c = compile(f)
    bias = torch.tensor([0.0, float("-inf"), 0.0, 0.0])
    return lambda bad: c(torch.zeros(4) if bad else torch.ones(4), bias)
""",
    "log_of_zero": """\
def f(x):
    y = x * 2
    z = torch.log(y)  # planted
    return z.sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(4) if bad else torch.ones(4))
""",
    "zero_by_zero": """\
def f(x):
    total = x.sum()
    return x / total  # planted
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(4) if bad else torch.ones(4))
""",
    "overflow_in_half_precision": """\
def f(x):
    h = x.half()
    big = h * 300.0  # planted
    return big.float().mean()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.full((4,), 300.0 if bad else 1.0))
""",
    "square_root_in_backward": """\
def f(x):
    y = x * x
    r = torch.sqrt(y)  # planted
    return r.sum()
def main(compile):
    c = compile(f)
    def step(bad):
        x = torch.full((4,), 0.0 if bad else 1.0, requires_grad=True)
        c(x).backward()
    return step
""",
    "inside_a_resume_function": """\
def f(x):
    y = x + 1
    print("break")
    y = y - 1
    return torch.rsqrt(y)  # planted
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(4) if bad else torch.ones(4))
""",
    "inside_a_loop": """\
def f(x):
    for _ in range(3):
        x = x * 1e20  # planted
    return x
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(4) if bad else torch.zeros(4))
""",
    "three_modules_deep": """\
class Norm(torch.nn.Module):
    def forward(self, x):
        spread = x.std(-1, keepdim=True)
        return (x - x.mean(-1, keepdim=True)) / spread  # planted
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()
    def forward(self, x):
        return self.norm(x) + x
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
def main(compile):
    c = compile(Model())
    return lambda bad: c(torch.ones(2, 4) if bad else torch.arange(8.0).reshape(2, 4))
""",
    "dynamic_shapes": """\
def f(x):
    return torch.log(x[1:] - x[:-1])  # planted
def main(compile):
    c = compile(f, dynamic=True)
    c(torch.arange(5.0))
    return lambda bad: c(torch.ones(7) if bad else torch.arange(7.0))
""",
    "eager_code_between_graphs": """\
def between(x):
    return torch.log(x)  # planted
def f(x):
    y = x + 1
    torch._dynamo.graph_break()
    z = torch._dynamo.disable(between)(y - 1)
    return z * 2
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(4) if bad else torch.ones(4))
""",
    "loss_outside_of_what_is_compiled": """\
def main(compile):
    c = compile(lambda x: x * 2)
    def step(bad):
        y = c(torch.zeros(3) if bad else torch.ones(3))
        return (1 / y).sum()  # planted
    return step
""",
    "in_place": """\
def f(x):
    x = x.clone()
    x.div_(x.sum())  # planted
    return x + 1
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(4) if bad else torch.ones(4))
""",
    "norm_in_backward": """\
def f(x, w):
    y = x * w
    n = torch.linalg.vector_norm(y, dim=-1)
    d = torch.acos(n)  # planted
    return d.sum()
def main(compile):
    c = compile(f)
    def step(bad):
        w = torch.ones(2, 1, requires_grad=True)
        c(torch.ones(2, 1) if bad else torch.full((2, 1), 0.5), w).backward()
    return step
""",
    "power_in_backward": """\
class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3, bias=False)
        torch.nn.init.eye_(self.linear.weight)
    def forward(self, x):
        y = self.linear(x)
        return (y ** 0.5).sum()  # planted
def main(compile):
    model = Head()
    c = compile(model)
    return lambda bad: c(torch.zeros(2, 3) if bad else torch.ones(2, 3)).backward()
""",
    "own_backward": """\
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad / x  # planted
def main(compile):
    c = compile(lambda x: x + 1)
    def step(bad):
        x = torch.zeros(3, requires_grad=True) if bad else torch.ones(3, requires_grad=True)
        c(Own.apply(x)).sum().backward()
    return step
""",
    "softmax_by_hand": """\
def attention(q, k):
    scores = q @ k.transpose(-1, -2)
    weights = torch.exp(scores)  # planted
    return weights / weights.sum(-1, keepdim=True)
def f(x):
    return attention(x, x).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.full((2, 4), 100.0 if bad else 1.0))
""",
    "variance_that_becomes_negative": """\
def f(x):
    mean = x.mean()
    variance = (x * x).mean() - mean * mean - 1e-3
    return (x - mean) / variance.sqrt()  # planted
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(8) if bad else torch.arange(8.0))
""",
    "inside_a_condition": """\
def f(x, flag):
    if flag:
        y = x - 1
        return torch.log(y)  # planted
    return x
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(3) if bad else torch.full((3,), 2.0), True)
""",
    "checkpointed": """\
from torch.utils.checkpoint import checkpoint
def block(x):
    return torch.log(x)  # planted
def f(x):
    return checkpoint(block, x, use_reentrant=False).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(3, requires_grad=True) if bad else torch.ones(3, requires_grad=True))
""",
    "two_functions_compiled": """\
def first(x):
    return x - 1
def second(x):
    return x.reciprocal()  # planted
def main(compile):
    a, b = compile(first), compile(second)
    return lambda bad: b(a(torch.ones(3) if bad else torch.full((3,), 3.0)))
""",
    "branch_of_cond": """\
def yes(x):
    return torch.log(x)  # planted
def no(x):
    return x.sin()
def f(x):
    return torch.cond(x.sum() > 0, yes, no, (x,))
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.tensor([0.0, 1.0]) if bad else torch.ones(2))
""",
    "without_gradients": """\
def f(x, shift):
    y = x * 2
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        z = y / shift  # planted
    return z + 1
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(3), torch.zeros(3) if bad else torch.ones(3))
""",
    "optimizer_step": """\
def main(compile):
    weight = torch.nn.Parameter(torch.ones(2))
    c = compile(lambda x: (weight * x).sum())
    def step(bad):
        weight.grad = None
        c(torch.ones(2)).backward()
        with torch.no_grad():
            weight.sub_(weight.grad * (1e38 if bad else 0.1) * 10)  # planted
    return step
""",
}

CLEAN = {
    "infinity_of_a_constant_is_returned": """\
def f(x, mask):
    return (x * 2).masked_fill(mask, float("-inf"))
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(4), torch.tensor([True, False, True, False]))
""",
    "infinite_bias_in_attention": """\
def f(x, bias):
    return F.softmax(x @ x.T + bias, -1) @ x, bias * 1
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(4, 4, requires_grad=True), torch.full((4, 4), float("-inf")).triu(1))[0].sum().backward()
""",
    "masked_attention": """\
def f(x):
    mask = torch.ones(4, 4).triu(1).bool()
    scores = (x @ x.T).masked_fill(mask, float("-inf"))
    return F.softmax(scores, -1) @ x
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(4, 4))
""",
    "training": """\
def main(compile):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.GELU(), torch.nn.Linear(4, 1))
    c = compile(model)
    return lambda bad: c(torch.randn(3, 4)).sum().backward()
""",
    "memory_that_nobody_wrote": """\
def f(x):
    out = torch.empty(64, 64)
    out[:, :32] = 1.0
    out[:, 32:] = x
    return out * 2
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(64, 32))
""",
    "infinite_start_of_a_minimum": """\
def f(x):
    best = torch.full((4,), float("inf"))
    best = torch.minimum(best, x)
    return best
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(4))
""",
    "values_that_were_not_finite_before": """\
def f(x):
    return torch.nan_to_num(x * 2)
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.tensor([1.0, float("nan")]))
""",
    "dropout": """\
def f(x):
    return F.dropout(x, 0.5, training=True).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(16, requires_grad=True)).backward()
""",
    "integers": """\
def f(x, i):
    return x[i] + i
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(4), torch.tensor([1, 2]))
""",
    "convolution_and_norm": """\
def main(compile):
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU())
    c = compile(model)
    return lambda bad: c(torch.randn(2, 1, 8, 8)).sum().backward()
""",
    "scaled_dot_product": """\
def f(q):
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(1, 2, 8, 16, requires_grad=True)).sum().backward()
""",
    "maximum_pooling": """\
def f(x):
    return F.max_pool2d(x, 2, padding=1).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(1, 1, 8, 8, requires_grad=True)).backward()
""",
}
