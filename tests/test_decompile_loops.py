"""Loops, try and with in each other: control flow that the compiler rearranges."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved

PROVED = {
    "for else continue with a break inside": """
        def f(a):
            for x, y in a:
                for z in b(y):
                    if z:
                        break
                    g(x, z)
                else:
                    continue
                h()
            k()
    """,
    "a for that returns at once": """
        def f():
            for _ in x:
                return
            return 2
    """,
    "a with in a finally": """
        def f(a):
            try:
                b()
            finally:
                with q:
                    z()
    """,
    "an async with in a finally after a call": """
        async def f(a):
            try:
                b()
            finally:
                async with q:
                    z()
    """,
    "a finally that does nothing": """
        def f(a):
            for x in a:
                try:
                    try:
                        g(x)
                    except E as e:
                        h(e)
                finally:
                    pass
    """,
    "a finally inside a finally": """
        def f(self):
            try:
                a()
            finally:
                try:
                    if b:
                        c()
                finally:
                    d()
    """,
    "a finally that begins with try except": """
        def f():
            try:
                a()
            finally:
                try:
                    b()
                except E:
                    pass
    """,
    "two with blocks whose value is used afterwards": """
        def f(self, b):
            with m(b) as view, view.cast() as inner:
                data = self.read(len(inner))
            return len(data)
    """,
    "a return in try in an endless loop": """
        def f(self):
            while True:
                try:
                    return self[next(self.keys)]
                except StopIteration:
                    return None
                except KeyError:
                    continue
    """,
    "break out of an except clause with more after the loop": """
        def f(self):
            while True:
                try:
                    key = pop()
                except IndexError:
                    break
                except KeyError:
                    continue
                remove(key)
            a()
            b()
    """,
    "break and continue in a try in an endless loop": """
        def f(self):
            while True:
                try:
                    data = self.recv()
                    if not data:
                        break
                    self.process(data)
                except InterruptedError:
                    continue
                except BlockingIOError:
                    break
    """,
    "one try after the handler of another": """
        def f(a):
            try:
                return b(a)
            except (E, F):
                pass
            try:
                return c(a)
            except (E, F):
                pass
            raise G(f"{a!r}")
    """,
    "a return after a try that reads a variable that may be unbound": """
        def f(line):
            try:
                a, b = line
            except ValueError:
                a = ""
            try:
                b = int(b)
                if b < 100 or b > 999:
                    raise E(line)
            except ValueError:
                raise E(line)
            return a, b
    """,
    "assert False": """
        def f():
            assert False, "never"
    """,
    "return in a finally": """
        def f():
            for x in y:
                try:
                    return g(x)
                finally:
                    if x:
                        return 3
                    h()
    """,
    "a walrus that is None": """
        def f(self, node):
            if (result := self.get(node)) is None:
                self[node] = result = g(node)
            return result
    """,
    "a with inside an except inside a with": """
        def f(s):
            with a():
                b()
                try:
                    c(s)
                except E:
                    try:
                        c(s + 1)
                        return None
                    except E as e:
                        if "x" in str(e):
                            return None
            return c(s)
    """,
    "return of a value in a finally": """
        def f():
            try:
                return g(1)
            finally:
                return g(2)
    """,
    "returns in a finally with try inside": """
        def f(self, kind):
            try:
                if self.a:
                    self.a.close()
            finally:
                if kind == K:
                    if self.b > 0:
                        try:
                            self.w(self.b)
                        except E:
                            pass
                    self.b = 0
                    return
                self.wait()
    """,
    "break and continue in a finally": """
        def f(a):
            for x in a:
                try:
                    g(x)
                finally:
                    if x:
                        break
                    if h(x):
                        continue
                    k()
            return l()
    """,
    "a finally with try statements one after the other": """
        def f(self):
            try:
                a()
            finally:
                b = self.b
                try:
                    del self.c
                except A:
                    pass
                try:
                    if b:
                        b.close()
                finally:
                    d = self.d
                    if d and not self.e:
                        try: g(d)
                        except O: pass
                    self.h = False
    """,
    "a with that rebinds what its manager was made of": """
        def f(a):
            with closing(a) as a:
                if b:
                    c = a.d
                else:
                    c = a.e
                return None if g(c) else a.read()
    """,
}


@pytest.mark.parametrize("source", PROVED.values(), ids=PROVED.keys())
def test_is_proved(source: str) -> None:
    assert_proved(source)
