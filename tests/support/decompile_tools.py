"""Decompile the function that a source text defines, and assert on the result."""

from __future__ import annotations

import re
import textwrap
from types import CodeType

import pytest

from depyf.decompiler import Decompilation, decompile_frame
from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION

# Tests that edit instructions, tables or fields which code objects have from 3.11 on.
newer_bytecode = pytest.mark.skipif(RUNNING.blocks_are_stacked, reason="the bytecode is that of Python 3.11 and newer")
_NEWER_SYNTAX = (
    (re.compile(r"^ *except ?\*", re.MULTILINE), (3, 11), "except*"),
    (re.compile(r"^ *match .*:$", re.MULTILINE), (3, 10), "match"),
    (re.compile(r"^ *@(?![\w.]+(\(.*\))?$)", re.MULTILINE), (3, 9), "a decorator that is any expression"),
)


def skip_newer_syntax(source: str) -> None:
    """Skip the test if the running Python is too old for a statement in `source`."""
    for form, version, name in _NEWER_SYNTAX:
        if RUNNING_VERSION < version and form.search(source):
            pytest.skip(f"{name} is new in Python {version[0]}.{version[1]}")


def function_code(source: str) -> CodeType:
    """Return the code of the one function that `source` defines."""
    skip_newer_syntax(source)
    module = compile(textwrap.dedent(source), "<test>", "exec", dont_inherit=True)
    (code,) = [const for const in module.co_consts if isinstance(const, CodeType)]
    return code


def decompiled(source: str) -> Decompilation:
    """Decompile the one function that `source` defines."""
    return decompile_frame(function_code(source))


def assert_proved(source: str, rung: str = "idioms") -> Decompilation:
    """Assert that the function comes back as text proved equal, by the given rung."""
    result = decompiled(source)
    assert result.proved, f"{result.verdict}\n{result.source}"
    assert result.rung == rung, result.source
    return result


def assert_same_text(source: str) -> None:
    """Assert that the function comes back as it was written."""
    source = textwrap.dedent(source).strip()
    assert assert_proved(source).source.strip() == source
