"""Compiling and parsing text emits no warnings and leaves the program's warning registries alone."""

from __future__ import annotations

import warnings

import pytest

from depyf.text.quiet_compile import compile_quietly, parse_quietly


def test_compiling_text_emits_no_warnings_and_resets_no_warning_registry():
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
