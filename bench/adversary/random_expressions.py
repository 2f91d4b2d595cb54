"""Random expressions over the whole grammar, as text. All compound ones are in parentheses."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial
from typing import Callable, List, Sequence, Tuple

LOCALS = ("a", "b", "c", "d", "z")
GLOBALS = ("g", "h", "m", "x")
ATTRIBUTES = ("p", "q", "r")
CONSTANTS = (
    "0", "1", "2", "-1", "None", "True", "False", "'s'", "''", "b'y'", "1.5", "0.0", "1j", "...", "(1, 2)", "()",
    "-0.0", "10 ** 3", "'a' 'b'", "(1, (2, 's'))",
)  # fmt: skip
BINARY = ("+", "-", "*", "/", "//", "%", "@", "**", "<<", ">>", "&", "|", "^")
COMPARE = ("<", "<=", "==", "!=", ">", ">=", "in", "not in", "is", "is not")


@dataclass(frozen=True)
class Place:
    """What the grammar allows where an expression or a statement stands."""

    kind: str  # of the scope: "def", "generator", "async", "async generator", "class", "lambda"
    in_loop: bool = False
    in_group: bool = False  # inside `except*`: no return, break or continue
    in_handler: bool = False
    in_comprehension: bool = False
    walrus: bool = True
    depth: int = 0  # of nested scopes
    enclosing: Tuple[str, ...] = ()  # names that `nonlocal` may declare here

    @property
    def can_yield(self) -> bool:
        """Whether `yield` may stand here."""
        return self.kind in ("generator", "async generator") and not self.in_comprehension

    @property
    def can_await(self) -> bool:
        """Whether `await`, `async for` and `async with` may stand here."""
        return self.kind in ("async", "async generator")


Form = Callable[[Place, int], str]


class RandomExpressions:
    """Make random expressions."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.forms: List[Form] = []
        for weight, form in (
            (8, self.call), (5, self.attribute), (3, self.subscript), (5, self.binary), (2, self.unary),
            (3, self.comparison), (2, self.chain), (5, self.boolean), (4, self.ternary), (5, self.display),
            (4, self.comprehension), (2, self.lambda_), (2, self.fstring), (2, self.walrus), (2, self.suspended),
            (2, self.folded), (1, self.member_of_constants),
        ):  # fmt: skip
            self.forms += [form] * weight

    def one_in(self, n: int) -> bool:
        """Return True once in n times."""
        return self.chance.random() * n < 1

    def several(self, low: int, high: int, make: Callable[[], str]) -> str:
        """Return a few texts, separated by commas."""
        return ", ".join([make() for _ in range(self.chance.randint(low, high))])

    def local(self) -> str:
        """Return a name that is mostly a local."""
        return self.chance.choice(LOCALS)

    def name(self) -> str:
        """Return any name."""
        return self.local() if self.chance.random() < 0.6 else self.chance.choice(GLOBALS)

    def atom(self) -> str:
        """Return a name or a constant."""
        return self.name() if self.chance.random() < 0.93 else self.chance.choice(CONSTANTS)

    def source(self, place: Place, size: int) -> str:
        """Return an expression that is mostly an object which can be called, iterated, entered and awaited."""
        if self.chance.random() < 0.55:
            return self.name()
        return self.call(place, size - 1) if self.one_in(2) else self.expression(place, size)

    def expression(self, place: Place, size: int) -> str:
        """Return a random expression with about `size` levels."""
        if size <= 0 or self.one_in(5):
            return self.atom()
        return self.chance.choice(self.forms)(place, size - 1)

    def call(self, place: Place, size: int) -> str:
        """Return a call with any kind of arguments."""
        callee = self.chance.choice(["g", "h", "m", self.local(), f"{self.name()}.{self.chance.choice(ATTRIBUTES)}"])
        if self.one_in(10):
            callee = f"({self.expression(place, size)})"
        e = partial(self.expression, place, size)
        arguments = [e() for _ in range(self.chance.choice([0, 0, 1, 1, 1, 2, 2, 3]))]
        if self.one_in(10):
            arguments.insert(self.chance.randint(0, len(arguments)), f"*{self.source(place, size)}")
        if self.one_in(6):
            arguments.append(f"k={e()}")
        if self.one_in(10):
            arguments.append(f"j={e()}")
        if self.one_in(14):
            arguments.append(f"**{self.source(place, size)}")
        return f"{callee}({', '.join(arguments)})"

    def attribute(self, place: Place, size: int) -> str:
        """Return the read of an attribute."""
        owner = self.name() if self.one_in(2) else f"({self.expression(place, size)})"
        return f"{owner}.{self.chance.choice(ATTRIBUTES)}"

    def index(self, place: Place, size: int) -> str:
        """Return what stands between the brackets of a subscript."""
        e = partial(self.expression, place, size)
        forms: List[Callable[[], str]] = [
            e,
            e,
            e,
            lambda: f"{e()}:{e()}",
            lambda: f"{e()}:",
            lambda: ":",
            lambda: f"::{e()}",
            lambda: f"{e()}:{e()}:{e()}",
            lambda: f"{e()}, {e()}",
            lambda: f"{e()}:, ...",
            lambda: f"*{e()},",
        ]
        return self.chance.choice(forms)()

    def subscript(self, place: Place, size: int) -> str:
        """Return the read of an item or slice."""
        owner = self.name() if self.one_in(2) else f"({self.expression(place, size)})"
        return f"{owner}[{self.index(place, size)}]"

    def binary(self, place: Place, size: int) -> str:
        """Return a binary operation."""
        return f"({self.expression(place, size)} {self.chance.choice(BINARY)} {self.expression(place, size)})"

    def unary(self, place: Place, size: int) -> str:
        """Return a unary operation."""
        return f"({self.chance.choice(['-', '~', '+', 'not ', 'not '])}{self.expression(place, size)})"

    def comparison(self, place: Place, size: int) -> str:
        """Return a comparison."""
        return f"({self.expression(place, size)} {self.chance.choice(COMPARE)} {self.expression(place, size)})"

    def chain(self, place: Place, size: int) -> str:
        """Return a chained comparison."""
        parts = [self.expression(place, size)]
        for _ in range(self.chance.choice([2, 2, 3])):
            parts += [self.chance.choice(COMPARE), self.expression(place, size)]
        return f"({' '.join(parts)})"

    def boolean(self, place: Place, size: int) -> str:
        """Return `and`, `or`, or both."""
        words = self.chance.choice([["and"], ["or"], ["and", "and"], ["or", "or"], ["and", "or"], ["or", "and"]])
        parts = [self.expression(place, size)]
        for word in words:
            parts += [word, self.expression(place, size)]
        return f"({' '.join(parts)})"

    def ternary(self, place: Place, size: int) -> str:
        """Return a conditional expression."""
        e = partial(self.expression, place, size)
        return f"({e()} if {e()} else {e()})"

    def folded(self, place: Place, size: int) -> str:
        """Return an expression in which a constant decides something when it is compiled."""
        e, constant = self.expression(place, size), self.chance.choice(CONSTANTS)
        return self.chance.choice(
            [
                f"({constant} and {e})",
                f"({constant} or {e})",
                f"({e} if {constant} else {self.atom()})",
                f"({e} and {constant} or {self.atom()})",
                f"(not not {e})",
                f"(not ({e} and {self.atom()}))",
                f"({e}, {self.atom()})[0]",
                f"[{e}, {self.atom()}][1]",
                f"({self.atom()} if {constant} else {e})",
            ]
        )

    def member_of_constants(self, place: Place, size: int) -> str:
        """Return a membership test in a display of constants."""
        shown = self.chance.choice(["{-1, -2}", "{1, 2, 's'}", "[1, 2]", "(1, None)", "[]", "(1,)", "{-2, -1, 0}"])
        return f"({self.expression(place, size)} {self.chance.choice(['in', 'not in'])} {shown})"

    def display(self, place: Place, size: int) -> str:
        """Return a list, tuple, set or dict display, also with unpacking."""
        e = partial(self.expression, place, size)

        def item() -> str:
            return f"*{self.source(place, size)}" if self.one_in(7) else e()

        def pair() -> str:
            return f"**{self.source(place, size)}" if self.one_in(7) else f"{e()}: {e()}"

        kind = self.chance.randrange(5)
        if kind == 0:
            return f"[{self.several(0, 3, item)}]"
        if kind == 1:
            return f"({self.several(2, 3, item)})"
        if kind == 2:
            return f"({item()},)"
        if kind == 3:
            return f"{{{self.several(1, 3, item)}}}"
        return f"{{{self.several(0, 3, pair)}}}"

    def clauses(self, place: Place, size: int) -> Tuple[str, Place]:
        """Return the `for` and `if` clauses of a comprehension, and the place of what it yields."""
        inner = replace(place, in_comprehension=True, walrus=place.walrus and place.kind != "class")
        text = ""
        for at in range(self.chance.choice([1, 1, 1, 2])):
            target = self.chance.choice(["u", "v", "a", "u, v", "[u, *v]"])
            first = replace(place if at == 0 else inner, walrus=False)
            word = "async for" if place.can_await and self.one_in(5) else "for"
            text += f" {word} {target} in {self.source(first, size)}"
            for _ in range(self.chance.choice([0, 0, 1, 1, 2])):
                text += f" if {self.expression(inner, size)}"
        return text, inner

    def comprehension(self, place: Place, size: int) -> str:
        """Return a comprehension or a generator expression."""
        text, inner = self.clauses(place, min(size, 1))

        def e() -> str:
            return self.chance.choice(["u", "v", self.expression(inner, min(size, 2))])

        kind = self.chance.randrange(6)
        if kind < 2:
            return f"[{e()}{text}]"
        if kind == 2:
            return f"{{{e()}{text}}}"
        if kind == 3:
            return f"{{{e()}: {e()}{text}}}"
        if kind == 4:
            return f"({e()}{text})"
        return f"{self.chance.choice(['g', 'h', 'tuple', 'all'])}({e()}{text})"

    def lambda_(self, place: Place, size: int) -> str:
        """Return a lambda, often called or passed on at once."""
        inner = Place("lambda", depth=place.depth + 1, walrus=not place.in_comprehension)
        parameters = self.chance.choice(["", "", "a", "u, v=1", f"b={self.atom()}", "*u", "*, k=2", "u, /, **v"])
        body = "(yield a)" if self.one_in(30) else self.expression(inner, min(size, 2))
        text = f"(lambda {parameters}: {body})"
        return self.chance.choice([text, f"g({text})", f"g({text})", f"{text}()" if parameters in ("", "*u") else text])

    def fstring(self, place: Place, size: int) -> str:
        """Return an f-string."""
        e = self.simple_in_fstring
        parts = self.chance.sample(
            ["s", "{{", f"{{{e()}}}", f"{{{e()}!r}}", f"{{{e()}!s:>{{{e()}}}}}", f"{{{e()}:x}}", "t", f"{{{e()}=}}"],
            self.chance.randint(1, 4),
        )
        return 'f"' + "".join(parts) + '"'

    def simple_in_fstring(self) -> str:
        """Return an expression without quotes, backslashes and braces, for an f-string."""
        return self.chance.choice([self.name(), f"{self.name()}.p", f"g({self.name()})", f"({self.name()} + 1)"])

    def walrus(self, place: Place, size: int) -> str:
        """Return an assignment expression where one is allowed."""
        if not place.walrus:
            return self.call(place, size)
        return f"({self.chance.choice(LOCALS[1:])} := {self.expression(place, size)})"

    def suspended(self, place: Place, size: int) -> str:
        """Return `yield`, `yield from` or `await` where one is allowed."""
        ways: List[str] = []
        if place.can_yield:
            ways += [f"(yield {self.expression(place, size)})", "(yield)", f"(yield {self.expression(place, size)})"]
        if place.can_yield and place.kind == "generator":
            ways += [f"(yield from {self.source(place, size)})"]
        if place.can_await:
            ways += [f"(await {self.source(place, size)})"] * 2
        return self.chance.choice(ways) if ways else self.boolean(place, size)

    def target(self, place: Place, names: Sequence[str] = LOCALS) -> str:
        """Return a target of one value."""
        name = self.chance.choice(names)
        if self.chance.random() < 0.75:
            return name
        if self.one_in(2):
            return f"{self.name()}.{self.chance.choice(ATTRIBUTES)}"
        return f"{self.name()}[{self.index(replace(place, walrus=False), 1)}]"

    def targets(self, place: Place) -> str:
        """Return a target that unpacks."""
        t = partial(self.target, place)
        same = self.local()
        return self.chance.choice(
            [f"{t()}, {t()}", f"{t()}, {t()}", f"{t()}, *{t()}", f"({t()}, [{t()}, {t()}])", f"[{t()}]", f"{t()},",
             f"{same}, {same}", f"*{t()}, {t()}", f"{t()}, {t()}, {t()}", f"{same}, {same}.p", "[]"]
        )  # fmt: skip
