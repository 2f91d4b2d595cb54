"""More programs of the kind of `nan_programs`: transforms, hooks, checkpoints, optimizers, casts, written memory."""

from __future__ import annotations

PLANTED = {
    "inside_vmap": """\
def row(x, w):
    y = x * w
    return torch.log(y).sum()  # planted
def f(x, w):
    return torch.func.vmap(row, in_dims=(0, None))(x, w)
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(3, 2), torch.zeros(2) if bad else torch.ones(2))
""",
    "custom_function_in_compiled_backward": """\
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        y = grad + 1
        return y / x  # planted
def f(x):
    return Own.apply(x).sin().sum()
def main(compile):
    c = compile(f)
    def step(bad):
        x = torch.zeros(3, requires_grad=True) if bad else torch.ones(3, requires_grad=True)
        c(x).backward()
    return step
""",
    "module_hook": """\
def hook(module, args, output):
    return output / output.abs().max()  # planted
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3, bias=False)
    def forward(self, x):
        return self.a(x) + 1
def main(compile):
    m = M()
    m.a.register_forward_hook(hook)
    c = compile(m)
    return lambda bad: c(torch.zeros(2, 3) if bad else torch.ones(2, 3))
""",
    "checkpointed_backward": """\
from torch.utils.checkpoint import checkpoint
def block(x, w):
    y = x * w
    z = torch.sqrt(y)  # planted
    return z * 2
def f(x, w):
    return checkpoint(block, x, w, use_reentrant=False).sum()
def main(compile):
    c = compile(f)
    def step(bad):
        w = torch.ones(3, requires_grad=True)
        c(torch.zeros(3, requires_grad=True) if bad else torch.ones(3, requires_grad=True), w).backward()
    return step
""",
    "foreach_optimizer": """\
def main(compile):
    ps = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3))]
    opt = torch.optim.SGD(ps, lr=1.0, foreach=True)
    c = compile(lambda x: sum((p * x).sum() for p in ps))
    def step(bad):
        opt.zero_grad()
        c(torch.tensor(1.0)).backward()
        for g in opt.param_groups:
            g["lr"] = 3e38 if bad else 0.1
        for p in ps:
            p.grad.mul_(100.0)
        opt.step()  # planted
    return step
""",
    "compiled_optimizer": """\
def main(compile):
    ps = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3))]
    opt = torch.optim.Adagrad(ps, lr=1.0, eps=0.0, foreach=True)
    def go():
        opt.step()  # planted
    c = compile(go)
    def step(bad):
        for p in ps:
            p.grad = torch.zeros_like(p) if bad else torch.ones_like(p)
        if bad:
            for s in opt.state.values():
                s["sum"].zero_()
        c()
    return step
""",
    "dtype_cast": """\
def f(x):
    y = x * 10
    z = y.to(torch.float16)  # planted
    return z + 1
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.full((3,), 1e6 if bad else 1.0))
""",
    "complex_numbers": """\
def f(x):
    z = torch.complex(x, x)
    w = 1 / z  # planted
    return torch.view_as_real(w * 2)
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(3) if bad else torch.ones(3))
""",
    "index_put": """\
def f(x, i):
    out = torch.zeros(4)
    out[i] = x + 1
    y = out.index_put((i,), torch.rsqrt(x))  # planted
    return y * 2
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(2) if bad else torch.ones(2), torch.tensor([1, 2]))
""",
    "mean_of_scattered": """\
def f(x, i):
    total = torch.zeros(4).scatter_add(0, i, x)
    count = torch.zeros(4).scatter_add(0, i, torch.ones_like(x))
    mean = total / count  # planted
    return mean.sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(4), torch.tensor([0, 1, 2, 2]) if bad else torch.tensor([0, 1, 2, 3]))
""",
    "list_comprehension_over_layers": """\
class Head(torch.nn.Module):
    def __init__(self, shift):
        super().__init__()
        self.shift = shift
    def forward(self, x):
        return torch.log(x - self.shift)  # planted
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = torch.nn.ModuleList([Head(0.0), Head(1.0), Head(2.0)])
    def forward(self, x):
        return torch.stack([head(x) for head in self.heads]).mean(0)
def main(compile):
    c = compile(M())
    return lambda bad: c(torch.full((3,), 2.0) if bad else torch.full((3,), 5.0))
""",
    "distance_in_backward": """\
def f(a, b):
    d = a - b
    n = d.norm(dim=-1)  # its gradient at zero is zero
    e = (d * d).sum(-1).sqrt()  # planted
    return (n + e).sum()
def main(compile):
    c = compile(f)
    def step(bad):
        a = torch.ones(2, 3, requires_grad=True)
        c(a, torch.ones(2, 3) if bad else torch.zeros(2, 3)).backward()
    return step
""",
    "unused_branch_of_where_in_backward": """\
def f(x):
    safe = x > 0
    y = torch.where(safe, torch.sqrt(x), torch.zeros_like(x))  # planted
    return y.sum()
def main(compile):
    c = compile(f)
    def step(bad):
        x = torch.tensor([0.0, 1.0] if bad else [2.0, 1.0], requires_grad=True)
        c(x).backward()
    return step
""",
    "out_argument": """\
def f(x):
    out = torch.empty(3)
    torch.div(1.0, x, out=out)  # planted
    return out + 1
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(3) if bad else torch.ones(3))
""",
    "slice_assignment": """\
def f(x):
    y = torch.zeros(4, 4)
    y[1:3] = x.reciprocal()  # planted
    return y.sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.zeros(4) if bad else torch.ones(4))
""",
    "gradient_transform_in_backward": """\
def loss(w, x):
    return torch.sqrt(w * x).sum()  # planted
def f(w, x):
    return torch.func.grad(loss)(w, x) * 2
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(3), torch.zeros(3) if bad else torch.ones(3))
""",
    "in_a_generator": """\
def pieces(x):
    for i in range(3):
        yield x[i] / x[i].sum()  # planted
def f(x):
    return torch.cat(list(pieces(x)))
def main(compile):
    c = compile(f)
    def step(bad):
        x = torch.ones(3, 2)
        if bad:
            x[2] = 0
        return c(x)
    return step
""",
    "cell_in_a_loop": """\
class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2, bias=False)
        torch.nn.init.eye_(self.lin.weight)
    def forward(self, x, h):
        g = torch.atanh(x)  # planted
        return self.lin(h) + g
def f(cell, xs):
    h = torch.zeros(2)
    for x in xs.unbind(0):
        h = cell(x, h)
    return h
def main(compile):
    cell = Cell()
    c = compile(f)
    return lambda bad: c(cell, torch.tensor([[0.0, 0.5], [0.5, 1.0 if bad else 0.1]]))
""",
}

