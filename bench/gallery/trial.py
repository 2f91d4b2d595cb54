"""A trial: one model in one variant, uncompiled and compiled under depyf; where these differ, also without depyf."""

from __future__ import annotations

import contextlib
import io
import random
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from bench.gallery.cases import Case
from bench.gallery.catalogue import VARIANTS, Exhibit, Variant, build

Tensors = Dict[str, Any]
BATCHES = (2, 3)  # two calls: the second has another size, and most models are compiled once more for it
# Inductor sums in another order than the uncompiled operators do, and rounds fused ones once.
INDUCTOR_TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}

GOOD, DEPYF, TORCH, MODEL = "good", "depyf", "torch", "model"


@dataclass(frozen=True)
class Outcome:
    """What came of a trial: GOOD, or whose failure it is (depyf's, torch's or that of the model) and the reason."""

    status: str
    why: str = ""


@dataclass(frozen=True)
class Run:
    """The tensors that one run returned and left, or the exception that it ended with."""

    tensors: Tensors
    error: str = ""
    frames: int = 0  # that Dynamo compiled


def try_exhibit(exhibit: Exhibit, folder: str) -> Tuple[Outcome, Run]:
    """Compile the model under depyf, with its files in the folder; return what came of it."""
    import depyf

    variant = VARIANTS[exhibit.variant]
    eager = run(exhibit, variant, lambda model: model)
    if eager.error:
        return Outcome(MODEL, eager.error), eager
    with contextlib.redirect_stderr(io.StringIO()), depyf.prepare_debug(folder):
        found = run(exhibit, variant, compiler(variant))
    difference = found.error or differing(eager.tensors, found.tensors, variant)
    if not difference:
        return Outcome(GOOD), found
    with compiled_afresh(variant):
        plain = run(exhibit, variant, compiler(variant))
    again = run(exhibit, variant, lambda model: model)
    return blamed(eager, found, plain, again, variant), found


@contextlib.contextmanager
def compiled_afresh(variant: Variant) -> Iterator[None]:
    """Keep Inductor from reading its cache, which has the graphs as they were compiled under depyf."""
    if variant.backend != "inductor":
        yield
        return
    import torch._inductor.config as config

    switch = "force_disable_caches" if hasattr(config, "force_disable_caches") else "fx_graph_cache"  # torch 2.2
    with config.patch({switch: switch == "force_disable_caches"}):
        yield


def blamed(eager: Run, found: Run, plain: Run, again: Run, variant: Variant) -> Outcome:
    """Return whose failure it is that a run under depyf is not like the uncompiled one, by a plain run and one more.

    It is torch's if it is the same without depyf, and the model's if two uncompiled runs differ.
    """
    difference = found.error or differing(eager.tensors, found.tensors, variant)
    without = plain.error or differing(eager.tensors, plain.tensors, variant)
    by_itself = again.error or differing(eager.tensors, again.tensors, variant)
    if by_itself:
        return Outcome(MODEL, f"two uncompiled runs differ: {by_itself}")
    if without and found.error == plain.error and not differing(plain.tensors, found.tensors, variant):
        return Outcome(TORCH, without)
    return Outcome(DEPYF, f"{difference}; without depyf: {without or 'equal'}")


def try_plain(exhibit: Exhibit) -> Outcome:
    """Compile the model without depyf, after a trial that ended the process or took too long."""
    variant = VARIANTS[exhibit.variant]
    found = run(exhibit, variant, compiler(variant))
    return Outcome(TORCH, found.error) if found.error else Outcome(DEPYF)


def compiler(variant: Variant) -> Callable[[Any], Any]:
    """Return what compiles a model; random numbers are those of the uncompiled operators."""
    import torch

    torch._dynamo.reset()
    torch._dynamo.config.use_numpy_random_stream = True
    if variant.backend == "inductor":
        import torch._inductor.config

        torch._inductor.config.fallback_random = True
    return lambda model: torch.compile(model, backend=variant.backend)


