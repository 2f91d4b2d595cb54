"""Annotations come back where they were written, whether they are computed at once or when someone asks for them."""

from __future__ import annotations

import textwrap

import pytest

import depyf
from depyf.decompiler import decompile_frame
from depyf.decompiler.bytecode.python_facts import RUNNING

MODULES = {
    "of names, with and without values": """
        x: int = 3
        y: str
        z: list[x]
    """,
    "of names that not every run comes to": """
        if a:
            x: int = b
        else:
            for i in c:
                y: str
                d(y)
        while e:
            z: float = 1.5
    """,
    "of functions": """
        def f(a: int, /, b: str = 'b', *args: c, d: list[int] = e, **more: dict[str, int]) -> None:
            def g(x: a, y=2) -> b:
                return x

            return g
    """,
    "of a class": """
        class C:
            'Doc.'
            a: int
            b: str = 'b'
            d: float
            c = 3
            __private: list[a] = []

            def method(self, other: C) -> d:
                return self

            e: int = c
    """,
    "of a class whose body branches": """
        def f(x):
            class C:
                a: x
                if x:
                    b: int = 1
                else:
                    c: str

            return C
    """,
}


@pytest.mark.parametrize("title", MODULES)
def test_annotations_come_back_as_they_were_written(title: str) -> None:
    source = textwrap.dedent(MODULES[title]).strip()
    result = decompile_frame(compile(source, "<module>", "exec", dont_inherit=True))
    assert result.proved and result.rung == "idioms", f"{result.verdict}\n{result.source}"
    assert result.source.strip().replace('"""Doc."""', "'Doc.'") == source


def test_an_annotation_that_is_never_reached_keeps_what_it_makes() -> None:
    code = compile("class C:\n  if 0:\n    x: int\nif 0:\n  y: int\n", "<module>", "exec", dont_inherit=True)
    assert decompile_frame(code).proved


@pytest.mark.parametrize("target", ["(x)", "g.x", "g[0]"])
def test_an_annotation_of_what_is_no_name_keeps_what_it_makes(target: str) -> None:
    source = f"class C:\n  if g:\n    {target}: int\nclass D:\n  while g:\n    {target}: int = 1\n  y: int"
    assert decompile_frame(compile(source, "<module>", "exec", dont_inherit=True)).proved


@pytest.mark.skipif(not RUNNING.annotations_are_deferred, reason="annotations are values")
def test_showing_a_function_computes_no_annotation() -> None:
    space = {}
    source = "def f(a: missing, b: [1 / 0, print] = 2) -> missing.too: return a"
    exec(compile(source, "<test>", "exec", dont_inherit=True), space)
    assert depyf.decompile(space["f"]).startswith("def f(a: missing, b: [1 / 0, print]=2) -> missing.too:".replace("]=", "] = "))
