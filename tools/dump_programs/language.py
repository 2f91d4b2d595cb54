"""Comprehensions, walruses, unpacking, formatting, match, try, while, generators inside compiled functions."""

import torch

import depyf


def comprehensions(x):
    n = len(x)
    squares = [k * k for k in range(n) if k % 2 == 0]
    table = {k: x + k for k in range(n)}
    names = {str(k) for k in range(n)}
    torch._dynamo.graph_break()
    pairs = [(a, b) for a in squares for b in table if a != b]
    return [table[k] * 2 for k in table], sorted(names), pairs


def walrus(x):
    n = len(x)
    torch._dynamo.graph_break()
    return x, n, [m := i for i in range(n)], m


def formatting(x):
    n = x.shape[0]
    text = f"{n}-{n!r:>4}"
    torch._dynamo.graph_break()
    return text, x + 1, f"{x.dtype!s:^20}|"


def unpacking(x, items):
    first, *rest = items
    (a, b), c = (x, x + 1), x + 2
    a, b = b, a
    torch._dynamo.graph_break()
    merged = {**{"a": a}, "b": b}
    return [*rest, first], max(*items, 3), merged, c


def matching(x, command):
    match command:
        case {"kind": "add", "value": int(value)}:
            x = x + value
        case ["mul", factor, *_] if factor > 1:
            x = x * factor
        case str() as name:
            x = x + len(name)
        case _:
            x = -x
    torch._dynamo.graph_break()
    return x


def exceptions(x, key):
    table = {"a": 1}
    try:
        y = x + table[key]
    except KeyError:
        y = x - 1
    else:
        y = y * 2
    finally:
        x = x + 1
    torch._dynamo.graph_break()
    try:
        raise ValueError("no")
    except (ValueError, TypeError) as error:
        y = y + len(error.args)
    return x + y


def loops(x):
    total, k = x, 0
    while k < 5:
        k += 1
        if k == 2:
            continue
        if k == 4:
            break
        total = total + k
    else:
        total = -total
    for row in x.unbind():
        total = total + row
    torch._dynamo.graph_break()
    for k, name in enumerate(("a", "b")):
        total = total * (k + len(name))
    return total


def generated(x):
    def numbers(n):
        for k in range(n):
            yield k
        yield from (7, 8)

    y = x + sum(numbers(3))
    torch._dynamo.graph_break()
    return y + list(numbers(2))[-1]


def operators(x, a, b):
    y = x if a and not b else -x
    z = (a or b) and x > 0
    q = 1 < a <= 3 and a is not None and b not in (1, 2)
    torch._dynamo.graph_break()
    y += 2
    y[0] = 5
    y[1:] -= 1
    return y, z, q, ~x.bool(), x @ y, x // 2 % 3, -x**2, lambda *args, k=a, **rest: (args, k, rest)


def in_place(x, store):
    x.add_(1)
    store.append(x * 2)
    store[0] = x.sum()
    del store[1:2]
    x.grad_fn_name = "none"
    torch._dynamo.graph_break()
    store.extend([x, store[0]])
    return len(store)


def imports(x):
    import math
    from collections import OrderedDict as Ordered

    torch._dynamo.graph_break()
    assert x.shape[0] == 3, f"not {x.shape}"
    global COUNTED
    COUNTED = math.floor(2.5)
    return Ordered(a=x * math.pi), COUNTED


COUNTED = 0
three = torch.ones(3)
with depyf.prepare_debug("dump"):
    for function, *calls in [
        (comprehensions, ()),
        (walrus, ()),
        (formatting, ()),
        (unpacking, ([1, 2, 3],), ((4, 5),)),
        (matching, ({"kind": "add", "value": 2},), (["mul", 3],), ("name",), (None,)),
        (exceptions, ("a",), ("b",)),
        (loops, ()),
        (generated, ()),
        (operators, (2, 3), (0, 1)),
        (in_place, ([1, 2, 3],)),
        (imports, ()),
    ]:
        compiled = torch.compile(function, backend="eager")
        for call in calls:
            print(function.__name__, str(compiled(three.clone(), *call)).split(" at 0x")[0])
