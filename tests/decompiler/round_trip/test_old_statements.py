"""Statements that CPython 3.8 compiles in a way of its own come back as written, on every version."""

from __future__ import annotations

import sys

import pytest
from decompile_tools import assert_proved, assert_same_text, decompiled

from depyf.decompiler.bytecode.python_facts import RUNNING

AS_WRITTEN = {
    "a return that runs the finally body": '''
        def f(a, b):
            try:
                return a()
            finally:
                b()
        ''',
    "continue in a finally body": '''
        def f(a, b):
            for x in a:
                try:
                    b(x)
                finally:
                    if x:
                        continue
                    a()
        ''',
    "a finally body in a finally body": '''
        def f(a, b, c):
            try:
                a()
            finally:
                try:
                    if b:
                        b()
                finally:
                    c()
        ''',
    "a with statement in a finally body": '''
        def f(a, b):
            try:
                a()
            finally:
                with b:
                    a()
        ''',
    "displays and calls that unpack between calls": '''
        def f(a, b, g):
            return g(a(), *b(), a(), k=b(), **a()), [*a(), b()], (a, *b), {*a, *b}, {**a, 'k': b()}
        ''',
    "an assertion about None": '''
        def f(a):
            assert a is None, 'message'
            assert a.b is not None
            return a
        ''',
}  # fmt: skip


PROVED = {
    "an except clause that unbinds its name on three ways": '''
        def f(a, b):
            for x in a:
                try:
                    b(x)
                except ValueError as e:
                    if e.a:
                        continue
                    if e.b:
                        return e
                    b(e)
        ''',
    "a return out of two with statements": '''
        def f(a, b):
            with a as x, b as y:
                return x(y)
        ''',
    "a class whose bases are unpacked": '''
        def f(a, b):

            class C(a, *b, metaclass=a.m, **b.k):
                pass

            return C
        ''',
}  # fmt: skip


@pytest.mark.parametrize("source", AS_WRITTEN.values(), ids=AS_WRITTEN.keys())
def test_a_statement_comes_back_as_written(source):
    assert_same_text(source)


@pytest.mark.parametrize("source", PROVED.values(), ids=PROVED.keys())
def test_a_statement_comes_back_proved(source):
    assert_proved(source)


def test_a_value_that_a_finally_body_throws_away_is_proved():
    result = decompiled(
        """
        def f(a, b):
            while a:
                try:
                    return b()
                finally:
                    break
        """
    )
    assert result.proved, result.source


@pytest.mark.skipif(sys.version_info >= (3, 10), reason="there are match statements")
def test_no_text_has_a_match_statement_before_there_are_any():
    result = assert_proved(
        """
        def f(x):
            a = b = x()
            if a:
                return b
        """
    )
    assert "match" not in result.source


def test_branches_stay_in_the_order_of_the_source():
    assert_same_text(
        """
        def f(a, b):
            if a:
                try:
                    return b.x
                except KeyError:
                    return False
            return b
        """
    )
    assert_same_text(
        """
        def f(a, b):
            if a is None:
                if b is not None:
                    a = b
                else:
                    raise ValueError(b)
            b(a)
        """
    )


@pytest.mark.skipif(not RUNNING.returns_stay_in_place, reason="such a return is copied into the body since 3.9")
def test_a_return_behind_the_handlers_is_an_else_clause():
    assert_same_text(
        """
        def f(a, b):
            if a:
                try:
                    b()
                except KeyError:
                    pass
                else:
                    return
            a()
        """
    )
