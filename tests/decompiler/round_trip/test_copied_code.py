"""Code that the compiler duplicates (loop tests, exits, clean-up) appears once in the text."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved, assert_same_text

SAME_TEXT = {
    "a choice as a test at the end of a class": """
        def f():
            class C:
                try:
                    a
                except E:
                    if b if c else d:
                        x

            return C
    """,
    "chained comparisons in an or": """
        def f(a, b):
            if a == 1 == b or a == 2 == b or c:
                g()
            h()
    """,
    "a chained comparison whose opposite is tested": """
        def f(a, b):
            if not a <= b <= 3 or c(4):
                g()
            while not a < b < 3 and c:
                h()
            k()
    """,
    "a while": """
        def f(a):
            while a.b > 0:
                g(a)
            return a.c
    """,
    "a while with else": """
        def f(a):
            while a.b > 0:
                g(a)
                if a:
                    break
            else:
                k()
            return a.c
    """,
    "a while with a long test and continue": """
        def f(a, b):
            while a or b < a.x < 3 and b:
                if not g(a):
                    b = h()
            return b
    """,
    "a while with a choice inside its test": """
        def f(a, b):
            c = 0
            while a[:c or None] and b[:c or None] and a[c - 1] == b[c - 1]:
                c -= 1
            return a[:c or None]
    """,
    "an end after a try": """
        def f(self):
            if self.a is None:
                try:
                    self.tell()
                except OSError:
                    self.a = False
                else:
                    self.a = True
            return self.a
    """,
    "an end inside an expression": """
        def f(e, a, b):
            if e is None:
                return
            raise E(e.args, b=b''.join(a) if a else None, c=b''.join(b) if b else None)
    """,
    "an end inside a statement": """
        def f(self, a):
            if self.p >= 2:
                self.write(X if a else Y)
                return
            self.write(Z if a else W)
    """,
    "a manager made of the variable that it is bound to": """
        def f(a):
            with g(a) as a:
                return a.b
    """,
    "an end after a with": """
        def f(self, a):
            with self.g(a) as b:
                b.c()
            return self.h()
    """,
    "a try after a clause that only passes": """
        def f(a):
            try:
                b = g(a)
            except OSError:
                pass
            else:
                if h(b) == a:
                    return b
                raise ValueError(a)
            try:
                return h(g, a)
            except AttributeError:
                pass
            raise ValueError(1)
    """,
    "two returns in a try with a finally": """
        def f(self, a, c):
            try:
                if c is None:
                    self.r = a.p()
                    return self.r
                self.r = c.close()
                return self.r
            finally:
                if c:
                    a.close()
    """,
    "values assigned together": """
        def f(a):
            x, y = g(), h()
            x, y = y, x
            i, j, k = 0, g(a), a
            a.p, q = g(), h()
            return i, j, k, q
    """,
    "is and in keep their sense": """
        def f(a, b):
            if not g(a) or a.c is not b.c:
                return 1
            if a in b:
                g(b)
                h(a)
                return 3
            return 2
    """,
}


@pytest.mark.parametrize("source", SAME_TEXT.values(), ids=SAME_TEXT.keys())
def test_comes_back_as_written(source: str) -> None:
    assert_same_text(source)


def test_a_constant_that_nothing_uses_in_one_copy_of_a_finally_body() -> None:
    assert_proved("""
        def f():
            try:
                g
            finally:
                b"y" if x else x
    """)


def test_an_import_beside_a_comprehension_over_a_cell() -> None:
    assert_proved("""
        def f():
            {x for [v] in h if (v for a in z)}
            import fake
    """)


def test_an_unpacked_number_in_an_except_clause() -> None:
    assert_proved("""
        def f():
            try:
                x
            except* E as z:
                c, d = ((c := x), 0.0)
                c, [] = ((c := x), 0.0)
    """)