def run(exhibit: Exhibit, variant: Variant, compile_model: Callable[[Any], Any]) -> Run:
    """Build the model and call it for each batch; the same numbers are drawn in every run."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    frames: List[str] = []
    counting = register_bytecode_hook(lambda code, new_code: frames.append(code.co_name))
    tensors: Tensors = {}
    try:
        for name, tensor in called(build(exhibit.family, exhibit.name), variant, compile_model):
            tensors[name] = tensor.detach().clone()
    except Exception as error:
        return Run(tensors, first_line(error), len(frames))
    finally:
        counting.remove()
    return Run(tensors, "", len(frames))


def first_line(error: BaseException) -> str:
    """Return an exception on one line, as much of it as a table has room for."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:2])}"[:300]


def called(case: Case, variant: Variant, compile_model: Callable[[Any], Any]) -> Iterator[Tuple[str, Any]]:
    """Yield the tensors that calls return, then the gradients, weights and buffers that they leave, by name."""
    import torch

    case.model.train(variant.training)
    if variant.breaks:
        for layer in _layers(case.model):
            layer.register_forward_hook(break_the_graph)
    compiled = compile_model(case.model)
    for batch in BATCHES:
        _seed(batch)
        arguments = case.inputs(batch)
        _seed(batch)
        with torch.set_grad_enabled(variant.training):
            found = list(_tensors(compiled(**arguments), f"batch of {batch}", set()))
        if variant.training and not case.trains_itself:
            loss_of([tensor for _, tensor in found]).backward()
        yield from found
    if variant.training:
        parameters = list(case.model.named_parameters())
        yield from ((f"gradient of {name}", one.grad) for name, one in parameters if one.grad is not None)
        yield from case.model.state_dict().items()


def loss_of(tensors: List[Any]) -> Any:
    """Return a loss that has a gradient for each tensor that has one; ValueError where none has."""
    losses = [tensor.abs().square().float().mean() for tensor in tensors if tensor.requires_grad]
    if not losses:
        raise ValueError("nothing that it returns has a gradient")
    return sum(losses[1:], losses[0])


def _seed(number: int) -> None:
    import torch

    torch.manual_seed(number)
    random.seed(number)
    with contextlib.suppress(ImportError):
        import numpy

        numpy.random.seed(number)


def _layers(model: Any) -> List[Any]:
    import torch

    stacks = [module for module in model.modules() if isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential))]
    found = [layer for stack in stacks for layer in stack.children()]
    return found or list(model.children()) or [model]


def break_the_graph(module: Any, arguments: Any, output: Any) -> None:
    """Break the graph, as a forward hook."""
    import torch

    torch._dynamo.graph_break()


def _tensors(value: Any, name: str, seen: Set[int]) -> Iterator[Tuple[str, Any]]:
    """Yield the tensors in an output with the way to each, also through attributes (a cache of keys and values)."""
    import torch

    if id(value) in seen or isinstance(value, (type, torch.nn.Module)):
        return
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        yield name, value
        return
    items: Dict[Any, Any] = {}
    if isinstance(value, dict):
        items = value
    elif isinstance(value, (list, tuple)):
        items = dict(enumerate(value))
    elif hasattr(value, "__dict__") and not callable(value):
        items = vars(value)
    for key, item in items.items():
        yield from _tensors(item, f"{name}, {key}", seen)


def differing(wanted: Tensors, found: Tensors, variant: Variant) -> str:
    """Return the first difference between two runs, or an empty text."""
    if list(wanted) != list(found):
        return f"other outputs: {sorted(set(wanted) ^ set(found))[:3]}"
    for name, one in wanted.items():
        why = _difference(one, found[name], variant)
        if why:
            return f"{name}: {why}"
    return ""


def _difference(one: Any, other: Any, variant: Variant) -> Optional[str]:
    import torch

    tolerance = INDUCTOR_TOLERANCE if variant.backend == "inductor" and one.dtype == torch.float32 else {}
    try:
        torch.testing.assert_close(other, one, equal_nan=True, **tolerance)
    except AssertionError as error:
        return " ".join(str(error).split())[:200]
    return None
