"""Nested loops, try and with: control flow that the compiler rearranges."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved, assert_same_text, function_code

PROVED = {
    "break and a with in the finally that it runs": """
        def f(a, b, c):
            for c in a:
                try:
                    if b:
                        break
                    elif c:
                        return 1
                    x()
                except ValueError:
                    y()
                else:
                    try:
                        break
                    finally:
                        z()
                finally:
                    if q:
                        w()
                    else:
                        with a:
                            w()
            return 2
    """,
    "a loop that a finally leaves before it runs twice": """
        def f(a):
            while True:
                try:
                    x()
                    if a:
                        break
                    w()
                finally:
                    y()
                    break
            while a:
                try:
                    x()
                finally:
                    y()
                    break
            z()
    """,
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
    "an endless loop that is a try with break and finally": """
        def f():
            while True:
                try:
                    a(1)
                except ValueError:
                    break
                finally:
                    a(2)
    """,
    "an endless loop whose finally ends it": """
        def f():
            while 1:
                try:
                    if a(2):
                        continue
                finally:
                    if a(4):
                        break
    """,
    "an endless generator whose finally ends it": """
        def f():
            while True:
                try:
                    yield 1
                finally:
                    if a(1):
                        break
    """,
    "a choice that is returned from an except clause in a loop": """
        def f(a, b):
            while a:
                try:
                    return g(a, b) if b else a
                except E as e:
                    if e.x not in b:
                        raise
                    try:
                        c = h(a)
                        if c != a:
                            return k(c, b) if b else c
                    except E:
                        pass
                    a, d = l(a)
            return b
    """,
    "a break out of an except clause with more of the loop after it": """
        def f(a):
            for x in a:
                for k, v in x:
                    if k == 1:
                        try:
                            v = int(v)
                        except ValueError:
                            g()
                            break
                        k = h(v)
                    if k in a:
                        if v is None:
                            g(k)
                            break
                        x[k] = v
                    else:
                        a[k] = v
                if x:
                    continue
                b(x)
    """,
    "breaks and long raises in an endless loop with more after it": """
        def f(a):
            while True:
                try:
                    b = a()
                except StopIteration:
                    b = None
                if c(b):
                    if not b:
                        raise E("end of something", (a, 0), b)
                elif d(b):
                    if not b:
                        break
                    if e(b) == a:
                        break
                    g(b)
                else:
                    if not b:
                        raise E("end of something else", (a, 0), b)
                h(b)
            if a:
                k(a)
            for x in a:
                l(x)
    """,
    "an endless loop that raises first and is followed by continue": """
        def f(a):
            while True:
                if g(a):
                    while True:
                        if a.next is None:
                            raise a.error("missing ), unterminated comment", a.tell() - 1)
                        if h() == ")":
                            break
                    continue
                k(a)
    """,
    "a loop with break and more after it in an except clause": """
        def f(a, b):
            try:
                c = a[b]
            except KeyError:
                while 1:
                    try:
                        d()
                    except S:
                        raise E("invalid") from None
                    try:
                        e()
                        if g():
                            h()
                    except S:
                        break
                a[b] = c
            return c
    """,
    "returns in except clauses between a try and its finally": """
        def f(a):
            try:
                b = g(a)
            except O as e:
                h(e)
                return
            try:
                k(b)
            except A as e:
                h(e)
                return
            except B as e:
                if a:
                    h(e)
                else:
                    h(1)
                return
            finally:
                b.close()
            if a:
                l(a)
    """,
    "a while in a finally": """
        def f(a):
            try:
                while a:
                    yield from g(a)
            finally:
                while a:
                    b, c = a.pop()
                    if b == h:
                        k(c)
    """,
    "a loop in the else of a try": """
        def f(self):
            a = 2
            try:
                b = g(1)
            except A:
                pass
            else:
                while b:
                    if not h(b):
                        break
                    b = b.back
            k(a)
            return b
    """,
    "a finally that nests a finally and never returns": """
        def f(self, a):
            if a:
                g(a)
                return
            else:
                b = 1
                try:
                    self.h(a)
                    b = 0
                except E:
                    self.k(a)
                finally:
                    try:
                        self.l(a)
                    finally:
                        m(b)
    """,
    "a return after an endless loop that an except clause ends": """
        def f(self):
            a = g()
            while True:
                if len(a) > 3:
                    b = 1
                try:
                    c = h(b)
                except B:
                    if a:
                        break
                    return None
                if not c:
                    break
                a += c
            return bytes(a)
    """,
    "a finally that leaves the loop a value was returned from": """
        def f(x):
            while True:
                try:
                    for x in a(7):
                        return x
                finally:
                    break
    """,
    "a finally that returns after returns with and without a value": """
        def f(x, y):
            try:
                if x:
                    with a(1), a(2) as y:
                        return a(3)
                elif y:
                    return
                a(4)
            except E as e:
                return 1 if x else y
            finally:
                return a(5)
    """,
    "a finally that raises after returns": """
        def f(x):
            try:
                a(0)
            except (E, F):
                return x
            finally:
                raise E(14)
    """,
    "a finally that never ends": """
        def f(x):
            while True:
                try:
                    a(12)
                except:
                    continue
                finally:
                    while True:
                        a(20)
    """,
    "a while with or in a finally": """
        def f(x):
            try:
                a(7)
            finally:
                while b(8) or x is None:
                    a(12)
    """,
    "a raise in the else of a try in a loop in a loop": """
        def f(x):
            while True:
                with a(13) as y:
                    a(16)
                while x:
                    try:
                        a(19)
                    except E:
                        a(21)
                    else:
                        a(23)
                        raise E(24)
    """,
    "a for that returns at once in an endless loop": """
        def f(x):
            for y in x:
                while True:
                    for z in a(y):
                        return
    """,
    "breaks out of an endless loop by ways of their own": """
        def f(self, node):
            if node:
                prev = None
                while True:
                    next = node.next
                    if next is None:
                        node.prev = prev
                        break
                    node = a(node, next)
                    if node is None:
                        break
                    prev = node
                prev = node.prev
                while prev is not None:
                    prev = b(prev)
                node.prev = None
            return node
    """,
    "a match as the whole of a while in a while": """
        def f(x):
            while x:
                while x:
                    match x:
                        case [a, b]:
                            break
    """,
    "a while as the whole of a case": """
        def f(x, y):
            match x:
                case [a, b]:
                    while not y:
                        t(0)
    """,
    "a return in a while in two with": """
        def f(x):
            with a(4), a(5) as y:
                while x:
                    if x:
                        return
            a(24)
    """,
    "a return after a try in a while in a try": """
        def f(x):
            try:
                while x:
                    try:
                        a(5)
                    except (E, F):
                        a(7)
                    return
            except E:
                a(13)
            a(14)
    """,
    "a break after a finally with an if": """
        def f(x):
            for x in a(1):
                try:
                    a(2)
                finally:
                    if x:
                        a(0)
                break
    """,
    "continue and break in a finally in a finally": """
        def f():
            for i in a(3):
                try:
                    b(1)
                except ValueError:
                    try:
                        b(2)
                    except ValueError:
                        break
                    finally:
                        if c(1):
                            continue
                finally:
                    try:
                        b(3)
                    except KeyError:
                        continue
                    else:
                        if c(2):
                            break
            return i
    """,
    "break in a with in a finally under except*": """
        def f():
            for i in a(2):
                try:
                    with m(1):
                        for j in a(2):
                            try:
                                if c(1):
                                    return b(j)
                            finally:
                                with m(2):
                                    if c(2):
                                        break
                                    b(4)
                except* ValueError:
                    b(5)
    """,
    "a try whose return may find its variable unbound": """
        def f(a):
            try:
                b(1)
            except ValueError as a:
                b(2)
            except KeyError as a:
                del a
            try:
                return a
            except UnboundLocalError:
                return 1
    """,
    "an endless loop in a finally": """
        def f(x):
            try:
                a(0)
            finally:
                while True:
                    if x:
                        a(9)
                    elif x:
                        a(24)
                    else:
                        break
    """,
    "a while with break in a finally": """
        def f(x):
            try:
                a(0)
            finally:
                while x:
                    if x:
                        break
                    a(28)
    """,
    "a return in a try in two with": """
        def f(x):
            with a(6), a(7) as y:
                if x:
                    try:
                        if x:
                            return
                    except F as e:
                        a(23)
            a(31)
    """,
    "a return in a for in an except clause": """
        def f(x):
            if b(5):
                try:
                    a(8)
                except F as e:
                    for x in a(17):
                        return
            a(21)
    """,
    "a return in a try with finally in an except clause": """
        def f(x):
            if x:
                try:
                    a(7)
                except F as e:
                    try:
                        a(0)
                    except (E, F):
                        return x
                    finally:
                        a(15)
                a(0)
    """,
    "continue and break in a try in a try in an endless loop": """
        def f():
            while True:
                try:
                    try:
                        a(0)
                    except (E, F):
                        continue
                    except:
                        break
                except (E, F):
                    a(23)
                else:
                    a(27)
            a(28)
    """,
    "a finally with break in a finally": """
        def f(x):
            for x in a(22):
                try:
                    try:
                        a(0)
                    finally:
                        try:
                            a(24)
                        finally:
                            break
                except F as e:
                    return
    """,
    "an endless loop whose first loop has one way out": """
        def f(self):
            while True:
                a = b""
                while True:
                    b = self.read()
                    a += b
                    if not b.strip():
                        break
                if not a:
                    break
                c = self.feed(a)
                if c is not None:
                    if c < 0:
                        raise ValueError("Max number of fields exceeded")
                self.append(c)
                if c.done or self.n >= self.length > 0:
                    break
            self.skip_lines()
    """,
    "an endless loop in a with that raises first": """
        def f(self, a):
            with self.g(a) as b:
                while 1:
                    c = a.read()
                    if len(c) > self.d:
                        raise E("got more than %d bytes" % self.d)
                    if not c:
                        break
                    b.send(c)
                if S is not None and h(b, S):
                    b.unwrap()
            return self.k()
    """,
    "a for whose else returns and whose break goes on": """
        def f(self, a):
            for b in a:
                if b != "":
                    break
            else:
                return ""
            c = "|".join(g(d) for d in a)
            return "%s)" % c
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


