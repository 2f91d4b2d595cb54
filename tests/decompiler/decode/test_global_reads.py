"""A variable that depyf invents never hides a global that code inside reads."""

from __future__ import annotations

from decompile_tools import function_code

from depyf.decompiler.decode.global_reads import reads_global


def test_a_global_that_only_a_function_inside_reads_is_found() -> None:
    assert reads_global(function_code("def f(): return lambda: g"), "g")
    assert reads_global(function_code("def f():\n class C:\n  x = g"), "g")


def test_an_attribute_or_a_store_of_that_name_is_no_read() -> None:
    assert not reads_global(function_code("def f(a):\n global g\n g = a.g"), "g")
    assert not reads_global(function_code("def f(g): return g"), "g")
