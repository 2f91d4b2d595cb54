"""Hand-written wrong decompilations: each must be refuted, or users would be shown a wrong text as proved."""

from __future__ import annotations

import textwrap
from types import CodeType

import pytest
from decompile_tools import skip_newer_syntax

from depyf.decompiler.prove import Grade, prove


def function_code(source: str) -> CodeType:
    """Return the code of the one function that `source` defines (without its defaults)."""
    skip_newer_syntax(source)
    module = compile(textwrap.dedent(source), "<test>", "exec")
    (code,) = [const for const in module.co_consts if isinstance(const, CodeType)]
    return code


# title -> (the original, the wrong decompilation)
MUTANTS = {
    # Branches.
    "a branch is flipped": (
        "def f(a):\n if a: return 1\n return 2",
        "def f(a):\n if not a: return 1\n return 2",
    ),
    "is None is flipped": (
        "def f(a):\n if a is None: return 1\n return 2",
        "def f(a):\n if a is not None: return 1\n return 2",
    ),
    "is None becomes a truth test": (
        "def f(a):\n if a is None: return 1\n return 2",
        "def f(a):\n if not a: return 1\n return 2",
    ),
    "is becomes ==": ("def f(a, b): return a is b", "def f(a, b): return a == b"),
    "in becomes not in": ("def f(a, b): return a in b", "def f(a, b): return a not in b"),
    "in with its sides swapped": ("def f(a, b): return a in b", "def f(a, b): return b in a"),
    "a and b becomes b and a": ("def f(a, b): return a and b", "def f(a, b): return b and a"),
    "and becomes or": ("def f(a, b): return a and b", "def f(a, b): return a or b"),
    "a and b becomes bool": ("def f(a, b): return a and b", "def f(a, b): return bool(a and b)"),
    "a condition is tested twice": (
        "def f(a):\n if a: g()\n return 1",
        "def f(a):\n if a and a: g()\n return 1",
    ),
    "a condition is not tested": ("def f(a):\n if a: pass\n return 1", "def f(a):\n return 1"),
    "< becomes <=": ("def f(a, b): return a < b", "def f(a, b): return a <= b"),
    "a chained comparison evaluates its middle twice": (
        "def f(a, b): return a < b() < 9",
        "def f(a, b): return a < b() and b() < 9",
    ),
    "not (a < b) becomes a >= b": ("def f(a, b): return not a < b", "def f(a, b): return a >= b"),
    "elif chain in another order": (
        "def f(a, b):\n if a: return 1\n elif b: return 2\n return 3",
        "def f(a, b):\n if b: return 2\n elif a: return 1\n return 3",
    ),
    # Loops.
    "break is lost": (
        "def f(a):\n for x in a:\n  if x: break\n  g(x)",
        "def f(a):\n for x in a:\n  if x: continue\n  g(x)",
    ),
    "the else of a loop runs always": (
        "def f(a):\n for x in a:\n  if x: break\n else: g()\n return 1",
        "def f(a):\n for x in a:\n  if x: break\n g()\n return 1",
    ),
    "a loop runs once": ("def f(a):\n while a(): g()", "def f(a):\n if a(): g()"),
    "the iterable is evaluated twice": (
        "def f(a):\n for x in a(): g(x)",
        "def f(a):\n for x in a(): g(x)\n for x in a(): pass",
    ),
    "endless loop against a return": ("def f():\n while True: pass", "def f():\n return"),
    # Constants.
    "1 becomes True": ("def f(g): return g(1)", "def f(g): return g(True)"),
    "1 becomes 1.0": ("def f(g): return g(1)", "def f(g): return g(1.0)"),
    "0.0 becomes -0.0": ("def f(g): return g(0.0)", "def f(g): return g(-0.0)"),
    "a tuple of 1 becomes one of True": ("def f(g): return g((1, 2))", "def f(g): return g((True, 2))"),
    "0j becomes -0j": ("def f(g): return g(0j)", "def f(g): return g(-0j)"),
    "str becomes bytes": ("def f(g): return g('a')", "def f(g): return g(b'a')"),
    "None becomes ...": ("def f(g): return g(None)", "def f(g): return g(...)"),
    "return 'abc' becomes return abc": ("def f(): return 'abc'", "def f(): return abc"),
    "a dict's key 'x' becomes the name x": ("def f(a, x): return {'x': a}", "def f(a, x): return {x: a}"),
    "a list becomes a tuple": ("def f(a): return g([a])", "def f(a): return g((a,))"),
    "a set becomes a list": ("def f(): return {1, 2}", "def f(): return [1, 2]"),
    "a frozenset loses an element": ("def f(a): return a in {1, 2, 3}", "def f(a): return a in {1, 2}"),
    "a dict in another order": ("def f(): return {'a': 1, 'b': 2}", "def f(): return {'b': 2, 'a': 1}"),
    # Order and number of events.
    "operands are swapped": ("def f(a, b): return a - b", "def f(a, b): return b - a"),
    "calls are reordered": ("def f(): return [g(), h()]", "def f():\n x = h()\n return [g(), x]"),
    "an attribute is read after the call": (
        "def f(a):\n x = a.b\n g()\n return x",
        "def f(a):\n g()\n x = a.b\n return x",
    ),
    "an attribute is read twice": ("def f(a):\n x = a.b\n return g(x, x)", "def f(a): return g(a.b, a.b)"),
    "an expression copied by COPY is evaluated twice": (
        "def f(a):\n x = y = a()\n return x + y",
        "def f(a):\n x = a()\n y = a()\n return x + y",
    ),
    "x.y += f() evaluates x twice": ("def f(x): x().y += 1", "def f(x): x().y = x().y + 1"),
    "an attribute is stored twice": ("def f(x): x.y += g()", "def f(x):\n x.y += g()\n x.y = x.y"),
    "+= becomes +": ("def f(a, b):\n a += b\n return a", "def f(a, b):\n a = a + b\n return a"),
    "a subscript is read after a global": (
        "def f(a, i):\n x = a[i]\n return g(x)",
        "def f(a, i):\n return g(a[i])",
    ),
    "a global is read after a call": (
        "def f():\n x = counter\n g()\n return x",
        "def f():\n g()\n x = counter\n return x",
    ),
    "a global is not read": ("def f():\n missing\n return 1", "def f():\n return 1"),
    "a cell is read after a call": (
        "def f(g):\n n = 0\n def h():\n  nonlocal n\n  n += 1\n x = n\n h()\n return x",
        "def f(g):\n n = 0\n def h():\n  nonlocal n\n  n += 1\n h()\n x = n\n return x",
    ),
    "a call is dropped": ("def f(g):\n g()\n return 1", "def f(g):\n return 1"),
    "a call is invented": ("def f(g):\n return 1", "def f(g):\n g()\n return 1"),
    "a hash is skipped": ("def f(a):\n {a: 1}\n return 1", "def f(a):\n return 1"),
    # Calls.
    "a keyword is lost": ("def f(a): return g(a, k=1)", "def f(a): return g(a, 1)"),
    "a keyword is renamed": ("def f(a): return g(k=a)", "def f(a): return g(l=a)"),
    "keywords in another order": ("def f(a, b): return g(k=a, l=b)", "def f(a, b): return g(l=b, k=a)"),
    "a star is lost": ("def f(a): return g(*a)", "def f(a): return g(a)"),
    "two stars become one": ("def f(a): return g(**a)", "def f(a): return g(*a)"),
    "a method becomes a function": ("def f(a, b): return a.m(b)", "def f(a, b): return m(a, b)"),
    "arguments are swapped": ("def f(a, b): return g(a, b)", "def f(a, b): return g(b, a)"),
    # Containers.
    "one list becomes two": ("def f():\n l = []\n return g(l, l)", "def f():\n l = []\n return g(l, [])"),
    "two lists become one": ("def f(): return g([], [])", "def f(): return g(*[[]] * 2)"),
    "a slice has another end": ("def f(a): return a[1:2]", "def f(a): return a[1:3]"),
    "a slice gets a step": ("def f(a): return a[1:2]", "def f(a): return a[1:2:1]"),
    "a fresh list has its elements swapped": ("def f(a, b): return [a, b]", "def f(a, b): return [b, a]"),
    "the starred target moves": (
        "def f(x):\n a, *b, c = x\n return a, b, c",
        "def f(x):\n *a, b, c = x\n return a, b, c",
    ),
    "an unpacking gets more targets": (
        "def f(x):\n a, b = x\n return a, b",
        "def f(x):\n a, b, c = x\n return a, b",
    ),
    "a list changes before it is passed on": (
        "def f(g):\n l = [1]\n g(l)\n l[0] = 2\n return l",
        "def f(g):\n l = [1]\n l[0] = 2\n g(l)\n return l",
    ),
    # Strings.
    "!r is lost": ("def f(x): return f'{x!r}'", "def f(x): return f'{x}'"),
    "a format spec is lost": ("def f(x): return f'{x:>10}'", "def f(x): return f'{x}'"),
    "str() for an f-string": ("def f(x): return f'{x}'", "def f(x): return str(x)"),
    # Exceptions.
    "an except clause is lost": ("def f(g):\n try: g()\n except E: pass", "def f(g):\n g()"),
    "the wrong exception is caught": (
        "def f(g):\n try: g()\n except E: return 1",
        "def f(g):\n try: g()\n except F: return 1",
    ),
    "except clauses in another order": (
        "def f(g):\n try: g()\n except E: return 1\n except F: return 2",
        "def f(g):\n try: g()\n except F: return 2\n except E: return 1",
    ),
    "finally is skipped on return": (
        "def f(g):\n try: return g()\n finally: h()",
        "def f(g):\n try: x = g()\n except BaseException:\n  h()\n  raise\n return x",
    ),
    "finally runs twice": (
        "def f(g):\n try: g()\n finally: h()",
        "def f(g):\n try: g()\n finally:\n  h()\n  h()",
    ),
    "the body of the try is larger": (
        "def f(g):\n try: x = g()\n except E: return 1\n return h(x)",
        "def f(g):\n try:\n  x = g()\n  return h(x)\n except E: return 1",
    ),
    "a re-raise becomes a raise": (
        "def f(g):\n try: g()\n except E as e: raise",
        "def f(g):\n try: g()\n except E as e: raise e",
    ),
    "raise from is lost": (
        "def f(g):\n try: g()\n except E as e: raise F from e",
        "def f(g):\n try: g()\n except E as e: raise F",
    ),
    "a call moves out of the handler": (
        "def f(g):\n try: g()\n except E: h()\n k()",
        "def f(g):\n failed = False\n try: g()\n except E: failed = True\n if failed: h()\n k()",
    ),
    "with loses its exit": ("def f(a):\n with a: g()", "def f(a):\n a.__enter__()\n g()"),
    "an assertion loses its message": ("def f(a):\n assert a, 'm'", "def f(a):\n assert a"),
    "a local differs in the handler": (
        "def f(g):\n x = 1\n try:\n  x = 2\n  g()\n except E: return x",
        "def f(g):\n x = 1\n try:\n  g()\n  x = 2\n except E: return x",
    ),
    # Names and lifetimes.
    "a del is dropped": ("def f(g):\n x = g()\n del x\n g()", "def f(g):\n x = g()\n g()"),
    "a del moves behind a call": ("def f(g):\n x = g()\n del x\n g()", "def f(g):\n x = g()\n g()\n del x"),
    "a del is invented": ("def f(g, a):\n g(a)\n g()", "def f(g, a):\n g(a)\n del a\n g()"),
    "a temporary keeps a value alive": (
        "def f(g):\n g(g())\n g()",
        "def f(g):\n t = g()\n g(t)\n g()",
    ),
    "a list of ours keeps a value alive": (
        "def f(g):\n g(g())\n g()",
        "def f(g):\n t = [g()]\n g(t[0])\n g()",
    ),
    "a result is kept that was dropped": ("def f(g):\n g()\n g()", "def f(g):\n t = g()\n g()"),
    "a local is not assigned": ("def f(g):\n x = g()\n g()\n return 1", "def f(g):\n g()\n g()\n return 1"),
    "an unbound local is read": (
        "def f(a):\n if a: x = 1\n return x",
        "def f(a):\n x = 2\n if a: x = 1\n return x",
    ),
    "a local becomes a cell": (
        "def f(g):\n x = g()\n return lambda: 1",
        "def f(g):\n x = g()\n return lambda: x",
    ),
    "a local becomes a global": (
        "def f(g):\n x = g()\n return x",
        "def f(g):\n global x\n x = g()\n return x",
    ),
    "a variable is renamed in a frame that calls locals": (
        "def f(a):\n x = a()\n return locals()",
        "def f(a):\n y = a()\n return locals()",
    ),
    "a loop variable is renamed": (
        "def f(a):\n for x in a: g(x)\n return 1",
        "def f(a):\n for y in a: g(y)\n return 1",
    ),
    # Heads.
    "*args becomes args": ("def f(*args): return args", "def f(args): return args"),
    "keyword-only becomes positional": ("def f(*, a): return a", "def f(a): return a"),
    "positional-only becomes positional": ("def f(a, /): return a", "def f(a): return a"),
    "parameters in another order": ("def f(a, b): return a", "def f(b, a): return a"),
    "a docstring is lost": ("def f():\n 'doc'\n return 1", "def f():\n return 1"),
    "a generator becomes a function": ("def f(a):\n yield a", "def f(a):\n return iter([a])"),
    "an async function becomes a plain one": ("async def f(a): return a", "def f(a): return a"),
    "a yield loses its value": ("def f(a):\n yield a", "def f(a):\n yield"),
    "yield from becomes a loop": ("def f(a):\n yield from a", "def f(a):\n for x in a: yield x"),
    "an await is lost": ("async def f(a): return await a", "async def f(a): return a"),
    # Nested functions.
    "a default is changed": (
        "def f():\n def h(a=1): pass\n return h",
        "def f():\n def h(a=2): pass\n return h",
    ),
    "a default is lost": ("def f():\n def h(a=1): pass\n return h", "def f():\n def h(a): pass\n return h"),
    "a keyword-only default is changed": (
        "def f():\n return lambda *, a=1: a",
        "def f():\n return lambda *, a=True: a",
    ),
    "an annotation is lost": (
        "def f():\n def h(a: int): pass\n return h",
        "def f():\n def h(a): pass\n return h",
    ),
    "a nested body differs": (
        "def f():\n def h(a): return a + 1\n return h",
        "def f():\n def h(a): return 1 + a\n return h",
    ),
    "a nested function is renamed": (
        "def f():\n def h(): pass\n return h",
        "def f():\n def k(): pass\n return k",
    ),
    "a nested docstring differs": (
        "def f():\n def h(): 'one'\n return h",
        "def f():\n def h(): 'two'\n return h",
    ),
    "a closure captures the other cell": (
        "def f(a, b):\n return (lambda: a), b, lambda: b",
        "def f(a, b):\n return (lambda: b), a, lambda: a",
    ),
    "a generator expression becomes a list": (
        "def f(a): return g(x for x in a)",
        "def f(a): return g([x for x in a])",
    ),
    "a comprehension loses its condition": (
        "def f(a): return [x for x in a if x]",
        "def f(a): return [x for x in a]",
    ),
    "a decorator is lost": (
        "def f(d):\n @d\n def h(): pass\n return h",
        "def f(d):\n def h(): pass\n return h",
    ),
    "a base class is lost": (
        "def f(B):\n class C(B): pass\n return C",
        "def f(B):\n class C: pass\n return C",
    ),
    # Imports and names.
    "an import gets another level": (
        "def f():\n from . import a\n return a",
        "def f():\n from .. import a\n return a",
    ),
    "import a.b as c loses b": (
        "def f():\n import a.b as c\n return c",
        "def f():\n import a.b as d\n c = a\n return c",
    ),
    "a global store is lost": ("def f(a):\n global x\n x = a", "def f(a):\n global x"),
    "a global delete is lost": ("def f():\n global x\n del x", "def f():\n global x"),
    "an attribute is renamed": ("def f(a): return a.b", "def f(a): return a.c"),
    "a store becomes a delete": ("def f(a): a.b = 1", "def f(a):\n del a.b"),
    "match loses a guard": (
        "def f(a):\n match a:\n  case [x, y] if x: return y",
        "def f(a):\n match a:\n  case [x, y]: return y",
    ),
    "a mapping pattern loses its rest": (
        "def f(a):\n match a:\n  case {'k': v, **r}: return r",
        "def f(a):\n match a:\n  case {'k': v}: return r",
    ),
}


def test_a_different_order_of_locals_is_refuted_where_the_function_lists_them() -> None:
    original = "def f(c):\n if c: x = 1\n else: y = 2\n x = 3; y = 4\n return list(locals())"
    flipped = "def f(c):\n if not c: y = 2\n else: x = 1\n x = 3; y = 4\n return list(locals())"
    assert not prove(function_code(original), function_code(flipped)).holds


@pytest.mark.parametrize("title", MUTANTS)
def test_a_wrong_decompilation_is_refuted(title: str) -> None:
    original, wrong = (function_code(source) for source in MUTANTS[title])
    assert prove(original, original.replace(co_name="other")).grade is Grade.PROVED
    verdict = prove(original, wrong)
    assert verdict.grade is Grade.REFUTED or title.endswith("calls locals"), str(verdict)
    assert not verdict.holds
    if verdict.divergence is not None:
        assert "original @" in str(verdict)
