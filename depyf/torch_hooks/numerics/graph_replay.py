"""Run a captured graph once more, operator by operator, on copies of the inputs that a compiled graph had."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple

from depyf.torch_hooks.numerics.finite_values import tensors_in, unwatched
from depyf.torch_hooks.numerics.higher_order import interpreter_class
from depyf.torch_hooks.numerics.kept_modes import kept_modes
from depyf.torch_hooks.numerics.operator_watch import Found, OperatorWatch


@dataclass(frozen=True)
class KeptInputs:
    """Copies of what went into a compiled graph, and the random state at that time."""

    args: Tuple[Any, ...]
    held: Tuple[Tuple[str, Any], ...]  # the tensors that the graph has as attributes, such as an optimizer's state
    random_states: Tuple[Any, ...]
    has_gradients: bool  # whether autograd recorded the call


@dataclass(frozen=True)
class Replay:
    """What came of a captured graph that was run once more: the first NaN or Inf that it makes, or else all values."""

    found: Found | None
    values: Tuple[Any, ...] = ()  # results, arguments and what the graph holds; or the gradients of its inputs


class FoundInReplay(Exception):
    """Ends a replay at the first operation that makes a NaN or Inf."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.operator)
        self.found = found


def keep_inputs(args: Sequence[Any], module: Any = None) -> KeptInputs:
    """Copy the inputs of a graph, and what the captured graph holds: it may change both in place."""
    import torch

    held = held_tensors(module)
    copies = tuple(zip(held, copy_inputs(list(held.values()))))
    return KeptInputs(copy_inputs(args), copies, random_states(), torch.is_grad_enabled())


def held_tensors(module: Any) -> Dict[str, Any]:
    """Return the tensors that a captured graph reads as its attributes, by name."""
    import torch

    names = [] if module is None else [str(node.target) for node in module.graph.nodes if node.op == "get_attr"]
    found = {name: _attribute(module, name) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, torch.Tensor)}


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


@contextmanager
def as_of_then(module: Any, kept: KeptInputs) -> Iterator[None]:
    """Give what the captured graph holds the values of then, and afterwards those of now."""
    held = held_tensors(module)
    now = copy_inputs(list(held.values()))
    _write(held.values(), [value for _, value in kept.held])
    try:
        yield
    finally:
        _write(held.values(), now)


def _write(tensors: Iterable[Any], values: Iterable[Any]) -> None:
    import torch

    with torch.no_grad(), unwatched():
        for tensor, value in zip(tensors, values):
            tensor.copy_(value)


def copy_inputs(args: Sequence[Any]) -> Tuple[Any, ...]:
    """Return copies of tensors, as leaves of autograd's; other values as they are."""
    import torch

    with torch.no_grad(), unwatched():
        return tuple(_copy(arg) for arg in args)


def _copy(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def replay(module: Any, graph: str, kept: KeptInputs, gradients: Sequence[Any] | None = None) -> Replay:
    """Return what came of the captured graph, run on what had gone in; with `gradients` of its backward, too."""
    import torch

    watch = OperatorWatch(_stop)
    watch.graph = graph
    args, held = copy_inputs(kept.args), copy_inputs([value for _, value in kept.held])
    try:
        with ExitStack() as stack:
            for context in (kept_modes(), unwatched(), _random_state(kept.random_states)):
                stack.enter_context(context)
            stack.enter_context(torch.set_grad_enabled(kept.has_gradients))
            stack.enter_context(watch.mode())
            outputs = interpreter_class()(module, watch, dict(zip(dict(kept.held), held))).run(*args)
            if gradients is not None:
                run_backward(outputs, gradients)
    except FoundInReplay as stopped:
        return Replay(stopped.found)
    if gradients is None:
        return Replay(None, tuple(tensors_in((outputs, args, held))))
    return Replay(None, tuple(one.grad for one in tensors_in((args, held)) if one.grad is not None))


def _stop(found: Found) -> None:
    raise FoundInReplay(found)


def run_backward(outputs: Any, gradients: Sequence[Any]) -> None:
    """Run the backward of the outputs that need one; the gradients of a compiled graph come in the same order."""
    import torch

    differentiable = [output for output in outputs if isinstance(output, torch.Tensor) and output.requires_grad]
    given = [gradient for gradient in gradients if isinstance(gradient, torch.Tensor)]
    pairs: List[Tuple[Any, Any]] = []
    for output in differentiable:
        fitting = next((one for one in given if one.shape == output.shape), None)
        if fitting is not None:
            given = [one for one in given if one is not fitting]
            pairs.append((output, fitting))
    if pairs:
        torch.autograd.backward([output for output, _ in pairs], [gradient for _, gradient in pairs])


def random_states() -> Tuple[Any, ...]:
    """Return the random state of each device."""
    import torch

    states: Dict[str, Any] = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return tuple(states.items())


@contextmanager
def _random_state(states: Tuple[Any, ...]) -> Iterator[None]:
    """Give the context the random state of then, and the program back its own."""
    now = random_states()
    set_random_states(states)
    try:
        yield
    finally:
        set_random_states(now)


def set_random_states(states: Tuple[Any, ...]) -> None:
    """Put a random state back that `random_states` returned."""
    import torch

    for device, state in states:
        if device == "cpu":
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state_all(state)
