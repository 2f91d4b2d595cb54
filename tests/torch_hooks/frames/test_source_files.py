"""The source of a function is read from its file completely and exactly."""

from __future__ import annotations

import inspect
import linecache
import textwrap
from types import CodeType
from typing import Iterator

import pytest

from depyf.torch_hooks.frames import source_files

FILE = '''\
import functools


def plain(x):
    y = x

    return y  # the end
    # a comment that belongs to it


# a comment that does not
def with_a_comment_at_the_margin(x):
    y = x
# here
    return y


def with_many_parameters(
    x,
    y,
):
    return [
x,
]


def with_text(x):
    """Text
at the margin.
    """
    return x


def on_one_line(x): return x


class Holder:
    @functools.wraps(plain)
    @staticmethod
    def method(x):
        for y in x:
            if y:
                return \\
y
        return 'a\\
b'

    async def waits(self):
        def inner():
            return 1
        return inner

last = 1
'''


def functions(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_name != "Holder":
                yield const
            yield from functions(const)


@pytest.fixture
def codes() -> Iterator[list[CodeType]]:
    name = "<a file of functions>"
    linecache.cache[name] = (len(FILE), None, FILE.splitlines(keepends=True), name)
    yield list(functions(compile(FILE, name, "exec")))
    del linecache.cache[name]


def test_a_function_is_shown_from_its_first_line_to_its_last(codes: list[CodeType]) -> None:
    has_text = {}
    for code in codes:
        text = source_files.definition_of(code)
        expected = textwrap.dedent("".join(inspect.getblock(FILE.splitlines(keepends=True)[code.co_firstlineno - 1 :])))
        assert text in ("", expected), code.co_name
        has_text[code.co_name] = bool(text)
    assert has_text == {
        "plain": True,
        "with_a_comment_at_the_margin": True,
        "with_many_parameters": False,  # the end of these is found only by a tokenizer
        "with_text": False,
        "on_one_line": True,
        "method": False,
        "waits": True,
        "inner": True,
    }


def test_a_function_whose_file_is_gone_or_shorter_has_no_text() -> None:
    (code,) = functions(compile("\n\n\ndef f(): pass", "<no such file>", "exec"))
    assert source_files.definition_of(code) == ""
    assert source_files.text_of(code) == ""
