"""Correctness of the printer: its text parses back to the tree. Layout is tested in test_printer_cosmetics.py."""

from __future__ import annotations

import ast
import math
import os
import random
import struct
import sys
import sysconfig

import pytest
from printer_roundtrip import AS_PARSED, RUNNING, check, convert, read

from depyf.decompiler import syntax as s
from depyf.decompiler.printer import SyntaxLimits, max_depth, print_source
from depyf.decompiler.syntax.literals import Unspellable

STDLIB = sysconfig.get_paths()["stdlib"]
HARD_FILES = ["test_grammar", "test_fstring", "test_patma", "test_named_expressions", "test_unpack_ex"]
OLDEST = SyntaxLimits()
A, B, C, X = s.Name("a"), s.Name("b"), s.Name("c"), s.Name("x")


def text_of(node, features=RUNNING, **options):
    return print_source(node, features=features, **options).text


def value_of(node, features=RUNNING, **names):
    return eval(text_of(node, features), names)


# ---- round trips of real programs


def sample_of_stdlib():
    names = sorted(name for name in os.listdir(STDLIB) if name.endswith(".py"))
    hard = [os.path.join("test", name + ".py") for name in HARD_FILES]
    paths = [os.path.join(STDLIB, name) for name in random.Random(0).sample(names, 35) + hard]
    return [path for path in paths if os.path.exists(path) and os.path.getsize(path) < 100_000]


@pytest.mark.parametrize("path", sample_of_stdlib(), ids=os.path.basename)
def test_real_programs_parse_back_to_the_same_tree(path):
    source = read(path)
    if source is None:
        pytest.skip("not Python to this interpreter")
    check(source, width=60 if len(source) % 2 else None)


EXPRESSIONS = """
(-1) ** 2; -1 ** 2; (-1).real; 1 .real; 1.5.real; -a ** -b; (-a) ** b; (a ** b) ** c; a ** b ** c; 2 ** -1
(await_ := 1); f(a := 1); f(x=(a := 1)); [a := 1, b]; (a := 1, b); {(a := 1)}; x[(a := 1)]; x[(a := 1):2]
not a == b; (not a) == b; not (a and b); a < (b < c); (a < b) < c; a == b == c; a is not b; a not in b
a and (b or c); (a and b) or c; a or b and c; a if b else c if d else e; (a if b else c) if d else e
lambda: (yield); (lambda: 1)(); lambda x, *a, y=1, **k: (x, y); (lambda: 1) if a else (lambda: 2); lambda *, x: 0
(a, b); (a,); (); [a]; [*a, b]; {*a}; {**a, 'b': c}; f(*a, *b, **c, d=1, **e); f((a, b)); f(x for x in y)
f((x for x in y), 1); [x for x in (a if b else c)]; [x for x in y if (a if b else c) if (lambda: 1)]
[x for x, *y in z]
x[1]; x[1, 2]; x[1:2, ::3]; x[()]; x[(a,)]; x[a:b:c]; x[:, None]; x[lambda: 1]
{a: b for a, b in c}; {(a, b) for a in b}; (a for a in b); {1: 2, **c}; {}
-(-a); +-~a; not not a; a - (b - c); a - b - c; a / (b * c); (a @ b) @ c; a @ (b @ c); a << b >> c; a & b | c ^ d
(a + b).c; (a + b)[c]; (a + b)(c); 'a'.b; ''.join(a); b'a'[0]; ...; (yield_); None is None; 1j.imag; 1e400; -1e400
"""


@pytest.mark.parametrize("line", [e for line in EXPRESSIONS.split("\n") for e in line.split("; ") if e])
def test_parentheses_keep_the_meaning(line):
    try:
        ast.parse(line)
    except SyntaxError:
        pytest.skip("not Python to this interpreter")
    check(line)


