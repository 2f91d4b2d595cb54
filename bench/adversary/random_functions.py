"""Random functions over all statements of the language. Function N of a seed is made from (seed, N) alone.

The text is a module that binds `f`, the function to decompile, and `made`, how it is called: `plain`, `generator`,
`async` or `async generator`. Every loop does something traced in each iteration, outside any `try` inside of it: so
the end of a schedule leaves all loops.
"""

from __future__ import annotations

import random
import sys
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Callable, List

from bench.adversary.random_expressions import ATTRIBUTES, LOCALS, Place, RandomExpressions
from bench.adversary.random_patterns import RandomPatterns

EXCEPTIONS = ("Fault", "Flaw", "Loss", "Exception", "(Fault, Loss)", "NameError", "BaseException", "TypeError", "m")
Lines = List[str]


@dataclass(frozen=True)
class RandomFunction:
    """A module that binds `f`."""

    seed: int
    number: int
    source: str
    kind: str  # how `f` is driven: "def", "generator", "async", "async generator"


def random_function(seed: int, number: int) -> RandomFunction:
    """Return function number N of a seed: the first of its tries that compiles."""
    tries = 0
    while True:
        made = Statements(random.Random(f"{seed}:{number}:{tries}")).module(seed, number)
        if compiles(made.source):
            return made
        tries += 1


