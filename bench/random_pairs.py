"""Run pairs of random programs that were proved equal, and compare what they do.

    python bench/random_pairs.py [--programs N] [--changes N] [--runs N] [--seed N]

Each pair is a random program and a small change of it. For every pair that the prover accepts, both functions run on
objects that record every operation on them (calls, attributes, operators, truth, iteration, hashing, their end, the
exception being handled, and the caller's local names) and that raise or return at random, the same way for both. The
two records must be equal. This shares nothing with the prover: neither the decoder nor the meaning of instructions.
"""

from __future__ import annotations

import argparse
import ast
import collections
import copy
import pathlib
import random
import sys
from types import CodeType, FunctionType
from typing import Any, Callable, Collection, Dict, List, Optional, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from depyf.decompiler.printer.parsed_trees import text_of
from depyf.decompiler.prove import Grade, Verdict, prove

NAMES = ["a", "b", "x", "y", "z"]
GLOBALS = ["g", "h"]


class Stop(BaseException):
    """The record is long enough."""


class Fault(Exception):
    """Raised at random by an operation on an object."""


class World:
    """The record of one run, and the random choices of what operations return."""

    def __init__(self, seed: int, names: Collection[str]) -> None:
        self.chance = random.Random(seed)
        self.record: List[Any] = []
        self.objects = 0
        self.names = names  # local names to record; the end of objects is not recorded then
        self.over = False

    def happened(self, what: str, *who: Any) -> None:
        """Record an event, then return or raise."""
        if self.over:
            return
        self.record.append((what, *[shown(value) for value in who], shown(sys.exc_info()[1])))
        if self.names:
            frame = sys._getframe(1)
            while frame.f_code.co_filename != "<random>":
                if frame.f_back is None:
                    break
                frame = frame.f_back
            self.record.append({k: shown(v) for k, v in frame.f_locals.items() if k in self.names})
        if len(self.record) > 60:
            raise Stop
        if self.chance.random() < 0.12:
            raise Fault(len(self.record))


def shown(value: Any) -> Any:
    """Return a value in the form in which it is recorded."""
    if isinstance(value, Thing):
        return value.label
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(item) for item in value]
    if isinstance(value, dict):
        return "dict", [(shown(k), shown(v)) for k, v in value.items()]
    if isinstance(value, BaseException):
        return type(value).__name__, str(value.args), shown(value.__context__)
    if callable(value):
        return "function"
    return type(value).__name__, repr(value)


class Thing:
    """An object that records every operation on it."""

    def __init__(self, world: World) -> None:
        object.__setattr__(self, "world", world)
        world.objects += 1
        object.__setattr__(self, "label", f"o{world.objects}")

    def __del__(self) -> None:
        if not self.world.over and not self.world.names:
            self.world.record.append(("dies", self.label))

    def __getattr__(self, name: str) -> Any:
        self.world.happened("get", self, name)
        return Thing(self.world)

    def __setattr__(self, name: str, value: Any) -> None:
        self.world.happened("set", self, name, value)

    def __bool__(self) -> bool:
        self.world.happened("truth", self)
        return self.world.chance.random() < 0.5

    def __hash__(self) -> int:
        self.world.happened("hash", self)
        return 7

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.world.happened("call", self, args, kwargs)
        return Thing(self.world)

    def __iter__(self) -> Any:
        self.world.happened("iter", self)
        return Steps(self.world)

    def __enter__(self) -> Any:
        self.world.happened("enter", self)
        return Thing(self.world)

    def __exit__(self, *args: Any) -> bool:
        self.world.happened("exit", self, args[1])
        return self.world.chance.random() < 0.3


class Steps(Thing):
    """An iterator."""

    def __next__(self) -> Any:
        self.world.happened("next", self)
        if self.world.chance.random() < 0.4:
            raise StopIteration
        return Thing(self.world)


def _binary(name: str) -> Callable[..., Any]:
    def method(self: Thing, other: Any) -> Any:
        self.world.happened(name, self, other)
        return self.world.chance.random() < 0.5 if name == "__contains__" else Thing(self.world)

    return method


for _name in ("add", "radd", "sub", "rsub", "iadd", "eq", "lt", "gt", "getitem", "contains"):
    setattr(Thing, f"__{_name}__", _binary(f"__{_name}__"))


def run(code: CodeType, seed: int, names: Collection[str]) -> List[Any]:
    """Run a code object and return the record."""
    world = World(seed, names)
    space = {name: Thing(world) for name in GLOBALS}
    space["Fault"] = Fault
    cells = tuple([type((lambda x: lambda: x)(1).__closure__[0])() for _ in code.co_freevars])
    function = FunctionType(code, space, closure=cells or None)  # type: ignore[arg-type]
    arguments = [Thing(world) for _ in range(code.co_argcount)]
    try:
        result = function(*arguments)
        world.over = True
        world.record.append(("returns", shown(result)))
    except BaseException as error:
        world.over = True
        world.record.append(("raises", shown(error)))
    return world.record


