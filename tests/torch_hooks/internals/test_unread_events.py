"""Torch formats no event of its trace that nobody reads, and every event that somebody else reads."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import subprocess
import sys

import pytest
import torch
import torch._dynamo
import torch.fx.experimental.symbolic_shapes
from repository import ROOT, SUPPORT
from torch_probes import READS_GUARD_TREES, TRACES_TENSORS, needs, source_of

import depyf
from depyf.torch_hooks.internals import private_hooks, structured_trace

pytestmark = needs(TRACES_TENSORS, "structured trace of its tensors and sizes")
LOGGER = private_hooks.find("trace_logger")
CONTEXT = ("rank", "frame_id", "frame_compile_id", "attempt", "has_payload", "stack")
RAISERS = ("raise_event", "raise_tensor_event", "raise_symbol_event")


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    """Return what a handler receives from the same program, by variant, and the folder with its logs."""
    folder = tmp_path_factory.mktemp("trace")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TORCH_TRACE": str(folder)}
    program = str(SUPPORT / "trace_program.py")
    done = subprocess.run(
        [sys.executable, program, str(folder)], env=environment, check=True, stdout=subprocess.PIPE, timeout=280
    )
    return json.loads(done.stdout.splitlines()[-1]), folder


def comparable(rows):
    """Return the events without times, and without torch's own time of the bytecode hook and the files it wrote."""
    kept = []
    for file, line, metadata, payload in rows:
        kind = next(key for key in metadata if key not in CONTEXT)
        value = metadata[kind]
        name = value.get("name") if isinstance(value, dict) else None
        if "bytecode_hooks_" in str(payload) or kind == "str":  # the number of a file, when it is first named
            continue
        content = re.sub("0x[0-9a-f]+", "", str(value)) if kind.startswith("describe_") else None
        ids = [metadata.get(key) for key in ("frame_id", "frame_compile_id", "attempt")]
        kept.append((file, line, kind, name, ids, content))
    return kept


@pytest.mark.parametrize("when", ["early", "late"])
def test_another_handler_receives_the_same_events_from_the_same_places(received, when):
    rows, _ = received
    assert comparable(rows[f"on {when}"]) == comparable(rows[f"off {when}"])
    kinds = {kind for _, _, kind, *_ in comparable(rows[f"on {when}"])}
    later = {"create_symbol": "torch.fx.experimental.symbolic_shapes", "chromium_event": "torch._dynamo.utils"}
    offered = {kind for kind, module in later.items() if f'"{kind}",' in source_of(module)}
    assert {"describe_tensor", "describe_source", "dynamo_output_graph", *offered} <= kinds


def test_a_log_of_torch_trace_is_the_same(received):
    _, folder = received
    logs = []
    for variant in ("on", "off"):
        (file,) = (folder / variant).iterdir()
        text = file.read_text()
        heads = re.findall(r"^[A-Z]\d{4} [\d:.]+ \d+ (\S+:\d+)\] (.*)", text, re.MULTILINE)
        places = [(place, next(iter(json.loads(data)))) for place, data in heads]
        logs.append([row for row in places if row[1] not in ("chromium_event", "str")])
    assert logs[0] == logs[1] and len(logs[0]) > 30


@contextlib.contextmanager
def alone():
    """Let nobody else listen to the trace: handlers of pytest's do, which are added for each phase of a test."""
    before, LOGGER.handlers = LOGGER.handlers, []
    try:
        yield
    finally:
        LOGGER.handlers = before


class Formatted(Exception):
    pass


def test_events_that_nobody_reads_are_not_formatted(tmp_path, monkeypatch):
    def describe(*_):
        raise Formatted

    @torch.compile(backend="eager")
    def function(x):
        return x + 1

    with alone(), depyf.prepare_debug(str(tmp_path / "dump")) as context:
        monkeypatch.setattr(torch._subclasses.meta_utils.MetaTensorDesc, "as_json", describe)
        function(torch.ones(2))
    assert [graph.stages for graph in context.record.graphs][-1]


@needs(READS_GUARD_TREES, "types in its guard trees")
def test_guards_are_recorded_though_torch_prints_none(tmp_path, monkeypatch):
    def printed(*_):
        raise Formatted

    @torch.compile(backend="eager")
    def function(x, n):
        return x + n

    with alone(), depyf.prepare_debug(str(tmp_path / "dump")) as context:
        monkeypatch.setattr(torch._dynamo.guards.GuardManagerWrapper, "__str__", printed)
        function(torch.ones(2), 3)
    assert "n == 3" in [guard.condition.rpartition(" and ")[2] for guard in context.record.frames[-1].guards]


def test_names_are_bound_back_on_leaving(tmp_path):
    homes = [(sys.modules[private_hooks.hook(row).module], private_hooks.hook(row).attribute) for row in RAISERS]
    before = [getattr(*home) for home in homes]
    with alone(), depyf.prepare_debug(str(tmp_path / "dump")):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
        assert all(getattr(*home) is not function for home, function in zip(homes, before))
        imported = type(sys)("imported_meanwhile")
        exec("from torch._logging import trace_structured", vars(imported))
        sys.modules[imported.__name__] = imported
    del sys.modules[imported.__name__]
    assert [getattr(*home) for home in homes] == before
    assert imported.trace_structured is torch._logging.trace_structured
    assert "addHandler" not in vars(LOGGER)


def test_names_are_bound_back_before_another_handler_is_added(tmp_path):
    home = sys.modules[private_hooks.hook("raise_tensor_event").module]
    original, other = home.trace_structured, logging.NullHandler()
    with alone(), depyf.prepare_debug(str(tmp_path / "dump")):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
        assert home.trace_structured is not original
        LOGGER.addHandler(other)
        try:
            assert home.trace_structured is original
        finally:
            LOGGER.removeHandler(other)


def test_kinds_that_are_not_read_do_not_reach_the_receiver():
    metadata = {"describe_tensor": {}, "frame_id": 0, "frame_compile_id": 0}
    assert structured_trace.read_event(metadata, None, {"dynamo_output_graph"}) is None
    assert structured_trace.read_event(metadata, None, {"describe_tensor"}) is not None
