"""Guards on arguments of many types, on globals, defaults, closures and configuration."""

import collections
import dataclasses
import enum
import functools
import math
import types

import numpy
import torch

import depyf

SCALE = 3
NAMES = ["a", "b"]


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Options:
    width: int
    name: str = "wide"
    nested: object = None


Pair = collections.namedtuple("Pair", "left right")


def many(a, b, table, chosen, text, dtype, none, ratio, numbers, od):
    x = a + b.view(-1)[0] * SCALE
    for key, value in table.items():
        x = x + value
    if 3 in chosen:
        x = x * 2
    if "# hi" in text:
        x = x + len(text)
    x = x.to(dtype)
    for number in numbers:
        x = x + number
    if none is None:
        x = x * ratio
    return x + od["q"] + max(1, 2)


def more(x, color, options, pair, call, place, span, shape, complex_number, array):
    if color is Color.RED:
        x = x + 1
    x = x * options.width + len(options.name) + options.nested.value
    x = x + pair.left + pair.right[0]
    x = call(x)
    x = x[place] + sum(span) + math.floor(2.5)
    x = x + shape[0] * complex_number.real
    for name in NAMES:
        x = x + len(name)
    return x + torch.from_numpy(array).sum()


def with_defaults(x, *others, scale=2, flags=(True, None), **named):
    for other in others:
        x = x + other
    for name in sorted(named):
        x = x + named[name]
    return x * scale if flags[0] else x


def make(shift, table):
    def inner(x):
        return x + shift + table["shift"]

    return inner


three = torch.ones(3)
with depyf.prepare_debug("dump/many"):
    torch.manual_seed(0)
    compiled = torch.compile(many, backend="eager")
    arguments = [
        torch.randn(10),
        torch.randn(3, 4, requires_grad=True),
        {"p": torch.ones(1), 2: 3},
        {1, 3},
        "a # hi",
        torch.float64,
        None,
        2.5,
        [1, 2],
        collections.OrderedDict(q=1),
    ]
    compiled(*arguments)
    arguments[3] = {3}
    arguments[5] = torch.float32
    compiled(*arguments)

with depyf.prepare_debug("dump/more"):
    compiled = torch.compile(more, backend="eager")
    for color in Color:
        compiled(
            three,
            color,
            Options(4, nested=types.SimpleNamespace(value=2)),
            Pair(1, (three, three)),
            functools.partial(torch.add, other=2),
            slice(0, 2),
            range(3),
            torch.Size([2, 3]),
            2 + 3j,
            numpy.ones(3, dtype=numpy.float32),
        )

with depyf.prepare_debug("dump/parameters"):
    compiled = torch.compile(with_defaults, backend="eager")
    compiled(three)
    compiled(three, three, 2)
    compiled(three, scale=4, flags=(False, None))
    compiled(three, first=three, second=2)
    table = {"shift": 2}
    torch.compile(make(1, table), backend="eager")(three)
    torch.compile(make(2, {"shift": 3}), backend="eager")(three)
