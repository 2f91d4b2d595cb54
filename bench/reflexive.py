"""Count how many functions of the standard library are proved equal to a copy of themselves, and how fast.

    python bench/reflexive.py [--flip] [--shortcut] [--limit N] [--show N]

The copy is recompiled from the text of the same syntax tree. With --flip every `if` is inverted first
(`if c: x else: y` -> `if not c: y else: x`), so that the instructions differ while the meaning does not.
The shortcut for codes that are the same bit for bit is off by default: this measures the two machines.
"""

from __future__ import annotations

import argparse
import ast
import collections
import pathlib
import sys
import sysconfig
import time
import warnings
from types import CodeType
from typing import Dict, Iterator, List, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from depyf.decompiler.printer.parsed_trees import text_of
from depyf.decompiler.prove import Grade, proof_attempts


class Flip(ast.NodeTransformer):
    """Invert every if/else and conditional expression."""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        test = ast.UnaryOp(ast.Not(), node.test)
        return ast.copy_location(ast.If(test, node.orelse or [ast.Pass()], node.body), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body), node)


def codes(top: CodeType) -> Iterator[CodeType]:
    """Yield all code objects in `top`, in a fixed order."""
    work = [top]
    while work:
        code = work.pop()
        yield code
        work.extend(const for const in code.co_consts if isinstance(const, CodeType))


def standard_library() -> Iterator[pathlib.Path]:
    """Yield the modules to measure: the standard library without its tests."""
    root = pathlib.Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        parts = set(path.relative_to(root).parts)
        if not parts & {"test", "tests", "site-packages", "lib2to3", "idlelib", "turtledemo", "idle_test"}:
            yield path


def pairs(flip: bool, limit: int) -> Iterator[Tuple[str, CodeType, CodeType]]:
    """Yield (place, code, code of the copy) for every function."""
    found = 0
    for path in standard_library():
        try:
            tree = ast.parse(path.read_bytes())
            first = compile(tree, str(path), "exec", dont_inherit=True)
            second_tree = ast.parse(text_of(tree))
            if flip:
                second_tree = ast.fix_missing_locations(Flip().visit(second_tree))
            second = compile(second_tree, str(path), "exec", dont_inherit=True)
        except (SyntaxError, RecursionError, ValueError):
            continue
        left, right = by_name(first), by_name(second)
        for name in left:
            # Inverting reorders the code objects, so those that share a name cannot be paired.
            if len(left[name]) != len(right.get(name, ())) or (flip and len(left[name]) > 1) or name == "<module>":
                continue
            for a, b in zip(left[name], right[name]):
                yield f"{path.name}:{name}", a, b
                found += 1
                if found >= limit:
                    return


def by_name(top: CodeType) -> Dict[str, List[CodeType]]:
    """Return all code objects in `top` by qualified name."""
    found: Dict[str, List[CodeType]] = {}
    for code in codes(top):
        found.setdefault(code.co_qualname, []).append(code)
    return found


def main() -> None:
    """Print the figures."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flip", action="store_true", help="invert every `if` of the copy")
    parser.add_argument("--shortcut", action="store_true", help="accept identical codes without a proof, as depyf does")
    parser.add_argument("--limit", type=int, default=100_000, help="functions to compare")
    parser.add_argument("--show", type=int, default=15, help="functions to list for each reason")
    options = parser.parse_args()
    if not options.shortcut:
        proof_attempts.identical = lambda a, b: False
    grades: Dict[str, int] = collections.Counter()
    reasons: Dict[str, List[str]] = collections.defaultdict(list)
    spent, instructions = 0.0, 0
    slowest: List[Tuple[float, str, int]] = []
    for where, a, b in pairs(options.flip, options.limit):
        begun = time.process_time()
        verdict = proof_attempts.prove(a, b)
        took = time.process_time() - begun
        spent += took
        instructions += len(a.co_code) // 2
        slowest = sorted([*slowest, (took, where, len(a.co_code) // 2)], reverse=True)[:3]
        grades[verdict.grade.name] += 1
        if verdict.grade is not Grade.PROVED:
            reasons[verdict.reason or verdict.grade.name].append(f"{where}: {verdict}")
    total = sum(grades.values())
    for grade, count in sorted(grades.items()):
        print(f"{grade:14} {count:7} {100 * count / total:7.3f} %")
    print(
        f"{total} functions in {spent:.2f} s of proof: {total / spent:.0f} functions/s, "
        f"{1e3 * spent / total:.3f} ms each"
    )
    for took, where, size in slowest:
        print(f"slowest: {took:.3f} s {where} ({size} code units)")
    for reason, wheres in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"--- {len(wheres)} x {reason}")
        for where in wheres[: options.show]:
            print("   ", where)


if __name__ == "__main__":
    main()
