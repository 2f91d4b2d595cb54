"""The state of a program that a run of one of its functions may change: saved before, and put back after."""

from __future__ import annotations

import copy
from types import CellType, FunctionType
from typing import Any, Callable, Dict, Iterable, Iterator, List

from depyf.torch_hooks.numerics.graph_replay import random_states, set_random_states

_MOST_DEPTH = 4


class ProgramState:
    """Tensors, modules and optimizers that a function leads to, and the random state."""

    def __init__(self, function: Any, args: Iterable[Any]) -> None:
        import torch

        self._restore: List[Callable[[], None]] = []
        self._random_states = random_states()
        tensors: Dict[int, Any] = {}
        for thing in _reachable([function, *args]):
            if isinstance(thing, torch.Tensor):
                tensors[id(thing)] = thing
            elif isinstance(thing, torch.nn.Module):
                tensors.update((id(tensor), tensor) for tensor in (*thing.parameters(), *thing.buffers()))
            elif isinstance(thing, torch.optim.Optimizer):
                self._save_optimizer(thing, tensors)
        for tensor in tensors.values():
            self._save_tensor(tensor)

    def put_back(self) -> None:
        """Give the program back the state that it had."""
        import torch

        with torch.no_grad():
            for restore in self._restore:
                restore()
        set_random_states(self._random_states)

    def _save_optimizer(self, optimizer: Any, tensors: Dict[int, Any]) -> None:
        saved = copy.deepcopy(optimizer.state_dict())
        for group in optimizer.param_groups:
            tensors.update((id(tensor), tensor) for tensor in group["params"])
        self._restore.append(lambda: optimizer.load_state_dict(saved))

    def _save_tensor(self, tensor: Any) -> None:
        values = tensor.detach().clone()
        gradient = tensor.grad if tensor.is_leaf else None
        gradient_values = None if gradient is None else gradient.detach().clone()

        def restore() -> None:
            tensor.detach().copy_(values)
            if gradient is not None:
                gradient.detach().copy_(gradient_values)
            if tensor.is_leaf:
                tensor.grad = gradient

        self._restore.append(restore)


def _reachable(start: Iterable[Any]) -> Iterator[Any]:
    """Yield what a function can change without being given it: what its cells, globals, defaults and `self` lead to."""
    import torch

    seen: Dict[int, Any] = {}
    work = [(thing, 0) for thing in start]
    while work:
        thing, depth = work.pop()
        if id(thing) in seen or depth > _MOST_DEPTH:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)):
            yield thing
            continue
        work.extend((inner, depth + 1) for inner in _inside(thing))


def _inside(thing: Any) -> List[Any]:
    if isinstance(thing, dict):
        return list(thing.values())
    if isinstance(thing, (list, tuple, set)):
        return list(thing)
    if isinstance(thing, CellType):
        try:
            return [thing.cell_contents]
        except ValueError:
            return []
    if isinstance(thing, FunctionType):
        names = [thing.__globals__[name] for name in thing.__code__.co_names if name in thing.__globals__]
        return [*(thing.__closure__ or ()), *names, *(thing.__defaults__ or ())]
    inner = [getattr(thing, "__self__", None), getattr(thing, "__func__", None)]
    inner += [getattr(thing, "func", None), getattr(thing, "args", None), getattr(thing, "keywords", None)]
    if type(thing).__module__.partition(".")[0] not in ("builtins", "torch") and not isinstance(thing, type):
        inner += list(getattr(thing, "__dict__", {}).values())
    return [one for one in inner if one is not None]
