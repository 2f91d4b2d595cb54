"""Watch operators: a dispatch mode that finds the first one which makes a NaN or Inf of finite inputs.

Dynamo takes the mode for infrastructure (`is_infra_mode`): under any other mode it runs functions uncompiled.
Autograd makes the node of an operation just before the operation runs, so the number of the newest node is that of the
operation at hand. It is kept with the site of the operation: in a backward the engine's current node has the number.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any, Callable, ContextManager, Dict, List, Tuple

from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.numerics.finite_values import are_finite, is_finite, is_recording, leaves_in, tensors_in
from depyf.torch_hooks.numerics.higher_order import accept_higher_order, is_higher_order, run_branch
from depyf.torch_hooks.numerics.numeric_report import BACKWARD, FORWARD
from depyf.torch_hooks.numerics.operation_sites import Site, current_site

# Operators whose result is memory that nobody has written.
_UNWRITTEN = frozenset(
    ("empty", "empty_like", "empty_strided", "empty_permuted", "empty_quantized", "new_empty", "new_empty_strided")
    + ("resize", "resize_", "resize_as_", "set_", "_resize_output_")
)
_ATTENTION = re.compile(r"_attention(_forward)?(_for_cpu|_overrideable)?$")


@dataclass(frozen=True)
class Found:
    """An operation that made a NaN or Inf of finite inputs, at the moment when it did."""

    operator: str
    direction: str
    site: Site | None
    inputs: Tuple[Any, ...]
    outputs: Tuple[Any, ...]


@dataclass
class OperatorWatch:
    """What watches the operators of one thread and of the backward passes that it starts."""

    receive: Callable[[Found], None]  # called at the first one; may raise
    node: Any = None  # that an interpreter of ours runs now
    graph: str = ""  # name of its graph
    is_off: bool = False
    sites: Dict[int, Site | None] = field(default_factory=dict)  # number of a node of autograd's -> forward operation
    around: Any = None  # autograd's node whose backward the whole watch is in
    first_number: int = 0  # older nodes were made by operations that nobody watched

    def mode(self) -> ContextManager[Any]:
        """Return the dispatch mode, to be entered."""
        self.first_number = _next_number()
        self.around = _current_node()
        mode_class = _mode_class()
        accept_higher_order(mode_class, mode_class.run_operator)
        context: ContextManager[Any] = mode_class(self)
        return context

    def run(self, operator: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator, and check what it made."""
        if self.is_off or getattr(operator, "is_view", False) or is_recording():
            return operator(*args, **kwargs)
        site = self._note_site()
        inputs = _before(args, kwargs) if _is_mutable(operator) else (args, kwargs)
        result = operator(*args, **kwargs)
        if not is_higher_order(operator) and operator._schema.name.rpartition("::")[2] in _UNWRITTEN:
            return result
        looked_at = result[:1] if isinstance(result, tuple) and _has_padding(operator) else result
        outputs = {id(output): output for output in (*tensors_in(looked_at), *_written(operator, args, kwargs))}
        odd = tuple([output for output in outputs.values() if not is_finite(output)])
        if odd and are_finite(inputs):
            self._report(operator, site, inputs, odd)
        return result

    def _note_site(self) -> Site | None:
        site = self._site_now()
        if not self._is_in_backward():
            number = _next_number() - 1
            if number >= self.first_number and number not in self.sites:
                self.sites[number] = site
        return site

    def _is_in_backward(self) -> bool:
        """Return whether autograd's engine runs the operation; all of the watch may be inside a backward, too."""
        current = _current_node()
        return current is not None and current is not self.around

    def _site_now(self) -> Site | None:
        site = current_site()
        if self.node is None or (self._is_in_backward() and site is None):
            return site
        inner = None if site is None else site.node  # of a graph inside the graph: the body of a checkpoint
        return Site(node=inner or self.node, graph=self.graph)

    def _report(self, operator: Any, site: Site | None, inputs: Any, outputs: Tuple[Any, ...]) -> None:
        self.is_off = True
        is_backward = self._is_in_backward()
        if is_backward and site is None:
            site = self.sites.get(int(_current_node()._sequence_nr()))
        direction = BACKWARD if is_backward else FORWARD
        self.receive(Found(str(operator), direction, site, tuple(tensors_in(inputs)), outputs))


def _before(args: Any, kwargs: Any) -> List[Any]:
    """Return what goes into an operator that changes some of it: copies of the tensors, and the numbers."""
    return [value.detach().clone() if hasattr(value, "detach") else value for value in leaves_in((args, kwargs))]


def _is_mutable(operator: Any) -> bool:
    return is_higher_order(operator) or bool(operator._schema.is_mutable)


def _has_padding(operator: Any) -> bool:
    """Return whether outputs after the first may hold Inf by design: attention on a GPU pads its sums of exponents."""
    return not is_higher_order(operator) and bool(_ATTENTION.search(operator._schema.name))


def _written(operator: Any, args: Any, kwargs: Any) -> List[Any]:
    """Return the arguments that an operator writes to, or may."""
    if is_higher_order(operator):
        return list(tensors_in((args, kwargs)))
    if not operator._schema.is_mutable:
        return []
    found: List[Any] = []
    for index, argument in enumerate(operator._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            found += tensors_in(value)
    return found


def _next_number() -> int:
    number = private_hooks.find("autograd_number")
    return 0 if number is None else int(number())


def _current_node() -> Any:
    current = private_hooks.find("current_autograd_node")
    return None if current is None else current()


@functools.lru_cache(maxsize=None)
def _mode_class() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        if hasattr(TorchDispatchMode, "supports_higher_order_operators"):
            supports_higher_order_operators = True

        def __init__(self, watch: OperatorWatch) -> None:
            super().__init__()
            self.watch = watch

        @classmethod
        def is_infra_mode(cls) -> bool:
            return True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self.run_operator(func, args, kwargs or {})

        def run_operator(self, operator: Any, args: Any, kwargs: Any) -> Any:
            if is_higher_order(operator) and not self.watch.is_off and not is_recording():
                result = run_branch(self.watch, self, operator, args)
                if result is not NotImplemented:
                    return result
            return self.watch.run(operator, args, kwargs)

    return Mode