def random_expression(rng, depth):
    """Return a random expression tree, meaningful or not."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(
            [A, B, s.Constant(-1), s.Constant(2), s.Constant(-1.5), s.Constant("k'"), s.Constant((1, -2))]
        )

    def e():
        return random_expression(rng, depth - 1)

    target = s.Name("t")
    loop = s.comprehension(s.Tuple([A, s.Starred(B)]), e(), [e()])
    fields = [s.Constant("{l}'"), s.FormattedValue(e(), rng.choice([-1, 114]), None)]
    makers = [
        lambda: s.BinOp(e(), rng.choice(["+", "-", "*", "**", "@", "<<", "|", "&", "//"]), e()),
        lambda: s.UnaryOp(rng.choice(["-", "~", "not"]), e()),
        lambda: s.BoolOp(rng.choice(["and", "or"]), [e(), e(), e()]),
        lambda: s.Compare(e(), [rng.choice(["<", "is not", "not in"]), "=="], [e(), e()]),
        lambda: s.IfExp(e(), e(), e()),
        lambda: s.Lambda(s.arguments(args=[s.arg("p")], defaults=[e()]), e()),
        lambda: s.Call(e(), [e(), s.Starred(e())], [s.keyword("k", e()), s.keyword(None, e())]),
        lambda: s.Call(e(), [s.GeneratorExp(e(), [loop])]),
        lambda: s.Attribute(e(), "attr"),
        lambda: s.Subscript(e(), rng.choice([e(), s.Slice(e(), None, e()), s.Tuple([e(), s.Slice(e())])])),
        lambda: s.Tuple([e(), s.Starred(e())][: rng.choice([0, 1, 2])]),
        lambda: s.List([e(), s.Starred(e())]),
        lambda: s.Set([e(), e()]),
        lambda: s.Dict([e(), None], [e(), e()]),
        lambda: s.NamedExpr(target, e()),
        lambda: s.ListComp(e(), [loop]),
        lambda: s.SetComp(e(), [loop]),
        lambda: s.DictComp(e(), e(), [loop]),
        lambda: s.Await(e()),
        lambda: s.Yield(e()),
        lambda: s.YieldFrom(e()),
        lambda: s.JoinedStr(fields),
    ]
    return rng.choice(makers)()


def flat(node):
    """Normalize a tree as the parser does: flatten chains, split constants, join adjacent text."""
    for name in node.__slots__:
        value = getattr(node, name)
        if isinstance(value, (list, tuple)) and name != "value":
            setattr(node, name, [flat(item) if isinstance(item, s.Node) else item for item in value])
        elif isinstance(value, s.Node):
            setattr(node, name, flat(value))
    if isinstance(node, s.BoolOp):
        parts = [v.values if isinstance(v, s.BoolOp) and v.op == node.op else [v] for v in node.values]
        return s.BoolOp(node.op, sum(parts, []))
    if isinstance(node, s.Constant):
        if isinstance(node.value, tuple):
            return s.Tuple([flat(s.Constant(item)) for item in node.value])
        if isinstance(node.value, (int, float)) and node.value < 0:
            return s.UnaryOp("-", s.Constant(-node.value))
    return node


PLACES = [
    lambda e: s.Expr(e),
    lambda e: s.Return(e),
    lambda e: s.Assign([s.Name("x")], e),
    lambda e: s.AugAssign(s.Name("x"), "+", e),
    lambda e: s.AnnAssign(s.Name("x"), e, e),
    lambda e: s.If(e, [s.Pass()]),
    lambda e: s.While(e, [s.Pass()]),
    lambda e: s.For(s.Name("x"), e, [s.Pass()]),
    lambda e: s.With([s.withitem(e), s.withitem(e, s.Name("x"))], [s.Pass()]),
    lambda e: s.With([s.withitem(e)], [s.Pass()]),
    lambda e: s.Assert(e, e),
    lambda e: s.Raise(e, e),
    lambda e: s.Delete([s.Subscript(e, e)]),
]


@pytest.mark.parametrize("seed", range(30))
def test_any_tree_in_any_place_parses_back_to_itself(seed):
    rng = random.Random(seed)
    done = 0
    while done < 20:
        statement = rng.choice(PLACES)(random_expression(rng, 4))
        function = s.AsyncFunctionDef("f", s.arguments(), [statement])
        try:
            text = text_of(s.Module([function]), AS_PARSED, width=rng.choice([None, 50]))
        except Unspellable:
            continue
        done += 1
        back = convert(ast.parse(text)).body[0]
        assert s.dump(flat(back)) == s.dump(flat(function)), text


# ---- constants


def bits(value):
    return struct.pack("dd", value.real, value.imag)


def test_numbers_keep_every_bit():
    rng = random.Random(1)
    floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        math.inf,
        -math.inf,
        5e-324,
        1.7976931348623157e308,
        0.1,
        1e16,
        1e22,
        123456789.0,
    ]
    floats += [struct.unpack("d", rng.getrandbits(64).to_bytes(8, "little"))[0] for _ in range(2000)]
    for value in floats:
        if not math.isnan(value):
            got = value_of(s.Constant(value))
            assert type(got) is float and bits(got) == bits(value)
    for value in [0, -1, 1, True, False, 10**4299, -(10**4400), 1 << 20000, 4095, -4096]:
        got = value_of(s.Constant(value))
        assert type(got) is type(value) and got == value


def test_complex_numbers_keep_the_signs_of_zero_or_are_refused():
    parts = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, math.inf, -math.inf, 1e300, math.nan]
    refused = set()
    for real in parts:
        for imag in parts:
            value = complex(real, imag)
            try:
                folded = compile(text_of(s.Constant(value)), "", "eval").co_consts
            except Unspellable:
                refused.add((repr(real), repr(imag)))
                continue
            assert any(type(const) is complex and bits(const) == bits(value) for const in folded)
    assert {pair for pair in refused if "nan" not in pair} == {("-0.0", "0.0"), ("0.0", "-0.0")}


def test_strings_and_bytes_come_back_identical():
    rng = random.Random(2)
    alphabet = "ab '\"\\\n\r\t\0{}\x7f\x85\xa0é\u2028\ud800\udfff\U0001f600#%N"
    for _ in range(500):
        value = "".join(rng.choice(alphabet) for _ in range(rng.randrange(8)))
        assert value_of(s.Constant(value)) == value
        raw = value.encode("utf-8", "surrogatepass")
        assert value_of(s.Constant(raw)) == raw


def test_containers_that_the_compiler_folds():
    nested = (1, (None, ..., -0.0), "a", (), (b"x",))
    assert repr(value_of(s.Constant(nested))) == repr(nested)
    members = frozenset([1, "a", None, (2, 3)])
    code = compile(text_of(s.Compare(X, ["in"], [s.Constant(members)])), "", "eval")
    assert members in code.co_consts
    assert "{1}" in text_of(s.For(X, s.Constant(frozenset([1])), [s.Pass()]))


ODD_NAN = struct.unpack("<d", (0x7FF8000000000001).to_bytes(8, "little"))[0]


@pytest.mark.parametrize("value", [ODD_NAN, object(), int, frozenset([1]), frozenset(), [1], type("I", (int,), {})(3)])
def test_values_that_no_source_spells_are_refused_not_approximated(value):
    with pytest.raises(Unspellable):
        text_of(s.Constant(value))
    assert text_of(s.Placeholder("constant_1", value)) == "constant_1"


# ---- f-strings


ODD_TEXTS = [
    "{",
    "}",
    "{}",
    "}}",
    "\n",
    "'",
    '"',
    "'\"",
    "\\",
    "\0",
    "\t",
    "\u2028",
    "\ud800",
    "é",
    "\r",
    "#",
    "!r",
    ":",
]
ODD_TEXTS += ["{\n}", "'''\"\"\"", "\\N{DASH}", "N{", "\\{x}", "=", "!=", "ends with '", 'ends with "', ""]


class Spec:
    def __format__(self, spec):
        return "<" + spec + ">"


@pytest.mark.parametrize("odd", ODD_TEXTS)
def test_fstrings_keep_odd_text_around_fields_and_in_specifications(odd):
    around = s.JoinedStr([s.Constant(odd), s.FormattedValue(X), s.Constant(odd)])
    assert value_of(around, x=5) == odd + "5" + odd
    spec = s.JoinedStr([s.FormattedValue(X, -1, s.JoinedStr([s.Constant("a" + odd), s.FormattedValue(A)]))])
    assert value_of(spec, x=Spec(), a=7) == f"<a{odd}7>"


@pytest.mark.parametrize("odd", ODD_TEXTS)
def test_fstrings_keep_odd_constants_inside_fields_or_refuse(odd):
    in_call = s.JoinedStr([s.Constant("l'"), s.FormattedValue(s.Call(X, [s.Constant(odd)]))])
    item = s.FormattedValue(s.Subscript(A, s.Constant("k")))
    nested = s.JoinedStr([s.Constant('"'), s.FormattedValue(s.JoinedStr([s.Constant(odd), item]))])
    for features in {RUNNING, OLDEST}:
        for string, wanted in [(in_call, "l'" + repr(odd)), (nested, '"' + odd + "3")]:
            try:
                assert value_of(string, features, x=repr, a={"k": 3}) == wanted
            except Unspellable:
                assert not features.nested_quotes_in_fstrings
                assert any(char in odd for char in "\\\r\0\ud800") or odd == "'''\"\"\""


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_four_nested_fstrings_are_printed_for_every_python(depth):
    string = X
    for _ in range(depth):
        string = s.JoinedStr([s.Constant("-"), s.FormattedValue(string)])
    assert value_of(string, OLDEST, x=1) == "-" * depth + "1"


FIELDS = [
    s.Lambda(s.arguments(), A),
    s.IfExp(A, B, s.Lambda(s.arguments(), C)),
    s.NamedExpr(X, A),
    s.Dict([A], [B]),
    s.Subscript(s.Dict([A], [B]), A),
    s.BoolOp("or", [s.Dict(), B]),
    s.SetComp(A, [s.comprehension(A, B)]),
    s.Compare(A, ["!="], [B]),
    s.Tuple([A, s.Starred(B)]),
    s.Yield(A),
    s.Subscript(A, s.Slice(A, B)),
    s.Constant(-1),
    s.Constant("s"),
]


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: type(field).__name__)
def test_no_expression_in_a_field_is_taken_for_braces_or_specifications(field):
    string = s.JoinedStr([s.FormattedValue(field, 114, s.JoinedStr([s.Constant(">9")]))])
    function = s.FunctionDef("f", s.arguments(), [s.Expr(string)])
    for features in (AS_PARSED, OLDEST):
        back = convert(ast.parse(text_of(s.Module([function]), features))).body[0]
        assert s.dump(flat(back)) == s.dump(flat(function))


# ---- docstrings


def test_docstrings_come_back_identical():
    rng = random.Random(3)
    alphabet = [
        "a",
        " ",
        "\n",
        "\n    ",
        '"',
        '"""',
        "'",
        "\\",
        "\r",
        "\t",
        "\0",
        "\ud800",
        "é",
        "\\n",
        "\x0c",
    ]
    for _ in range(400):
        value = "".join(rng.choice(alphabet) for _ in range(rng.randrange(9)))
        body = [s.Expr(s.Constant(value)), s.Return()]
        module = ast.parse(text_of(s.Module([s.FunctionDef("f", s.arguments(), body)]), OLDEST))
        assert ast.get_docstring(module.body[0], clean=False) == value


