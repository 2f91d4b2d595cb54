"""Find the node of a graph whose value, or whose gradient, a backend computes otherwise than eager code.

All nodes become outputs of one graph, which the backend compiles: the first value that differs is the node. For the
backward each value gets a zero added that is an input; its gradient is the gradient at that node. Where the difference
goes away with so many outputs, graphs that end at one node are tried, by bisection.
"""

from __future__ import annotations

import copy
from typing import Any, Callable, List, Tuple

from depyf.torch_hooks.numerics.finite_values import tensors_in
from depyf.torch_hooks.numerics.graph_replay import KeptInputs
from depyf.torch_hooks.numerics.graph_runs import run, run_in_float64, value_nodes
from depyf.torch_hooks.numerics.value_differences import ValueDifference, difference

Compile = Callable[[Any, Tuple[Any, ...]], Callable[..., Any]]
FoundNode = Tuple[Any, ValueDifference]


def find_forward(module: Any, kept: KeptInputs, compile_graph: Compile) -> FoundNode | None:
    """Return the first node whose value differs, and how; None where no graph that ends at a node shows it."""
    nodes = value_nodes(module)
    found = _first(module, kept, compile_graph, nodes)
    if found is not None:
        return found
    low, high = 0, len(nodes)  # the graph that ends at nodes[high - 1] differs, if any does
    while low < high:
        middle = (low + high) // 2
        if _first(module, kept, compile_graph, [nodes[middle]]) is None:
            low = middle + 1
        else:
            high = middle
    return _first(module, kept, compile_graph, [nodes[low]]) if low < len(nodes) else None


def _first(module: Any, kept: KeptInputs, compile_graph: Compile, nodes: List[Any]) -> FoundNode | None:
    ending = _with_outputs(module, [node.name for node in nodes])
    compiled = run(compile_graph(ending, kept.args), kept, with_gradients=False).outputs
    eager = run(ending, kept, with_gradients=False).outputs
    exact: Any = None
    for index, node in enumerate(nodes):
        found = difference(compiled[index], eager[index])
        if found is not None and exact is None:
            exact = run_in_float64(ending, kept, with_gradients=False)
        if found is not None and exact is not None:
            found = difference(compiled[index], eager[index], exact.outputs[index])
        if found is not None:
            return node, found
    return None


def _with_outputs(module: Any, names: List[str]) -> Any:
    """Return a copy of a graph that returns the values of some nodes."""
    made = copy.deepcopy(module)
    by_name = {node.name: node for node in made.graph.nodes}
    output = next(node for node in made.graph.nodes if node.op == "output")
    output.args = (tuple(by_name[name] for name in names),)
    made.graph.eliminate_dead_code()
    made.recompile()
    return made


def find_backward(module: Any, kept: KeptInputs, compile_graph: Compile) -> FoundNode | None:
    """Return the last node whose backward computes another gradient, and how they differ."""
    probed, nodes, sizes = _with_probes(module, kept)
    if not nodes:
        return None
    args = (*kept.args, *sizes)
    wide = KeptInputs(args, kept.held, kept.random_states, kept.has_gradients)
    compiled, eager = run(compile_graph(probed, args), wide), run(probed, wide)
    exact = run_in_float64(probed, wide)
    count = len(nodes)
    if len(compiled.gradients) != len(eager.gradients):
        return None
    gradients = list(zip(compiled.gradients, eager.gradients))[-count:]
    precise = [None] * count if exact is None else list(exact.gradients)[-count:]
    for node, (ours, theirs), true in reversed(list(zip(nodes, gradients, precise))):
        found = difference(ours, theirs, true)
        if found is not None:
            return _user_of(node), found
    return _at_inputs(module, kept, compiled.gradients[:-count], eager.gradients[:-count])


def _at_inputs(module: Any, kept: KeptInputs, compiled: Any, eager: Any) -> FoundNode | None:
    """Return the node that reads an input, where only the gradient of that input differs."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    pairs = zip(inputs, kept.args)
    trained = [node for node, value in pairs if any(one.requires_grad for one in tensors_in([value]))]
    for node, ours, theirs in zip(trained, compiled, eager):
        found = difference(ours, theirs)
        if found is not None:
            return _user_of(node), found
    return None


def _user_of(node: Any) -> Any:
    """Return the node that reads a value: its backward computed the gradient that differs."""
    users = [user for user in node.users if user.op != "output"]
    return users[0] if users else node


def _with_probes(module: Any, kept: KeptInputs) -> Tuple[Any, List[Any], List[Any]]:
    """Return a copy of a graph with a zero added to each value that has a gradient, those nodes, and the zeros."""
    import torch

    nodes = [node for node in value_nodes(module) if _has_gradient(node)]
    values = run(_with_outputs(module, [node.name for node in nodes]), kept, with_gradients=False).outputs
    zeros = [torch.zeros_like(value).requires_grad_() for value in values[: len(nodes)]]
    made = copy.deepcopy(module)
    by_name = {node.name: node for node in made.graph.nodes}
    inputs = [node for node in made.graph.nodes if node.op == "placeholder"]
    for index, original in enumerate(nodes):
        node = by_name[original.name]
        with made.graph.inserting_after(inputs[-1] if inputs else None):
            zero = made.graph.placeholder(f"probe_{index}")
        zero.meta = {key: node.meta[key] for key in ("example_value", "val") if key in node.meta}
        inputs.append(zero)
        users = list(node.users)
        with made.graph.inserting_after(node):
            added = made.graph.call_function(torch.add, (node, zero))
        added.meta = dict(node.meta)
        for user in users:
            user.replace_input_with(node, added)
    made.recompile()
    return made, nodes, zeros


def _has_gradient(node: Any) -> bool:
    value = node.meta.get("example_value", node.meta.get("val"))
    return bool(getattr(value, "requires_grad", True)) and not _is_changed_in_place(node)


def _is_changed_in_place(node: Any) -> bool:
    names = [str(getattr(user.target, "__name__", user.target)) for user in node.users]
    return any(name.endswith("_") and not name.endswith("__") for name in names)
