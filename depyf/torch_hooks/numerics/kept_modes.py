"""Modes of torch that a graph sets by calls: put back where an error leaves the graph before it does so itself."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Tuple

from depyf.torch_hooks.internals import private_hooks

_LEAVE = {"Vmap": "leave_vmap", "Grad": "leave_grad", "Jvp": "leave_jvp"}
_DEVICES = ("cpu", "cuda")  # for which programs switch autocast on


@contextmanager
def kept_modes() -> Iterator[None]:
    """Put autograd's mode, autocast's and the transforms of torch.func back where an error leaves the context.

    What follows the operation that an error comes from does not run.
    """
    import torch

    has_gradients = torch.is_grad_enabled()
    casts = [(put_back, is_on()) for is_on, put_back in _casts()]
    depth, refusal = len(_call("open_transforms") or ()), _call("saved_hooks_refusal")
    try:
        yield
    except BaseException:
        torch.set_grad_enabled(has_gradients)
        for put_back, was_on in casts:
            put_back(was_on)
        _leave_transforms(depth, refusal)
        raise


def _leave_transforms(depth: int, refusal: str | None) -> None:
    """Leave the transforms that were entered since; `refusal`: what torch answered to hooks on saved tensors then."""
    for transform in reversed((_call("open_transforms") or [])[depth:]):
        leave = _LEAVE.get(str(transform.key()).rpartition(".")[2])
        if leave is None:
            break
        _call(leave)
    if refusal is None:
        _call("enable_saved_hooks")
    else:
        _call("disable_saved_hooks", refusal)


def _call(name: str, *args: Any) -> Any:
    function = private_hooks.find(name)
    return None if function is None else function(*args)


def _casts() -> Iterator[Tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """Yield, for each device, the functions that read and set autocast; before torch 2.4 each has its own."""
    import torch

    if hasattr(torch, "get_autocast_dtype"):
        for device in _DEVICES:
            yield (
                functools.partial(torch.is_autocast_enabled, device),
                functools.partial(torch.set_autocast_enabled, device),
            )
    else:
        old: Any = torch
        yield old.is_autocast_enabled, old.set_autocast_enabled
        yield old.is_autocast_cpu_enabled, old.set_autocast_cpu_enabled
