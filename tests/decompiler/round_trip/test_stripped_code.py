"""Code without line numbers, as tools that strip files leave it: its text is found and proved as well."""

from __future__ import annotations

import textwrap
import types

import pytest

from depyf.decompiler import decompile_frame

SOURCES = {
    "branch": "def f(a):\n    if a:\n        return 1\n    return 2\n",
    "loop": "def f(a):\n    while a.more():\n        if a.stop:\n            break\n        a.step()\n    return a\n",
    "handler": """\
        def f(a):
            try:
                return a()
            except ValueError as error:
                return error
            finally:
                a.close()
        """,
    "with": "def f(a):\n    with a as b:\n        for c in b:\n            if c:\n                return c\n",
    "comprehension": "def f(a):\n    return [b for b in a if b] or {b: c for b, c in a}\n",
}


def stripped(code: types.CodeType, table: bytes) -> types.CodeType:
    consts = tuple(stripped(const, table) if isinstance(const, types.CodeType) else const for const in code.co_consts)
    field = "co_linetable" if hasattr(code, "co_linetable") else "co_lnotab"
    return code.replace(co_consts=consts, **{field: table})


@pytest.mark.parametrize("table", [b"", b"\xf0", b"\xff"], ids=["empty", "malformed", "too short"])
@pytest.mark.parametrize("name", SOURCES)
def test_stripped_code_has_a_proved_text(name, table):
    source = textwrap.dedent(SOURCES[name])
    code = stripped(compile(source, "stripped.py", "exec"), table)
    result = decompile_frame(code)
    assert result.proved and not result.shows_instructions, result.verdict
    if name == "comprehension" or (name == "branch" and hasattr(code, "co_linetable")):  # else all is in one line
        assert result.source == source
