"""Programs with one planted graph break, recompile or failure each, and what its summary has to name.

The lines that the summary has to name end in `# planted`; `must` are words that it has to have, `must_not` words that
would mislead.  In both `{here}` stands for the path of the program.  `SOMELIB` is a library: it lies in site-packages.
"""

from __future__ import annotations

from typing import NamedTuple, Tuple, Union


class Planted(NamedTuple):
    """One program."""

    text: str
    must: Tuple[Union[str, Tuple[str, ...]], ...]  # several in one: any of them
    must_not: Tuple[str, ...] = ()


SOMELIB = """\
import torch
FACTOR = 2
def noisy(x):
    print("noise")
    return x
def scaled(x):
    return x * FACTOR
def bad_shape(x):
    return inner_bad(x)
def inner_bad(x):
    return x @ torch.ones(5, 5)
class Noisy(torch.nn.Module):
    def forward(self, x):
        print("noise")
        return x + 1

class Scaled(torch.Tensor):
    @staticmethod
    def __new__(cls, inner, scale):
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride(), dtype=inner.dtype,
            device=inner.device, requires_grad=inner.requires_grad)
    def __init__(self, inner, scale):
        self.inner = inner
        self.scale = scale
    def __tensor_flatten__(self):
        return ["inner"], {"scale": self.scale}
    @staticmethod
    def __tensor_unflatten__(inner, meta, size=None, stride=None):  # torch 2.2 passes two
        return Scaled(inner["inner"], meta["scale"])
    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        un = lambda x: x.inner if isinstance(x, Scaled) else x
        out = func(*[un(a) for a in args], **(kwargs or {}))
        return Scaled(out, args[0].scale if isinstance(args[0], Scaled) else 1.0) if isinstance(out, torch.Tensor) else out

def stamped(x, key):
    x = x + len(key)
    print("noise")
    return x
def looped(x):
    for _ in range(2):
        x = x + 1
        torch._dynamo.graph_break()
    return x
"""

