"""A torch without a structured trace (2.2) leads to the events that newer torch logs, and gets its functions back."""

from __future__ import annotations

import json
import sys
from traceback import FrameSummary
from types import ModuleType, SimpleNamespace

import pytest
from torch_probes import needs

from depyf.problems import Problems
from depyf.torch_hooks.internals import private_hooks, torch_behaviours
from depyf.torch_hooks.session import untraced_events


def toy(x):
    return x


class GraphModule:
    def print_readable(self, print_output=True):
        return "class GraphModule: ..."


@pytest.fixture
def old_torch(monkeypatch):
    """Return a module with the functions of the rows that stand in for the trace, each doing what torch 2.2 does."""
    torch = ModuleType("old_torch")
    torch.context = SimpleNamespace()
    torch.compile_id = None

    class Tracing:
        pass

    torch.tracing = Tracing()

    def compile_frame(code, *args, compile_id=None):
        torch.compile_id = compile_id
        try:
            place = FrameSummary("toy.py", 5, "toy", line="if x:")
            torch.Output().compile(None, reason=SimpleNamespace(graph_break=True, user_stack=[place], reason="jump"))
            torch.format_captured("__compiled_fn_0", GraphModule())
            torch.format_aot("Forward graph", GraphModule(), 0)
            torch.Graph().write()
            torch.Manager().build()
            if args == ("fails",):
                raise ValueError("no luck")
            if args == ("is at its limit",):
                raise RuntimeError("cache_size_limit reached")
            return SimpleNamespace(code=code)
        finally:
            torch.compile_id = None

    class Output:
        def compile(self, tx, reason=None):
            return "compiled"

    class Manager:
        def build(self):
            torch.log.debug("GUARDS:")
            torch.log.debug("%s", f"___check_type_id(L['n'], {id(int)})  # return x  # toy.py:2 in toy")
            torch.log.debug("%s", "L['n'] == 2")
            return "guards"

    class Graph:
        def write(self):
            return SimpleNamespace(__file__="kernel.py")

    class Log:
        def debug(self, *message):
            torch.logged.append(message)

    torch.logged = []
    torch.log, torch.Output, torch.Manager, torch.Graph = Log(), Output, Manager, Graph
    torch.compile_frame, torch.explain = compile_frame, lambda guard, code, variables: "L['n'] == 2"
    torch.format_captured = torch.format_aot = lambda name, module, *rest: f"text of {name}"
    homes = {
        "compile_frame": "compile_frame", "break_graph": "Output.compile", "build_guards": "Manager.build",
        "guards_logger": "log", "explain_guard": "explain", "write_kernels": "Graph.write",
        "captured_graph_formatter": "format_captured", "inference_graph_formatter": "format_aot",
        "training_graph_formatter": "nothing", "inductor_graph_formatter": "nothing", "trace_logger": "nothing",
        "current_compile_id": "current_id", "tracing_context": "current_tracing", "break_in_user_code": "explain",
        "explain_recompile": "nothing",
    }  # fmt: skip
    torch.current_id, torch.current_tracing = lambda: torch.compile_id, lambda: torch.tracing
    rows = {
        name: private_hooks.PrivateHook(name, "old_torch", attribute, "", "", "") for name, attribute in homes.items()
    }
    monkeypatch.setitem(sys.modules, "old_torch", torch)
    monkeypatch.setattr(private_hooks, "_BY_NAME", {**private_hooks._BY_NAME, **rows})
    return torch


def received_from(torch, work):
    events, problems = [], Problems()
    names = ("compile_frame", "explain", "format_captured", "format_aot")
    before = [getattr(torch, name) for name in names] + [torch.Output.compile, torch.Graph.write, torch.Manager.build]
    detach = untraced_events.attach(events.append, problems)
    try:
        work()
    finally:
        detach()
    after = [getattr(torch, name) for name in names] + [torch.Output.compile, torch.Graph.write, torch.Manager.build]
    assert after == before and vars(torch.log) == {} and not problems.lines
    return events


@pytest.mark.parametrize("ends, reasons", [("fails", []), ("is at its limit", ["cache_size_limit reached"])])
def test_a_trace_of_torch_2_4_is_completed_by_what_is_at_its_limit_of_recompiles(old_torch, monkeypatch, ends, reasons):
    trace = private_hooks.PrivateHook("trace_logger", "old_torch", "log", "", "", "")
    monkeypatch.setitem(private_hooks._BY_NAME, "trace_logger", trace)
    monkeypatch.setattr(private_hooks, "logs_event", lambda module, event: False)

    def work():
        with pytest.raises((ValueError, RuntimeError)):
            old_torch.compile_frame(toy.__code__, ends, compile_id="0/8")

    events = [event for event in received_from(old_torch, work) if event.kind == "compilation_metrics"]
    assert [event.data["fail_reason"] for event in events] == reasons


