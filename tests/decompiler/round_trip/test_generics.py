"""Type parameters and type aliases (Python 3.12), type parameters with defaults (3.13), unpacked annotations (3.11)."""

from __future__ import annotations

import sys
import textwrap
from types import CodeType

import pytest

from depyf.decompiler.bytecode.nested_code import with_nested
from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.decompiler.pipeline import decompile_frame


def same(source: str) -> None:
    """Assert that the module comes back as it was written, and is proved."""
    source = textwrap.dedent(source).strip()
    result = decompile_frame(compile(source, "<module>", "exec", dont_inherit=True))
    assert result.proved, f"{result.verdict}\n{result.source}"
    assert result.source.strip() == source


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the syntax is new in 3.11")
def test_an_unpacked_annotation():
    same("def f(a, *args: *Ts, key: int = 1, **more: str) -> None:\n    pass")
    same("def f(*args: *Ts):\n    pass")


needs_generics = pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is new in 3.12")


@needs_generics
@pytest.mark.parametrize(
    "source",
    [
        "type X = int",
        "type X = 'text'",
        "type X[T] = list[T]",
        "def f[T](x):\n    return x",
        "def f[T: int](x: T = y, *, key=z) -> T:\n    return x",
        "def f[*Ts, **P](*args: *Ts, **more: P.kwargs):\n    return Ts",
        "@first\n@second(1)\nasync def f[T: (int, str)](x: T):\n    return T",
        "class C[T]:\n    pass",
        "class C[T: (int, str)](Base[T], key=1):\n    x = 1",
        "@decorator\nclass C[T](*bases, **more):\n    a: T = 1\n\n    def m[V](self, v: V):\n        return T, V",
        "class C[T]:\n    type X = T\n\n    def m[V: X](self, x: X) -> V:\n        return super().m",
        "class C:\n    class Inner[V](list[V]):\n        def m(self) -> V:\n            return self",
        "class C[T](Base):\n    class Inner[V](list[V], dict[T]):\n        pass",
        "def f():\n    y = 1\n    type X[T] = dict[T, y]\n    return X",
    ],
)
def test_type_parameters(source):
    same(source)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="the syntax is new in 3.13")
@pytest.mark.parametrize(
    "source",
    [
        "type X[T = int] = T",
        "def f[T: int = bool, *Ts = *tuple[int, str], **P = [int]](x: T):\n    pass",
        "class C[T = None]:\n    pass",
    ],
)
def test_defaults_of_type_parameters(source):
    same(source)


@needs_generics
def test_the_body_of_a_generic_class_alone():
    module = compile("class C[T]:\n    x: T = 1\n", "<module>", "exec", dont_inherit=True)
    hidden = next(const for const in module.co_consts if isinstance(const, CodeType))
    body = next(const for const in hidden.co_consts if isinstance(const, CodeType))
    result = decompile_frame(body)
    assert result.proved, str(result.verdict)
    assert result.source == "class C[T]:\n    x: T = 1\n"


@pytest.mark.skipif(not RUNNING.annotations_are_deferred, reason="the code of an alias is a function like others")
def test_the_code_of_an_alias_or_bound_alone_is_an_alias() -> None:
    module = compile("type A = list[int] | None\ndef f[T: x.y]():\n  type B = T", "<test>", "exec")
    codes = [code for code in with_nested(module) if code.co_varnames[: code.co_argcount] == (".format",)]
    texts = [decompile_frame(code) for code in codes]
    assert all(text.proved for text in texts)
    assert [text.source.strip() for text in texts] == ["type A = list[int] | None", "type T = x.y", "type B = T"]
