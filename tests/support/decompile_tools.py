"""Decompile the function that a source text defines, and assert on the result."""

from __future__ import annotations

import textwrap
from types import CodeType

from depyf.decompiler import Decompilation, decompile_frame


def function_code(source: str) -> CodeType:
    """Return the code of the one function that `source` defines."""
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
