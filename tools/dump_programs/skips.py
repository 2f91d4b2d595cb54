"""What Dynamo leaves to plain Python, with the reason."""

import textwrap

import torch

import depyf


def no_operation(a):
    return a


def break_in_a_loop(a):
    for _ in range(2):
        a = a + 1
        torch._dynamo.graph_break()
    return a


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def break_in_a_manager(a):
    with Manager():
        torch._dynamo.graph_break()
        return a + 1


def generator(a):
    yield a + 1


@torch.compiler.disable(reason="it writes a log")
def disabled(a):
    return a * 2


def calls_disabled(a):
    return disabled(a + 1) + 1


@torch._dynamo.disable(recursive=False)
def alone_disabled(a):
    return a * 3


def calls_alone_disabled(a):
    return alone_disabled(a + 1) + 1


def recompiled_too_often(a):
    return a + 1


def wrong(a):
    return a + torch.ones(4)


def inner(a):
    print("inside")
    return a + 1


def outer(a):
    return inner(a.sin()).cos()


def uses_a_library(a):
    torch._dynamo.graph_break()
    return a, textwrap.dedent("  a")


def full(a):
    torch._dynamo.graph_break()
    return a


async def waiting(a):
    return a + 1


def compiled(function, **options):
    return torch.compile(function, backend="eager", **options)


def failing(function, *args, **options):
    try:
        compiled(function, **options)(*args)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])


three = torch.ones(3)
with depyf.prepare_debug("dump/all"):
    compiled(no_operation)(three)
    compiled(break_in_a_loop)(three)
    compiled(break_in_a_manager)(three)
    list(compiled(generator)(three))
    compiled(calls_disabled)(three)
    compiled(calls_alone_disabled)(three)
    with torch._dynamo.config.patch(recompile_limit=2):
        function = compiled(recompiled_too_often, dynamic=False)
        for size in range(2, 6):
            function(torch.ones(size))
    failing(wrong, three)
    failing(torch.nn.Linear(4, 4), three)
    failing(full, three, fullgraph=True)
    compiled(outer)(three)
    compiled(uses_a_library)(three)
    compiled(waiting)(three).close()
with depyf.prepare_debug("dump/few"):
    torch._dynamo.reset()
    compiled(break_in_a_loop)(three)
    compiled(calls_disabled)(three)
with depyf.prepare_debug("dump/stance"):
    torch._dynamo.reset()
    with torch.compiler.set_stance("force_eager"):
        compiled(wrong)(torch.ones(4))
    with torch._dynamo.config.patch(suppress_errors=True):
        compiled(uses_a_library)(three)
