"""The last structured rung: control flow that no nesting of statements expresses becomes a proved state machine.

Compilers emit no such graphs, code generators do: here a jump is patched to enter the middle of a loop.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import Dict

import pytest
import test_async
import test_loops
import test_match
from decompile_tools import function_code

from depyf.decompiler import pipeline
from depyf.decompiler.bytecode.location_table import lines_of
from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.decompiler.pipeline import decompile_frame

SOURCE = """
def f(a, b, c, d):
    if a():
        x = b(1)
    else:
        x = b(2)
    while d(x):
        first = c(x)
        x = b(first)
    return x
"""

STATEMENT = "        first = c(x)"


def into_the_loop() -> CodeType:
    """Return the code of SOURCE with the jump over the else clause redirected into the middle of the loop."""
    code = function_code(SOURCE)
    jump = next(i.offset for i in dis.get_instructions(code) if i.opname == "JUMP_FORWARD")
    middle = min(start for start, _, line in lines_of(code) if line == 1 + SOURCE.split("\n").index(STATEMENT))
    raw = bytearray(code.co_code)
    raw[jump + 1] = (middle - jump - 2) // RUNNING.jump_unit
    return code.replace(co_code=bytes(raw))


def test_a_loop_with_two_entries_is_a_proved_state_machine() -> None:
    code = into_the_loop()
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.rung == "state machine"
    assert "while True:" in result.source
    for answer in (True, False):
        assert run(code, answer) == run(result.code, answer)


def run(code: object, answer: bool) -> object:
    """Call the function and return the calls that it makes."""
    assert isinstance(code, CodeType)
    calls = []

    def call(name: str, result: object) -> object:
        def made(*arguments: object) -> object:
            calls.append((name, arguments))
            return result

        return made

    left = [1, 1, 0]
    function = type(run)(code, {})
    value = function(call("a", answer), call("b", 7), call("c", 8), lambda x: calls.append(x) or left.pop(0))
    return value, calls


@pytest.fixture
def only_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable every rung but state machines."""
    monkeypatch.setattr(pipeline, "RUNGS", tuple(rung for rung in pipeline.RUNGS if rung.is_machine))


# leaving a `finally` by break needs the loop itself, which a state machine does not have
NOT_HERE = {
    "break and continue in a finally",
    "continue and break in a finally in a finally",
    "break in a with in a finally under except*",
    "a finally with break in a finally",
    "a loop that a finally leaves before it runs twice",
}
EVERYTHING: Dict[str, str] = {
    **test_async.PROVED,
    **test_loops.PROVED,
    **test_match.PROVED,
}


@pytest.mark.usefixtures("only_machines")
@pytest.mark.parametrize("name", [name for name in EVERYTHING if name not in NOT_HERE])
def test_every_kind_of_statement_works_inside_a_state_machine(name: str) -> None:
    result = decompile_frame(function_code(EVERYTHING[name]))
    assert result.proved, result.verdict
