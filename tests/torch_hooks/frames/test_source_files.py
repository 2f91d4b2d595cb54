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


# ---------------------------------------------------------------- lines that hold something else


def code_of(text: str, path, name: str) -> CodeType:
    module = compile(text, str(path), "exec", dont_inherit=True)
    return next(code for code in functions(module) if code.co_name == name)


SCORE = "import math\n\n\nclass Holder:\n    def score(self, x):\n        return math.sqrt(x) + self.__bias + 1\n"


@pytest.mark.parametrize(
    "edited",
    [
        SCORE.replace("+ 1", "+ 2"),
        SCORE.replace("sqrt", "exp"),
        SCORE.replace("self, x", "self, x, y"),
        SCORE.replace("score", "other"),
        "import math\n\n" + SCORE,
        "import math\n\n\nclass Holder:\n    pass\n",
    ],
)
def test_a_file_that_was_edited_since_it_was_imported_is_not_shown(tmp_path, edited):
    path = tmp_path / "edited.py"
    code = code_of(SCORE, path, "score")
    path.write_text(SCORE)
    linecache.clearcache()
    expected = "def score(self, x):\n    return math.sqrt(x) + self.__bias + 1\n"
    assert source_files.definition_of(code) == source_files.text_of(code) == expected
    path.write_text(edited)
    linecache.clearcache()
    assert source_files.definition_of(code) == source_files.text_of(code) == ""


def test_code_that_claims_the_file_of_another_is_not_shown_as_that(tmp_path):
    path = tmp_path / "claimed.py"
    path.write_text("def f(x):\n    return x - 1\n")
    linecache.clearcache()
    code = code_of("def f(x):\n    return x + 1\n", path, "f")
    assert source_files.definition_of(code) == source_files.text_of(code) == ""


def test_a_function_with_asserts_that_pytest_rewrote_is_shown_as_written():
    def checked(x):
        assert x > 3, "too small"
        return x

    assert any("@" in name for name in checked.__code__.co_varnames), "pytest did not rewrite this module"
    assert source_files.definition_of(checked.__code__).startswith("def checked(x):\n    assert x > 3,")


def test_lambdas_and_closures_are_found_in_their_statements():
    factor = 2

    def closure(x):
        return x * factor

    function = lambda x: closure(x) + factor  # noqa: E731
    assert "lambda x: closure(x)" in source_files.text_of(function.__code__)
    assert source_files.definition_of(closure.__code__) == "def closure(x):\n    return x * factor\n"
