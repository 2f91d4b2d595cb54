"""A graph that is put together from the forms of its nodes is, letter by letter, the one that torch prints."""

from __future__ import annotations

import pytest
import torch
import torch._dynamo
from torch import fx
from torch_probes import needs

from depyf.torch_hooks.internals import torch_behaviours
from depyf.torch_hooks.internals.printed_graphs import GraphPrinter

pytestmark = needs(torch_behaviours.has("typed_graphs"), "types in its graphs")
OPTIONS = {"print_output": False, "include_stride": True, "include_device": True}
TIMES = 30  # each line is repeated so often


def calls(x, y):
    x = torch.nn.functional.layer_norm(x, (4,), None, None, 1e-05) + y * 2
    return torch.cat([x, y], dim=-1)[:, :4].contiguous()


def several_results(x, y):
    first, second = torch.split(torch.cat((x, y), 1), [4, 4], dim=1)
    values, _ = torch.max(first, dim=1, keepdim=True)
    return x + values.clamp(min=float("-inf"), max=3.0) - second


def in_place(x, y):
    x = x.clone()
    x += y
    x[0] = y[1]
    x[..., 1:3] *= -1
    return x.relu_()


def constants(x, y):
    x = torch.einsum("ij,ij->ij", x, y) ** 2 // 3
    x = x.to(torch.float64).to(device="cpu", dtype=torch.float32)
    return torch.where(x > 0.5, x, torch.full_like(x, 1e10)) if x.dim() == 2 else y


def reused(x, y):
    return (x * x).add(y, alpha=2).transpose(0, 1).reshape(4, 4) @ y


def graph_of(step, tensors, **options):
    found = []

    def many(x, y):
        for _ in range(TIMES):
            x = step(x, y)
        return x, y.sum()

    def backend(module, inputs):
        found.append(module)
        return module.forward

    torch._dynamo.reset()
    torch.compile(many, backend=backend, **options)(*tensors)
    (module,) = found
    return module


def two(size=4):
    return torch.ones(4, size), torch.rand(4, size)


@pytest.mark.parametrize("step", [calls, several_results, in_place, constants, reused])
def test_each_form_of_a_node_is_printed_as_torch_prints_it(step):
    module = graph_of(step, two())
    assert GraphPrinter().printed(module, OPTIONS) == module.print_readable(**OPTIONS)


def test_the_inputs_of_a_deep_model_are_printed_as_torch_prints_them():
    layers = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()) for _ in range(TIMES)])
    module = graph_of(lambda x, y: layers(x) * y, two())
    assert GraphPrinter().printed(module, OPTIONS) == module.print_readable(**OPTIONS)
    assert GraphPrinter().printed(module, {"print_output": False}) == module.print_readable(print_output=False)


def odd_graphs():
    yield "sizes that are not fixed", graph_of(reused, two(), dynamic=True)
    module = graph_of(reused, two())
    node = next(node for node in module.graph.nodes if node.op == "call_method")
    node.meta["custom"] = {"stage": 1}
    yield "an annotation of the user's", module
    module = graph_of(reused, two())
    module.graph.set_codegen(type("Own", (fx.graph.CodeGen,), {})())
    yield "another way to generate code", module
    module = graph_of(reused, two())
    module.inner = graph_of(calls, two())
    yield "a graph inside", module
    yield "few nodes", fx.symbolic_trace(torch.nn.ReLU())
    module = graph_of(reused, two())
    node = next(node for node in module.graph.nodes if node.op == "call_function")
    node.target = calls
    yield "a function of the user's", module
    module = graph_of(reused, two())
    node.graph.owning_module, node.type = None, int
    list(module.graph.nodes)[-1].type = int
    yield "a type of the result", module
    module = graph_of(reused, two())
    *_, output = module.graph.nodes
    output.args = ((output.args[0], None),)
    yield "results inside of a result", module


def test_a_graph_with_anything_unusual_is_printed_by_torch():
    for what, module in odd_graphs():
        assert GraphPrinter().printed(module, OPTIONS) is None, what


def test_a_torch_that_prints_a_form_in_two_ways_prints_the_graph_itself(monkeypatch):
    module = graph_of(calls, two())
    original = fx.GraphModule.print_readable

    def numbered(self, *args, **options):
        lines = original(self, *args, **options).split("\n")
        return "\n".join([line.replace("torch.cat", f"torch.cat{number}") for number, line in enumerate(lines)])

    monkeypatch.setattr(fx.GraphModule, "print_readable", numbered)
    assert GraphPrinter().printed(module, OPTIONS) is None
    assert GraphPrinter().payload(lambda: module.print_readable(**OPTIONS)) == numbered(module, **OPTIONS)


def test_a_payload_that_asks_for_more_than_the_text_is_formatted_by_torch():
    module = graph_of(calls, two())
    text = module.print_readable(**OPTIONS)
    assert GraphPrinter().payload(lambda: module.print_readable(**OPTIONS)) == text
    assert GraphPrinter().payload(lambda: f"{module.graph}") == str(module.graph)
    assert GraphPrinter().payload(lambda: str(module)) == str(module)
    assert GraphPrinter().payload(lambda: module) is module
    assert GraphPrinter().payload(lambda: [module, text]) == [module, text]
    assert GraphPrinter().payload("text".upper) == "TEXT"
    with pytest.raises(ZeroDivisionError):
        GraphPrinter().payload(lambda: module.print_readable(**OPTIONS) and 1 // 0)


def test_printing_leaves_the_graph_as_it_was():
    module = graph_of(calls, two())
    before = [(node, node.name, dict(node.meta), dict(node.users), node._repr_fn) for node in module.graph.nodes]
    assert GraphPrinter().printed(module, OPTIONS)
    after = [(node, node.name, dict(node.meta), dict(node.users), node._repr_fn) for node in module.graph.nodes]
    assert [row[:2] + row[3:] for row in before] == [row[:2] + row[3:] for row in after]
    assert [row[2].keys() for row in before] == [row[2].keys() for row in after]


def test_one_printer_prints_graphs_of_other_forms_and_those_that_torch_prints_in_turn():
    printer = GraphPrinter()
    for step in (calls, calls, several_results, reused, calls):
        module = graph_of(step, two())
        assert printer.printed(module, OPTIONS) == module.print_readable(**OPTIONS)
        larger = graph_of(step, two(), dynamic=True)
        assert printer.printed(larger, OPTIONS) is None
