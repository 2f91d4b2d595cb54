"""The lines of the user's that the nodes of a captured graph stem from, with the calls that led to each.

The text of a graph names for each node the innermost line alone. Torch has the whole stack as long as the graph module
lives, so it is read when the graph is captured: then torch formats the graph for its log, whether or not anyone reads
that log.
"""

from __future__ import annotations

import functools
import itertools
import sys
from typing import Any, Callable, Dict, Iterator, List, Tuple

from depyf.record.records import Location, NodeSource
from depyf.record.stack_text import read_stack
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.dynamo_disabled import skipped_by_dynamo, with_dynamo_disabled

_NO_CALLS = ("placeholder", "output")  # the stack of an input is that of its first use
_ROW = "captured_graph_formatter"  # of the table of private hooks


def attach(receive: Callable[[Any], None]) -> Callable[[], None]:
    """Call `receive` with each graph module that Dynamo captures; returns the function that stops it."""
    original = private_hooks.find(_ROW)
    if original is None:
        return lambda: None
    row = private_hooks.hook(_ROW)
    home = sys.modules[row.module]
    hand_over = with_dynamo_disabled(receive)

    @skipped_by_dynamo
    @functools.wraps(original)
    def formatter(name: Any, graph_module: Any, *args: Any, **kwargs: Any) -> Any:
        hand_over(graph_module)
        return original(name, graph_module, *args, **kwargs)

    def detach() -> None:
        if getattr(home, row.attribute, None) is formatter:
            setattr(home, row.attribute, original)

    setattr(home, row.attribute, formatter)
    return detach


def sources_of(graph_module: Any) -> Tuple[NodeSource, ...]:
    """Return the lines that the nodes of a graph module stem from, in the order in which the nodes come."""
    names: Dict[Tuple[Location, ...], List[str]] = {}
    by_text: Dict[str, List[str]] = {}  # the stacks of one line differ in the columns that they mark
    for prefix, nodes in _graphs_in(graph_module, ""):
        for node in nodes:
            text = node.meta.get("stack_trace")
            if not isinstance(text, str) or node.op in _NO_CALLS:
                continue
            known = by_text.get(text)
            if known is None:
                known = by_text[text] = names.setdefault(read_stack(text), [])
            known.append(prefix + node.name)
    return tuple([NodeSource(calls, tuple(found)) for calls, found in names.items() if calls])


def first_uses(graph_module: Any) -> Dict[str, str]:
    """Return the stack of the first node that uses an input, as torch prints it, by the name of the input."""
    found: Dict[str, str] = {}
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            for user in itertools.islice(node.users, 1):
                stack = user.meta.get("stack_trace")
                if isinstance(stack, str):
                    found[node.name] = stack
                    found.setdefault(str(node.target).lower(), stack)  # torch 2.2 renames it for `y = x`
    return found


def _graphs_in(graph_module: Any, prefix: str) -> Iterator[Tuple[str, Any]]:
    """Yield the nodes of a graph, and of the graphs inside it, each with the prefix of their names."""
    yield prefix, graph_module.graph.nodes
    for name, child in graph_module.named_children():
        if hasattr(child, "graph") and hasattr(child, "print_readable"):
            yield from _graphs_in(child, f"{prefix}{name}.")
