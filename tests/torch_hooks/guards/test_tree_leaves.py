"""Guards read from torch's objects are those that torch prints, to the letter."""

from __future__ import annotations

import collections
import dataclasses

import pytest

torch = pytest.importorskip("torch")


from torch_probes import HAS_GUARD_TREES, READS_GUARD_TREES, needs  # noqa: E402

from depyf.torch_hooks.frames.cache_entries import versions_of  # noqa: E402
from depyf.torch_hooks.guards import tree_leaves  # noqa: E402
from depyf.torch_hooks.guards.guard_tree import describe_guards  # noqa: E402
from depyf.torch_hooks.internals import private_hooks  # noqa: E402


@dataclasses.dataclass
class Options:
    scale: float
    note: str = "one\n\n+- two  # three"


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
        self.table = {1: torch.ones(1), "two": 2, (3, 4): "three"}

    def forward(self, x):
        for linear in self.inner:
            x = linear(x)
        return x * self.table[1] + self.table["two"] + len(self.table[3, 4])


LAYER = Layer()


def modules(x):
    return LAYER(x)


def several_values(x, y, z):
    return x + y + z.sum() if x is not y else x - 1


def sizes(x, y):
    return x + 1 if x.shape[0] > 3 and x.shape[0] * 2 == y.shape[0] else x - 1


def containers(x, options, ordered, default, chosen):
    for key, value in ordered.items():
        x = x + value if key != "b" else x
    return x * options.scale + len(options.note) + default["q"] + (3 in chosen)


pytestmark = needs(HAS_GUARD_TREES, "guard trees")


def dynamic(tensor):
    torch._dynamo.mark_dynamic(tensor, 0)
    return tensor


CALLS = {
    modules: lambda: [torch.ones(4)],
    several_values: lambda: [torch.ones(2), torch.ones(2), torch.ones(3)],
    sizes: lambda: [dynamic(torch.ones(5)), dynamic(torch.ones(10))],
    containers: lambda: [
        torch.ones(2),
        Options(1.5),
        collections.OrderedDict(a=1, b=2),
        collections.defaultdict(int, q=3),
        {3, 4},
    ],
}


@pytest.fixture(params=CALLS, ids=lambda function: function.__name__)
def manager(request):
    torch._dynamo.reset()
    torch.compile(request.param, backend="eager")(*CALLS[request.param]())
    (version,) = versions_of(request.param.__code__)
    return version.guard_manager


def test_the_objects_and_their_text_give_the_same_guards(manager):
    text = f"{manager}\nGuard latency = 1.23 us"
    found = tree_leaves.printed_guards(manager)
    assert found == tree_leaves.printed_guards(text)
    assert describe_guards(manager, modules.__code__) == describe_guards(text, modules.__code__)
    guards = list(map(tree_leaves.PrintedGuard._make, found))
    assert len(guards) > 5 and any(guard.source for guard in guards)
    conditions = [guard.condition for guard in describe_guards(manager, modules.__code__)]
    assert len([guard for guard in guards if guard.kind == "NO_TENSOR_ALIASING"]) <= (1 if READS_GUARD_TREES else 3)
    assert len({*conditions}) == len(conditions), "torch 2.4 prints what is about several values with each of them"


@needs(READS_GUARD_TREES, "types in its guard trees")
def test_the_objects_are_read_without_printing_them(manager, monkeypatch):
    expected = tree_leaves.printed_guards(manager)
    monkeypatch.setattr(type(manager), "__str__", lambda self: pytest.fail("printed"))
    self, latency = type("Checks", (), {"guard_manager": manager}), 1.0
    assert tree_leaves.printed_guards(lambda: f"{self.guard_manager}{latency}") == expected


def test_a_tree_that_cannot_be_read_is_printed(manager, monkeypatch):
    expected = tree_leaves.printed_guards(str(manager))
    monkeypatch.setitem(
        private_hooks._BY_NAME,
        "relational_guards",
        dataclasses.replace(private_hooks.hook("relational_guards"), attribute="not_there"),
    )
    assert tree_leaves.printed_guards(manager) == expected
    assert tree_leaves.printed_guards(lambda: str(manager)) == expected
