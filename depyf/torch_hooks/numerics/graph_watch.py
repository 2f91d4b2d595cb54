"""Watch graphs at their border: what happens inside a fused kernel cannot be seen, what goes in and comes out can.

Transformed code calls its graphs by global names. While the watch is on, these names lead to functions that keep copies
of the inputs; afterwards they lead to the graphs again, and no call costs anything.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence, Tuple

from depyf.torch_hooks.graphs.graph_globals import GraphGlobal, graph_globals
from depyf.torch_hooks.internals.dynamo_disabled import with_dynamo_disabled
from depyf.torch_hooks.numerics.finite_values import are_finite, is_finite, tensors_in, unwatched
from depyf.torch_hooks.numerics.graph_replay import KeptInputs, held_tensors, keep_inputs
from depyf.torch_hooks.numerics.numeric_report import BACKWARD, FORWARD

_MOST_STEPS = 4  # from an output to the node of the compiled graph, through views of what it returned


@dataclass(frozen=True)
class GraphCall:
    """A call of a compiled graph from which a NaN or Inf came out that had not gone in."""

    graph: str  # its name in the files
    entry: Any
    module: Any  # the captured graph; None where nothing leads to it any more
    kept: KeptInputs
    direction: str
    gradients: Sequence[Any] | None  # that went into its backward
    outputs: Tuple[Any, ...]  # those that are not finite
    values: Tuple[Any, ...]  # all that came out: results, arguments and what the graph holds; or its gradients
    is_clean: bool  # whether all that went in was finite


Receive = Callable[[GraphCall], None]


@contextmanager
def watched_graphs(receive: Receive) -> Iterator[None]:
    """Call `receive` for each call of a compiled graph, or of its backward, from which a new NaN or Inf comes."""
    replaced = [(one, _watched(one, receive)) for one in list(graph_globals())]
    for one, watched in replaced:
        one.replace(watched)
    try:
        yield
    finally:
        for one, watched in replaced:
            one.put_back(watched)


def _watched(called: GraphGlobal, receive: Receive) -> Any:
    name, entry, module = called.graph, called.entry, called.captured_module()
    held = list(held_tensors(module).values())

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return entry(*args, **kwargs)
        with unwatched():  # what went in as NaN or Inf, and is not written, is no news
            is_clean = are_finite((args, held))
            odd_before = (
                {} if is_clean else {id(one): _version(one) for one in tensors_in((args, held)) if not is_finite(one)}
            )
        kept = keep_inputs(args, module)
        result = entry(*args)
        with unwatched():
            values = tuple(tensors_in((result, args, held)))
            odd = tuple(one for one in values if odd_before.get(id(one)) != _version(one) and not is_finite(one))
        if odd:
            receive(GraphCall(name, entry, module, kept, FORWARD, None, odd, values, is_clean))

        def on_backward(into: Sequence[Any], out: Sequence[Any], odd: Tuple[Any, ...]) -> None:
            receive(GraphCall(name, entry, module, kept, BACKWARD, into, odd, tuple(tensors_in(list(out))), is_clean))

        _watch_backward(result, on_backward)
        return result

    return with_dynamo_disabled(call)


def _version(tensor: Any) -> int:
    """Return how often a tensor was written; -1 where torch does not count that."""
    try:
        return int(tensor._version)
    except RuntimeError:  # made in inference mode
        return -1


def _watch_backward(result: Any, receive: Callable[[Sequence[Any], Sequence[Any], Tuple[Any, ...]], None]) -> None:
    """Check the gradients that go into the backward of a compiled graph, and those that come out."""
    for node in {id(node): node for node in _compiled_nodes(result)}.values():

        def look(outgoing: Sequence[Any], incoming: Sequence[Any]) -> None:
            with unwatched():
                odd = tuple(tensor for tensor in tensors_in(list(outgoing)) if not is_finite(tensor))
                is_clean = are_finite(list(incoming))
            if odd and is_clean:
                receive(incoming, outgoing, odd)

        node.register_hook(look)


def _compiled_nodes(result: Any) -> Iterator[Any]:
    """Yield the nodes of autograd's that run the backward of a compiled graph as a whole."""
    for tensor in tensors_in(result):
        nodes, steps = [tensor.grad_fn], 0
        while nodes and steps < _MOST_STEPS:
            nodes = [node for node in nodes if node is not None]
            found = [node for node in nodes if type(node).__name__ == "CompiledFunctionBackward"]
            if found:
                yield from found
                break
            nodes, steps = [following for node in nodes for following, _ in node.next_functions], steps + 1