def test_each_step_of_a_compilation_is_the_event_that_newer_torch_logs(old_torch):
    events = received_from(old_torch, lambda: old_torch.compile_frame(toy.__code__, compile_id="0/0"))
    assert [(event.kind, event.compile_id) for event in events] == [
        ("dynamo_start", "0/0"), ("dynamo_graph_break_reason", "0/0"), ("dynamo_output_graph", "0/0"),
        ("aot_inference_graph", "0/0"), ("inductor_output_code", "0/0"), ("dynamo_cpp_guards_str", "0/0"),
        ("compilation_metrics", "0/0"),
    ]  # fmt: skip
    start, graph_break, captured, _, kernel, guards, metrics = events
    assert start.data["stack"][-1]["name"] == "toy" and kernel.data == {"filename": "kernel.py"}
    assert graph_break.payload.startswith("Graph break in user code at toy.py:5\nReason: jump\n")
    assert captured.payload == "class GraphModule: ..." and metrics.data == {}
    assert "GuardManager: source=L['n'], type=<class 'int'>" in guards.payload
    assert "LAMBDA_GUARD: L['n'] == 2" in guards.payload and "GUARDS:" not in guards.payload
    assert old_torch.logged[0] == ("GUARDS:",) and len(old_torch.logged) == 3  # who reads the log gets it as before


def test_a_recompile_has_the_reason_with_the_version_that_failed(old_torch):
    def work():
        first = old_torch.compile_frame(toy.__code__, compile_id="0/0")
        assert old_torch.explain(None, first.code, {}) == "L['n'] == 2"
        old_torch.compile_frame(toy.__code__, compile_id="0/1")

    reasons = [event for event in received_from(old_torch, work) if event.kind == "recompile_reasons"]
    assert [(event.compile_id, json.loads(event.payload)) for event in reasons] == [("0/1", ["0/0: L['n'] == 2"])]


def test_what_is_compiled_later_for_a_backward_belongs_to_its_graph(old_torch):
    def work():
        old_torch.compile_frame(toy.__code__, compile_id="3/0")
        old_torch.Graph().write()

    kernels = [event for event in received_from(old_torch, work) if event.kind == "inductor_output_code"]
    assert [event.compile_id for event in kernels] == ["3/0", "3/0"]


def test_an_error_passes_as_it_is_and_is_reported(old_torch):
    def work():
        with pytest.raises(ValueError, match="no luck"):
            old_torch.compile_frame(toy.__code__, "fails", compile_id="0/0")

    assert received_from(old_torch, work)[-1].data == {"fail_type": "ValueError", "fail_reason": "no luck"}


def test_of_a_trace_without_breaks_and_recompiles_only_these_are_added(old_torch, monkeypatch):
    monkeypatch.setitem(private_hooks._BY_NAME, "trace_logger", private_hooks._BY_NAME["guards_logger"])
    logs = SimpleNamespace(get_data=lambda path: b"trace_structured('dynamo_start')")
    monkeypatch.setattr(old_torch, "__loader__", logs)
    monkeypatch.setattr(old_torch, "__file__", "old_torch.py", raising=False)

    def work():
        first = old_torch.compile_frame(toy.__code__, compile_id="0/0")
        old_torch.explain(None, first.code, {})
        old_torch.compile_frame(toy.__code__, compile_id="0/1")

    kinds = [(event.kind, event.compile_id) for event in received_from(old_torch, work)]
    broken = "dynamo_graph_break_reason"
    assert kinds == [(broken, "0/0"), ("recompile_reasons", "0/1"), (broken, "0/1")]


@needs(torch_behaviours.has("metrics_of_backwards"), "event for each backward")
def test_a_torch_that_has_the_trace_keeps_its_functions(old_torch, monkeypatch):
    monkeypatch.setitem(private_hooks._BY_NAME, "trace_logger", private_hooks._BY_NAME["guards_logger"])
    before = old_torch.compile_frame
    detach = untraced_events.attach(lambda event: None, Problems())
    assert old_torch.compile_frame is before
    detach()


def test_the_manifest_names_what_this_torch_does_not_have(old_torch, monkeypatch):
    row = private_hooks.PrivateHook("break_graph", "old_torch", "Output.gone", "", "", "no graph breaks")
    monkeypatch.setattr(private_hooks, "HOOKS", (row,))
    monkeypatch.setitem(private_hooks._BY_NAME, "break_graph", row)
    lacking = torch_behaviours.lacking()  # of the torch that is installed
    assert private_hooks.not_offered() == ("torch has no old_torch.Output.gone: no graph breaks", *lacking)
    monkeypatch.setitem(private_hooks._BY_NAME, "trace_logger", private_hooks._BY_NAME["guards_logger"])
    assert not any("no graph breaks" in line for line in private_hooks.not_offered())