def test_docstrings_that_the_compiler_dedents_come_back_identical():
    dedented = SyntaxLimits.of((3, 13))
    rng = random.Random(4)
    for _ in range(300):
        value = "".join(rng.choice(["a", " ", "\n", "\n  ", "\n\n", '"']) for _ in range(rng.randrange(9)))
        source = text_of(s.FunctionDef("f", s.arguments(), [s.Expr(s.Constant(value)), s.Return()]), dedented)
        if sys.version_info >= (3, 13):
            raw = compile(f"def f(): {value!r}", "", "exec").co_consts[0].co_consts[0]
            if raw == value:  # otherwise no docstring can have this value
                namespace = {}
                exec(source, namespace)
                assert namespace["f"].__doc__ == value, source


def test_a_string_that_is_no_docstring_stays_a_statement_of_its_own():
    check("x = 1\n'''a\nb'''\nclass A:\n    x = 2\n    'a'\n")


# ---- depth and time


CHAINS = {
    "sum": lambda inner: s.BinOp(inner, "+", A),
    "and": lambda inner: s.BoolOp("and", [A, inner]),
    "calls": lambda inner: s.Call(s.Attribute(inner, "m"), [A]),
    "nested": lambda inner: s.Call(A, [inner]),
}


def chain(name, size):
    if name == "elif":
        statement = s.If(X, [])
        for _ in range(size):
            statement = s.If(A, [s.Pass()], [statement])
        return statement
    expression = X
    for _ in range(size):
        expression = CHAINS[name](expression)
    return s.Expr(expression)


