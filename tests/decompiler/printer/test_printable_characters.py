"""Strings are written as `repr` of the Python that they belong to writes them, whichever Python reads the file."""

from __future__ import annotations

import sys

import pytest

from depyf.decompiler import syntax as s
from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION, supported_versions
from depyf.decompiler.printer import SyntaxLimits, print_source
from depyf.decompiler.printer.printable_characters import as_repr_of, is_printable_in

OLD, NEW = "\u00e9", "\U0001fae0"  # in every Unicode; a face that came with Unicode 14, and so with 3.11
NEWEST = "\ua7dc"  # Unicode 16: 3.14


@pytest.mark.parametrize(
    ("version", "shown"),
    [((3, 10), f"'{OLD}\\U0001fae0\\ua7dc'"), ((3, 11), f"'{OLD}{NEW}\\ua7dc'"), ((3, 14), f"'{OLD}{NEW}{NEWEST}'")],
)
def test_a_string_shows_the_characters_that_its_python_shows(version, shown):
    text = repr(OLD + NEW + NEWEST)
    assert as_repr_of(text, version) == shown and eval(shown) == OLD + NEW + NEWEST
    assert as_repr_of(shown, RUNNING_VERSION) == text == as_repr_of(text, None)


def test_backslashes_before_the_letters_of_an_escape_stay():
    for value in ("\\ua7dc", "\\" + NEWEST, "\\\\ua7dc", "\\" + OLD):
        for version in supported_versions():
            assert eval(as_repr_of(repr(value), version)) == value


def test_the_running_python_agrees_with_the_table():
    characters = [chr(number) for number in range(sys.maxunicode) if not 0xD800 <= number < 0xE000]
    text = "".join(characters)
    assert as_repr_of(repr(text), RUNNING_VERSION) == repr(text)
    for size in (1, 1000):
        for start in range(0, len(text), 9973):
            piece = text[start : start + size]
            assert is_printable_in(piece, RUNNING_VERSION) == piece.isprintable()


@pytest.mark.parametrize("version", [(3, 10), (3, 12)])
def test_strings_docstrings_and_fstrings_are_all_written_so(version):
    part = s.JoinedStr([s.Constant(NEW), s.FormattedValue(s.Constant(NEW))])
    body = [s.Expr(s.Constant("a\n" + NEW)), s.Return(s.Tuple([s.Constant(NEW), part]))]
    text = print_source(s.FunctionDef("f", s.arguments(), body), features=SyntaxLimits.of(version)).text
    assert text.count(NEW) == (4 if version > (3, 10) else 1)  # in the braces of an f-string there is no escape
