"""Higher-order operators under watch: the branch that `cond` takes runs node by node, any other one as a whole."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import Any, Callable, Mapping

from depyf.torch_hooks.internals import private_hooks

_CONDITION = "cond"


def is_higher_order(operator: Any) -> bool:
    """Return whether an operator takes functions, and so has no schema before it is called."""
    return not hasattr(operator, "_schema")


def run_branch(watch: Any, mode: Any, operator: Any, args: Any) -> Any:
    """Run the branch that a `cond` takes under watch; NotImplemented for other operators."""
    import torch

    if str(operator) != _CONDITION or len(args) != 4:
        return NotImplemented
    predicate, when_true, when_false, operands = args
    branch = when_true if predicate else when_false
    with mode:
        if isinstance(branch, torch.fx.GraphModule):
            return interpreter_class()(branch, watch).run(*operands)
        return branch(*operands)


def accept_higher_order(mode_class: Any, run: Callable[..., Any]) -> None:
    """Have higher-order operators call `run(mode, operator, args, kwargs)` under a mode of this class.

    torch 2.9 and newer ask the mode (`supports_higher_order_operators`); older ones raise unless each operator has a
    rule for its class.
    """
    registry = private_hooks.find("higher_order_operators") or {}
    if hasattr(mode_class, "supports_higher_order_operators"):
        return
    for operator in list(registry.values()):
        if mode_class not in _rules_of(operator):
            operator.py_impl(mode_class)(_rule(operator, run))


def _rules_of(operator: Any) -> Any:
    """Return the rules of an operator for classes; torch 2.5 renamed them."""
    return operator.python_key_table if hasattr(operator, "python_key_table") else operator.python_key_mode_table


def _rule(operator: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    def rule(mode: Any, *args: Any, **kwargs: Any) -> Any:
        return run(mode, operator, args, kwargs)

    return rule


@functools.lru_cache(maxsize=None)
def interpreter_class() -> Any:
    """Return the interpreter of graphs that gives a watch the node which it runs."""
    import torch

    class NodeByNode(torch.fx.Interpreter):  # type: ignore[misc]
        def __init__(self, module: Any, watch: Any, held: Mapping[str, Any] = MappingProxyType({})) -> None:
            super().__init__(module)
            self.watch = watch
            self.held = held  # tensors in the place of the module's attributes

        def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
            return self.held[target] if target in self.held else super().get_attr(target, args, kwargs)

        def run_node(self, node: Any) -> Any:
            before, self.watch.node = self.watch.node, node
            try:
                return super().run_node(node)
            finally:
                self.watch.node = before

    return NodeByNode