class Maker:
    """Make random functions."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def pick(self, *ways: Callable[[int], Any], depth: int) -> Any:
        """Return the result of one of several functions, at random."""
        return self.chance.choice(ways)(depth)

    def name(self) -> str:
        """Return the name of a random local."""
        return self.chance.choice(NAMES)

    def expression(self, depth: int) -> str:
        """Return a random expression."""
        c = self.chance
        if depth <= 0 or c.random() < 0.3:
            return c.choice([self.name(), self.name(), c.choice(GLOBALS), c.choice(["1", "None", "'s'", "True"])])
        e = lambda: self.expression(depth - 1)  # noqa: E731
        kind = c.randrange(14)
        return [
            lambda: f"{c.choice(GLOBALS)}({e()})", lambda: f"{self.name()}({e()}, {e()})", lambda: f"{self.name()}.m",
            lambda: f"({e()} + {e()})", lambda: f"({e()} and {e()})", lambda: f"({e()} or {e()})",
            lambda: f"({e()} if {e()} else {e()})", lambda: f"[{e()}, {e()}]", lambda: f"({e()} is None)",
            lambda: f"(not {e()})", lambda: f"({e()} < {e()})", lambda: f"[{e()}, {e()}][{c.choice('01')}]",
            lambda: f"g(*[{e()}], k={e()})", lambda: f"(lambda: {self.name()})()",
        ][kind]()  # fmt: skip

    def block(self, depth: int, loop: bool) -> List[str]:
        """Return a few random statements as lines."""
        lines: List[str] = []
        for _ in range(self.chance.randint(1, 3)):
            lines += self.statement(depth, loop)
        return lines

    def statement(self, depth: int, loop: bool) -> List[str]:
        """Return a random statement as lines."""
        c = self.chance
        simple = [
            lambda: [f"{self.name()} = {self.expression(2)}"], lambda: [f"{self.name()} = {self.expression(1)}"],
            lambda: [self.expression(2)], lambda: [f"del {self.name()}"], lambda: [f"return {self.expression(1)}"],
            lambda: [f"{self.name()}.m = {self.expression(1)}"], lambda: [f"{self.name()} += {self.expression(1)}"],
            lambda: [f"{self.name()}, {self.name()} = {self.expression(1)}, {self.expression(1)}"],
            lambda: [c.choice(["raise Fault('r')", "raise", *(["break", "continue"] if loop else ["pass"])])],
        ]  # fmt: skip
        if depth <= 0 or c.random() < 0.6:
            # Ends of the path are rare, so that the paths are long.
            return c.choice(simple if c.random() < 0.25 else [simple[i] for i in (0, 1, 2, 5, 6, 7)])()
        inner = lambda in_loop=loop: [" " + line for line in self.block(depth - 1, in_loop)]  # noqa: E731
        kind = c.randrange(7)
        if kind == 0:
            return [f"if {self.expression(1)}:", *inner()]
        if kind == 1:
            return [f"if {self.expression(1)}:", *inner(), "else:", *inner()]
        if kind == 2:
            return [f"for {self.name()} in {self.expression(0)}:", *inner(True)]
        if kind == 3:
            return [f"while {self.expression(1)}:", *inner(True)]
        if kind == 4:
            return ["try:", *inner(), f"except Fault as {self.name()}:", *inner()]
        if kind == 5:
            return ["try:", *inner(), "finally:", *inner()]
        return [f"with {self.expression(0)} as {self.name()}:", *inner()]

    def function(self) -> str:
        """Return a random function of three arguments."""
        body = [line for _ in range(4) for line in self.statement(2, False)]
        return "def f(a, b, x):\n" + "\n".join(" " + line for line in body)


def lists_of_statements(tree: ast.AST) -> List[List[ast.stmt]]:
    """Return all blocks in a tree."""
    found = []
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            value = getattr(node, field, None)
            if isinstance(value, list) and value and not isinstance(node, ast.Module):
                found.append(value)
    return found


def mutated(tree: ast.Module, c: random.Random) -> ast.Module:
    """Return a copy with one small change, which may or may not matter."""
    tree = copy.deepcopy(tree)
    blocks = lists_of_statements(tree)
    block = c.choice(blocks)
    at = c.randrange(len(block))
    kind = c.randrange(13)
    expressions = [n for n in ast.walk(tree) if isinstance(n, ast.expr)]
    if kind == 0 and len(block) > 1:
        del block[at]
    elif kind == 1 and at + 1 < len(block):
        block[at], block[at + 1] = block[at + 1], block[at]
    elif kind == 2:
        block.insert(at, copy.deepcopy(block[at]))
    elif kind == 3:
        ifs = [n for n in ast.walk(tree) if isinstance(n, ast.If)]
        for node in ifs[:1]:
            node.test = ast.UnaryOp(ast.Not(), node.test)
            if c.random() < 0.8:
                node.body, node.orelse = node.orelse or [ast.Pass()], node.body
    elif kind == 4:
        names = [n for n in expressions if isinstance(n, ast.Name) and n.id in NAMES]
        if names:
            c.choice(names).id = c.choice(NAMES)
    elif kind == 5:
        # An invented temporary, deleted afterwards or not.
        calls = [s for s in block if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and s.value.args]
        if calls:
            call = calls[0].value
            assert isinstance(call, ast.Call)
            where = block.index(calls[0])
            block.insert(where, ast.Assign([ast.Name("t", ast.Store())], call.args[0]))
            call.args[0] = ast.Name("t", ast.Load())
            if c.random() < 0.7:
                block.insert(where + 2, ast.Delete([ast.Name("t", ast.Del())]))
    elif kind == 6:
        tries = [n for n in ast.walk(tree) if isinstance(n, ast.Try)]
        if tries and isinstance(block[at], ast.stmt):
            c.choice(tries).body.append(copy.deepcopy(block[at]))
    elif kind == 7:
        block[at] = ast.If(ast.Constant(True), [block[at]], [])
    elif kind == 8:
        binary = [n for n in expressions if isinstance(n, (ast.BinOp, ast.Compare))]
        for node in binary[:1]:
            if isinstance(node, ast.BinOp):
                node.left, node.right = node.right, node.left
            else:
                node.left, node.comparators[0] = node.comparators[0], node.left
    elif kind == 9:
        ands = [s for s in block if isinstance(s, ast.If) and isinstance(s.test, ast.BoolOp) and not s.orelse]
        for node in ands[:1]:
            test = node.test
            assert isinstance(test, ast.BoolOp)
            node.test, node.body = test.values[0], [ast.If(test.values[1], node.body, [])]
    elif kind == 10:
        block.insert(at + 1, ast.Delete([ast.Name(c.choice(NAMES), ast.Del())]))
    elif kind == 11:
        whiles = [s for s in block if isinstance(s, ast.While)]
        for loop in whiles[:1]:
            loop.body.insert(0, ast.If(ast.UnaryOp(ast.Not(), loop.test), [ast.Break()], []))
            loop.test = ast.Constant(True)
    elif kind == 12:
        block[at:] = [ast.Try(block[at:], [ast.ExceptHandler(None, None, [ast.Raise(None, None)])], [], [])]
    return ast.fix_missing_locations(tree)


def compiled(tree: ast.Module) -> Optional[CodeType]:
    """Return the code of the function, or None if it does not compile."""
    try:
        module = compile(text_of(tree), "<random>", "exec")
    except (SyntaxError, ValueError):
        return None
    return next(const for const in module.co_consts if isinstance(const, CodeType))


def disagreement(a: CodeType, b: CodeType, verdict: Verdict, seeds: int) -> Optional[Tuple[int, List[Any], List[Any]]]:
    """Return the seed and both records of a run in which two codes that were proved equal differ, or None."""
    exact = verdict.grade is not Grade.PROVED_UNDER
    for seed in range(seeds):
        for names in ((), a.co_varnames):
            left, right = (run(code, seed, names) for code in (a, b))
            if not exact and not names:
                left, right = ([e for e in r if e[0] != "dies"] for r in (left, right))
            if left != right:
                return seed, left, right
    return None


def main() -> None:
    """Print how many pairs were proved and whether any of them disagreed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=2000, help="random programs")
    parser.add_argument("--changes", type=int, default=6, help="changes of each program")
    parser.add_argument("--runs", type=int, default=25, help="runs of each pair")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random choices")
    options = parser.parse_args()
    grades: Dict[str, int] = collections.Counter()
    wrong = 0
    for number in range(options.programs):
        chance = random.Random(options.seed * 1_000_003 + number)
        tree = ast.parse(Maker(chance).function())
        a = compiled(tree)
        for _ in range(options.changes if a is not None else 0):
            changed = mutated(tree, chance)
            b = compiled(changed)
            if a is None or b is None or ast.dump(changed) == ast.dump(tree):
                continue
            verdict = prove(a, b)
            grades[verdict.grade.name] += 1
            found = disagreement(a, b, verdict, options.runs)
            if found is not None and not verdict.holds:
                grades[f"{verdict.grade.name} and seen to differ"] += 1
            elif found is not None:
                wrong += 1
                print(f"PROVED BUT DIFFERENT (program {number}, run {found[0]}): {verdict}")
                print(text_of(tree), text_of(changed), sep="\n--- and\n")
                for x, y in zip(found[1], found[2]):
                    if x != y:
                        print("first difference:", x, "|", y)
                        break
    print(dict(grades), f"proved but different: {wrong}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
