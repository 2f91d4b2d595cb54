"""Recompiles for every kind of reason, each in a folder of its own."""

import torch

import depyf

SHARED = 1
TABLE = {"a": 1}


class Settings:
    scale = 2

    def __init__(self, value):
        self.value = value


class Doubled(Settings):
    pass


def calculate(x, n=None, settings=None):
    y = x * 2
    if n is not None:
        y = y + (n if isinstance(n, int) else len(n))
    if settings is not None:
        y = y + settings.value
    return y + SHARED


def of_two(a, b):
    return a + b


def of_a_dictionary(values):
    return sum(values.values())


def of_a_table(x):
    return x * TABLE["a"]


def of_an_object(x, call):
    return call(x)


def of_names(x, names):
    return x * len(names) if "a" in names else x


def add_one(x):
    return x + 1


def add_two(x):
    return x + 2


def of_a_dtype(x, dtype, device="cpu"):
    return x.to(dtype).to(device)


def of_a_view(x):
    return x.view(-1) + x.stride(0)


def without_grad(compiled):
    with torch.no_grad():
        compiled(three)


def in_autocast(compiled):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        compiled(three)


def with_another_global(compiled):
    global SHARED
    SHARED = 5
    compiled(three)
    SHARED = 1


def with_another_entry(compiled):
    TABLE["a"] = 2
    compiled(three)
    TABLE["a"] = 1


def with_deterministic_algorithms(compiled):
    torch.use_deterministic_algorithms(True)
    compiled(three)
    torch.use_deterministic_algorithms(False)


def in_another_default_dtype(compiled):
    torch.set_default_dtype(torch.float64)
    compiled(three)
    torch.set_default_dtype(torch.float32)


def with_another_backend(compiled):
    torch.compile(calculate, backend="aot_eager")(three)


def run(name, function, *calls, **options):
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager", **options)
    with depyf.prepare_debug(f"dump/{name}"):
        for call in calls:
            call(compiled) if callable(call) else compiled(*call)


three = torch.ones(3)
run("size", calculate, (three,), (torch.ones(4),), (torch.ones(1),), (torch.ones(0),))
run("rank", calculate, (three,), (torch.ones(1, 2),), (torch.ones(()),))
run("dtype", calculate, (three,), (three.double(),), (three.long(),))
run("grad", calculate, (three,), (torch.ones(3, requires_grad=True),))
run("kind_of_tensor", calculate, (three,), (torch.nn.Parameter(three),))
run("int", calculate, (three, 2), (three, 3), (three, 4))
run("int_static", calculate, (three, 2), (three, 3), (three, 4), dynamic=False)
run("bool", calculate, (three, True), (three, False), (three, 2))
run("type", calculate, (three, [1]), (three, (1,)), (three, {1: 2}), (three, "a"))
run("length", calculate, (three, [1]), (three, [1, 2]))
run("string", of_names, (three, "a"), (three, "ab"), (three, "it's"))
run("set", of_names, (three, {"a", "b", "ccc", "dddd"}), (three, {"a", "b"}), (three, frozenset("ab")))
run("attribute", calculate, (three, None, Settings(1)), (three, None, Settings(2)))
run("class", calculate, (three, None, Settings(1)), (three, None, Doubled(1)))
run("shape", calculate, (three,), (torch.ones(1),), dynamic=True)
run("grad_mode", calculate, (three,), without_grad)
run("autocast", calculate, (three,), in_autocast)
run("global", calculate, (three,), with_another_global)
run("entry_of_a_global", of_a_table, (three,), with_another_entry)
run("deterministic", calculate, (three,), with_deterministic_algorithms)
run("default_dtype", calculate, (three,), in_another_default_dtype)
run("backend", calculate, (three,), with_another_backend)
run("alias", of_two, (three, torch.ones(3)), (three, three))
run("alias_first", of_two, (three, three), (three, torch.ones(3)))
run("keys", of_a_dictionary, ({"a": three},), ({"a": three, "b": three},), ({"b": three},))
run("object", of_an_object, (three, add_one), (three, add_two), (three, torch.sin))
run("dtype_argument", of_a_dtype, (three, torch.float64), (three, torch.int32), (three, torch.int32, torch.device("cpu")))
run("stride", of_a_view, (torch.ones(2, 3),), (torch.ones(2, 6)[:, :3].contiguous().t().contiguous().t().contiguous(),))
run("layout", of_two, (torch.ones(2, 3), 1), (torch.ones(3, 2).t(), 1), (torch.ones(2, 3), 2.5), (torch.ones(2, 3), 3.5))
