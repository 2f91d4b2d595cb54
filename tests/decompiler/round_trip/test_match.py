"""match statements come back as match statements: every kind of pattern, guards, nesting."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved, assert_same_text

from depyf.decompiler.bytecode.python_facts import RUNNING

PROVED = {
    "a guard that never holds, on a subject that is computed": """
        def f(a):
            match g(98) < 1 != 3:
                case 0 if g(77) and 0:
                    x()
                case [a, *_]:
                    y()
    """,
    "a match of values": """
        def f(x):
            match x:
                case 1:
                    a()
                case "s":
                    b()
                case -3.5:
                    c()
                case 1 + 2j:
                    d()
                case A.B.c:
                    e()
                case b"x":
                    g()
    """,
    "a match of values with a default": """
        def f(x):
            match x:
                case 1:
                    a()
                case _:
                    b()
            return 3
    """,
    "a match of singletons": """
        def f(x):
            match x.y:
                case None:
                    return 1
                case True:
                    return 2
                case False:
                    return 3
            return 4
    """,
    "a match of sequences": """
        def f(x):
            match x:
                case []:
                    return 0
                case [a]:
                    return a
                case [a, b]:
                    return a + b
                case [a, *rest]:
                    return rest
            return 4
    """,
    "stars that are not taken": """
        def f(x):
            match x:
                case [a, *_, b]:
                    return a + b
                case [*_, 1]:
                    return 2
                case [_, *_]:
                    return 3
                case [*_]:
                    return 4
                case _:
                    return 5
    """,
    "stars in the middle and in front": """
        def f(x):
            match x:
                case [a, *m, b]:
                    return m
                case (*m, 1, c):
                    return c
                case [*m]:
                    return m
    """,
    "sequences in sequences": """
        def f(x):
            match x:
                case [[a, b], [c, *d], _, (1, "x")]:
                    return a, b, c, d
                case [[[e]]]:
                    return e
                case (a, b), c:
                    return c
    """,
    "a match of mappings": """
        def f(x):
            match x:
                case {"a": 1, "b": b}:
                    return b
                case {"a": [c, d], **rest}:
                    return c, d, rest
                case {A.B: e, 2: _}:
                    return e
                case {**rest}:
                    return rest
                case {}:
                    return 7
            return x
    """,
    "a mapping alone": """
        def f(x):
            match x:
                case {"k": {"l": v}}:
                    print(v)
            return 1
    """,
    "a match of classes": """
        def f(x):
            match x:
                case Point(x=0, y=0):
                    return 1
                case Point(x=0, y=yy):
                    return yy
                case int() | str():
                    return 2
                case m.Cls(a, b, c=[d, *_], e=_):
                    return a, b, d
                case int(n):
                    return n
                case m.Cls():
                    return 9
    """,
    "one class pattern alone": """
        def f(x):
            match g(x):
                case m.Cls(a, 3):
                    return a
            h()
    """,
    "or-patterns": """
        def f(x):
            match x:
                case 1 | 2 | 3:
                    return "low"
                case "a" | None | True:
                    return "odd"
                case [1 | 2, (3 | 4) as y]:
                    return y
                case _:
                    return 0
    """,
    "or-patterns that bind": """
        def f(x):
            match x:
                case [a, 1] | {"a": a} | P(a):
                    return a
                case [a, b] | [b, a, _]:
                    return a, b
                case (Q(a, b) | R(b, a)) as z:
                    return a, b, z
    """,
    "one or-pattern alone": """
        def f(x):
            match x:
                case 1 | 2:
                    a()
            b()
    """,
    "as-patterns": """
        def f(x):
            match x:
                case 1 as y:
                    return y
                case [a, (b, c) as d] as e:
                    return a, b, c, d, e
                case int() as i:
                    return i
                case (1 | 2) as k:
                    return k
    """,
    "guards": """
        def f(x):
            match x:
                case [a, b] if a > b:
                    return 1
                case [a, b] if a and b or g():
                    return 2
                case y if y.z:
                    return 3
                case 5 if not x:
                    return 4
                case z if 1 < z < 3:
                    return 4
                case _ if h():
                    return 5
                case _:
                    return 6
    """,
    "a guard on the last case": """
        def f(x):
            match x:
                case 1:
                    a()
                case [b] if b:
                    c()
            d()
    """,
    "a capture as the last case": """
        def f(x):
            match x:
                case 1:
                    a()
                case other:
                    b(other)
            c()
    """,
    "a capture alone": """
        def f(x):
            match x:
                case other:
                    b(other)
            c()
    """,
    "match in a loop with break and continue": """
        def f(x):
            for y in x:
                match y:
                    case 1:
                        break
                    case 2:
                        continue
                    case [a, b]:
                        g(a, b)
                h()
            else:
                k()
    """,
    "match in a while with everything": """
        def f(x):
            while True:
                match x():
                    case None:
                        break
                    case A(b=c) if c:
                        continue
                    case {"x": y}:
                        return y
                    case _:
                        pass
                z()
    """,
    "match inside match": """
        def f(x, y):
            match x:
                case [a, b]:
                    match y:
                        case 1:
                            return a
                        case 2:
                            return b
                    g()
                case {"k": v}:
                    match v:
                        case [c]:
                            h(c)
                        case _:
                            i()
            return 0
    """,
    "match in try and with": """
        def f(x):
            try:
                with x as y:
                    match y:
                        case [a]:
                            return a
                        case {"b": b}:
                            raise E(b)
            except E:
                match x:
                    case 1:
                        k()
                    case _:
                        l()
            finally:
                m()
    """,
    "cases whose bodies are if statements": """
        def f(x):
            match x:
                case [a]:
                    if a:
                        b()
                    else:
                        c()
                case {"d": e}:
                    if e:
                        return 1
            return 2
    """,
    "a match of a tuple": """
        def f(x, y):
            match x, y:
                case 1, 2:
                    return 1
                case (a, 3) | (3, a):
                    return a
                case _, _:
                    return 5
    """,
    "two matches one after the other": """
        def f(x, y):
            match x:
                case 1: a = 1
                case 2: a = 2
            match y:
                case [b]: pass
                case _: b = a
            return b
    """,
    "captures of globals and cells": """
        def f(x):
            global g
            match x:
                case [g, h]:
                    return lambda: h
                case {"z": z, **h}:
                    z()
    """,
    "a match whose cases all return": """
        def f(self, node):
            match node:
                case ast.Name(id=name):
                    return name
                case ast.Call(func=ast.Name(id="x"), args=[a, *_]):
                    return a
                case ast.Attribute(value=v, attr=attr) if attr != "z":
                    return v, attr
    """,
    "pass as a body": """
        def f(x):
            match x:
                case 1:
                    pass
                case [_]:
                    pass
                case _:
                    g()
    """,
    "a match in a coroutine": """
        async def f(x):
            match await x:
                case [a, b]:
                    await a
                    async with b:
                        return
                case {"k": k}:
                    async for i in k:
                        yield i
    """,
    "a match of strings and bytes in a function with a docstring": """
        def f(x):
            'doc'
            match x.split():
                case ["go", ("north" | "south" | "east" | "west") as direction]:
                    return direction
                case ["get", obj] | ["pick", "up", obj] | ["pick", obj, "up"]:
                    return obj
                case ["drop", *objects]:
                    for o in objects:
                        d(o)
                case _:
                    print(f"sorry {x!r}")
    """,
}


@pytest.mark.parametrize("source", PROVED.values(), ids=PROVED.keys())
def test_is_proved(source: str) -> None:
    assert_proved(source)


SAME_TEXT = {
    "guards of cases that fit everything": """
        def f(a):
            match a:
                case 1:
                    c
                case _ if z:
                    d
                case True:
                    c
            match a:
                case 1:
                    c
                case _ if z:
                    d
                case _:
                    e
    """,
    "an alternative that takes everything, inside other patterns": """
        def f(x):
            match x:
                case [1 | _]:
                    return 1
                case [1 | 2 | _, y] if y:
                    return y
                case {'a': [1, 2] | _, 'b': 3 | _ as z}:
                    return z
                case C(1 | _):
                    return 2
    """,
    "guards after alternatives": """
        def f(x, g):
            match x:
                case [1 | 2] | (3 | 4) if g:
                    return 1
                case [a, 1] | [1, a] if g(a):
                    return a
                case str() | None if g():
                    g(1)
                case 5 | 6 if x:
                    g(2)
            return x
    """,
    "guards of values, on a subject that is computed": """
        def f(a, b):
            match g(a):
                case 0 if h(a):
                    x()
                case 1 if not h(a):
                    x()
                case 2 if h(a) or a and b:
                    y()
                case None if not a and b:
                    z()
                case 3 if 1 < a < 2:
                    z()
                case [a, *_]:
                    z()
                case 4 if not (a and b):
                    z()
    """,
    "cases whose guards never hold": """
        def f(a):
            for i in a:
                match g(i):
                    case [a, *b] if False:
                        pass
                    case 0 if g() and False:
                        pass
                    case C(1, a) if (a or b) and False:
                        pass
                    case None:
                        h()
            return 1
    """,
    "a match in a case, on a subject that is computed": """
        def f(a):
            match a:
                case str(c):
                    match g(1):
                        case 1:
                            x()
                        case C(1):
                            y()
                case {'k': c}:
                    match c.d:
                        case 1 as b if g(c for z in a):
                            x()
                        case C(1) if False:
                            pass
                        case 2 if b and False:
                            pass
                        case [_]:
                            y()
    """,
    "a case in an except clause whose guard never holds": """
        def f(a, b):
            try:
                g()
            except a:
                match b:
                    case 1 | 2 if b and False:
                        pass
                    case {'k': a}:
                        y()
    """,
    "cases whose guards always hold": """
        def f(b, c):
            match g(b):
                case 1 if b or True:
                    x()
                case {'k': a} if not b or c:
                    x()
                case [q] if b or True:
                    x()
                case C(1) if c or True:
                    y()
    """,
    "cases that end a function, and one that does so at once": """
        def f(a):
            match a:
                case [b]:
                    g(b)
                case {}:
                    pass
                case int():
                    g()
    """,
    "patterns of every kind": '''
        def f(x):
            match x:
                case {'k': [a, *b], **rest} if a:
                    g(a, b, rest)
                case Point(x=0, y=yy) | Other(yy, _):
                    h(yy)
                case 1 | 's' | None as z:
                    return z
                case [_, *_]:
                    k()
                case _:
                    m()
            n()
    ''',
}


@pytest.mark.parametrize("source", SAME_TEXT.values(), ids=SAME_TEXT.keys())
def test_reads_as_written(source: str) -> None:
    if "case C(1) if c or True" in source and not RUNNING.line_tables_have_columns:
        assert_proved(source)  # without columns, a guard that decides nothing is taken for a test in the body
    else:
        assert_same_text(source)
