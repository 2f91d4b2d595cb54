"""except* comes back as except*, whatever its clauses contain."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved

PROVED = {
    "types that are computed by a condition": """
        def f(p, q, r):
            try:
                p()
            except* (p if q else r, p):
                q(1)
            except* (p or r) as e:
                q(e)
            except* (p and q and r):
                pass
            except* (s := p > q > r):
                pass
            except* ([i for i in p], r) as e:
                q(e)
    """,
    "clauses of an except* that always raise, and what comes after": """
        def f(b):
            try:
                x()
            except* KeyError:
                raise E
            try:
                y()
            finally:
                z()
            w()
    """,
    "a body that returns and clauses that always raise, in a loop": """
        def f(b):
            for a in b:
                try:
                    return x()
                except* KeyError as e:
                    raise E from e
                y()
            while True:
                try:
                    return x()
                except* KeyError as e:
                    raise E from e
    """,
    "a clause of an except* that never ends": """
        def f():
            try:
                x()
            except* KeyError:
                while True:
                    x()
            y()
    """,
    "with blocks in each other in an except*": """
        def f(a, b):
            try:
                g()
            except* KeyError:
                with a:
                    with b:
                        h()
                    x()
                y()
    """,
    "an except* with a with block that always raises": """
        def f(a):
            try:
                g()
            except* ValueError:
                with a:
                    raise KeyError
    """,
    "break after an except*, in a finally and without one": """
        def f(a, b, c):
            for a in a:
                try:
                    x()
                except* a:
                    y()
                finally:
                    break
            for a in b:
                if a:
                    try:
                        x()
                    except* a:
                        y()
                    except* b as c:
                        y(c)
                    else:
                        z()
                    break
            while a:
                try:
                    x()
                except* a:
                    y()
                if a:
                    return 1
                elif b:
                    continue
                z()
    """,
    "continue in the body of an except* that a break follows": """
        def f(a):
            for c in a:
                try:
                    try:
                        continue
                    finally:
                        x()
                except* ValueError:
                    a
                break
    """,
    "an except* around a comprehension": """
        def f(a):
            try:
                g([z for z in y if a])
            except* ValueError:
                h()
    """,
    "an except* after a comprehension": """
        def f(a):
            g({z: a for z in y if a or z})
            try:
                g(a)
            except* ValueError as e:
                h(e)
            finally:
                g([z for z in y])
    """,
    "an except* with a name and one without": """
        def f():
            try:
                a()
            except* E as e:
                b(e)
            except* (F, G):
                c()
            else:
                d()
            z()
    """,
    "one except* clause": """
        def f():
            try:
                a()
            except* E:
                pass
    """,
    "an except* that does nothing with its name": """
        def f():
            try:
                a()
            except* E as e:
                pass
            return 1
    """,
    "an except* with finally": """
        def f():
            try:
                a()
            except* E as e:
                b(e)
            finally:
                z()
    """,
    "control flow inside an except* clause": """
        def f(x):
            try:
                return a()
            except* E as e:
                for y in e.exceptions:
                    if y:
                        try:
                            b(y)
                        except F:
                            continue
                    else:
                        break
                with c as d:
                    d()
            except* G:
                if x:
                    raise
                raise H from None
            return 3
    """,
    "an except* inside a loop": """
        def f(x):
            for i in x:
                try:
                    if i: break
                    if g(i): continue
                except* E:
                    h()
            return 3
    """,
    "an except* in an except*": """
        def f(x):
            try:
                a()
            except* E as e:
                try:
                    b()
                except* F as g:
                    c(e, g)
            d()
    """,
    "an except* in a coroutine": """
        async def f(x):
            try:
                async with a as b:
                    await b
            except* E as e:
                await c(e)
            except* F:
                async for i in d:
                    await i
    """,
    "an except* in an except and the other way round": """
        def f(x):
            try:
                try:
                    a()
                except* E:
                    b()
            except F as g:
                try:
                    c(g)
                except* H as i:
                    j(i)
    """,
    "an except* whose variable is a cell": """
        def f(x):
            try:
                a()
            except* E as e:
                return_later(lambda: e)
    """,
}


@pytest.mark.parametrize("source", PROVED.values(), ids=PROVED.keys())
def test_is_proved(source: str) -> None:
    assert_proved(source)
