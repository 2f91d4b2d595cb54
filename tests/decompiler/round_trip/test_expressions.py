"""Expressions and simple statements come back as they were written."""

from __future__ import annotations

import math
import struct
import sys
from types import CodeType
from typing import Any, Dict

import pytest
from decompile_tools import assert_proved, assert_same_text, function_code

import depyf
from depyf.decompiler import DecompilationError, decompile_frame
from depyf.decompiler.bytecode.python_facts import RUNNING

SAME_TEXT = {
    "a list as the key of an augmented assignment": """
        def f(table):
            table[['a', c]] += 1
            g(table)[[h(x)]] *= h(y)
            table[{1: c}] -= 1
            return {**{**table}}, {**{**table, 1: 2}, 3: 4}
    """,
    "one name that both sides of a choice bind": """
        def f(g, h):
            a = (z := h) if g else (z := 's')
            a((y := 'x') if g else (y := 's'))
            return (z := 1) if g else (z := 2)
    """,
    "a chained comparison that ends with a test for None": """
        def f(a, b):
            if a < b is not None:
                c
            for v in a:
                if a < b is None:
                    yield (u for v in a if a < b is not None)
            return [u for v in a if a < b is not None]
    """,
    "an operator as the last statement of a loop": """
        def f(c):
            for d in c:
                x or d
            while c:
                x and (y or c)
    """,
    "an operation on a number that the compiler did not compute": """
        def f():
            return ~(1 or None), -(0.0 and None)
    """,
    "a function whose last statement is an operator": """
        def f(b):
            x and b
            b.r and (d or m)
    """,
    "an operator as the last statement of a branch": """
        def f(q):
            with a:
                b or c
            if q:
                b and c
                return
            b < c < d or q
    """,
    "assignments to places that are computed by conditions": """
        def f(a, b, c):
            while h:
                a[g or b] = b = c
            b[None >= b not in d] = c = a[b or a].d = c()
    """,
    "a lambda that several variables get, in a class, too": """
        def f(a):
            x = y = lambda: 1
            a.x = s = z = lambda b: b + a
            print(t := lambda: 2)

            class C:
                __repr__ = __str__ = lambda self: x

            return C, x, y, s, z, t
    """,
    "sets of constants inside comprehensions": """
        def f(a):
            print(any({1, 2, 3} & set(x) for x in a))
            return [x for x in a if x & {4, 5, 6}], {x for x in a if {7, 8, 9} & x}
    """,
    "a local that only code sets that is never reached": """
        def f(a):
            if False:
                i = None
            return a, i
    """,
    "dicts whose keys are numbers and tuples, with others unpacked into them": """
        def f(a, b, c):
            return {**b, 4.0: c}, {'a': 3, **b, 4.0: c, (1, 2): a()}, {**b, True: 1, **c, 5.0: 3}, {1.5: a, **b}
    """,
    "a read of a local that may have no value is a statement": """
        def f(a):
            if a:
                x = 1
            try:
                x
            except NameError:
                return 2
            -x
            return x
    """,
    "attributes, items and globals that are only looked at": """
        def f(a):
            a.b
            a[0]
            missing
    """,
    "a variable that is read and then assigned to in one expression": """
        def f(m, i):
            m[i, g(i := 3)] += 1
            m[i:g(i := 4)] += i
            return f(i, g() and (i := 3), i), [i, i := 4, *(i := g())]
    """,
    "a variable that changes inside an f-string, a comparison, a dict and a slice": """
        def f(i):
            return i < (i := 3) < i, f'{i}{(i := 2)}{i!r:{(i := 3)}}', {**i, **(i := 4)}, i[i:(i := 3)]
    """,
    "a lambda that does one thing for its effect and gives another": """
        def f(items):
            return lambda function: (items.append(function), function)[1]
    """,
    "a lambda that changes its parameter": """
        def f():
            return lambda i, j: (i, i := j, {i: (i := 4)})
    """,
    "elements of a set after those of another": """
        def f(x):
            return {*x, 2}, {1, *x, f(3), 4, *x, 5}, {x, *()}, {*x, *x}
    """,
    "a chain of assignments that take a value apart": """
        def f(o):
            x, y = o.a, o[0] = f((1, 2))
            x, y = z = o
            a = x, y = b = o.c
            o.a, b = c.d, (x, *y) = o[f(1)], (q,) = f()
            x, _, _ = y, _, _ = f()
    """,
    "a tuple that is taken apart and kept": """
        def f(x):
            n, m = shape = x, len(x)
            c.x, y = z = o = f(), (f(), 3)
            return n, m, shape
    """,
    "conditional expressions and chains among and, or": """
        def f(x):
            v = x and a < b < c and y
            w = x and x < x() <= x or 3 < x < 4 < 5
            return lambda: x and (a if c else d), lambda: (a if c else d if e else f) or x
    """,
    "a chained comparison that is returned, dropped, passed on": """
        def f(x):
            x <= 1 <= x
            g(x and 3 < x < 4, x if 1 < x < 2 else 1 < x < 3)
            return x or x < x <= x
    """,
    "a choice as an operand of what is returned": """
        def f(a, b, c):
            g(a, b if c else a)
            return lambda: a < b == (a if b else c), lambda: f(c if a else b, g) if a else b, a + (b if c else a)
    """,
    "a value that gets two names in an expression": """
        def f(x):
            return lambda: (z := (y := x)), (a := (b := x.c))
    """,
    "a choice as the last operand of a chained comparison that is tested": """
        def f(x, b, h):
            return lambda: x if x < x == (b if h else x) else b
    """,
    "a choice between a test and its opposite": """
        def f(x, d):
            if (not d if x else x) or x:
                x.y
            return not not f and x, ((x or x and d) and x)[f]
    """,
    "a lambda that only dropped code makes a closure": """
        def f(c, b):
            return lambda: 1 if True else (b,), lambda: x if True else (b, c)
    """,
    "a choice of chained comparisons": """
        def f(x):
            return x and (a < b < c if c else c < d < e)
    """,
    "a new list that gets a name in an expression": """
        def f(x):
            x = y = []
            return (y := [1, x]), f(z := {}), lambda: (w := [])
    """,
    "a variable that only a comprehension sets": """
        def f(x):
            return lambda: [x for i in x if (z := i)], [[q := j for j in i] for i in x]
    """,
    "known elements after unknown ones, unpacked or not": """
        def f(n, a, b):
            h(g(*n, *()), g(*n, *[a, b], *(1, 2), **n, **{}), g(*[*n]), g(*(*n,), **{**n}))
            return [*n, *[]], [*n, *[a, b], *(1, 2), *()], (*n, *[]), {*n, *[], *()}, [*n, [*n, *[]], *(n, g(n))]
    """,
    "a list with a variable that it is then stored to": """
        def f(a, c):
            g(h(c, 1), a := [a, *h(3, 2)], c := {**c, a: c})
    """,
    "a choice whose arms are tested again": """
        def f(a, b, c, d, y):
            g((a if c else b and d) or y, (a if c else b or d) or y, (a or b if c else d and a) and y)
            (a if c else b and d) or y
            x = [((a if c else b and d) or y) and d]
            return lambda: (a if c else (b and d or a) and y) or y, lambda: (a if c else d or y) and x
    """,
    "conditions that constants made shorter": """
        def f(a, b, c):
            if a or b and False or c:
                x()
            while a and (b or True):
                if a:
                    pass
                x()
            if g(1) < (2 if a or True else None) != a:
                z()
            assert a, [2, *g(a if c or True else None, 2)]
    """,
    "a choice that was written with its opposite": """
        def f(a, b, c):
            (a or c if not b else a) and a
            x = a if not b else c
            return x if c is not None else a, [a if not (b and c) else b]
    """,
    "known pairs after unknown ones, unpacked or not": """
        def f(n, k, v):
            g({**n, k: v}, {**n, 'n': 1, **{}}, **n, a=1, **{'b': 2}, **{k: 3}, c=4)
            return {**n, 'a': 1, **{'b': 2}, k: 1, **n, k: v, **{k: v}}
    """,
    "more pairs after a mapping than the compiler inserts at once": """
        def f(n, a):
            return {
                **n,
                PAIRS
                **{'b': 2},
            }
    """.replace("PAIRS", "\n                ".join(f"{number}: a," for number in range(40))),
    "a display to iterate over that the compiler did not turn into a constant": f"""
        def f(n):
            for x in [*()]:
                g(x)
            for x in {{*(1, 2)}}:
                g(x)
            return [x for x in {"[n, 1]" if RUNNING.comprehensions_iterate_late else "[*(n, 1)]"}]
    """,
    "a set of constants that comprehensions iterate over": """
        def f(n):
            g({x: n for x in {1, 2}}, {x for x in {1, 2, 3}})
            return [x for y in n for x in {1, 2}]
    """,
    "an expression of `and` and `or` whose value nobody uses": """
        def f(a, b, d):
            b and (d or b) or a
            b and (d or a) or c and (d or b)
            a()
    """,
    "a display that a generator expression iterates over": f"""
        def f():
            return (x for x in {"[1, 2]" if RUNNING.generator_expressions_iterate_first else "[*(1, 2)]"})
    """,
    "a generator that only dropped code makes a closure": """
        def f(c, y):
            return any(1 if True else (c,) for z in y)
    """,
    "infinity": """
        def f(x):
            return 1e309, -1e309, x
    """,
    "a nan that the compiler computed": """
        def f(x):
            return (1e309 - 1e309), [x, (1.0, (1e309 - 1e309))]
    """,
}