@pytest.mark.parametrize("width", [None, 110])
@pytest.mark.parametrize("name", [*CHAINS, "elif"])
def test_depth_costs_no_recursion(name, width):
    large = chain(name, 10_000)
    assert print_source(large, features=OLDEST, width=width).text
    assert max_depth(large) == (1 if name == "elif" else 0)


def test_a_chain_of_two_thousand_terms_compiles_to_its_value():
    total = chain("sum", 2000).value
    try:
        assert value_of(total, x=0, a=1) == 2000
    except (RecursionError, MemoryError):
        pytest.skip("this interpreter's own parser gives up")
    assert value_of(chain("and", 2000).value, x=7, a=1) == 7


def test_blocks_nest_deeper_than_pythons_stack():
    statement = s.Pass()
    for _ in range(3000):
        statement = s.While(A, [statement])
    assert max_depth(statement) == 3000
    assert text_of(statement, indent=1).endswith(" " * 3000 + "pass\n")


# ---- syntax that only some Pythons have


def test_syntax_that_the_target_lacks_is_refused_or_avoided():
    odd_decorator = s.FunctionDef("f", s.arguments(), [], [s.Subscript(A, s.Constant(0))])
    with pytest.raises(Unspellable):
        text_of(odd_decorator, SyntaxLimits.of((3, 8)))
    assert text_of(odd_decorator, SyntaxLimits.of((3, 9))).startswith("@a[0]\n")
    starred = s.Subscript(X, s.Tuple([s.Starred(A), B]))
    assert text_of(starred, SyntaxLimits.of((3, 10))) == "x[(*a, b)]"
    assert text_of(starred, SyntaxLimits.of((3, 11))) == "x[*a, b]"
    with pytest.raises(Unspellable):
        text_of(s.Subscript(X, s.Tuple([s.Starred(A), s.Slice()])), SyntaxLimits.of((3, 10)))
    deep_spec = s.FormattedValue(A, -1, s.JoinedStr([s.FormattedValue(B, -1, s.JoinedStr([s.FormattedValue(C)]))]))
    with pytest.raises(Unspellable):
        text_of(deep_spec, SyntaxLimits.of((3, 11)))
    assert text_of(deep_spec, SyntaxLimits.of((3, 12))) == "f'{a:{b:{c}}}'"


def test_tuples_that_python_3_7_reads_in_parentheses_only_have_them_there():
    text = "def f():\n    yield (*a, b)\n    x: t = a, b\n    return (*a, b)\n"
    oldest, newer = [text_of(convert(ast.parse(text)), SyntaxLimits.of(version)) for version in ((3, 7), (3, 8))]
    assert oldest == text.replace("a, b\n    return", "(a, b)\n    return")
    assert newer == "def f():\n    yield *a, b\n    x: t = a, b\n    return *a, b\n"
