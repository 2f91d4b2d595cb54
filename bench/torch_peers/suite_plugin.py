"""A pytest plugin: run torch.compile tests under the depyf of this interpreter, or under none.

PEERS_DEPYF  "on" or "off"
PEERS_DUMP   the folder that `prepare_debug` writes
PEERS_OUT    a file: one line of JSON for each test, as it ends, and a last one with the frames

Tests of one torch release use helpers that another one lacks: a missing one is replaced by a decorator that does
nothing, or, if its name says that the machine has something, by False.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from typing import Any

from frame_counter import FrameCounter

HELPERS = ("torch.testing._internal.common_utils", "torch.testing._internal.inductor_utils", "torch._dynamo.testing")
COUNTER = FrameCounter(os.environ["PEERS_DUMP"])


def _missing(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return False if name.startswith("HAS_") else lambda function=None, *_, **__: function


def _emit(**line: Any) -> None:
    with open(os.environ["PEERS_OUT"], "a") as file:
        file.write(json.dumps(line) + "\n")


def pytest_configure() -> None:
    """Open the depyf before tests are imported."""
    for name in HELPERS:
        with contextlib.suppress(ImportError):  # of what torch's helpers need: only some tests use them
            importlib.import_module(name).__getattr__ = _missing
    with_depyf = os.environ["PEERS_DEPYF"] == "on"
    if with_depyf:
        import depyf

        _emit(version=depyf.__version__)
    COUNTER.open(with_depyf)


def pytest_runtest_logreport(report: Any) -> None:
    """Record how a test ended."""
    if report.when == "call" or report.outcome != "passed":
        _emit(test=report.nodeid, outcome=report.outcome)


def pytest_sessionfinish() -> None:
    """Record the frames; then leave the context."""
    _emit(**COUNTER.counts())
    COUNTER.close()
