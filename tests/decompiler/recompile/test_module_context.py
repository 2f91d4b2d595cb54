"""Where the module around a function decides which instructions the compiler writes, a text compiles to the same ones."""

from __future__ import annotations

import textwrap
from types import CodeType

import pytest
from decompile_tools import newer_bytecode

from depyf.decompiler.pipeline import decompile_frame
from depyf.decompiler.recompile.module_context import module_context


def in_module(source: str) -> CodeType:
    """Return the code of the only function in a module."""
    module = compile(textwrap.dedent(source), "<module>", "exec")
    (code,) = [const for const in module.co_consts if isinstance(const, CodeType)]
    return code


@pytest.mark.parametrize(
    "source",
    [
        "import codecs\ndef f(x):\n    return codecs.encode(x, errors='strict')\n",
        "import os\ndef f(x):\n    return lambda: os.stat(x)\n",
        "import os\ndef f(x):\n    return [os.stat(y) for y in x], os.path.join(*x)\n",
        "super = print\ndef f(self):\n    return super().f()\n",
    ],
)
def test_the_very_same_instructions_come_back_whatever_the_module_imports(source: str) -> None:
    original = in_module(source)
    result = decompile_frame(original)
    assert result.code is not None and result.code.co_code == original.co_code
    assert "import" not in result.source
    assert result.code.co_consts == original.co_consts  # nested functions, too


def test_a_name_that_is_used_for_method_calls_is_not_imported() -> None:
    # A call with a star is never a method call, whatever the module imports.
    assert module_context(in_module("def f(x): return x(g.a(*x), g.b(x))"), {}) == ""


@newer_bytecode
def test_imports_are_of_the_names_in_the_text() -> None:
    code = in_module("import mod\ndef f(): return mod.g()")
    assert module_context(code, {"mod": "shown"}) == "import shown\n"
    assert module_context(code, {"mod": "class"}) == ""
    assert module_context(code.replace(co_names=("__debug__", "g")), {}) == ""
