"""Run a graph on copies of its inputs, forward and backward: as eager code, in float64, or compiled by a backend."""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass
from typing import Any, Callable, List, Sequence, Tuple

from depyf.torch_hooks.numerics.finite_values import tensors_in
from depyf.torch_hooks.numerics.graph_replay import KeptInputs, copy_inputs, set_random_states
from depyf.torch_hooks.numerics.value_differences import flat

_SEED = 20_240_229  # of the gradients that go into a backward


@dataclass(frozen=True)
class Run:
    """What one run computed."""

    outputs: Tuple[Any, ...]  # and then the inputs, which may have been changed
    gradients: Tuple[Any, ...]  # of the inputs that need one


def run(function: Callable[..., Any], kept: KeptInputs, with_gradients: bool = True) -> Run:
    """Run a graph on copies of kept inputs, with the random state of then."""
    import torch

    args = copy_inputs(kept.args)
    set_random_states(kept.random_states)
    with torch.set_grad_enabled(kept.has_gradients):
        results = flat(function(*args))
        gradients: Tuple[Any, ...] = ()
        if with_gradients and kept.has_gradients:
            gradients = _gradients(results, args)
    outputs = tuple([tensor.detach() for tensor in (*results, *tensors_in(list(args)))])
    return Run(outputs, gradients)


def _gradients(results: Sequence[Any], args: Sequence[Any]) -> Tuple[Any, ...]:
    """Return the gradients of the inputs, for gradients of the outputs that are the same in every run."""
    import torch

    outputs = [one for one in results if one.requires_grad and one.grad_fn is not None]
    inputs = [one for one in tensors_in(list(args)) if one.requires_grad]
    if not outputs or not inputs:
        return ()
    generator = torch.Generator("cpu").manual_seed(_SEED)  # whatever the default device is
    normal = functools.partial(torch.randn, generator=generator, dtype=torch.float64, device="cpu")
    given = [normal(one.shape).to(one) for one in outputs]
    return tuple(torch.autograd.grad(outputs, inputs, given, allow_unused=True))


def run_in_float64(module: Any, kept: KeptInputs, with_gradients: bool = True) -> Run | None:
    """Run a captured graph in float64; None where it has operations that cannot."""
    try:
        wide = copy.deepcopy(module).double()
        _widen_constants(wide)
        args = tuple([_widened(arg) for arg in kept.args])
        return run(wide, KeptInputs(args, kept.held, kept.random_states, kept.has_gradients), with_gradients)
    except Exception:  # such as an operation without a kernel for float64
        return None


def _widened(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return value.detach().double().requires_grad_(value.requires_grad)


def _widen_constants(module: Any) -> None:
    """Replace the types of 32 bits and less among the arguments of nodes by float64."""
    import torch

    narrow = (torch.float32, torch.float16, torch.bfloat16)
    methods = {"float": "double", "half": "double", "bfloat16": "double"}

    def widened(value: Any) -> Any:
        return torch.float64 if isinstance(value, torch.dtype) and value in narrow else value

    for node in module.graph.nodes:
        node.args = torch.fx.node.map_aggregate(node.args, widened)
        node.kwargs = torch.fx.node.map_aggregate(node.kwargs, widened)
        if node.op == "call_method" and node.target in methods:
            node.target = methods[node.target]
    module.recompile()


def value_nodes(module: Any) -> List[Any]:
    """Return the nodes of a graph that compute tensors of floating point, in order."""
    return [node for node in module.graph.nodes if node.op not in ("placeholder", "output") and _is_floating(node)]


def _is_floating(node: Any) -> bool:
    import torch

    value = node.meta.get("example_value", node.meta.get("val"))
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())
