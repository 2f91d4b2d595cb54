"""Texts are compiled and parsed without warnings, and without touching what the program was warned of."""

from __future__ import annotations

import warnings

import pytest

from depyf.text.quiet_compile import compile_quietly, parse_quietly


def test_texts_are_compiled_without_a_word_and_without_forgetting_what_was_said():
    registry: dict = {}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(2):
            warnings.warn_explicit("said", UserWarning, "a.py", 1, registry=registry)
            compile_quietly("x = 1\nx is 1\n", "ours.py")
            parse_quietly("y = '\\d'")
    assert [str(one.message) for one in seen] == ["said"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_quietly("x = 1\nx is 1\n", "ours.py")
        with pytest.raises(SyntaxError):
            compile_quietly("x is", "ours.py")
