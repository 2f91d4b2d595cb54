"""Events for a torch whose structured trace lacks them, or that has no such trace, from functions that it calls anyway.

Each function is bound to one that also hands over an event, with the kind and the compile id that newer torch logs it
under, so all that reads events is the same for every torch. Torch 2.2 has no trace, that of 2.4 has neither graph
breaks nor reasons of recompiles. What 2.2 has no function for is left out: the graph before the pre-grad passes, hits
in caches, timings.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import sys
import threading
import traceback
import weakref
from types import CodeType, FrameType
from typing import Any, Callable, Container, Dict, Iterator, List, MutableMapping, Sequence, Tuple

from depyf.problems import Problems
from depyf.torch_hooks.graphs.recovered_graphs import is_backward
from depyf.torch_hooks.graphs.stages import (
    AUTOGRAD_EVENT,
    CAPTURED_EVENT,
    EARLIER,
    INFERENCE_EVENT,
    KERNEL_EVENT,
    POST_GRAD_EVENT,
)
from depyf.torch_hooks.guards.flat_guards import as_tree, with_plain_attributes
from depyf.torch_hooks.guards.torch_switches import known_states, with_changed_states
from depyf.torch_hooks.internals import private_hooks, torch_behaviours
from depyf.torch_hooks.internals.dynamo_disabled import skipped_by_dynamo, with_dynamo_disabled
from depyf.torch_hooks.internals.stable_names import GRAPH_NAME
from depyf.torch_hooks.internals.structured_trace import BACKWARD_EVENT, GUARDS_EVENT, START_EVENT, TraceEvent

Receive = Callable[[TraceEvent], None]

# What torch calls a graph in its log -> the event.
_STAGES = {
    "Joint graph": "aot_joint_graph",
    "Forward graph": "aot_forward_graph",
    "Backward graph": "aot_backward_graph",
    "AFTER POST GRAD": POST_GRAD_EVENT,
    "Compiled autograd graph": AUTOGRAD_EVENT,
}
# Rows of the table of private hooks: the homes of the function that formats graphs for the log.
_FORMATTERS = (
    "captured_graph_formatter",
    "inference_graph_formatter",
    "training_graph_formatter",
    "inductor_graph_formatter",
)


# Events that came to the trace later than others -> the row whose module logs them.
_LATE = {"dynamo_graph_break_reason": "break_in_user_code", "recompile_reasons": "explain_guard"}
_TRACKERS = ("backward_tracker", "backward_tracker_of_2_2")


def attach(receive: Receive, problems: Problems) -> Callable[[], None]:
    """Pass to `receive` the events that torch's own trace does not have; returns the function that stops it."""
    has_trace = private_hooks.find("trace_logger") is not None
    late = frozenset(
        event for event, row in _LATE.items() if not private_hooks.logs_event(private_hooks.hook(row).module, event)
    )
    if not torch_behaviours.has("metrics_of_backwards"):
        late |= {BACKWARD_EVENT}
    if has_trace and not late:
        return lambda: None
    events = _UntracedEvents(receive, problems, late if has_trace else None)
    events.bind()
    return events.unbind


