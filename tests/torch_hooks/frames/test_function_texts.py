"""Texts of functions without a file: equal codes have one text, and no other code has that text."""

from __future__ import annotations

import pytest

from depyf.problems import Problems
from depyf.torch_hooks.frames import function_texts
from depyf.torch_hooks.frames.function_texts import DecompiledTexts


def _code(text: str, file: str):
    return compile(text, file, "exec").co_consts[0]


@pytest.fixture
def decompiled(monkeypatch):
    """Collect the codes that are decompiled."""
    found = []
    original = function_texts.decompile_or_list

    def noted(code, *arguments):
        found.append(code)
        return original(code, *arguments)

    monkeypatch.setattr(function_texts, "decompile_or_list", noted)
    return found


def test_a_function_of_another_file_is_decompiled_once_and_has_its_text(decompiled):
    texts = DecompiledTexts(Problems())
    one = _code("def f(a):\n    return a + 1\n", "one.py")
    assert texts.of(one) == texts.of(_code("def f(a):\n    return a + 1\n", "other.py"))
    assert decompiled == [one]
    assert texts.of(one)[0] == "def f(a):\n    return a + 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    return a + True\n",
        "def f(a):\n    return a + 1.0\n",
        "def f(b):\n    return b + 1\n",
        "\ndef f(a):\n    return a + 1\n",
    ],
)
def test_a_function_that_differs_has_its_own_text(decompiled, text):
    texts = DecompiledTexts(Problems())
    texts.of(_code("def f(a):\n    return a + 1\n", "one.py"))
    assert texts.of(_code(text, "one.py"))[0] == text.lstrip("\n")
    assert len(decompiled) == 2


def test_functions_that_hold_others_are_not_taken_for_equal(decompiled):
    texts = DecompiledTexts(Problems())
    text = "def f(a):\n    return [lambda: a]\n"
    assert texts.of(_code(text, "one.py")) == texts.of(_code(text, "one.py"))
    assert len(decompiled) == 2


def test_no_code_of_a_user_runs_for_the_comparison(decompiled):
    class Loud:
        def __hash__(self):
            raise AssertionError("hashed")

        def __eq__(self, other):
            raise AssertionError("compared")

    code = _code("def f(a):\n    return a + 12345\n", "one.py")
    code = code.replace(co_consts=tuple(Loud() if const == 12345 else const for const in code.co_consts))
    texts = DecompiledTexts(Problems())
    assert texts.of(code)[0] == texts.of(code)[0]
    assert len(decompiled) == 2