@pytest.mark.parametrize(
    "source",
    [
        """
        def f(a):
            try:
                g()
            except a:
                h()
            else:
                i()
            finally:
                j()
        """,
        """
        def f(a, b):
            try:
                g()
            except a:
                if b:
                    h()
            except b:
                pass
        """,
        """
        def f(a, c):
            try:
                try:
                    x()
                except Exception as c:
                    y()
                return c
            except a:
                z()
        """,
        """
        def f(a, b):
            try:
                try:
                    g()
                except KeyError as e:
                    if a:
                        h()
                        k(e)
                    elif b:
                        i = 1
                    else:
                        j()
            except E:
                k()
            x()
        """,
        """
        def f(a):
            try:
                return g()
            except KeyError:
                if a:
                    h()
                else:
                    i()
            finally:
                j()
            if a:
                k()
        """,
        """
        def f(b, c):
            try:
                g()
            except ValueError as c:
                h()
            finally:
                while i(b, c):
                    if not c:
                        j()
        """,
        """
        def f(a, b, c):
            try:
                x()
            except a:
                while a if b else c:
                    y()
            z()
        """,
        """
        def f(a):
            while g(1):
                with a as m:
                    if g(2):
                        break
                    h(m)
            else:
                return i()
            j(2)
        """,
        """
        def f(a, b):
            while a < g(1) < b:
                try:
                    x()
                    return 1
                except E:
                    y()
        """,
    ],
)
def test_code_that_the_compiler_copied_appears_once(source: str) -> None:
    assert_same_text(source)


