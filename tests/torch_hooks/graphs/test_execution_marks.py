"""Whether code ran is read from the marks that this Python leaves in code objects, and never guessed."""

from __future__ import annotations

import sys
import threading

import pytest

from depyf.torch_hooks.graphs import execution_marks
from depyf.torch_hooks.graphs.execution_marks import has_run


def function_of(text):
    names = {}
    exec(text, names)
    return names["forward"]


TEXTS = [
    "def forward(self, x): return (x.real + 1,)",
    "def forward(self, x):\n    y = x.conjugate()\n    return (y * 2,)",
    "def forward(self, *args): return [value + 1 for value in args]",
    "def forward(self, x):\n    for i in range(300): x = x + i\n    return x",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("calls", [1, 2, 8, 9, 255, 256, 257, 2000])
def test_code_is_known_to_have_run_after_any_number_of_calls(text, calls):
    forward = function_of(text)
    assert has_run(forward.__code__) is False
    for _ in range(calls):
        forward(None, 1)
    assert has_run(forward.__code__) is True
    assert has_run(forward.__code__.replace(co_filename="other.py")) is False, "a copy has not run"


def test_code_that_keeps_no_mark_is_not_known_rather_than_not_run():
    forward = function_of("def forward(self, x): return (x,)")
    assert has_run(forward.__code__) in (False, None)
    forward(None, 1)
    assert has_run(forward.__code__) in (True, None)


def test_code_that_runs_under_a_tracer_a_profiler_or_in_a_thread_is_known_to_have_run():
    before = sys.gettrace(), sys.getprofile()
    for switch in (sys.settrace, sys.setprofile):
        forward = function_of(TEXTS[0])
        switch(lambda *_: None)
        forward(None, 1)
        switch(None)
        assert has_run(forward.__code__) is True
    sys.settrace(before[0]), sys.setprofile(before[1])
    forward = function_of(TEXTS[0])
    thread = threading.Thread(target=forward, args=(None, 1))
    thread.start()
    thread.join()
    assert has_run(forward.__code__) in (True, None)


def test_code_that_was_only_read_has_not_run():
    import dis
    import inspect

    forward = function_of(TEXTS[1])
    list(dis.get_instructions(forward))
    inspect.signature(forward)
    hash(forward.__code__), forward.__code__.co_code, forward.__code__ == forward.__code__.replace()
    assert has_run(forward.__code__) is False


def test_a_python_without_marks_gives_no_answer(monkeypatch):
    monkeypatch.setattr(execution_marks, "_marks", execution_marks._Marks)
    assert has_run(function_of(TEXTS[0]).__code__) is None
