"""The adversary finds what it is there to find, or a wrong proof would pass for a right one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Tuple

import pytest
from decompile_tools import newer_bytecode
from repository import ROOT

sys.path.insert(0, str(ROOT))

from bench.adversary.code_mutants import exception_entries, exception_table  # noqa: E402
from bench.adversary.differences import EARLIER, NAMED, ORDER, Difference  # noqa: E402
from bench.adversary.judgement import Judgement, compared  # noqa: E402
from bench.adversary.limits import in_child  # noqa: E402
from bench.adversary.mutants import judged_mutants  # noqa: E402
from bench.adversary.random_functions import random_function  # noqa: E402
from bench.adversary.runs import subject_of  # noqa: E402
from depyf.decompiler.prove import Assumption  # noqa: E402

# A function and a text of it that is wrong.
PLANTED = {
    "a store into itself is dropped": (
        "def f(a, b):\n if a: z = 1\n z = z\n return lambda: z",
        "def f(a, b):\n if a: z = 1\n return lambda: z",
    ),
    "the order of two calls": ("def f(a, b):\n return a.p + b.p", "def f(a, b):\n c = b.p\n return a.p + c"),
    "a release before the next read of a global": (
        "def f(a, b):\n t = g(); u = h; t = None; return u",
        "def f(a, b):\n g(); u = h; return u",
    ),
    "a value that lives as long as the exception": (
        "def f(a, b):\n b, b = g(), h()",
        "def f(a, b):\n g_result = g(); b = h(); del g_result",
    ),
    "the order in which locals die": (
        "def f(a, b):\n c = g(); d = h(); return m(a)",
        "def f(a, b):\n d = None; del d; c = g(); d = h(); return m(a)",
    ),
    "a call before the function is read": ("def f(a, b):\n g(); h()", "def f(a, b):\n (g(), h)[1]()"),
    "which missing name is reported": ("def f(a, b):\n return no + nor", "def f(a, b):\n return nor + no"),
    "a dropped test": ("def f(a, b):\n return bool(a) and None", "def f(a, b):\n return None"),
    "a handler that is too wide": (
        "def f(a, b):\n try: a()\n except Fault: pass\n else: b()",
        "def f(a, b):\n try: a(); b()\n except Fault: pass",
    ),
    "a finally that is not run": (
        "def f(a, b):\n try: return a()\n finally: b()",
        "def f(a, b):\n c = a()\n b()\n return c",
    ),
    "a value of a generator": ("def f(a, b):\n yield a.p\n yield b.p", "def f(a, b):\n yield a.p\n yield b.q"),
    "the order in which managers leave": (
        "def f(a, b):\n with a, b: g()",
        "def f(a, b):\n with a:\n  g()\n  with b: pass",
    ),
    "a default value": ("def f(a, b):\n return lambda x=g: x", "def f(a, b):\n return lambda x=h: x"),
    "another name in a traceback": ("def f(a, b):\n c = a; g(c)", "def f(a, b):\n g(a); c = a"),
    "a comparison of constants": ("def f(a, b):\n return a in {-1, -2}", "def f(a, b):\n return a in [-1, -2]"),
    "an awaited value": (
        "async def f(a, b):\n c = await a; return await b",
        "async def f(a, b):\n c = await b; return await a",
    ),
}


@pytest.mark.parametrize("source, wrong", PLANTED.values(), ids=PLANTED.keys())
def test_a_wrong_text_is_found(source: str, wrong: str) -> None:
    subject = subject_of(source)
    claimed = Judgement(0, "PROVED")
    assert not compared(claimed, subject, None, subject.code, 24).kinds
    assert compared(claimed, subject, None, subject_of(wrong).code, 24).failed


@pytest.mark.parametrize("assumption, is_failure", [("NOT_SEEN_IN_TRACEBACKS", True), ("RELEASE_ORDER", False)])
def test_a_difference_is_excused_only_by_the_assumption_that_names_it(assumption: str, is_failure: bool) -> None:
    source, wrong = PLANTED["the order in which locals die"]
    claimed = Judgement(0, "PROVED_UNDER", assumptions=(assumption,))
    assert compared(claimed, subject_of(source), None, subject_of(wrong).code, 24).failed is is_failure


def test_every_assumption_is_in_the_table_of_what_it_names() -> None:
    assert {assumption.name for assumption in Assumption} == set(NAMED)
    both = Difference(frozenset({EARLIER, ORDER}), 0, (), ())
    assert not both.is_named_by(["RELEASE_ORDER"]) and both.is_named_by(["TEMPORARIES", "RELEASE_ORDER"])


def test_a_function_is_made_again_from_its_number_in_another_process() -> None:
    command = [sys.executable, "-m", "bench.adversary", "--seed", "7", "--show"]
    for number in (0, 11):
        done = subprocess.run([*command, str(number)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        assert done.stdout.strip() == random_function(7, number).source.strip()


def test_code_that_crashes_the_interpreter_takes_only_a_child_with_it() -> None:
    died = Judgement(1, "PROVED", kinds=("died",))
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), lambda status: died) is died
    assert in_child(lambda: died, lambda status: died) == died


def with_handlers(a, b):
    try:
        with a:
            return b()
    except ValueError:
        return None
    finally:
        a()


@newer_bytecode
def test_an_exception_table_is_written_as_it_was_read() -> None:
    table = with_handlers.__code__.co_exceptiontable
    assert exception_entries(table) and exception_table(exception_entries(table)) == table


@pytest.mark.parametrize("kind", ["source", "bytecode", "tables"])
def test_a_mutant_that_is_proved_is_run(kind: str) -> None:
    found = list(judged_mutants(kind, random_function(5, 3), 6, 4))
    assert found and all(one.mutation and one.grade for one in found)
    assert [one for one in found if one.failed] == []


def numbers() -> Tuple[str, ...]:
    return ("--functions", "40", "--jobs", "2", "--seed", "3")


def test_a_run_that_was_cut_off_is_continued(tmp_path) -> None:
    command = [sys.executable, "-m", "bench.adversary", *numbers(), "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE)
    (saved,) = tmp_path.iterdir()
    lines = saved.read_text().splitlines()
    assert len(lines) == 40
    saved.write_text("\n".join(lines[:25]) + '\n{"number": 3')
    again = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert "40 judged" in again.stdout
