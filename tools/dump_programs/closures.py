"""Closures, nonlocal variables, defaults, decorators, lambdas, methods and classes inside compiled functions."""

import functools

import torch

import depyf


def counting():
    lst, d, s, count, last = [0], {}, set(), 0, None

    def step(x):
        nonlocal lst, count, last
        lst = lst + [1]
        d[1] = 1
        d["x"] = x + 1
        last = x * 2
        s.add(count)
        count += 1
        return x + len(lst), lst, d, s, last

    return step


def shares(scale):
    def inner(x):
        y = x * scale
        torch._dynamo.graph_break()
        return y + scale

    return inner


def makes_functions(x):
    functions = [lambda y, k=k: y * k for k in range(3)]

    def apply(function, *args, **kwargs):
        return function(*args, **kwargs)

    torch._dynamo.graph_break()
    return sum(apply(function, x) for function in functions), functions[0]


def recursive(x):
    def down(y, n):
        return y if n == 0 else down(y + n, n - 1)

    y = down(x, 3)
    torch._dynamo.graph_break()
    return down(y, 2)


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return 2 * function(*args, **kwargs)

    return wrapper


@doubled
def decorated(x, *, shift=1):
    return x + shift


class Base:
    def __init__(self, factor):
        self.factor = factor

    def scale(self, x):
        return x * self.factor

    @property
    def twice(self):
        return 2 * self.factor

    @classmethod
    def made(cls, x):
        return cls(2).scale(x)

    @staticmethod
    def plain(x):
        return x + 1


class Derived(Base):
    def scale(self, x):
        y = super().scale(x) + self.twice
        torch._dynamo.graph_break()
        return Base.plain(y) + __class__.made(x).sum() if self.factor > 2 else y


def with_objects(x):
    one = Derived(2)
    y = one.scale(x)
    one.factor = 5
    one.extra = y
    torch._dynamo.graph_break()
    return one.extra + one.factor


def holds_itself(x):
    d = {}
    d["me"] = d
    d["x"] = x + 1
    items = [d]
    items.append(items)
    torch._dynamo.graph_break()
    return d["me"]["me"]["x"], items[1][0]["x"] is d["x"]


def marks_tensors(x):
    ones = torch.ones(3)
    ones.mark = 3
    nested = [ones, ones, [ones]]
    torch._dynamo.graph_break()
    nested[2].append(ones)
    return nested[0] + x, nested[2][0] is ones, ones.mark


x = torch.ones(3)
for dynamic in (None, True):
    torch._dynamo.reset()
    with depyf.prepare_debug(f"dump/{'dynamic' if dynamic else 'static'}"):
        for function in (counting(), shares(x), makes_functions, recursive, decorated, with_objects, holds_itself, marks_tensors):
            compiled = torch.compile(function, backend="eager", dynamic=dynamic)
            for _ in range(2):
                print(function.__name__, str(compiled(x)).split(" at 0x")[0])
        for method in (Derived(2).scale, Derived(3).scale, Derived.made):
            print(torch.compile(method, backend="eager", dynamic=dynamic)(x))
