"""Layout of the printer's text: parentheses, blank lines, line breaks. Correctness is tested in test_printer.py."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from depyf.decompiler import syntax as s
from depyf.decompiler.printer import SyntaxLimits, print_source

ANY = SyntaxLimits.of((3, 8))
NEWEST = SyntaxLimits.of((3, 15))
A, B, C, X = s.Name("a"), s.Name("b"), s.Name("c"), s.Name("x")


def text_of(node, features=ANY, **options):
    return print_source(node, features=features, **options).text


def assert_text(node, wanted, features=ANY, **options):
    assert text_of(node, features, **options) == dedent(wanted).lstrip("\n")


def number(value):
    return s.Constant(value)


EXPRESSIONS = [
    (s.BinOp(s.UnaryOp("-", A), "**", B), "(-a) ** b"),
    (s.UnaryOp("-", s.BinOp(A, "**", B)), "-a ** b"),
    (s.BinOp(A, "-", s.BinOp(B, "-", C)), "a - (b - c)"),
    (s.BinOp(s.BinOp(A, "-", B), "-", C), "a - b - c"),
    (s.BoolOp("or", [s.BoolOp("and", [A, B]), C]), "a and b or c"),
    (s.BoolOp("and", [A, s.BoolOp("and", [B, C])]), "a and b and c"),
    (s.BinOp(number(-1), "**", number(2)), "(-1) ** 2"),
    (s.BinOp(A, "*", number(-1)), "a * -1"),
    (s.Attribute(number(1), "real"), "(1).real"),
    (s.Attribute(number(-1), "real"), "(-1).real"),
    (s.Attribute(number(1.5), "real"), "1.5.real"),
    (number(1 + 2j), "(1+2j)"),
    (number(float("inf")), "1e309"),
    (number((1, (2,), ())), "(1, (2,), ())"),
    (s.Compare(A, ["in"], [number(frozenset("ba"))]), "a in {'a', 'b'}"),
    (s.IfExp(A, B, s.IfExp(C, A, B)), "b if a else a if c else b"),
    (s.Call(A, [s.GeneratorExp(X, [s.comprehension(X, B)])]), "a(x for x in b)"),
    (s.Call(A, [s.Starred(s.BoolOp("or", [B, C]))]), "a(*(b or c))"),
    (s.Subscript(A, s.Tuple([s.Slice(), s.Slice(B, None, C)])), "a[:, b::c]"),
    (s.Subscript(A, number((1, 2))), "a[1, 2]"),
    (s.Subscript(A, number(slice(1, None))), "a[1:]"),
    (s.JoinedStr([s.FormattedValue(s.Subscript(X, number("k")))]), "f\"{x['k']}\""),
    (s.JoinedStr([number("it's "), s.FormattedValue(X)]), 'f"it\'s {x}"'),
    (s.JoinedStr([s.FormattedValue(s.Dict(), 114), number("{")]), "f'{ {}!r}{{'"),
    (s.JoinedStr([s.FormattedValue(s.Call(A, [number("\n")]))]), "f\"\"\"{a('''\n''')}\"\"\""),
    (
        s.Lambda(s.arguments([s.arg("x")], [s.arg("y")], s.arg("z"), defaults=[A]), X),
        "lambda x, /, y=a, *z: x",
    ),
    (s.DictComp(A, B, [s.comprehension(s.Tuple([A, B]), C, [X])]), "{a: b for a, b in c if x}"),
    (s.Placeholder("device_0", object()), "device_0"),
]


@pytest.mark.parametrize(("node", "wanted"), EXPRESSIONS, ids=[wanted for _, wanted in EXPRESSIONS])
def test_no_superfluous_parentheses(node, wanted):
    assert text_of(node) == wanted


def test_syntax_of_the_newest_pythons():
    fields = [number("a"), s.Interpolation(X, "x ", 114), s.Interpolation(A)]
    assert text_of(s.TemplateStr(fields), NEWEST) == "t'a{x !r}{a}'"
    assert text_of(s.ListComp(s.Starred(X), [s.comprehension(X, A)]), NEWEST) == "[*x for x in a]"
    assert text_of(s.DictComp(X, None, [s.comprehension(X, A)]), NEWEST) == "{**x for x in a}"
    assert text_of(s.Import([s.alias("a")], is_lazy=1), NEWEST) == "lazy import a\n"
    assert text_of(s.ImportFrom("a", [s.alias("b")], is_lazy=1), NEWEST) == "lazy from a import b\n"


def test_new_pythons_get_escapes_instead_of_line_breaks_in_fstrings():
    node = s.JoinedStr([s.FormattedValue(s.Call(A, [number("\n")]))])
    assert text_of(node, NEWEST) == "f\"{a('\\n')}\""


STATEMENTS = [
    (s.Return(s.Tuple([A, s.Starred(B)])), "return a, *b"),
    (s.Return(number((1, 2))), "return 1, 2"),
    (s.Return(s.Tuple([A])), "return (a,)"),
    (s.Return(s.Yield(A)), "return (yield a)"),
    (s.Assign([s.Tuple([A, B]), X], s.Yield(s.Tuple([A, B]))), "a, b = x = yield a, b"),
    (s.AugAssign(X, "//", number(2)), "x //= 2"),
    (s.AugAssign(X, "+", s.Tuple([s.Starred(A), B])), "x += (*a, b)"),
    (s.AnnAssign(X, A), "x: a"),
    (s.Expr(s.NamedExpr(X, A)), "(x := a)"),
    (s.Delete([A, s.Subscript(B, number(-1))]), "del a, b[-1]"),
    (s.Raise(A, B), "raise a from b"),
    (s.Assert(A, number("no a")), "assert a, 'no a'"),
    (s.Import([s.alias("a.b", "c"), s.alias("d")]), "import a.b as c, d"),
    (s.ImportFrom("a", [s.alias("*")], 2), "from ..a import *"),
    (s.Nonlocal(["a", "b"]), "nonlocal a, b"),
    (
        s.TypeAlias(A, [s.TypeVar("T", B, C), s.TypeVarTuple("U"), s.ParamSpec("P")], X),
        "type a[T: b = c, *U, **P] = x",
    ),
]


@pytest.mark.parametrize(("node", "wanted"), STATEMENTS, ids=[wanted for _, wanted in STATEMENTS])
def test_statements_are_written_as_a_person_would(node, wanted):
    assert text_of(node) == wanted + "\n"


def test_else_if_is_elif_unless_a_comment_stands_between():
    inner = s.If(B, [s.Break()], [s.Continue()])
    assert_text(
        s.If(A, [s.Pass()], [inner]),
        """
        if a:
            pass
        elif b:
            break
        else:
            continue
        """,
    )
    assert_text(
        s.If(A, [], [s.Comment("why"), s.If(B, [s.Break()])]),
        """
        if a:
            pass
        else:
            # why
            if b:
                break
        """,
    )


def test_compound_statements():
    handlers = [s.ExceptHandler(s.Tuple([A, B]), "e", [s.Raise()]), s.ExceptHandler(None, None, [])]
    assert_text(
        s.AsyncFunctionDef(
            "f",
            s.arguments(args=[s.arg("x", A), s.arg("y")], defaults=[B], kwonlyargs=[s.arg("z", A)], kw_defaults=[C]),
            [
                s.AsyncFor(s.Tuple([A, B]), X, [s.Pass()], [s.Break()]),
                s.AsyncWith([s.withitem(A, s.Tuple([B, C])), s.withitem(X)], []),
                s.Try([s.Pass()], handlers, [s.Pass()], [s.Pass()]),
                s.While(s.NamedExpr(X, A), []),
            ],
            [A, s.Call(B, [C])],
            C,
        ),
        """
        @a
        @b(c)
        async def f(x: a, y=b, *, z: a = c) -> c:
            async for a, b in x:
                pass
            else:
                break
            async with a as (b, c), x:
                pass
            try:
                pass
            except (a, b) as e:
                raise
            except:
                pass
            else:
                pass
            finally:
                pass
            while x := a:
                pass
        """,
    )


def test_a_tuple_is_not_taken_for_two_context_managers():
    assert_text(s.With([s.withitem(number((1, 2)))], []), "with ((1, 2)):\n    pass\n")


def test_match_and_except_star():
    cases = [
        s.match_case(s.MatchSequence([s.MatchValue(number(-1)), s.MatchStar("rest")]), A, []),
        s.match_case(s.MatchMapping([number(1 + 2j)], [s.MatchAs()], "more"), None, []),
        s.match_case(s.MatchClass(A, [s.MatchSingleton(None)], ["k"], [s.MatchAs(name="v")]), None, []),
        s.match_case(
            s.MatchAs(s.MatchOr([s.MatchValue(number(1)), s.MatchAs(s.MatchValue(number(2)), "n")]), "m"),
            None,
            [],
        ),
    ]
    assert_text(
        s.TryStar([s.Match(s.Tuple([A, B]), cases)], [s.ExceptHandler(A, None, [])]),
        """
        try:
            match a, b:
                case [-1, *rest] if a:
                    pass
                case {1+2j: _, **more}:
                    pass
                case a(None, k=v):
                    pass
                case 1 | (2 as n) as m:
                    pass
        except* a:
            pass
        """,
    )


def test_definitions_are_separated_by_blank_lines_above_their_comments():
    method = s.FunctionDef("m", s.arguments(), [])
    inner = s.ClassDef("C", [A], [s.keyword("metaclass", B)], [s.Expr(number("Doc.")), method, method])
    assert_text(
        s.Module([s.Expr(number("Doc.")), s.Import([s.alias("a")]), s.Comment("about C"), inner, s.Comment("end")]),
        '''
        """Doc."""
        import a


        # about C
        class C(a, metaclass=b):
            """Doc."""

            def m():
                pass

            def m():
                pass


        # end
        ''',
    )


def test_docstrings_keep_their_lines():
    value = 'First "line".\n\n    Second\\ line "quoted"'
    assert_text(
        s.FunctionDef("f", s.arguments(), [s.Expr(number(value))]),
        '''
        def f():
            """First "line".

            Second\\\\ line "quoted\\""""
        ''',
    )
    assert_text(
        s.FunctionDef("f", s.arguments(), [s.Expr(number("First.\n\nSecond.\n"))]),
        '''
        def f():
            """First.

            Second.
            """
        ''',
        NEWEST,
    )


def test_comments_are_comments_whatever_they_contain():
    node = s.If(A, [s.Comment("one\n# two\n\nthree\0"), s.Pass(trailing="last\nline")], trailing="# header")
    assert_text(
        node,
        """
        if a:  # header
            # one
            # two
            #
            # three\\x00
            pass  # last line
        """,
    )


def test_a_comment_at_the_top_never_names_an_encoding():
    assert text_of(s.Module([s.Comment("encoding: none"), s.Pass()])) == "# encoding : none\npass\n"


def test_each_line_maps_to_the_bytecode_it_came_from():
    body = [
        s.Comment("one\ntwo", origin=1),
        s.If(A, [s.Pass(origin=3)], [s.If(B, [s.Pass(origin=5)], origin=4)], origin=2),
        s.FunctionDef("f", s.arguments(), [], [A, B], origin=6),
        s.Try([], [s.ExceptHandler(None, None, [], origin=8)], finalbody=[s.Return(origin=9)], origin=7),
    ]
    printed = print_source(s.Module(body), features=ANY)
    lines = printed.text.splitlines()
    assert len(lines) == len(printed.origins)
    assert [(line.strip(), origin) for line, origin in zip(lines, printed.origins) if origin >= 0] == [
        ("# one", 1),
        ("if a:", 2),
        ("pass", 3),
        ("elif b:", 4),
        ("pass", 5),
        ("@a", 6),
        ("try:", 7),
        ("except:", 8),
        ("return", 9),
    ]


def test_long_lines_break_inside_brackets_only():
    call = s.Call(s.Name("function"), [s.Name("argument"), s.Call(A, [s.Name("inner"), s.List([X, X])])])
    assert_text(
        s.Module([s.Assign([X], call), s.Return(s.BoolOp("and", [call, s.BoolOp("or", [A, B])]))]),
        """
        x = function(
            argument,
            a(inner, [x, x]),
        )
        return (
            function(
                argument,
                a(inner, [x, x]),
            )
            and (a or b)
        )
        """,
        width=30,
    )
    names = [s.alias("first_name"), s.alias("second_name")]
    assert_text(
        s.ImportFrom("module", names),
        """
        from module import (
            first_name,
            second_name,
        )
        """,
        width=30,
    )
    string = s.JoinedStr([s.FormattedValue(call)])
    assert text_of(s.Expr(string), width=10).count("\n") == 1


LONG, LONGER = "a_rather_long_name", "an_even_longer_name"
NO_BRACKETS = [
    (
        s.Assign([X], s.Attribute(s.Name(LONG), LONGER)),
        """
        x = (
            a_rather_long_name
                .an_even_longer_name
        )
        """,
    ),
    (
        s.While(s.Attribute(s.Name(LONG), "of_mine"), [s.Pass()]),
        """
        while (
            a_rather_long_name.of_mine
        ):
            pass
        """,
    ),
    (
        s.Return(number("one two three four five six seven")),
        """
        return (
            'one two three four five '
            'six seven'
        )
        """,
    ),
    (
        s.Expr(s.Call(A, [s.JoinedStr([number("one two three {} "), s.FormattedValue(s.Name(LONG))])])),
        """
        a(
            f'one two three {{}} '
            f'{a_rather_long_name}',
        )
        """,
    ),
    (
        s.Assign([X], s.Lambda(s.arguments([], [s.arg("b")]), s.BinOp(s.Name(LONG), "+", s.Name(LONGER)))),
        """
        x = (
            lambda b: a_rather_long_name
                + an_even_longer_name
        )
        """,
    ),
    (
        s.ImportFrom(LONG, [s.alias("one_name_alone")]),
        """
        from a_rather_long_name import (
            one_name_alone,
        )
        """,
    ),
]


@pytest.mark.parametrize(("node", "wanted"), NO_BRACKETS)
def test_lines_without_a_bracket_to_break_in_get_parentheses(node, wanted) -> None:
    assert_text(node, wanted, width=32)
    assert ast.dump(ast.parse(text_of(node))) == ast.dump(ast.parse(dedent(wanted)))


def test_a_long_line_of_one_part_stays_as_it_is() -> None:
    names = [f"a_rather_long_name_{number}" for number in range(5)]
    assert text_of(s.Global(names), width=32) == f"global {', '.join(names)}\n"


STRINGS = ["it's " * 20, 'say "it\'s" ' * 9, "\x00\n\\ \u20ac{}\U0001f600" * 9, b"\x00ab'" * 20, "x" * 100]


@pytest.mark.parametrize("value", STRINGS)
def test_strings_that_are_cut_mean_the_same(value) -> None:
    text = text_of(s.Assign([X], number(value)), width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert ast.literal_eval(text.partition("=")[2].strip()) == value


def test_fields_of_f_strings_stay_whole_when_the_string_is_cut() -> None:
    fields = [
        s.FormattedValue(s.Subscript(X, number("{"))),
        s.FormattedValue(s.Dict([A], [B]), 114),
        s.FormattedValue(A, -1, s.JoinedStr([number(">"), s.FormattedValue(B)])),
        number(" {text} " * 6),
    ]
    statement = s.Assign([X], s.JoinedStr(fields * 3))
    text = text_of(statement, width=40)
    assert text.count("\n") > 9 and ast.dump(ast.parse(text)) == ast.dump(ast.parse(text_of(statement)))


def test_a_long_list_of_deleted_names_stays_within_the_width() -> None:
    names = [s.Name("a" * 12), s.Name("b" * 12), s.Name("c" * 12)]
    text = text_of(s.Delete(names), width=30)
    assert max(map(len, text.splitlines())) <= 30
    assert compile(text, "", "exec").co_code == compile(text_of(s.Delete(names)), "", "exec").co_code


def test_a_long_statement_of_names_alone_stays_one_line() -> None:
    names = [f"variable_{number}" for number in range(9)]
    assert text_of(s.Global(names), width=30) == f"global {', '.join(names)}\n"