class _UntracedEvents:
    def __init__(self, receive: Receive, problems: Problems, kinds: Container[str] | None) -> None:
        self._kinds = kinds  # of events that the trace lacks; None for all
        self._receive = with_dynamo_disabled(receive)
        self._problems = problems
        self._bound: List[Tuple[Any, str, Any, Any]] = []  # holder, name, torch's function, ours
        self._is_over = False
        self._in_thread = threading.local()
        # id of the code that runs for a version -> it, its compile id, torch's switches when it was compiled
        self._versions: Dict[int, Tuple[Any, str, Dict[str, str]]] = {}
        # A backward is compiled when it first runs, in the context of its graph.
        self._contexts: MutableMapping[Any, str] = weakref.WeakKeyDictionary()
        self._replacements: Dict[str, Callable[[Any], Any]] = {
            "compile_frame": self._compiling,
            "break_graph": self._breaking,
            "build_guards": self._building_guards,
            "explain_guard": self._explaining,
            "explain_recompile": self._explaining_all,
            "exceeds_limit": self._limiting,
            "trace_operator": self._tracing_operator,
            "write_kernels": self._writing_kernels,
            **dict.fromkeys(_TRACKERS, self._compiling_backward),
            **{row: functools.partial(self._formatting, row) for row in _FORMATTERS},
        }
        if kinds is not None:
            wanted = ("compile_frame", "break_graph", "explain_guard", "explain_recompile", *_TRACKERS)
            self._replacements = {row: self._replacements[row] for row in wanted}

    # -- binding

    def bind(self) -> None:
        """Bind the names in modules that are loaded; called again as modules of torch's are loaded later."""
        done = {(id(holder), name) for holder, name, *_ in self._bound}
        for row, replace in self._replacements.items():
            if private_hooks.find_loaded(row) is None:
                continue
            holder, name = private_hooks.find_holder(row)
            if (id(holder), name) not in done:
                found = getattr(holder, name)
                replacement = skipped_by_dynamo(functools.wraps(found)(replace(found)))
                # what makes a context manager is a wrapper of torch's; of other functions ours may be wrapped already
                original = found if row in _TRACKERS else inspect.unwrap(found)
                self._bound.append((holder, name, original, replacement))
                setattr(holder, name, replacement)

    def unbind(self) -> None:
        """Bind the names to torch's functions again."""
        self._is_over = True
        while self._bound:
            holder, name, original, replacement = self._bound.pop()
            if getattr(holder, name, None) is replacement:
                setattr(holder, name, original)

    def _emit(
        self,
        kind: str,
        compile_id: str,
        data: Dict[str, Any] | None = None,
        payload: Callable[[], str] = str,
        is_untraced: bool = False,
    ) -> None:
        if self._is_over:
            return
        with self._problems.shield(f"reporting {kind}"):
            self.bind()
            if self._kinds is None or kind in self._kinds or is_untraced:
                self._receive(TraceEvent(kind, compile_id, 0, data or {}, payload()))

    def _compile_id(self) -> str:
        """Return the id of the compilation that runs now; that of the graph whose backward is compiled."""
        current, context = private_hooks.find("current_compile_id"), private_hooks.find("tracing_context")
        compile_id = current() if current is not None else None
        tracing = context() if context is not None else None
        if compile_id is None:
            return "" if tracing is None else self._contexts.setdefault(tracing, "")
        if tracing is not None:
            self._contexts[tracing] = str(compile_id)
        return str(compile_id)

    def _is_of_earlier_forward(self, graph_module: Any) -> bool:
        """Return whether a graph is a backward in a context of which nothing was seen before."""
        context = private_hooks.find("tracing_context")
        tracing = context() if context is not None else None
        return tracing is not None and tracing not in self._contexts and is_backward(graph_module)

    # -- what torch calls

    def _compiling(self, original: Any) -> Any:
        def compile_frame(code: CodeType, *args: Any, **kwargs: Any) -> Any:
            compile_id = str(kwargs.get("compile_id") or "")
            if not compile_id or self._is_over:
                return original(code, *args, **kwargs)
            switches = known_states()  # torch's guard on them is made now
            self._start(code, compile_id)
            before, self._in_thread.compile_id = getattr(self._in_thread, "compile_id", ""), compile_id
            try:
                guarded = original(code, *args, **kwargs)
            except BaseException as error:
                # torch reports no failure where Ctrl-C ends the program
                failure = _failure(error) if isinstance(error, Exception) else {}
                self._emit("compilation_metrics", compile_id, failure, is_untraced=_is_at_limit(error))
                raise
            finally:
                self._in_thread.compile_id = before
                self._inside().clear()
            new_code = getattr(guarded, "code", None)  # newer torch returns it inside something else
            if new_code is not None:
                self._versions[id(new_code)] = new_code, compile_id, switches
            self._emit("compilation_metrics", compile_id)
            return guarded

        return compile_frame

    def _start(self, code: CodeType, compile_id: str) -> None:
        self._emit_reasons(compile_id)
        place = {"name": code.co_name, "filename": code.co_filename, "line": code.co_firstlineno}
        self._emit(START_EVENT, compile_id, {"stack": [place]})

    def _emit_reasons(self, compile_id: str) -> None:
        reasons, self._in_thread.reasons = getattr(self._in_thread, "reasons", []), []
        if reasons:
            self._emit("recompile_reasons", compile_id, payload=lambda: json.dumps(reasons))

    def _explaining_all(self, original: Any) -> Any:
        def explain_recompile(*args: Any, **kwargs: Any) -> Any:
            self._in_thread.reasons = []
            reasons = original(*args, **kwargs)
            compile_id = getattr(self._in_thread, "compile_id", "")
            if compile_id:  # torch 2.4; in 2.2 the compilation begins after this
                self._emit_reasons(compile_id)
            return reasons

        return explain_recompile

    def _explaining(self, original: Any) -> Any:
        def explain_guard(guard: Any, code: Any, *args: Any, **kwargs: Any) -> Any:
            reason = original(guard, code, *args, **kwargs)
            known, compile_id, switches = self._versions.get(id(code), (None, "", {}))
            if reason:
                text = with_changed_states(with_plain_attributes(str(reason)), switches if known is code else {})
                found = f"{compile_id}: {text}" if known is code else text
                self._in_thread.reasons = [*getattr(self._in_thread, "reasons", []), found]
            return reason

        return explain_guard

    def _limiting(self, original: Any) -> Any:
        def exceeds_limit(*args: Any, **kwargs: Any) -> Any:
            exceeds = original(*args, **kwargs)
            if exceeds and not self._is_over:
                with self._problems.shield("reporting a limit on recompiles"):
                    self._report_limit(sys._getframe(1))
            return exceeds

        return exceeds_limit

    def _report_limit(self, frame: FrameType) -> None:
        """Report what newer torch does: a compilation that failed. This one does not begin it."""
        code, state = frame.f_locals.get("code"), frame.f_locals.get("frame_state")
        number = state.get("_id") if isinstance(state, dict) else None
        if isinstance(code, CodeType) and number is not None:
            counts = frame.f_globals.get("FRAME_COMPILE_COUNTER", {})
            compile_id = f"{number}/{counts.get(number, 0)}"
            self._start(code, compile_id)
            failure = {"fail_type": "Unsupported", "fail_reason": "cache_size_limit reached"}
            self._emit("compilation_metrics", compile_id, failure)

    def _tracing_operator(self, original: Any) -> Any:
        def trace_operator(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except Exception as error:
                with self._problems.shield("reading a graph break inside an operator"):
                    self._note_inside(error, _first_text([*args, kwargs.get("description")]))
                raise

        return trace_operator

    def _note_inside(self, error: Exception, operator: str) -> None:
        """Keep what broke the graph inside an operator: torch raises an exception at the call of the operator."""
        cause = error.__cause__
        stack = getattr(cause, "real_stack", None)
        if stack:
            inner, found = self._inside().get(str(cause), (str(cause), stack))
            self._inside()[str(error)] = f"{inner}\n  Higher Order Operator: {operator}", found

    def _inside(self) -> Dict[str, Tuple[str, Any]]:
        """Return the causes of this compilation by the text of the exception that stands for each."""
        found: Dict[str, Tuple[str, Any]] = self._in_thread.__dict__.setdefault("inside", {})
        return found

    def _breaking(self, original: Any) -> Any:
        def break_graph(output: Any, *args: Any, **kwargs: Any) -> Any:
            reason: Any = kwargs.get("reason")
            if getattr(reason, "graph_break", False) and getattr(reason, "user_stack", None):
                text, stack = self._inside().pop(str(reason.reason), (reason.reason, reason.user_stack))
                explain = functools.partial(break_explanation, text, stack)
                data = {"user_stack": stack}
                self._emit("dynamo_graph_break_reason", self._compile_id(), data, explain)
            return original(output, *args, **kwargs)

        return break_graph

    def _building_guards(self, original: Any) -> Any:
        def build_guards(manager: Any, *args: Any, **kwargs: Any) -> Any:
            logger = private_hooks.find("guards_logger")
            if logger is None:
                return original(manager, *args, **kwargs)
            lines: List[str] = []
            write = logger.debug

            def collect(message: str, *values: Any) -> None:
                lines.extend(map(str, values))
                write(message, *values)

            logger.debug = collect
            try:
                made = original(manager, *args, **kwargs)
            finally:
                del logger.debug
            lines.insert(0, "___check_global_state()")
            self._emit(GUARDS_EVENT, self._compile_id(), payload=lambda: as_tree(lines, are_new=True))
            return made

        return build_guards

    def _formatting(self, row: str, original: Any) -> Any:
        torch_function = inspect.unwrap(original)

        def format_graph(name: Any, graph_module: Any, *args: Any, **kwargs: Any) -> Any:
            kind = CAPTURED_EVENT if GRAPH_NAME.match(str(name)) else _STAGES.get(str(name))
            if kind == "aot_forward_graph" and row == "inference_graph_formatter":
                kind = INFERENCE_EVENT
            if kind is not None:
                readable = functools.partial(graph_module.print_readable, print_output=False)
                data = {EARLIER: True} if self._is_of_earlier_forward(graph_module) else {}
                self._emit(kind, self._compile_id(), data, payload=readable)
            return torch_function(name, graph_module, *args, **kwargs)

        return format_graph

    def _compiling_backward(self, original: Any) -> Any:
        def track(config: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
            tracked = original(config, name, *args, **kwargs)
            if name != "backward" or getattr(self._in_thread, "compile_id", ""):  # with the forward
                return tracked
            return self._reporting_backward(tracked)

        return track

    @contextlib.contextmanager
    def _reporting_backward(self, tracked: Any) -> Iterator[Any]:
        """Enter torch's context manager around the compilation of a backward; report it when it is over."""
        with tracked as value:
            yield value
        compile_id = self._compile_id()
        if compile_id:
            self._emit(BACKWARD_EVENT, compile_id)

    def _writing_kernels(self, original: Any) -> Any:
        def write_kernels(graph: Any, *args: Any, **kwargs: Any) -> Any:
            module = original(graph, *args, **kwargs)
            path = str(getattr(module, "__file__", ""))
            self._emit(KERNEL_EVENT, self._compile_id(), {"filename": path})
            return module

        return write_kernels


def break_explanation(reason: str, stack: Any) -> str:
    """Return the reason for a graph break, and the stack that led to it, as newer torch logs them."""
    place = stack[-1]
    calls = "".join(traceback.format_list(stack))
    return (
        f"Graph break in user code at {place.filename}:{place.lineno}\nReason: {reason}\nUser code traceback:\n{calls}"
    )


def _is_at_limit(error: BaseException) -> bool:
    """Return whether Dynamo did not begin to compile as there are enough versions: torch 2.4 traces nothing of that."""
    return str(error).endswith("cache_size_limit reached")


def _first_text(values: Sequence[Any]) -> str:
    """Return the first text among arguments: the description of an operator, "the user-defined autograd.Function"."""
    text = next((value for value in values if isinstance(value, str)), "unknown")
    return text.replace("the user-defined ", "")


def _failure(error: BaseException) -> Dict[str, Any]:
    """Return what newer torch logs of a compilation that failed."""
    place = getattr(error, "innermost_user_frame_summary", None)
    stack = getattr(error, "real_stack", None)
    if place is None and stack:  # torch 2.2
        place = stack[-1]
    found = {"fail_type": type(error).__qualname__, "fail_reason": str(error)}
    if place is not None:
        found.update(fail_user_frame_filename=place.filename, fail_user_frame_lineno=place.lineno)
    return found
