"""What was compiled before the context, contexts one after the other, and one folder for two contexts."""

import torch

import depyf


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def straight(a, b):
    return (a * 2 + b).relu().sum(-1)


def both_ways(compiled, size=10):
    for sign in (1, -1):
        compiled(torch.ones(size, requires_grad=True), sign * torch.ones(size)).sum().backward()


compiled = torch.compile(toy_example, backend="aot_eager")
both_ways(compiled)
with depyf.prepare_debug("dump/later"):
    compiled(torch.ones(7), torch.ones(7))
with depyf.prepare_debug("dump/nothing_new"):
    both_ways(compiled)
torch._dynamo.reset()
compiled = torch.compile(toy_example, backend="eager")
for size in (10, 11):
    with depyf.prepare_debug("dump/twice"):
        compiled(torch.ones(size), torch.ones(size))
with depyf.prepare_debug("dump/linked_before"):
    pass
torch._dynamo.reset()
x = torch.ones(3, 4, requires_grad=True)
out = torch.compile(straight, backend="inductor")(x, torch.ones(3, 4))
with depyf.prepare_debug("dump/backward"):
    out.sum().backward()
torch._dynamo.reset()
with depyf.prepare_debug("dump/empty"):
    pass
try:
    with depyf.prepare_debug("dump/nested"), depyf.prepare_debug("dump/inner"):
        pass
except Exception as error:
    print(type(error).__name__, error)
for arguments in ((), (3,), ("a", "b", "c", "d"), (straight, "dump/older_form")):
    try:
        with depyf.prepare_debug(*arguments):
            torch.compile(straight, backend="eager")(torch.ones(2, 2), torch.ones(2, 2))
    except Exception as error:
        print(type(error).__name__, error)