def compiles(source: str) -> bool:
    """Return whether a text is a valid module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<random>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def indented(lines: Lines) -> Lines:
    """Return the lines one level deeper."""
    return [f"    {line}" for line in lines]


class Statements(RandomExpressions):
    """Make random statements, as lines."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.patterns = RandomPatterns(chance)
        self.left = chance.choice([3, 5, 8, 12, 18, 25]) if chance.random() > 0.02 else 50  # statements to make
        self.inner = 0
        self.simple: List[Callable[[Place], Lines]] = []
        self.compound: List[Callable[[Place], Lines]] = []
        for weight, simple in (
            (10, self.assign), (3, self.unpack), (2, self.chained), (4, self.augmented), (2, self.annotated),
            (8, self.effect), (2, self.discarded), (3, self.delete), (1, self.self_store), (2, self.leave),
            (2, self.raise_), (2, self.assert_), (2, self.import_), (1, self.nothing),
        ):  # fmt: skip
            self.simple += [simple] * weight
        for weight, compound in (
            (6, self.if_), (3, self.while_), (5, self.for_), (5, self.try_), (2, self.try_star), (4, self.with_),
            (3, self.match), (4, self.def_), (2, self.class_), (1, self.dead),
        ):  # fmt: skip
            self.compound += [compound] * weight

    # ---------------------------------------------------------------- the module

    def module(self, seed: int, number: int) -> RandomFunction:
        """Return a module with one function."""
        kinds = ["def"] * 12 + ["generator"] * 4 + ["async"] * 3 + ["async generator"] * 2
        kind = self.chance.choice(kinds)
        wrapping = self.chance.choice(["none"] * 8 + ["closure", "closure", "method"])
        free = ("s", "t") if wrapping == "closure" else ()
        place = Place(kind, depth=1, enclosing=free)
        body = self.function("f", place, self_first=wrapping == "method")
        if wrapping == "closure":
            tail = self.chance.choice([[], ["del t"], ["t = g"]])
            lines = ["def around(s, t):", *indented([*body, *tail, "return f"]), "f = around(g(), h())"]
        elif wrapping == "method":
            lines = ["class Owner(Base):", *indented(body), "f = Owner.f", "self = Owner()"]
        else:
            lines = body
        if self.one_in(25):
            lines.insert(0, "from __future__ import annotations")
        return RandomFunction(seed, number, "\n".join(lines) + "\n", kind)

    def function(self, name: str, place: Place, self_first: bool = False) -> Lines:
        """Return a function definition with its body."""
        word = "async def" if place.can_await else "def"
        generic = self.chance.choice(["[T]", "[*T]", "[**P]", "[T: g, U]"])
        generic = generic if sys.version_info >= (3, 12) and self.one_in(40) else ""
        returns = f" -> {self.bound()}" if self.one_in(10) else ""
        head = f"{word} {name}{generic}({self.parameters(place, self_first)}){returns}:"
        body = self.declared(place)
        if self.one_in(15):
            body.insert(0, '"""Documented."""')
        if place.depth == 1 and not self.one_in(10):
            body += self.chance.sample(["c = g(a)", "d = h", "z = m()", "c = d = g()", "z = [b]"], 4)
        if place.depth == 1 and self.one_in(40):
            body += self.many()
        names = tuple(dict.fromkeys([*place.enclosing, "a", "b"]))
        inside = replace(place, enclosing=names)
        body += self.block(inside, 2 if place.depth > 1 else 4)
        if place.can_yield and not any("yield" in line for line in body):
            body.insert(self.chance.choice([len(self.declarations(body)), len(body)]), f"yield {self.atom()}")
        if self.one_in(3):
            body.append(f"return {self.expression(inside, 1)}" if place.kind != "async generator" else "return")
        if self_first and self.one_in(2):
            body.insert(len(self.declarations(body)), self.chance.choice(["super().base(a)", "b = super().base"]))
        return [head, *indented(body)]

    def declarations(self, body: Lines) -> Lines:
        """Return the lines at the top of a body that have to stay there."""
        count = 0
        while count < len(body) and body[count].startswith(("global ", "nonlocal ", '"""')):
            count += 1
        return body[:count]

    def declared(self, place: Place) -> Lines:
        """Return `global` and `nonlocal` declarations for the top of a function."""
        lines = []
        if self.one_in(7):
            lines.append(f"global {self.chance.choice(['z', 'd', 'd, z', 'g'])}")
        if place.enclosing and self.one_in(2):
            lines.append(f"nonlocal {self.chance.choice(place.enclosing)}")
        return lines

    def parameters(self, place: Place, self_first: bool) -> str:
        """Return a parameter list."""
        if place.depth > 1:
            return self.chance.choice(["", "", "a", "b=g", "a, b", "*c", "a, *, k=1", "a, /, b=g.p", "**d"])
        e = self.bound
        first = "self, " if self_first else ""
        return first + self.chance.choice(
            [
                "a, b",
                "a, b",
                "a, b, c",
                "a, b, c=1",
                f"a, b, c={e()}",
                "a, /, b",
                "a, b, *c",
                "a, b, *, k",
                f"a, b, *, k={e()}",
                "a, b, *c, k=None, **d",
                f"a: {e()}, b: {e()} = 2",
                "b, a, **d",
                "c, b, a",
            ]
        )

    def many(self) -> Lines:
        """Return many locals or one large display: compilers number and fold those in other ways."""
        count = self.chance.choice([20, 20, 40, 300])
        way = self.chance.randrange(4)
        if way == 0:
            return [f"v{n} = {self.atom()}" for n in range(count)]
        items = ", ".join([self.atom() for _ in range(min(count, 60))])
        if way == 1:
            return [f"{self.local()} = [{items}]"]
        if way == 2:
            return [f"g({', '.join([f'k{n}={self.atom()}' for n in range(20)])})", f"h({items})"]
        return [f"c = {{{', '.join([f'{n}: {self.atom()}' for n in range(20)])}}}", f"d = ({items})"]

    def bound(self) -> str:
        """Return an expression that has a value where the function is defined."""
        return self.chance.choice(["g", "h.p", "g(1)", "[m]", "None", "(x, 2)", "'s'", "lambda: g"])

    # ---------------------------------------------------------------- blocks

    def block(self, place: Place, most: int) -> Lines:
        """Return a few statements."""
        lines: Lines = []
        for _ in range(self.chance.randint(1, most)):
            lines += self.statement(place)
            if self.left <= 0:
                break
        return lines

    def statement(self, place: Place) -> Lines:
        """Return one statement; simple ones when there is little left to make."""
        self.left -= 1
        if self.left > 0 and self.chance.random() < 0.5:
            return self.chance.choice(self.compound)(place)
        return self.chance.choice(self.simple)(place)

    def suite(self, place: Place) -> Lines:
        """Return an indented block."""
        return indented(self.block(place, 3))

    # ---------------------------------------------------------------- simple statements

    def assign(self, place: Place) -> Lines:
        """Return an assignment."""
        return [f"{self.target(place)} = {self.expression(place, 2)}"]

    def chained(self, place: Place) -> Lines:
        """Return an assignment to several targets."""
        return [f"{self.target(place)} = {self.target(place)} = {self.expression(place, 2)}"]

    def unpack(self, place: Place) -> Lines:
        """Return an assignment that unpacks."""
        e = partial(self.expression, place, 1)
        same = self.local()
        return [
            self.chance.choice(
                [
                    f"{self.targets(place)} = {self.source(place, 1)}",
                    f"{self.targets(place)} = {e()}, {e()}",
                    f"{self.target(place)}, {self.target(place)} = {e()}, {e()}",
                    f"{same}, {same} = {e()}, {e()}",
                    f"{self.local()}, {self.local()} = {self.local()}, {self.local()}",
                    f"{self.local()}, {self.local()}, {self.local()} = {e()}, {e()}, {e()}",
                    f"{self.target(place)} = {self.targets(place)} = {e()}",
                    f"{self.targets(place)} = [{e()}, {e()}]",
                ]
            )
        ]

    def augmented(self, place: Place) -> Lines:
        """Return an augmented assignment."""
        word = self.chance.choice(["+=", "-=", "*=", "@=", "|=", "//=", "**=", ">>="])
        return [f"{self.target(place)} {word} {self.expression(place, 1)}"]

    def annotated(self, place: Place) -> Lines:
        """Return an annotated assignment, an annotation alone, or a type alias."""
        if sys.version_info >= (3, 12) and self.one_in(12):
            return [f"type {self.local()}{self.chance.choice(['', '[T]'])} = {self.name()}"]
        annotation = self.expression(replace(place, kind="lambda", walrus=False), 1)
        target = self.chance.choice([self.local(), self.local(), "(c)", f"g.{self.chance.choice(ATTRIBUTES)}", "g[1]"])
        return [f"{target}: {annotation}" + (f" = {self.expression(place, 1)}" if not self.one_in(3) else "")]

    def effect(self, place: Place) -> Lines:
        """Return an expression statement."""
        if (place.can_yield or place.can_await) and self.one_in(3):
            return [self.suspended(place, 2)]
        return [self.call(place, 2) if self.one_in(2) else self.expression(place, 2)]

    def discarded(self, place: Place) -> Lines:
        """Return an expression statement without a call of its own."""
        make = self.chance.choice([self.display, self.chain, self.boolean, self.ternary, self.comprehension])
        return [make(place, 1)]

    def delete(self, place: Place) -> Lines:
        """Return a `del` statement."""
        names = [self.local() for _ in range(self.chance.choice([1, 1, 1, 2]))]
        return [self.chance.choice([f"del {', '.join(names)}", f"del {self.target(place)}", f"del ({names[0]})"])]

    def self_store(self, place: Place) -> Lines:
        """Return a store of a variable into itself."""
        name = self.local()
        return [self.chance.choice([f"{name} = {name}", f"{name} = {name} = {name}", f"{name}, {name} = {name}, g"])]

    def leave(self, place: Place) -> Lines:
        """Return `return`, `break` or `continue`."""
        ways = ["pass"]
        if not place.in_group:
            ways += ["break", "continue", "continue"] * (2 * place.in_loop)
            if place.kind in ("def", "generator", "async"):
                ways += [f"return {self.expression(place, 2)}", "return", f"return {self.local()}"]
            elif place.kind == "async generator":
                ways += ["return"]
        lines = [self.chance.choice(ways)]
        return lines if self.one_in(6) else self.guarded(lines, place)

    def guarded(self, lines: Lines, place: Place) -> Lines:
        """Return statements under a condition, so that what follows is mostly reached."""
        return [f"if {self.expression(place, 1)}:", *indented(lines)]

    def raise_(self, place: Place) -> Lines:
        """Return a `raise` statement."""
        e = self.expression(place, 1)
        text = self.chance.choice(
            ["raise", f"raise Fault({e})", "raise Flaw", f"raise {self.local()}", f"raise Loss({e}) from {self.atom()}",
             "raise Fault('r') from None", f"raise ExceptionGroup('s', [Fault({self.atom()}), Loss(2)])"]
        )  # fmt: skip
        return [text] if self.one_in(6) else self.guarded([text], place)

    def assert_(self, place: Place) -> Lines:
        """Return an `assert` statement."""
        message = f", {self.expression(place, 1)}" if self.one_in(2) else ""
        return [f"assert {self.expression(place, 2)}{message}"]

    def import_(self, place: Place) -> Lines:
        """Return an import of a module that the traced `__import__` makes up."""
        name = self.local()
        return [
            self.chance.choice(
                ["import fake", "import fake.sub", f"import fake as {name}", f"import fake.sub.deep as {name}",
                 f"from fake import {name}", f"from fake.sub import p as {name}, q", f"from . import p as {name}",
                 f"from .. import {name}, r", "import fake, fake2 as c"]
            )
        ]  # fmt: skip

    def nothing(self, place: Place) -> Lines:
        """Return a statement without an effect."""
        return [self.chance.choice(["pass", "1", "'s'", "...", self.local(), "None"])]

    # ---------------------------------------------------------------- compound statements

    def if_(self, place: Place) -> Lines:
        """Return an `if` statement."""
        lines = [f"if {self.expression(place, 2)}:", *self.suite(place)]
        if self.one_in(4):
            lines += [f"elif {self.expression(place, 1)}:", *self.suite(place)]
        if self.one_in(2):
            lines += ["else:", *self.suite(place)]
        return lines

    def while_(self, place: Place) -> Lines:
        """Return a `while` loop."""
        inside = replace(place, in_loop=True, in_group=False)
        body = self.suite(inside)
        if self.one_in(4):
            test = self.chance.choice(["True", "1"])
            body = [
                *indented(self.chance.choice([["if g():", "    break"], ["if not h(a):", "    break"], ["g()"]])),
                *body,
            ]
        else:
            test = self.chance.choice(["g()", "g(a)", "h.p()", "m(b) and {}", "g() or {}", "(c := g())", "not h()"])
            test = test.format(self.expression(place, 1)) if place.walrus or ":=" not in test else "g()"
        lines = [f"while {test}:", *body]
        return lines + (["else:", *self.suite(place)] if self.one_in(4) else [])

    def for_(self, place: Place) -> Lines:
        """Return a `for` loop."""
        inside = replace(place, in_loop=True, in_group=False)
        word = "async for" if place.can_await and self.one_in(2) else "for"
        target = self.targets(place) if self.one_in(4) else self.target(place)
        over = self.chance.choice([self.name(), self.source(place, 1), f"({self.atom()}, {self.atom()})"])
        lines = [f"{word} {target} in {over}:", *self.suite(inside)]
        return lines + (["else:", *self.suite(place)] if self.one_in(4) else [])

    def try_(self, place: Place) -> Lines:
        """Return a `try` statement with handlers, `finally`, or both."""
        lines = ["try:", *self.suite(place)]
        handled = replace(place, in_handler=True)
        count = self.chance.choice([0, 1, 1, 1, 2])
        for _ in range(count):
            kind = self.chance.choice(EXCEPTIONS) if not self.one_in(8) else self.expression(place, 1)
            name = f" as {self.local()}" if self.one_in(2) else ""
            lines += [f"except {kind}{name}:", *self.suite(handled)]
        if count and self.one_in(6):
            lines += ["except:", *self.suite(handled)]
        if count and self.one_in(4):
            lines += ["else:", *self.suite(place)]
        if not count or self.one_in(4):
            lines += ["finally:", *self.suite(place)]
        return lines

    def try_star(self, place: Place) -> Lines:
        """Return a `try` statement with `except*`."""
        body = self.suite(place)
        lines = ["try:", *body]
        handled = replace(place, in_handler=True, in_group=True, in_loop=False)
        for _ in range(self.chance.choice([1, 1, 2])):
            name = f" as {self.local()}" if self.one_in(2) else ""
            lines += [f"except* {self.chance.choice(EXCEPTIONS[:5])}{name}:", *self.suite(handled)]
        if self.one_in(5):
            lines += ["else:", *self.suite(place)]
        return lines + (["finally:", *self.suite(place)] if self.one_in(5) else [])

    def with_(self, place: Place) -> Lines:
        """Return a `with` statement over one or several managers."""
        word = "async with" if place.can_await and self.one_in(2) else "with"

        def item() -> str:
            manager = self.source(place, 1)
            target = f"({self.targets(place)})" if self.one_in(8) else self.target(place)
            return f"{manager} as {target}" if self.one_in(2) else manager

        items = [item() for _ in range(self.chance.choice([1, 1, 1, 2, 3]))]
        text = f"({', '.join(items)})" if self.one_in(3) else ", ".join(items)
        return [f"{word} {text}:", *self.suite(place)]

    def match(self, place: Place) -> Lines:
        """Return a `match` statement."""
        subject = self.chance.choice([self.name(), self.expression(place, 1), f"{self.name()}, {self.atom()}"])
        lines = [f"match {subject}:"]
        for _ in range(self.chance.randint(1, 3)):
            pattern = self.patterns.case(self.chance.sample(LOCALS, len(LOCALS)))
            guard = f" if {self.expression(place, 1)}" if self.one_in(3) else ""
            lines += indented([f"case {pattern}{guard}:", *self.suite(place)])
        if self.one_in(3):
            last = self.chance.choice(["_", self.local(), f"{self.local()} if {self.expression(place, 1)}"])
            lines += indented([f"case {last}:", *self.suite(place)])
        return lines

    def def_(self, place: Place) -> Lines:
        """Return a function inside, mostly with a use of it."""
        if place.depth >= 3:
            return self.assign(place)
        self.inner += 1
        name = self.chance.choice([f"inner{self.inner}", f"inner{self.inner}", self.local()])
        kind = self.chance.choice(["def", "def", "def", "generator", "async"])
        enclosing = place.enclosing if place.kind != "class" else ()
        inside = Place(kind, depth=place.depth + 1, enclosing=enclosing)
        lines = self.decorators(place) + self.function(name, inside)
        if not self.one_in(4):
            uses = [f"g({name})", f"{name}()", f"{self.local()} = {name}(a)", f"g({name}(), k={name})"]
            lines.append(self.chance.choice(uses))
        return lines

    def decorators(self, place: Place) -> Lines:
        """Return no, one or two decorators."""
        plain = replace(place, walrus=False)
        return [f"@{self.expression(plain, 1)}" for _ in range(self.chance.choice([0, 0, 0, 1, 2]))]

    def class_(self, place: Place) -> Lines:
        """Return a class inside."""
        if place.depth >= 3:
            return self.effect(place)
        self.inner += 1
        heads = [
            f"K{self.inner}",
            f"K{self.inner}(Base)",
            f"K{self.inner}(g)",
            f"K{self.inner}(Base, key={self.atom()})",
        ]
        inside = Place("class", depth=place.depth + 1, enclosing=place.enclosing)
        body = [*self.declared(replace(inside, enclosing=())), *self.block(inside, 3)]
        use = [] if self.one_in(3) else [self.chance.choice([f"g(K{self.inner})", f"b = K{self.inner}"])]
        return [*self.decorators(place), f"class {self.chance.choice(heads)}:", *indented(body), *use]

    def dead(self, place: Place) -> Lines:
        """Return statements that are never reached, or only seem so."""
        constant = self.chance.choice(["0", "None", "False", "''", "not 1", "__debug__", "True"])
        lines = [f"if {constant}:", *self.suite(place)]
        if self.one_in(2):
            return lines + ["else:", *self.suite(place)]
        if self.one_in(3):
            return [f"while {self.chance.choice(['0', 'False', 'None'])}:", *self.suite(replace(place, in_loop=True))]
        return lines