# Without columns (before 3.11) what the compiler copied and what was written twice in a line are the same.
NEED_COLUMNS = {
    "one name that both sides of a choice bind", "a choice of chained comparisons",
    "more pairs after a mapping than the compiler inserts at once",
}  # fmt: skip

# Where all parts of a display are made first, then unpacked at once, `{*x, a, b}` and `{*x, *{a, b}}` are the same code.
NEED_PARTS_IN_TURN = {
    "dicts whose keys are numbers and tuples, with others unpacked into them",
    "elements of a set after those of another", "known elements after unknown ones, unpacked or not",
}  # fmt: skip
AMBIGUOUS = {
    *(() if RUNNING.line_tables_have_columns else NEED_COLUMNS),
    *(NEED_PARTS_IN_TURN if RUNNING.displays_unpack_at_once else ()),
}


@pytest.mark.parametrize("title", SAME_TEXT)
def test_comes_back_as_it_was_written(title: str) -> None:
    if title not in AMBIGUOUS:
        assert_same_text(SAME_TEXT[title])
    else:
        assert_proved(SAME_TEXT[title])


def test_a_function_that_reads_its_names_keeps_those_of_dropped_code() -> None:
    result = assert_proved("""
        def f(a):
            if 0:
                hidden = 1
            return sorted(locals())
    """)
    names = ("a", "hidden") if sys.version_info >= (3, 10) else ("a",)  # older compilers leave no names of dead code
    assert result.code is not None and result.code.co_varnames == names