def test_a_loop_over_a_constant_set_shows_its_elements():
    assert_same_text("def f():\n    for x in {1, 2, 3}:\n        g(x)")
    in_comprehension = "def f():\n    return [y for y in {'a', 'b'}]"
    if any(isinstance(constant, frozenset) for constant in function_code(in_comprehension).co_consts):  # before 3.15
        assert_same_text(in_comprehension)
    assert_same_text("def f():\n    for x in {8, 0}:\n        g(x)")  # sorted, it would iterate the other way round


@pytest.mark.parametrize(
    "source",
    [
        """
        def f(a):
            for x in a:
                if x.done:
                    continue
                g(x)
        """,
        """
        def f(a):
            for x in a:
                if not x.done:
                    g(x)
        """,
        """
        def f(a):
            for x in a:
                if not x.first:
                    continue
                if x.second == 1 or x.third:
                    continue
                g(x)
                yield x
        """,
        """
        def f(a, b):
            while a():
                if b and a.c:
                    continue
                with b:
                    for x in a:
                        if x.d:
                            continue
                        g(x)
        """,
        """
        def f(a):
            while a():
                pass
        """,
    ],
)
def test_a_continue_is_shown_where_the_source_has_one_and_nowhere_else(source: str) -> None:
    assert_same_text(source)


@pytest.mark.parametrize("first", ["a in b", "a is b", "a"])
@pytest.mark.parametrize("second", ["b is not a", "b in a"])
def test_an_assert_under_a_condition_keeps_both_tests_as_they_were_written(first: str, second: str) -> None:
    assert_same_text(f"def f(a, b):\n    if {first}:\n        assert {second}, 'no'\n    g()")