PROGRAMS = {
    "helper_from_many_lines": Planted(
        """\
import torch

def note(x, what):
    print(what)  # planted
    return x * 2

class Model(torch.nn.Module):
    def forward(self, x):
        x = note(x + 1, "a")
        x = note(x.relu(), "b")
        return note(x, "c")

def main(compile):
    compile(Model())(torch.ones(3))
""",
        ("builtin operator `print`", "reached from {here}:9", "reached from {here}:10", "reached from {here}:11"),
    ),
    "library_helper": Planted(
        """\
import torch
from somelib import noisy

def step(x):
    y = x + 1
    y = noisy(y)  # planted
    return y * 2

def main(compile):
    compile(step)(torch.ones(3))
""",
        ('somelib.py:4: print("noise")', "builtin operator `print`"),
    ),
    "library_helper_twice": Planted(
        """\
import torch
from somelib import noisy

def step(x):
    y = noisy(x + 1)  # planted
    z = noisy(y - 1)  # planted
    return z * 2

def main(compile):
    compile(step)(torch.ones(3))
""",
        ('somelib.py:4: print("noise")', "1 graph break (reached in 2 ways) in"),
    ),
    "forward_calls_forward": Planted(
        """\
import torch

class Inner(torch.nn.Module):
    def forward(self, x):
        print("inner")  # planted
        return x + 1

class Middle(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        return self.inner(x * 2)

class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.middle = Middle()
    def forward(self, x):
        return self.middle(x).relu()

def main(compile):
    model = compile(Outer())
    model(torch.ones(3))
""",
        (
            "builtin operator `print`",
            "reached from {here}:20: return self.middle(x).relu()",
            "then {here}:13: return self.inner(x * 2)",
        ),
        ("{here}:25",),
    ),
    "forward_calls_library_forward": Planted(
        """\
import torch
from somelib import Noisy

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Noisy()
    def forward(self, x):
        return self.layer(x * 2)  # planted

class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
    def forward(self, x):
        return self.block(x).relu()

def main(compile):
    model = compile(Outer())
    model(torch.ones(3))
""",
        ('somelib.py:14: print("noise")',),
        ("{here}:20",),
    ),
    "module_direct_forward": Planted(
        """\
import torch
from somelib import Noisy

class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Noisy()
    def forward(self, x):
        x = x + 1
        x = self.layer.forward(x)  # planted
        return x

def main(compile):
    model = Outer()
    out = compile(model)(torch.ones(3))
""",
        ('somelib.py:14: print("noise")',),
        ("{here}:15",),
    ),
    "checkpoint": Planted(
        """\
import torch
from torch.utils.checkpoint import checkpoint

def body(x):
    print("in the body")  # planted
    return x.sin()

def f(x):
    return checkpoint(body, x * 2, use_reentrant=False).sum()

def main(compile):
    compile(f)(torch.ones(3, requires_grad=True)).backward()
""",
        ("builtin operator `print`", "inside torch.utils.checkpoint.checkpoint", "reached from {here}:9"),
    ),
    "autograd_function": Planted(
        """\
import torch

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print("forward")  # planted
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2

def f(x):
    return Twice.apply(x + 1).sum()

def main(compile):
    compile(f)(torch.ones(3, requires_grad=True)).backward()
""",
        ("builtin operator `print`", "inside autograd.Function", "reached from {here}:13", "1 graph break in"),
    ),
    "autograd_function_backward": Planted(
        """\
import torch

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        print("backward")  # planted
        return grad * 2

def f(x):
    return Twice.apply(x + 1).sum()

def main(compile):
    compile(f)(torch.ones(3, requires_grad=True)).backward()
""",
        ("builtin operator `print`", "inside autograd.Function", "reached from {here}:13"),
    ),
    "backward_hook": Planted(
        """\
import torch

def hook(grad):
    print("grad")  # planted
    return grad * 2

def f(x):
    y = x * 2
    y.register_hook(hook)
    return y.sum()

def main(compile):
    compile(f)(torch.ones(3, requires_grad=True)).backward()
""",
        ("builtin operator `print`", "reached from {here}:9: y.register_hook(hook)"),
    ),
    "full_backward_hook": Planted(
        """\
import torch

def hook(module, grad_input, grad_output):
    print("grad")
    return grad_input

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.layer.register_full_backward_hook(hook)
    def forward(self, x):
        return self.layer(x).sum()  # planted

def main(compile):
    compile(Model())(torch.ones(3, requires_grad=True)).backward()
""",
        ("Module-level backwards hooks require compiled autograd", "torch._dynamo.config.compiled_autograd = True"),
    ),
    "forward_hook": Planted(
        """\
import torch

def hook(module, args, output):
    print("output")  # planted
    return output + 1

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.layer.register_forward_hook(hook)
    def forward(self, x):
        return self.layer(x).sum()

def main(compile):
    compile(Model())(torch.ones(3))
""",
        ("builtin operator `print`", "reached from {here}:13: return self.layer(x).sum()"),
    ),
    "vmap": Planted(
        """\
import torch

def one(x):
    print("one")  # planted
    return x.sin()

def f(x):
    return torch.vmap(one)(x + 1)

def main(compile):
    compile(f)(torch.ones(3, 2))
""",
        ("builtin operator `print`", "reached from {here}:8"),
    ),
    "func_grad": Planted(
        """\
import torch

def loss(x):
    if x.sum() > 0:  # planted
        return x.sum()
    return x.prod()

def f(x):
    return torch.func.grad(loss)(x * 2)

def main(compile):
    compile(f)(torch.ones(3))
""",
        ("Data-dependent branching", "reached from {here}:9"),
    ),
    "cond": Planted(
        """\
import torch

def yes(x):
    print("yes")  # planted
    return x.sin()

def no(x):
    return x.cos()

def f(x):
    return torch.cond(x.sum() > 0, yes, no, (x,))

def main(compile):
    try:
        compile(f)(torch.ones(3))
    except Exception as error:
        print(type(error))
""",
        ("UncapturedHigherOrderOpError", "builtin operator `print`", "reached from {here}:11"),
        ("at line ",),
    ),
    "data_dependent_branch": Planted(
        """\
import torch

def choose(x):
    if x.sum() > 0:  # planted
        return x.sin()
    return x.cos()

class Model(torch.nn.Module):
    def forward(self, x):
        return choose(x * 2) + 1

def main(compile):
    compile(Model())(torch.ones(3))
""",
        ("Data-dependent branching", "reached from {here}:10"),
    ),
    "item": Planted(
        """\
import torch

def scale(x):
    n = x.sum().item()  # planted
    return torch.ones(3) * n

def f(x):
    return scale(x) + 1

def main(compile):
    compile(f)(torch.ones(3))
""",
        ("Tensor.item()", "reached from {here}:8"),
    ),
    "closure_number": Planted(
        """\
import torch

def build():
    n = 1
    def step(x):
        return x * n  # planted
    def raise_to(value):
        nonlocal n
        n = value
    return step, raise_to

def main(compile):
    step, raise_to = build()
    compiled = compile(step, dynamic=False)
    compiled(torch.ones(3))
    raise_to(7)
    compiled(torch.ones(3))
""",
        ("0/0 needs n == 1, now 7",),
    ),
    "closure_tensor_dtype": Planted(
        """\
import torch

def build(w):
    def step(x):
        return x * w  # planted
    return step

def main(compile):
    step = build(torch.ones(3))
    compiled = compile(step)
    compiled(torch.ones(3))
    step.__closure__[0].cell_contents = torch.ones(3, dtype=torch.float64)
    compiled(torch.ones(3))
""",
        ("0/0 needs w.dtype is torch.float32, now torch.float64",),
    ),
    "kwargs_added": Planted(
        """\
import torch

def f(x, **kwargs):
    return x + kwargs["a"] + kwargs.get("bonus", 0)  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3), a=torch.ones(3), b=1)
    c(torch.ones(3), a=torch.ones(3), b=1, bonus=3)
""",
        (("0/0 needs 'bonus' not in kwargs, now it is", "0/0 needs len(kwargs) == 2, now 3, with 'bonus'", "0/0 needs set(kwargs.keys()) == {'a', 'b'}, now {'a', 'b', 'bonus'}"),),
        ("___dict_contains",),
    ),
    "kwargs_removed": Planted(
        """\
import torch

class Model(torch.nn.Module):
    def forward(self, x, **kwargs):
        return x + sum(kwargs.values())  # planted

def main(compile):
    c = compile(Model())
    c(torch.ones(3), alpha=torch.ones(3), beta=torch.ones(3))
    c(torch.ones(3), alpha=torch.ones(3))
""",
        (("0/0 needs len(kwargs) == 2, now 1, without 'beta'", "0/0 needs set(kwargs.keys()) == {'alpha', 'beta'}, now {'alpha'}"),),
    ),
    "kwargs_renamed": Planted(
        """\
import torch

def f(x, **kwargs):
    for key, value in kwargs.items():  # planted
        x = x + value
    return x

def main(compile):
    c = compile(f)
    c(torch.ones(3), alpha=torch.ones(3))
    c(torch.ones(3), gamma=torch.ones(3))
""",
        ("'alpha'", ("now 'gamma'", "0/0 needs set(kwargs.keys()) == {'alpha'}, now {'gamma'}")),
    ),
    "dict_of_config": Planted(
        """\
import torch

CONFIG = {"scale": 2, "shift": 1}

def f(x):
    return x * CONFIG["scale"] + len(CONFIG)  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    CONFIG["extra"] = 5
    c(torch.ones(3))
""",
        (("0/0 needs len(CONFIG) == 2, now 3: 'scale', 'shift', 'extra'", "0/0 needs set(CONFIG.keys()) == {'scale', 'shift'}, now {'scale', 'shift', 'extra'}"),),
    ),
    "grad_mode": Planted(
        """\
import torch

def f(x):
    return x.sin()

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    with torch.no_grad():
        c(torch.ones(3))  # planted
""",
        ("0/0 needs torch.is_grad_enabled() is True, now False",),
        ("is what it was", "changed)"),
    ),
    "train_then_eval": Planted(
        """\
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.drop = torch.nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(self.layer(x))

def main(compile):
    model = Model()
    c = compile(model)
    c(torch.ones(2, 3)).sum().backward()
    model.eval()
    with torch.no_grad():
        c(torch.ones(2, 3))
""",
        ("0/0 needs torch.is_grad_enabled() is True, now False",),
        ("is what it was",),
    ),
    "train_eval_only": Planted(
        """\
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.drop = torch.nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(self.layer(x))  # planted

def main(compile):
    model = Model()
    c = compile(model)
    c(torch.ones(2, 3))
    model.eval()
    c(torch.ones(2, 3))
""",
        ("0/0 needs self.drop.training == True, now False",),
    ),
    "autocast": Planted(
        """\
import torch

def f(x):
    return x @ x

def main(compile):
    c = compile(f)
    c(torch.ones(3, 3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c(torch.ones(3, 3))
""",
        ("0/0 needs torch.is_autocast_enabled('cpu') is False, now True",),
    ),
    "default_dtype": Planted(
        """\
import torch

def f(x):
    return x + torch.ones(3)

def main(compile):
    c = compile(f)
    c(torch.ones(3, dtype=torch.float32))
    torch.set_default_dtype(torch.float64)
    try:
        c(torch.ones(3, dtype=torch.float32))
    finally:
        torch.set_default_dtype(torch.float32)
""",
        ("0/0 needs torch.get_default_dtype() is torch.float32, now torch.float64",),
    ),
    "deterministic": Planted(
        """\
import torch

def f(x):
    return x.sin()

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    torch.use_deterministic_algorithms(True)
    try:
        c(torch.ones(3))
    finally:
        torch.use_deterministic_algorithms(False)
""",
        ("0/0 needs torch.are_deterministic_algorithms_enabled() is False, now True",),
    ),
    "num_threads": Planted(
        """\
import torch

def f(x):
    return x.sin()

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        c(torch.ones(3))
    finally:
        torch.set_num_threads(before)
""",
        ("0/0 needs torch.get_num_threads() == ",),
    ),
    "torch_function_mode": Planted(
        """\
import torch
from torch.overrides import TorchFunctionMode

class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))

def f(x):
    return x.sin()

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    with Mode():
        c(torch.ones(3))
""",
        ("0/0 needs the torch function modes that it was compiled under: none, now ",),
        ("___check",),
    ),
    "subclass_metadata": Planted(
        """\
import torch
from somelib import Scaled

def f(x):
    return x + 1  # planted

def main(compile):
    c = compile(f)
    c(Scaled(torch.ones(3), 2.0))
    c(Scaled(torch.ones(3), 5.0))
""",
        ("x.scale == 2.0, now 5.0",),
        ("___check_metadata",),
    ),
    "subclass_size": Planted(
        """\
import torch
from somelib import Scaled

def f(x):
    return x + 1  # planted

def main(compile):
    c = compile(f)
    c(Scaled(torch.ones(3), 2.0))
    c(Scaled(torch.ones(4), 2.0))
    c(Scaled(torch.ones(3, 3), 2.0))
""",
        ("0/1 because 0/0 needs x.size(0) == 3, now 4", "0/2 because 0/1 needs x.dim() == 1, now 2"),
        ("___check_metadata",),
    ),
    "subclass_or_plain": Planted(
        """\
import torch
from somelib import Scaled

def f(x):
    return x + 1  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    c(Scaled(torch.ones(3), 2.0))
""",
        ("0/0 needs type(x) is torch.Tensor, now somelib.Scaled",),
    ),
    "unnamed_scope": Planted(
        """\
import torch

def make():
    scope = {"torch": torch, "N": 3}
    exec("def helper(x):\\n    return x * N\\n", scope)
    return scope

SCOPE = make()
helper = SCOPE["helper"]

def f(x):
    return helper(x) + 1  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    SCOPE["N"] = 4
    c(torch.ones(3))
""",
        ("0/0 needs N == 3, now 4",),
        ("___unnamed_scope",),
    ),
    "global_number": Planted(
        """\
import torch

LEVEL = 1

def f(x):
    return x * LEVEL  # planted

def main(compile):
    global LEVEL
    c = compile(f)
    c(torch.ones(3))
    LEVEL = 2
    c(torch.ones(3))
    LEVEL = 1
""",
        ("0/0 needs LEVEL == 1, now 2",),
    ),
    "helper_module_global": Planted(
        """\
import torch
import somelib

def f(x):
    return somelib.scaled(x) + 1  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    somelib.FACTOR = 9
    c(torch.ones(3))
    somelib.FACTOR = 2
""",
        ("0/0 needs somelib.FACTOR == 2, now 9", "somelib.py:7: return x * FACTOR"),
    ),
    "attribute": Planted(
        """\
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.epoch = 0
    def forward(self, x):
        return x * self.epoch  # planted

def main(compile):
    model = Model()
    c = compile(model, dynamic=False)
    for epoch in range(3):
        model.epoch = epoch
        c(torch.ones(3))
""",
        ("0/1 needs self.epoch == 1, now 2; 0/0: needs 0", "compiled 3 times"),
    ),
    "list_length": Planted(
        """\
import torch

def f(xs):
    total = xs[0]  # planted
    for x in xs[1:]:
        total = total + x
    return total

def main(compile):
    c = compile(f)
    c([torch.ones(3)] * 2)
    c([torch.ones(3)] * 3)
""",
        ("0/0 needs len(xs) == 2, now 3",),
    ),
    "string_mode": Planted(
        """\
import torch

def f(x, mode):
    return x.sin() if mode == "sin" else x.cos()  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3), "sin")
    c(torch.ones(3), "cos")
""",
        ("0/0 needs mode == 'sin', now 'cos'",),
    ),
    "size_and_dtype": Planted(
        """\
import torch

def f(x):
    return x * 2  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    c(torch.ones(4))
    c(torch.ones(4, dtype=torch.float64))
    c(torch.ones(4, requires_grad=True))
""",
        (
            "0/1 because 0/0 needs x.size(0) == 3, now 4",
            "needs x.dtype is torch.float32, now torch.float64",
            "0/1 needs x.requires_grad is False, now True",
        ),
    ),
    "break_in_loop": Planted(
        """\
import torch

def f(x):
    for i in range(3):
        x = x + i
        print("step", i)  # planted
    return x

def main(compile):
    compile(f)(torch.ones(3))
""",
        ("builtin operator `print`", "a graph break inside a loop"),
    ),
    "loop_of_a_library": Planted(
        """\
import torch
import somelib
def f(x):
    x = x.sin()
    return somelib.looped(x)  # planted
def main(compile):
    compile(f)(torch.ones(3))
""",
        ("not compiled: looped", "a graph break inside a loop", "graph_break()"),
    ),
    "recompile_limit_of_a_library": Planted(
        """\
import torch
import somelib
def f(x):
    for n in range(10):
        x = somelib.stamped(x, f"key {n}")  # planted
    return x
def main(compile):
    compile(f)(torch.ones(3))
""",
        ("not always compiled: stamped", ("recompile_limit is 8", "cache_size_limit is 8")),
    ),
    "recompile_limit": Planted(
        """\
import torch

def f(x, n):
    return x * n  # planted

def main(compile):
    c = compile(f, dynamic=False)
    for n in range(12):
        c(torch.ones(3), n)
""",
        (("recompile_limit is 8", "cache_size_limit is 8"), "0/7 needs n == 7, now 8"),
    ),
    "fullgraph": Planted(
        """\
import torch

def deep(x):
    print("no")  # planted
    return x

def f(x):
    return deep(x) + 1

def main(compile):
    try:
        compile(f, fullgraph=True)(torch.ones(3))
    except Exception as error:
        pass
""",
        ("the program got the exception", "builtin operator `print`", "reached from {here}:8"),
        ("at line ",),
    ),
    "fails_in_library": Planted(
        """\
import torch
import somelib

def f(x):
    return somelib.bad_shape(x + 1)  # planted

def main(compile):
    try:
        compile(f)(torch.ones(3))
    except Exception as error:
        pass
""",
        ("somelib.py:11: return x @ torch.ones(5, 5)", "TorchRuntimeError"),
        ("at line ",),
    ),
    "disabled_helper": Planted(
        """\
import torch

@torch.compiler.disable
def helper(x):
    return x * 2

def f(x):
    y = helper(x + 1)  # planted
    return y * 2

def main(compile):
    compile(f)(torch.ones(3))
""",
        ("`torch.compiler.disable()`d function",),
    ),
    "clock": Planted(
        """\
import time
import torch

def f(x):
    t = time.time()  # planted
    return x * t

def main(compile):
    compile(f)(torch.ones(3))
""",
        ("Dynamo does not know how to trace the builtin `time.time.`",),
    ),
    "custom_context_manager": Planted(
        """\
import torch
import contextlib

@contextlib.contextmanager
def timer(name):
    print("enter", name)  # planted
    yield
    print("exit", name)

def f(x):
    with timer("a"):
        x = x + 1
    return x * 2

def main(compile):
    compile(f)(torch.ones(3))
""",
        ("builtin operator `print`", "reached from {here}:11"),
        ("contextlib.py",),
    ),
    "logger": Planted(
        """\
import logging
import torch

log = logging.getLogger("mine")

class Model(torch.nn.Module):
    def forward(self, x):
        log.warning("shape %s", x.shape)  # planted
        return x + 1

def main(compile):
    compile(Model())(torch.ones(3))
""",
        ("logging.Logger method",),
    ),
    "lambda_and_comprehension": Planted(
        """\
import torch

def f(x):
    parts = [noisy(part) for part in (x, x + 1)]
    return parts[0] + parts[1]

noisy = lambda x: (print("x"), x * 2)[1]  # planted

def main(compile):
    compile(f)(torch.ones(3))
""",
        ("builtin operator `print`", "reached from {here}:4"),
    ),
    "object_identity": Planted(
        """\
import torch

def f(x, fn):
    return fn(x)  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3), torch.sin)
    c(torch.ones(3), torch.cos)
""",
        ("0/0 needs fn to be the built-in sin, now the built-in cos",),
    ),
    "function_changed": Planted(
        """\
import torch

def f(x, fn):
    return fn(x)  # planted

def a(x): return x + 1
def b(x): return x + 2

def main(compile):
    c = compile(f)
    c(torch.ones(3), a)
    c(torch.ones(3), b)
""",
        ("0/0 needs fn.__code__ to be the code of a ({here}:6), now the code of b ({here}:7)",),
    ),
    "hasattr": Planted(
        """\
import torch

class Options: pass

def f(x, o):
    if hasattr(o, "scale"):  # planted
        return x * o.scale
    return x + 1

def main(compile):
    c = compile(f)
    o = Options()
    c(torch.ones(3), o)
    o.scale = 3
    c(torch.ones(3), o)
""",
        ("0/0 needs not hasattr(o, 'scale'), which is not so now",),
    ),
    "none_or_tensor": Planted(
        """\
import torch

def f(x, mask=None):
    if mask is not None:  # planted
        x = x * mask
    return x + 1

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    c(torch.ones(3), torch.ones(3))
""",
        ("0/0 needs mask is None, now a tensor of torch.float32 (3,) on cpu",),
    ),
    "aliased_inputs": Planted(
        """\
import torch

def f(x, y):
    x = x + 1
    return x * y

def main(compile):
    c = compile(f)
    c(torch.ones(3), torch.ones(3))
    t = torch.ones(3)
    c(t, t)
""",
        ("0/0 needs x, y to be different tensors, now one tensor",),
    ),
    "parameter_replaced": Planted(
        """\
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(2)])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)  # planted
        return x

def main(compile):
    model = Model()
    c = compile(model)
    c(torch.ones(2, 3))
    model.layers[1] = torch.nn.Identity()
    c(torch.ones(2, 3))
""",
        ("now torch.nn.modules.linear.Identity",),
    ),
    "exception_caught": Planted(
        """\
import torch

def check(x):
    open("/dev/null").read()  # planted
    return x

def f(x):
    try:
        x = check(x + 1)
    except ValueError:
        pass
    return x

def main(compile):
    compile(f)(torch.ones(3))
""",
        ("builtin operator `open`", "reached from {here}:9"),
    ),
    "nested_function_break": Planted(
        """\
import torch

class Attention(torch.nn.Module):
    def forward(self, x):
        def score(q):
            print("score")  # planted
            return q * 2
        return score(x) + score(x)

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
    def forward(self, x):
        return self.attention(x) + x

def main(compile):
    compile(torch.nn.Sequential(Block(), Block()))(torch.ones(3))
""",
        ("reached from {here}:15: return self.attention(x) + x", "then {here}:8: return score(x) + score(x)"),
    ),
    "compiled_submodule": Planted(
        """\
import torch

class Block(torch.nn.Module):
    def forward(self, x):
        print("block")  # planted
        return x + 1

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
    def forward(self, x):
        return self.block(x)

def main(compile):
    model = Model()
    model.block.compile(backend="eager")
    model(torch.ones(3))
""",
        ("builtin operator `print`", "reached from {here}:13"),
    ),
    "device": Planted(
        """\
import torch

def f(x):
    return x.sin()  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    c(torch.ones(3, device="meta"))
""",
        ("0/0 needs x.device == torch.device('cpu'), now meta",),
        ('dispatch keys',),
    ),
    "device_context": Planted(
        """\
import torch

def f(x):
    return x.sin()

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    with torch.device("meta"):
        c(torch.ones(3, device="cpu"))
""",
        ("0/0 needs the torch function modes that it was compiled under: none, now torch.device('meta')",),
    ),
    "enum_member": Planted(
        """\
import enum
import torch

class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

def f(x, mode):
    return x * 2 if mode is Mode.FAST else x * 3  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3), Mode.FAST)
    c(torch.ones(3), Mode.SLOW)
""",
        ('Mode.FAST, now ', 'Mode.SLOW; asked for by'),
    ),
    "inference_mode": Planted(
        """\
import torch

def f(x):
    return x.sin()

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    with torch.inference_mode():
        c(torch.ones(3))
""",
        ('0/0 needs torch.is_grad_enabled() is True, now False, in torch.inference_mode()',),
    ),
    "sizes_that_were_equal": Planted(
        """\
import torch

def f(x, y):
    return x.sum() * y.shape[0]  # planted

def main(compile):
    c = compile(f, dynamic=True)
    c(torch.ones(6), torch.ones(6))
    c(torch.ones(6), torch.ones(8))
""",
        ('now y.size(0) is 8, x.size(0) is 6',),
    ),
    "one_tensor_twice": Planted(
        """\
import torch

def f(x, y):
    return x * 2 + y  # planted

def main(compile):
    c = compile(f)
    t = torch.ones(3)
    c(t, t)
    c(torch.ones(3), torch.ones(3))
""",
        ('0/0 needs x and y to be one object, now two objects',),
    ),
    "size_used_in_a_library": Planted(
        """\
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
    def forward(self, x):
        return self.linear(x).relu()  # planted

def main(compile):
    for width in (4, 8):
        block = Block(width)
        block.compile(backend="eager")
        block(torch.ones(2, width))
""",
        ("0/0 needs x.size(1) == 4, now 8; first used at {here}:8: ",),
    ),
    "backend_raises": Planted(
        """\
import torch

def backend(graph, inputs):
    raise ValueError("no such kernel")  # planted

def f(x):
    return x * 2

def main(compile):
    try:
        torch.compile(f, backend=backend)(torch.ones(3))
    except Exception:
        pass
""",
        ('BackendCompilerFailed', 'ValueError: no such kernel'),
    ),
    "threads": Planted(
        """\
import threading
import torch

def f(x):
    return x * 2

def main(compile):
    c = compile(f)
    barrier = threading.Barrier(2)
    def call():
        barrier.wait()
        c(torch.ones(3))
    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
""",
        (),
        ('Unexpected recompilation',),
    ),
    "ordered_dict": Planted(
        """\
from collections import OrderedDict
import torch

def f(batch):
    return batch["x"] + len(batch)  # planted

def main(compile):
    c = compile(f)
    c(OrderedDict(x=torch.ones(3)))
    c(OrderedDict(x=torch.ones(3), mask=torch.ones(3)))  # planted
""",
        (("0/0 needs len(batch) == 1, now 2, with 'mask'", "0/0 needs set(batch.keys()) == {'x'}, now {'x', 'mask'}"),),
    ),
    "partial": Planted(
        """\
import functools
import torch

def scale(x, k):
    return x * k

def f(x, fn):
    return fn(x)  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3), functools.partial(scale, k=2))
    c(torch.ones(3), functools.partial(scale, k=3))  # planted
""",
        ("0/0 needs fn.keywords['k'] == 2, now 3",),
    ),
    "slice": Planted(
        """\
import torch

def f(x, s):
    return x[s] + 1  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(9), slice(0, 2))
    c(torch.ones(9), slice(0, 3))  # planted
""",
        ('0/0 needs s.stop == 2, now 3',),
    ),
    "closure_of_a_lambda": Planted(
        """\
import torch

def f(x, fn):
    return fn(x)  # planted

def adding(k):
    return lambda x: x + k  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3), adding(1))
    c(torch.ones(3), adding(2))
""",
        ('0/0 needs fn.__closure__[0].cell_contents == 1, now 2',),
    ),
    "frozen_parameter": Planted(
        """\
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
    def forward(self, x):
        return self.layer(x)  # planted

def main(compile):
    model = Model()
    c = compile(model)
    c(torch.ones(2, 3))
    model.layer.weight.requires_grad_(False)
    c(torch.ones(2, 3))  # planted
""",
        ('0/0 needs self.layer.weight.requires_grad is True, now False',),
    ),
    "recursion": Planted(
        """\
import torch

def walk(x, n):
    if n == 0:
        print("leaf")  # planted
        return x
    return walk(x + 1, n - 1)  # planted

def main(compile):
    compile(walk)(torch.ones(3), 4)
""",
        ('builtin operator `print`',),
    ),
    "super_forward": Planted(
        """\
import torch

class Base(torch.nn.Module):
    def forward(self, x):
        print("base")  # planted
        return x + 1

class Child(Base):
    def forward(self, x):
        return super().forward(x * 2) + 1  # planted

def main(compile):
    compile(Child())(torch.ones(3))
""",
        ('builtin operator `print`',),
    ),
    "marked_dynamic": Planted(
        """\
import torch
def step(x):
    if x.shape[0] == 8:  # planted
        return x + 1
    return x * torch.ones(8)
def main(compile):
    x = torch.ones(8)
    torch._dynamo.mark_dynamic(x, 0)
    try:
        compile(step)(x)
    except Exception as error:
        pass
""",
        ("ConstraintViolationError: You marked L['x'].size()[0] as dynamic but your code specialized it",),
    ),
    "class_attribute": Planted(
        """\
import torch
class Net(torch.nn.Module):
    scale = 2
    def forward(self, x):
        return x * self.scale  # planted
def main(compile):
    c = compile(Net())
    c(torch.ones(3))
    Net.scale = 3
    c(torch.ones(3))
""",
        (('0/0 needs type(self).scale == 2', '0/0 needs self.scale == 2'),),
        ('__dict__',),
    ),
    "module_list_grows": Planted(
        """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.ReLU()])
    def forward(self, x):
        for layer in self.layers:  # planted
            x = layer(x)
        return x
def main(compile):
    net = Net()
    c = compile(net)
    c(torch.ones(3))
    net.layers.append(torch.nn.Tanh())
    c(torch.ones(3))
""",
        (("len(self.layers._modules) == 2, now 3", "len(self.layers) == 2, now 3"),),
    ),
    "exception_observed": Planted(
        """\
import torch
def check(x, limit):
    if x.shape[0] > limit:
        raise ValueError("too long")
    return x
def step(x, limit):
    try:
        x = check(x, limit)
    except ValueError:
        print("cut")  # planted
        x = x[:limit]
    return x + 1
def main(compile):
    compile(step)(torch.ones(5), 3)
""",
        ("Observed exception: ValueError", "Observed exception: ValueError('too long')"),
    ),
    "partial_method": Planted(
        """\
import functools, torch
class Net(torch.nn.Module):
    def _scaled(self, x, by):
        print("scaling")  # planted
        return x * by
    doubled = functools.partialmethod(_scaled, by=2)
    def forward(self, x):
        return self.doubled(x + 1) + 1
def main(compile):
    compile(Net())(torch.ones(3))
""",
        ('reached from {here}:8: ',),
    ),
    "yield_from": Planted(
        """\
import torch
def inner(x):
    for i in range(2):
        torch._dynamo.graph_break()  # planted
        yield x + i
def outer(x):
    yield from inner(x)
def step(x):
    total = x
    for part in outer(x * 2):
        total = total + part
    return total
def main(compile):
    compile(step)(torch.ones(3))
""",
        ('reached from {here}:10: ', 'then {here}:7: ',),
    ),
    "function_of_torch_grad": Planted(
        """\
import torch

def loss(x):
    return (x.sin() ** 2).sum()  # planted

def main(compile):
    c = compile(torch.func.grad(loss))
    c(torch.ones(4))
    c(torch.ones(5))
""",
        ("needs args[0].size(0) == 4, now 5", "compiled 2 times: loss ("),
    ),
    "rest_after_a_break": Planted(
        """\
import torch

def part(x, mode):
    return x + len(mode)  # planted

def step(x, mode):
    torch._dynamo.graph_break()
    return part(x, mode) * 2

def main(compile):
    c = compile(step)
    c(torch.ones(3), "a")
    c(torch.ones(3), "bb")
""",
        ("compiled 2 times: the rest of step after line 7", "in the call at {here}:13: "),
        ("in the call at {here}:7: ",),
    ),
    "line_of_a_decorator": Planted(
        """\
import functools
import torch

SUMS = []

def audited(function):
    @functools.wraps(function)
    def guard(*args, **kwargs):
        result = function(*args, **kwargs)
        SUMS.append(float(result.sum()))  # planted
        return result
    return guard

@audited
def energy(x):
    return (x * x).sum(-1)

def main(compile):
    compile(lambda x: energy(x * 3) + 1)(torch.ones(2, 3))
""",
        ("Tensor.item()", "in the decorator audited of energy\n", "reached from {here}:19: "),
    ),
    "attribute_of_a_part": Planted(
        """\
import torch

class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.opened = True
    def forward(self, x):
        return x + 1 if self.opened else x - 1  # planted

class Unit(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
    def forward(self, x):
        return self.gate(x) * 2

def main(compile):
    units = torch.nn.Sequential(Unit(), Unit())
    def run(x):
        return units(x)
    run = compile(run)
    run(torch.ones(2))
    units[1].gate.opened = False
    run(torch.ones(2))
""",
        ("units[1].gate.opened == True, now False",),
        ("units[0]",),
    ),
    "dictionary_in_kwargs": Planted(
        """\
import torch

def scale(x, **options):
    norm = options["norm"]
    return x / norm["by"] if norm["on"] else x * 2  # planted

def main(compile):
    c = compile(scale)
    c(torch.ones(2), norm={"on": True, "by": 2})
    c(torch.ones(2), norm={"on": False, "by": 2})
""",
        ("options['norm']['on'] == True, now False", "in the call at {here}:10: "),
    ),
    "nonlocal_number": Planted(
        """\
import torch

def make():
    step = 0
    def advance():
        nonlocal step
        step += 1
    def scale(x):
        return x * step  # planted
    return scale, advance

def main(compile):
    scale, advance = make()
    c = compile(scale)
    c(torch.ones(2))
    advance()
    c(torch.ones(2))
""",
        ("needs step == 0, now 1", "in the call at {here}:17: "),
    ),
    "dataclass_field": Planted(
        """\
import dataclasses
import torch

@dataclasses.dataclass
class Config:
    scale: int
    bias: bool

def f(x, config):
    return x * config.scale + 1 if config.bias else x * config.scale  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3), Config(2, True))
    c(torch.ones(3), Config(2, False))  # planted
""",
        ('0/0 needs config.bias == True, now False',),
    ),
    "named_tuple_field": Planted(
        """\
from typing import NamedTuple, Optional
import torch

class Batch(NamedTuple):
    x: torch.Tensor
    mask: Optional[torch.Tensor] = None

def f(batch):
    if batch.mask is None:  # planted
        return batch.x + 1
    return batch.x * batch.mask

def main(compile):
    c = compile(f)
    c(Batch(torch.ones(3)))
    c(Batch(torch.ones(3), torch.ones(3)))  # planted
""",
        (('0/0 needs batch.mask is None, now a tensor of torch.float32 (3,) on cpu', '0/0 needs batch[1] is None, now a tensor of torch.float32 (3,) on cpu', '0/0 needs batch[1] is None, now a Tensor'),),
    ),
    "property_with_a_break": Planted(
        """\
import torch

class Net(torch.nn.Module):
    @property
    def limit(self):
        print("limit")  # planted
        return 3
    def forward(self, x):
        return (x + 1).clamp(max=self.limit)

def main(compile):
    compile(Net())(torch.ones(3))
""",
        ('builtin operator `print`', 'in Net.limit', 'reached from {here}:9: return (x + 1).clamp(max=self.limit)'),
    ),
    "default_argument": Planted(
        """\
import torch

def scaled(x, k=2):
    return x * k  # planted

def f(x):
    return scaled(x) + 1

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3))
    scaled.__defaults__ = (5,)
    c(torch.ones(3))  # planted
""",
        ('scaled.__defaults__[0] == 2, now 5', 'reached from {here}:7: return scaled(x) + 1'),
    ),
    "hook_removed": Planted(
        """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
    def forward(self, x):
        return self.layer(x).relu()  # planted

def main(compile):
    net = Net()
    handle = net.layer.register_forward_hook(lambda module, args, output: output + 1)
    c = compile(net)
    c(torch.ones(3))
    handle.remove()
    c(torch.ones(3))  # planted
""",
        ('len(self.layer._forward_hooks) == 1, now 0',),
    ),
    "own_iterator": Planted(
        """\
import torch

class Pieces:
    def __init__(self, x):
        self.x, self.left = x, 2
    def __iter__(self):
        return self
    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        print("piece")  # planted
        return self.x + self.left

def f(x):
    total = x * 2
    for piece in Pieces(x):
        total = total + piece
    return total

def main(compile):
    compile(f)(torch.ones(3))
""",
        ('builtin operator `print`', 'in Pieces.__next__', 'reached from {here}:17: for piece in Pieces(x):'),
    ),
    "operator_overload": Planted(
        """\
import torch

class Vector:
    def __init__(self, x):
        self.x = x
    def __add__(self, other):
        if self.x.sum() > 0:  # planted
            return Vector(self.x * other.x)
        return other

def f(x):
    one, other = Vector(x + 1), Vector(x * 2)
    return (one + other).x

def main(compile):
    compile(f)(torch.ones(3))
""",
        ('Data-dependent branching', 'in Vector.__add__', 'reached from {here}:13: return (one + other).x'),
    ),
    "tree_map": Planted(
        """\
import torch
from torch.utils._pytree import tree_map

def doubled(leaf):
    print("leaf")  # planted
    return leaf * 2

def f(batch):
    return tree_map(doubled, batch)["x"] + 1

def main(compile):
    compile(f)({"x": torch.ones(3)})
""",
        ('builtin operator `print`', 'reached from {here}:9: return tree_map(doubled, batch)["x"] + 1'),
    ),
    "cached_helper": Planted(
        """\
import functools
import torch

@functools.lru_cache(maxsize=None)
def factor(n):
    print("factor", n)  # planted
    return n * 2

def f(x):
    return x * factor(3)

def main(compile):
    compile(f)(torch.ones(3))
""",
        ('builtin operator `print`', 'reached from {here}:10: return x * factor(3)'),
    ),
    "grad_mode_of_a_thread": Planted(
        """\
import threading
import torch

def f(x):
    return x.sin()

def main(compile):
    c = compile(f)
    with torch.no_grad():
        c(torch.ones(3))
        def work():
            c(torch.ones(3))  # planted
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
""",
        ('0/0 needs torch.is_grad_enabled() is False, now True',),
    ),
    "counter_of_a_class": Planted(
        """\
import torch

class Counter:
    total = 0
    @classmethod
    def bump(cls):
        cls.total += 1

def f(x):
    return x + Counter.total  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3))
    Counter.bump()
    c(torch.ones(3))  # planted
""",
        ('0/0 needs Counter.total == 0, now 1',),
    ),
    "learning_rate": Planted(
        """\
import torch

def main(compile):
    layer = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    @compile
    def step():
        optimizer.step()  # planted
    layer(torch.ones(2, 3)).sum().backward()
    step()
    optimizer.param_groups[0]["lr"] = 0.25
    step()
""",
        (("optimizer.param_groups[0]['lr'] == 0.5, now 0.25", "self.param_groups[0]['lr'] == 0.5, now 0.25"),),
    ),
    "buffer_that_is_set": Planted(
        """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", None)
    def forward(self, x):
        if self.mean is None:  # planted
            return x + 1
        return x - self.mean

def main(compile):
    net = Net()
    c = compile(net)
    c(torch.ones(3))
    net.mean = torch.ones(3)
    c(torch.ones(3))  # planted
""",
        ('0/0 needs self.mean is None, now a tensor of torch.float32 (3,) on cpu',),
    ),
    "member_of_a_set": Planted(
        """\
import torch

ENABLED = {"scale"}

def f(x):
    if "shift" in ENABLED:  # planted
        x = x + 1
    return x * 2

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    ENABLED.add("shift")
    c(torch.ones(3))  # planted
""",
        (("0/0 needs 'shift' not in ENABLED, now it is", 'len(ENABLED) == 1, now 2', "0/0 needs ENABLED == {'scale'}, now a set of 2"),),
    ),
    "step_calls_step": Planted(
        """\
import torch

class Inner:
    def step(self, x):
        n = int(x.sum())  # planted
        return x * n

class Outer:
    def __init__(self):
        self.inner = Inner()
    def step(self, x):
        return self.inner.step(x + 1) * 2

def main(compile):
    outer = Outer()
    compile(outer.step)(torch.ones(3))
""",
        ('in Inner.step', 'reached from {here}:12: return self.inner.step(x + 1) * 2', 'called: Outer.step'),
    ),
    "getattr_fallback": Planted(
        """\
import torch

class Options:
    def __init__(self, **values):
        self.values = values
    def __getattr__(self, name):
        return self.values[name]

def f(x, options):
    return x * options.scale  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3), Options(scale=2))
    c(torch.ones(3), Options(scale=3))
""",
        ("options.values['scale'] == 2, now 3", 'in the call at {here}:15',),
        ('in the call at {here}:14',),
    ),
    "getattr_with_a_break": Planted(
        """\
import torch

class Lazy:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        print("lazy", name)  # planted
        return 2

def f(x, lazy):
    y = x + 1
    return y * lazy.scale

def main(compile):
    compile(f)(torch.ones(3), Lazy())
""",
        ('builtin operator `print`', 'reached from {here}:12: return y * lazy.scale',),
    ),
    "mutable_default": Planted(
        """\
import torch

def remember(x, seen=[]):
    return x + len(seen)  # planted

def f(x):
    return remember(x) * 2

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3))
    remember.__defaults__[0].append(1)
    c(torch.ones(3))
""",
        (('not remember.__defaults__[0], now a list of 1', 'len(remember.__defaults__[0]) == 0, now 1'), 'in the call at {here}:13',),
    ),
    "kwargs_order": Planted(
        """\
import torch

def f(x, **kwargs):
    for name, value in kwargs.items():  # planted
        x = x * 2 + value
    return x

def main(compile):
    c = compile(f)
    c(torch.ones(3), a=torch.ones(3), b=torch.ones(3))
    c(torch.ones(3), b=torch.ones(3), a=torch.ones(3))
""",
        ("== 'a', now 'b'", 'in the call at {here}:11',),
    ),
    "nested_autograd_functions": Planted(
        """\
import torch

class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if x.sum() > 0:  # planted
            return x * 2
        return x * 3
    @staticmethod
    def backward(ctx, grad):
        return grad

class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return Inner.apply(x + 1)
    @staticmethod
    def backward(ctx, grad):
        return grad

def f(x):
    return Outer.apply(x).sum()

def main(compile):
    compile(f)(torch.ones(3, requires_grad=True)).backward()
""",
        ('Data-dependent branching', 'reached from {here}:22', 'then {here}:16',),
    ),
    "contextmanager_exit": Planted(
        """\
import contextlib
import torch

@contextlib.contextmanager
def section(name):
    yield
    print("leaving", name)  # planted

def f(x):
    with section("a"):
        y = x + 1
    return y * 2

def main(compile):
    compile(f)(torch.ones(3))
""",
        ('builtin operator `print`', 'reached from {here}:10',),
    ),
    "strides_in_a_batch": Planted(
        """\
import torch

def f(batch):
    return batch["views"][1].relu() + 1  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c({"views": [torch.ones(2), torch.ones(3, 4)]})
    c({"views": [torch.ones(2), torch.ones(4, 3).t()]})
""",
        ("batch['views'][1].stride(0) == 4, now 1", 'in the call at {here}:9',),
    ),
    "checkpoint_and_a_flag": Planted(
        """\
import torch
from torch.utils.checkpoint import checkpoint

SCALING = True

def body(x):
    return x.sin() * 2 if SCALING else x.cos()  # planted

def f(x):
    return checkpoint(body, x, use_reentrant=False).sum()

def main(compile):
    global SCALING
    c = compile(f)
    c(torch.ones(3, requires_grad=True))
    SCALING = False
    c(torch.ones(3, requires_grad=True))
""",
        ('SCALING == True, now False', 'reached from {here}:10', 'in the call at {here}:17',),
    ),
    "environment_variable": Planted(
        """\
import os
import torch

def f(x):
    if os.environ.get("PLANTED_MODE") == "fast":  # planted
        return x + 1
    return x * 2

def main(compile):
    os.environ["PLANTED_MODE"] = "fast"
    c = compile(f)
    c(torch.ones(3))
    os.environ["PLANTED_MODE"] = "slow"
    c(torch.ones(3))
    del os.environ["PLANTED_MODE"]
""",
        ('PLANTED_MODE', 'in the call at {here}:14',),
    ),
    "numpy_array": Planted(
        """\
import numpy as np
import torch

def f(x, table):
    return x + torch.from_numpy(table).sum()  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3), np.ones(3, dtype=np.float32))
    c(torch.ones(3), np.ones(3, dtype=np.float64))
""",
        ('torch.float32, now torch.float64', 'in the call at {here}:10',),
    ),
    "callable_object": Planted(
        """\
import torch

class Scale:
    def __init__(self, by):
        self.by = by
    def __call__(self, x):
        return x * self.by  # planted

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale(2)
    def forward(self, x):
        return self.scale(x) + 1

def main(compile):
    net = Net()
    c = compile(net, dynamic=False)
    c(torch.ones(3))
    net.scale.by = 5
    c(torch.ones(3))
""",
        ('self.scale.by == 2, now 5', 'reached from {here}:14', 'in the call at {here}:21',),
    ),
    "method_replaced_on_the_instance": Planted(
        """\
import torch

class Net(torch.nn.Module):
    def body(self, x):
        return x + 1
    def forward(self, x):
        return self.body(x) * 2  # planted

def main(compile):
    net = Net()
    c = compile(net)
    c(torch.ones(3))
    net.body = lambda x: x - 1
    c(torch.ones(3))
""",
        ("0/0 needs 'body' not in self.__dict__, now it is", 'in the call at {here}:14',),
    ),
    "deque_length": Planted(
        """\
import collections
import torch

class Window:
    def __init__(self):
        self.kept = collections.deque(maxlen=3)

WINDOW = Window()

def f(x):
    for one in WINDOW.kept:  # planted
        x = x + one
    return x * 2

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    WINDOW.kept.append(torch.ones(3))
    c(torch.ones(3))
""",
        ('not WINDOW.kept, now a deque of 1', 'in the call at {here}:19',),
    ),
    "nan_argument": Planted(
        """\
import torch

def f(x, fill):
    return x + fill  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3), float("nan"))
    c(torch.ones(3), 0.5)
""",
        ('0/0 needs math.isnan(fill), now 0.5', 'in the call at {here}:9',),
    ),
    "int_enum_in_a_dict": Planted(
        """\
import enum
import torch

class Kind(enum.IntEnum):
    A = 1
    B = 2

TABLE = {Kind.A: 2, Kind.B: 3}

def f(x, kind):
    return x * TABLE[kind]  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3), Kind.A)
    TABLE[Kind.A] = 9
    c(torch.ones(3), Kind.A)
""",
        ('list(TABLE.values())[0] == 2, now 9', 'in the call at {here}:17',),
    ),
    "two_sizes_related": Planted(
        """\
import torch

def f(x, y):
    if x.shape[0] == y.shape[0]:  # planted
        return x + y
    return x.sum() + y.sum()

def main(compile):
    c = compile(f, dynamic=True)
    c(torch.ones(5), torch.ones(5))
    c(torch.ones(5), torch.ones(6))
""",
        ('y.size(0) == x.size(0), now y.size(0) is 6, x.size(0) is 5', 'hint: duck sizing added this equality', 'in the call at {here}:11',),
    ),
    "size_in_a_part": Planted(
        """\
import torch

class Half(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] > 4:  # planted
            return x[: x.shape[0] // 2] + 1
        return x * 2

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.halver = Half()
    def forward(self, x):
        y = x * 3
        return self.halver(y) - 1

def main(compile):
    c = compile(Net(), dynamic=True)
    c(torch.ones(8))
    c(torch.ones(3))
""",
        ('0/0 needs 5 <= x.size(0), now 3', 'in the call at {here}:20',),
        ('{here}:14',),
    ),
    "batch_of_one": Planted(
        """\
import torch

def f(x):
    return x.sin()  # planted

def main(compile):
    c = compile(f, dynamic=True)
    c(torch.ones(8, 3))
    c(torch.ones(1, 3))
""",
        ('0/0 needs 2 <= x.size(0), now 1; asked for by torch, which compiles for sizes 0 and 1 apart', 'first used at {here}:4', 'in the call at {here}:9',),
    ),
    "view_or_not": Planted(
        """\
import torch

class Layer(torch.nn.Module):
    def forward(self, x):
        return x.sin() * 2  # planted

def main(compile):
    c = compile(Layer(), dynamic=True)
    c(torch.ones(4, 8, 3)[1])
    c(torch.ones(8, 3))
""",
        ('0/0 needs x to be a view of another tensor, now it is no view', 'in the call at {here}:10',),
        ('NoneType',),
    ),
    "callable_hook_on_a_module": Planted(
        """\
import torch

class Clip:
    def __call__(self, module, args, output):
        if output.abs().max().item() > 5.0:  # planted
            output = output.clamp(-5, 5)
        return output

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
    def forward(self, x):
        x = self.first(x)
        return self.second(x).relu()

def main(compile):
    net = Net()
    net.second.register_forward_hook(Clip())
    compile(net)(torch.ones(2, 4))
""",
        ('Tensor.item()', 'in Clip.__call__, a hook of second', 'reached from {here}:16: return self.second(x).relu()', 'called: Net.forward'),
    ),
    "two_modules_of_one_method_name": Planted(
        """\
import torch

class Inner(torch.nn.Module):
    def step(self, x):
        torch._dynamo.graph_break()  # planted
        return x + 1

class Middle(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def step(self, x):
        return self.inner.step(x * 2)

class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.middle = Middle()
    def step(self, x):
        return self.middle.step(x - 1)

def main(compile):
    compile(Outer().step)(torch.ones(3))
""",
        ('in Inner.step', '{here}:20: return self.middle.step(x - 1)', 'then {here}:13: return self.inner.step(x * 2)', 'called: Outer.step'),
    ),
    "generator_function_breaks": Planted(
        """\
import torch

def parts(x):
    for i in range(2):
        y = x + i
        print("part", i)  # planted
        yield y

def f(x):
    total = x
    for part in parts(x):
        total = total + part
    return total

def main(compile):
    compile(f)(torch.ones(3))
""",
        ('`print`', '{here}:11'),
    ),
    "property_of_a_dataclass": Planted(
        """\
import torch
from dataclasses import dataclass

@dataclass
class Settings:
    depth: int = 2
    @property
    def scale(self):
        return self.depth * 0.5

def f(x, settings):
    return x * settings.scale

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3), Settings())
    c(torch.ones(3), Settings(depth=3))
""",
        # torch 2.13 names the line in the property, 2.14 the one that reads the property
        ('0/0 needs settings.depth == 2, now 3', ('asked for by {here}:9: return self.depth * 0.5', 'asked for by {here}:12: return x * settings.scale'), 'in the call at {here}:17'),
    ),
    "vmap_over_a_helper": Planted(
        """\
import torch

def row(x):
    s = x.sum()
    if s > 2:  # planted
        return x * 2
    return x

def f(x):
    return torch.vmap(row)(x) + 1

def main(compile):
    try:
        compile(f)(torch.ones(2, 3))
    except RuntimeError:
        pass
""",
        ('Data-dependent branching', 'reached from {here}:10', 'vmap'),
    ),
    "checkpoint_with_kwargs": Planted(
        """\
import torch
from torch.utils.checkpoint import checkpoint

def block(x, *, verbose=False):
    y = x.sin()
    if verbose:
        print("block")  # planted
    return y.cos()

class Net(torch.nn.Module):
    def forward(self, x, verbose=False):
        return checkpoint(block, x, verbose=verbose, use_reentrant=False)

def main(compile):
    c = compile(Net())
    x = torch.ones(3, requires_grad=True)
    c(x)
    c(x, verbose=True)
""",
        ('`print`', 'inside torch.utils.checkpoint.checkpoint', '0/0 needs verbose == False, now True', '{here}:12'),
    ),
    "context_manager_changes_a_global": Planted(
        """\
import contextlib
import torch

SCALE = 1

@contextlib.contextmanager
def scaled(k):
    global SCALE
    before, SCALE = SCALE, k
    try:
        yield
    finally:
        SCALE = before

def f(x):
    return x * SCALE  # planted

def main(compile):
    c = compile(f, dynamic=False)
    c(torch.ones(3))
    with scaled(4):
        c(torch.ones(3))
""",
        ('0/0 needs SCALE == 1, now 4', 'in the call at {here}:22'),
    ),
    "closure_over_a_list": Planted(
        """\
import torch

def build():
    factors = [2, 3]
    def f(x):
        for k in factors:  # planted
            x = x * k
        return x
    return f, factors

def main(compile):
    f, factors = build()
    c = compile(f)
    c(torch.ones(3))
    factors.append(5)
    c(torch.ones(3))
""",
        ('len(factors) == 2', 'now 3', 'in the call at {here}:16'),
    ),
    "subclass_with_torch_function": Planted(
        """\
import torch

class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.sin:
            print("sin")  # planted
        return super().__torch_function__(func, types, args, kwargs or {})

def f(x):
    y = x + 1
    return y.sin()

def main(compile):
    compile(f)(torch.ones(3).as_subclass(Tagged))
""",
        ('`print`', '{here}:12: return y.sin()'),
    ),
    "keyword_only_dtype": Planted(
        """\
import torch

def f(x, *, dtype=torch.float32):
    y = x + 1
    return y.to(dtype)  # planted

def main(compile):
    c = compile(f)
    c(torch.ones(3))
    c(torch.ones(3), dtype=torch.float64)
""",
        ('0/0 needs dtype == torch.float32, now torch.float64;',),
    ),
    "setter_in_a_loop_of_modules": Planted(
        """\
import torch

class Layer(torch.nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha
    def forward(self, x):
        return x * self.alpha  # planted

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(float(i)) for i in range(4))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x) + 1
        return x

def main(compile):
    net = Net()
    c = compile(net)
    c(torch.ones(3))
    net.layers[2].alpha = 9.0
    c(torch.ones(3))
""",
        ('0/0 needs self.layers[2].alpha == 2.0, now 9.0', 'in the call at {here}:24'),
    ),
    "autograd_function_with_a_helper": Planted(
        """\
import torch

def audit(x):
    print("seen")  # planted
    return x

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return audit(x) * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2

def f(x):
    y = x.sin()
    return Double.apply(y) + 1

def main(compile):
    compile(f)(torch.ones(3, requires_grad=True))
""",
        ('`print`', 'inside autograd.Function', '{here}:17: return Double.apply(y) + 1', 'then {here}:10'),
    ),
    "rank_of_a_tensor_in_a_dict": Planted(
        """\
import torch

def f(batch):
    return batch["mask"].sum(-1)  # planted

def main(compile):
    c = compile(f)
    c({"mask": torch.ones(3, 4)})
    c({"mask": torch.ones(3, 4, 5)})
""",
        ("batch['mask'].dim() == 2", 'now 3', 'in the call at {here}:9'),
    ),
    "memory_format": Planted(
        """\
import torch

def f(x):
    return x * 2  # planted

def main(compile):
    c = compile(f)
    x = torch.ones(2, 3, 4, 4)
    c(x)
    c(x.to(memory_format=torch.channels_last))
""",
        ('stride', 'in the call at {here}:10'),
    ),
    "break_in_a_decorated_method": Planted(
        """\
import functools
import torch

def logged(fn):
    @functools.wraps(fn)
    def wrapper(self, *args, **kwargs):
        result = fn(self, *args, **kwargs)
        print("done")  # planted
        return result
    return wrapper

class Net(torch.nn.Module):
    @logged
    def encode(self, x):
        return x.sin()
    def forward(self, x):
        return self.encode(x) + 1

def main(compile):
    compile(Net())(torch.ones(3))
""",
        ('`print`', 'the decorator logged of Net.encode', '{here}:17: return self.encode(x) + 1', 'called: Net.forward'),
        ('in wrapper',),
    ),
    "to_list_in_a_comprehension": Planted(
        """\
import torch

def f(x, lengths):
    y = x * 2
    parts = [y[:n] for n in lengths.tolist()]  # planted
    return sum(p.sum() for p in parts)

def main(compile):
    compile(f)(torch.ones(6), torch.tensor([2, 3]))
""",
        ('tolist',),
    ),
    "number_of_calls_on_self": Planted(
        """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
    def forward(self, x):
        self.calls += 1  # planted
        return x + self.calls

def main(compile):
    c = compile(Net(), dynamic=False)
    for _ in range(3):
        c(torch.ones(3))
""",
        ('0/0 needs self.calls == 0, now 1', 'in the call at {here}:14'),
    ),
}