@pytest.mark.parametrize(
    "source",
    [
        """
        def f(name):
            return (lambda name:
                name.isupper()
                and (name.startswith('SIG') and not name.startswith('SIG_'))
                or name.startswith('CTRL_'))
        """,
        """
        def f(a, b, c, d):
            x = (a and
                (b or c) and d)
            return x
        """,
        """
        def f(a, b, c, d):
            return lambda: (a and b) and c, ((a or b) or c) and d
        """,
    ],
)
def test_conditions_on_several_lines_that_are_tested_again_stay_expressions(source: str) -> None:
    assert_proved(source)


# -- interactive code


@pytest.mark.parametrize("source", ["x; y", "x = 1; x; import os; os.sep", "1", "x and y"])
def test_interactive_code_keeps_printing_its_values_on_one_line(source: str) -> None:
    result = decompile_frame(compile(source, "<stdin>", "single"))
    assert result.proved, result.verdict
    note, text = result.source.splitlines()
    assert note == "# Interactive: compiled with mode 'single', which shows the values of expressions."
    assert text == source
    assert compile(result.source, "<again>", "single").co_code == compile(source, "<stdin>", "single").co_code


# -- constants that no source can spell


def with_constant(value: object) -> CodeType:
    code = function_code("def f(x):\n    return x, b'stand-in'")
    return code.replace(co_consts=tuple(value if const == b"stand-in" else const for const in code.co_consts))


def test_an_object_constant_is_described_at_the_top_and_refused_where_the_text_must_run() -> None:
    code = with_constant(object())
    lines = depyf.decompile(code).splitlines()
    assert lines[:2] == [
        "# Not self-contained: these names stand for constants of the bytecode that are no literals.",
        "# __constant_0 is a object",
    ]
    assert lines[-1].strip() == "return x, __constant_0"
    with pytest.raises(DecompilationError, match="no literal spells: __constant_0 is a object"):
        depyf.decompile(code, strict=True)


@pytest.mark.parametrize("negative", [False, True])
def test_a_nan_keeps_its_sign_bit(negative: bool) -> None:
    nan = math.copysign(math.nan, -1.0 if negative else 1.0)
    namespace: Dict[str, Any] = {}
    exec(depyf.decompile(with_constant(nan), strict=True), namespace)
    assert struct.pack("d", namespace["f"](1)[1]) == struct.pack("d", nan)


SENTINEL = object()


def test_defaults_with_a_name_or_a_literal_can_be_executed() -> None:
    def function(a=SENTINEL, b=[1, (2, {})], *, c=len, d=dict, e=test_a_nan_keeps_its_sign_bit):  # noqa: B006
        return a, b, c, d, e

    text = depyf.decompile(function)
    assert text.splitlines()[-2:] == [
        "def function(a=SENTINEL, b=[1, (2, {})], *, c=len, d=dict, e=test_a_nan_keeps_its_sign_bit):",
        "    return a, b, c, d, e",
    ]
    assert depyf.decompile(function, strict=True) == "from __future__ import annotations\n\n\n" + text


def test_a_default_without_a_name_is_refused_where_the_text_must_run() -> None:
    def function(a=object()):  # noqa: B008
        return a

    assert "def function(a=__constant_0):" in depyf.decompile(function)
    with pytest.raises(DecompilationError, match="__constant_0 is a object"):
        depyf.decompile(function, strict=True)


def test_operands_that_lead_past_a_test_stay_where_they_were_written() -> None:
    assert_proved("""
        def f(self, a, b, c, d):
            return (
                (not a or self.x)
                and (not b or self.y)
                and (not c or self.z)
                and (d is not False or self.w)
            )
    """)


@pytest.mark.parametrize("display", ["{%s}", "[%s]", "f(%s)"])
def test_a_long_display_of_computed_values_stays_one_display(display: str) -> None:
    pair = "a.k{0}: b({0})" if display == "{%s}" else "a.k{0}"
    items = ", ".join([pair.format(number) for number in range(40)])
    source = f"def shown(a, b):\n    return {display % items}\n"
    text = decompile_frame(function_code(source)).source
    assert "_1 = " not in text and "a.k39" in text
    assert_proved(source)
