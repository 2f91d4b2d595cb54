"""A function has the name that its file gives it, also on a Python whose code objects hold the plain one alone."""

from __future__ import annotations

import types

import pytest

from depyf.torch_hooks.internals import qualified_names


class Outer:
    class Inner:
        def method(self):
            return lambda: [part for part in ()]

    @staticmethod
    @types.coroutine
    def decorated():
        yield


def maker():
    def made():
        return maker

    return made


CODES = {
    "Outer.Inner.method": Outer.Inner.method.__code__,
    "Outer.Inner.method.<locals>.<lambda>": Outer.Inner().method().__code__,
    "Outer.decorated": Outer.decorated.__wrapped__.__code__
    if hasattr(Outer.decorated, "__wrapped__")
    else Outer.decorated.__code__,
    "maker.<locals>.made": maker().__code__,
}


class PlainCode:
    """What a code object of Python 3.10 has."""

    def __init__(self, code):
        self.co_name, self.co_filename, self.co_firstlineno = code.co_name, code.co_filename, code.co_firstlineno


@pytest.mark.parametrize("name", CODES)
def test_the_file_names_it_where_the_code_does_not(name):
    assert qualified_names.qualified_name(PlainCode(CODES[name])) == name
    assert qualified_names.qualified_name(CODES[name]) == name


def test_two_on_one_line_have_the_plain_name(tmp_path):
    path = tmp_path / "two.py"
    path.write_text("class A:\n    a = lambda: 1; b = [lambda: 2 for _ in ()]\ndef f(): return (lambda: (lambda: 1))\n")
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    assert qualified_names.qualified_name(PlainCode(scope["f"]().__code__)) == "<lambda>"
