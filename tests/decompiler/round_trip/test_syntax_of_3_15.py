"""Syntax that came with 3.15: lazy imports, and unpacking in comprehensions."""

from __future__ import annotations

import pytest
from decompile_tools import assert_same_text, function_code

from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION
from depyf.decompiler.pipeline import decompile_frame
from depyf.decompiler.prove import Grade, prove

pytestmark = pytest.mark.skipif(RUNNING_VERSION < (3, 15), reason="syntax of Python 3.15")

SAME_TEXT = {
    "a list": "def f(a):\n    return [*x for x in a]",
    "a set": "def f(a):\n    return {*x.y for x in a if x}",
    "a dict": "def f(a):\n    return {**x for x in a}",
    "a generator": "def f(a):\n    return (*x for x in a if x for x in x)",
    "in an async generator": "async def f(a):\n    return (*await x async for x in a)",
    "of a conditional": "def f(a, b):\n    return [*(x if b else a) for x in a], {**(x or b) for x in a}",
    "beside elements": "def f(a):\n    return [*x for x in a], [[*x] for x in a], {x: {**x} for x in a}",
}
MODULES = (
    "lazy import a.b\nlazy from . import c\n",
    "lazy import a.b as c\nimport d\n",
    "lazy from e import f as g, h\nlazy = 1\nprint(lazy)\n",
    "with a:\n    lazy import b\n    import c\n",
    "try:\n    import a\nexcept ImportError:\n    a = None\n\n\nclass C:\n    import d\n",
)


@pytest.mark.parametrize("title", SAME_TEXT)
def test_unpacking_in_a_comprehension_comes_back_as_it_was_written(title: str) -> None:
    assert_same_text(SAME_TEXT[title])


@pytest.mark.parametrize("source", MODULES)
def test_lazy_imports_come_back_as_they_were_written(source: str) -> None:
    result = decompile_frame(compile(source, "<test>", "exec"))
    assert result.proved and result.source.strip() == source.strip(), result.source


def test_a_lazy_import_is_not_proved_equal_to_one_that_happens_now() -> None:
    assert RUNNING.imports_have_modes
    lazy, now = (compile(f"{word}import a", "<test>", "exec") for word in ("lazy ", ""))
    guarded = compile("try:\n import a\nfinally:\n pass", "<test>", "exec")
    for one, other in ((lazy, now), (now, lazy), (now, guarded)):
        assert prove(one, other).grade is Grade.REFUTED
    assert prove(now, now).grade is Grade.PROVED


def test_a_generator_is_not_proved_equal_to_one_that_names_its_items() -> None:
    one, other = (function_code(f"def f(a): return {text}") for text in ("(*x for x in a)", "(y for x in a for y in x)"))
    assert not prove(one, other).holds
