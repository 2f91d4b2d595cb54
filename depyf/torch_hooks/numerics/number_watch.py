"""Watch a program for its first NaN or Inf: operators where they can be seen, graphs at their border where not."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, ContextManager, Iterator

from depyf.record.records import Location
from depyf.torch_hooks.internals.code_owners import is_in_torch
from depyf.torch_hooks.numerics.finite_values import is_finite, is_finite_elsewhere, kind_of, summary_of, unwatched
from depyf.torch_hooks.numerics.graph_replay import Replay, as_of_then, copy_inputs, replay, run_backward
from depyf.torch_hooks.numerics.graph_watch import GraphCall, watched_graphs
from depyf.torch_hooks.numerics.kept_modes import kept_modes
from depyf.torch_hooks.numerics.kernel_search import KernelSearch
from depyf.torch_hooks.numerics.numeric_report import BACKWARD, NumericReport
from depyf.torch_hooks.numerics.operation_sites import Site, SiteLines
from depyf.torch_hooks.numerics.operator_watch import Found, OperatorWatch

Receive = Callable[[NumericReport, "Site | None"], None]


@contextmanager
def watched_numbers(folder: str | None, receive: Receive) -> Iterator[None]:
    """Call `receive` at the first operation that makes a NaN or Inf of finite inputs; it may raise.

    `folder` holds the newest files, in which lines of graphs are looked up; None where there are none.
    """
    watcher = _Watcher(folder, receive)
    with kept_modes(), watched_graphs(watcher.on_graph), watcher.operators.mode():
        yield


class _Watcher:
    def __init__(self, folder: str | None, receive: Receive) -> None:
        self.operators = OperatorWatch(self.on_operator)
        self._lines = SiteLines(folder)
        self._receive = receive
        self._is_over = False

    def on_operator(self, found: Found) -> None:
        """Report an operation that was seen."""
        with unwatched():
            report = self._report(found)
        if report.user is None and found.site is not None and found.site.is_generated:
            self.operators.is_off = False  # the run of the captured graph has the line, where the graph returns the NaN
            return
        self._hand_over(report, found.site)

    def on_graph(self, call: GraphCall) -> None:
        """Report what made a graph return a NaN: the operation of the captured graph, or else the kernel.

        Neither did where the captured graph has it, too: it is then of a constant, or of an input.
        """
        if self._is_over:
            return
        self.operators.is_off = True
        replayed = None if call.module is None else replay(call.module, call.graph, call.kept, call.gradients)
        if replayed is not None and replayed.found is not None:
            with unwatched():
                report = self._report(replayed.found)
        elif call.is_clean and (replayed is None or _is_of_kernel(call, replayed)):
            report = self._report_of_kernel(call)
        else:
            self.operators.is_off = False
            return
        self._hand_over(report, None)

    def _hand_over(self, report: NumericReport, site: Site | None) -> None:
        if not self._is_over:
            self._is_over = self.operators.is_off = True
            self._receive(report, site)

    def _report(self, found: Found) -> NumericReport:
        user, graph = self._lines.places(found.site)
        if user is not None and is_in_torch(user.file):  # such as a line of an optimizer
            user = self._lines.of_caller() or user
        return NumericReport(
            kind_of(found.outputs[0]),
            found.direction,
            found.operator,
            user,
            graph,
            tuple(map(summary_of, found.inputs)),
            tuple(map(summary_of, found.outputs)),
        )

    def _report_of_kernel(self, call: GraphCall) -> NumericReport:
        with unwatched():  # before one more run, which may write to the memory of the outputs
            outputs = tuple(map(summary_of, call.outputs))
            kind = kind_of(call.outputs[0])
        kernel = _kernel_of(call)
        user = None if kernel is None else self._lines.of_kernel(kernel.file, kernel.line)
        is_known = call.module is not None
        return NumericReport(kind, call.direction, "", user, None, (), outputs, kernel, is_known)


def _is_of_kernel(call: GraphCall, replayed: Replay) -> bool:
    """Return whether the compiled graph has a NaN or Inf where the captured one is finite."""
    with unwatched():
        if call.direction == BACKWARD or len(call.values) != len(replayed.values):
            return all(map(is_finite, replayed.values))
        pairs = zip(call.values, replayed.values)
        return any(not is_finite(ours) and is_finite_elsewhere(theirs, ours) for ours, theirs in pairs)


def _kernel_of(call: GraphCall) -> Location | None:
    """Return the call of the kernel that writes the NaN, from one more run of the compiled graph."""
    import torch

    args: Any = copy_inputs(call.kept.args)
    search = KernelSearch()
    with ExitStack() as stack:
        for context in (unwatched(), as_of_then(call.module, call.kept), _without_cuda_graphs()):
            stack.enter_context(context)
        stack.enter_context(torch.set_grad_enabled(call.kept.has_gradients))
        stack.enter_context(search)
        outputs = call.entry(*args)
        if call.direction == BACKWARD and call.gradients is not None:
            search.found = None
            run_backward(outputs, call.gradients)
    return search.found


def _without_cuda_graphs() -> ContextManager[Any]:
    """Return a context in which Inductor runs its Python where else it replays or records a CUDA graph."""
    import torch

    config: Any = getattr(getattr(torch, "_inductor", None), "config", None)  # None: Inductor has compiled nothing
    if not hasattr(getattr(config, "triton", None), "force_cudagraphs_warmup"):
        return contextlib.nullcontext()
    context: ContextManager[Any] = config.patch({"triton.force_cudagraphs_warmup": True})
    return context