CLEAN = {
    "padding_with_inf": """\
def f(x):
    y = F.pad(x, (1, 1), value=float("-inf"))
    return F.max_pool1d(y[None], 3, 1)[0].sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(1, 8, requires_grad=True)).backward()
""",
    "mask_buffer_of_inf": """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.full((4, 4), float("-inf")).triu(1))
    def forward(self, x):
        return (x @ x.T + self.mask).softmax(-1) @ x
def main(compile):
    c = compile(M())
    return lambda bad: c(torch.randn(4, 4, requires_grad=True)).sum().backward()
""",
    "nan_to_num_of_own": """\
def f(x, m):
    y = torch.where(m, x, torch.tensor(float("nan")))
    return torch.nanmean(y) + torch.nan_to_num(y).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(4), torch.tensor([True, False, True, True]))
""",
    "empty_buffer_filled_late": """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.empty(4, 64).fill_(float("nan")))
    def forward(self, x, i):
        self.cache[i] = x
        return self.cache[i] * 2
def main(compile):
    c = compile(M())
    return lambda bad: c(torch.ones(64), 1)
""",
    "masked_fill_then_log_softmax": """\
def f(x, m):
    y = x.masked_fill(m, torch.finfo(x.dtype).min)
    z = torch.log_softmax(y, -1)
    return z[~m].sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(3, 4, requires_grad=True), torch.eye(3, 4).bool()).backward()
""",
    "scalar_inf_compare": """\
def f(x):
    best = float("inf")
    y = torch.clamp(x, max=best)
    return torch.minimum(y, torch.tensor(best)).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(4, requires_grad=True)).backward()
""",
    "isinf_guards": """\
def f(x):
    bad = torch.isinf(x) | torch.isnan(x)
    return torch.where(bad, torch.zeros_like(x), x).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.tensor([1.0, float("inf"), float("nan")]))
""",
    "logsumexp_of_masked": """\
def f(x):
    m = torch.tril(torch.ones(4, 4, dtype=torch.bool))
    s = torch.where(m, x, float("-inf"))
    return torch.logsumexp(s, -1).sum() + s.max(-1).values.sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(4, 4, requires_grad=True)).backward()
""",
    "sdpa_with_float_mask": """\
def f(q):
    mask = torch.zeros(8, 8).masked_fill(torch.ones(8, 8).triu(1).bool(), float("-inf"))
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(1, 2, 8, 16, requires_grad=True)).sum().backward()
""",
    "new_full_inf_scatter": """\
def f(x, i):
    out = x.new_full((6,), float("inf"))
    out = out.scatter_reduce(0, i, x, "amin")
    return torch.where(torch.isfinite(out), out, torch.zeros_like(out)).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(4), torch.tensor([0, 1, 2, 2]))
""",
    "empty_then_out": """\
def f(x):
    out = torch.empty(3)
    torch.mul(x, 2, out=out)
    buf = torch.empty_like(x).uniform_()
    return out + buf
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(3))
""",
    "arithmetic_on_empty_tensor": """\
def f(x):
    e = x[:0]
    return e.sum() + torch.cat([e, x]).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(3, requires_grad=True)).backward()
""",
    "mean_of_an_empty_slice_is_caught": """\
def f(x, m):
    w = m.float()
    return (x * w).sum() / w.sum().clamp(min=1)
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.ones(3, requires_grad=True), torch.zeros(3).bool()).backward()
""",
    "dropout_training_with_adam": """\
def main(compile):
    m = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    opt = torch.optim.AdamW(m.parameters())
    c = compile(m)
    def step(bad):
        opt.zero_grad()
        c(torch.randn(2, 4)).sum().backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
    return step
""",
    "index_set_to_inf": """\
def f(x, i):
    logits = x.clone()
    logits[:, i] = float("-inf")
    return logits.softmax(-1).sum()
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(2, 5), torch.tensor([1, 3]))
""",
    "top_k_filter": """\
def f(logits):
    k = torch.topk(logits, 2).values[..., -1, None]
    logits = logits.masked_fill(logits < k, -float("inf"))
    p = torch.softmax(logits, -1)
    return torch.multinomial(p, 1)
def main(compile):
    c = compile(f)
    return lambda bad: c(torch.randn(3, 5))
""",
}
