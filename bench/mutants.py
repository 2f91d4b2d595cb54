"""Change functions of the standard library in one place, and count how many changes the prover detects.

    python bench/mutants.py [--functions N] [--each N] [--seed N]

Each mutant differs from its function in one micro-op: a branch is flipped, two operands are swapped, a
constant gets another type, a `del` is dropped, a handler is lost, ... A mutant that is still proved is either
the same program or a hole in the prover. equivalent.py finds, without the prover, why it is the same program;
those without a reason are listed with the ops around the place, to be read by a person.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import random
import re
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from equivalent import reason  # noqa: E402
from reflexive import codes, standard_library  # noqa: E402

from depyf.decompiler.bytecode.microops import BRANCHES, ENDS, Handler, Op, Program  # noqa: E402
from depyf.decompiler.decode import decode  # noqa: E402
from depyf.decompiler.prove import Verdict  # noqa: E402
from depyf.decompiler.prove.proof_attempts import Proof  # noqa: E402

FLIPPED = {
    "BRANCH_TRUE": "BRANCH_FALSE", "BRANCH_FALSE": "BRANCH_TRUE",
    "BRANCH_NONE": "BRANCH_NOT_NONE", "BRANCH_NOT_NONE": "BRANCH_NONE",
}  # fmt: skip
OTHER_OPERATOR = {
    "+": "-",
    "-": "+",
    "*": "/",
    "%": "*",
    "&": "|",
    "|": "&",
    "<<": ">>",
    ">>": "<<",
    "//": "/",
}
OTHER_COMPARISON = {"<": "<=", "<=": "<", "==": "!=", "!=": "==", ">": ">=", ">=": ">"}


def copied(program: Program) -> List[Op]:
    """Return a copy of a program's ops, to be changed."""
    return [Op(op.kind, op.arg, op.offset, op.target, op.handler) for op in program.ops]


def inserted(program: Program, at: int, new: List[Op]) -> Program:
    """Return the program with ops inserted before the op `at`; jumps to it lead to the first of them."""
    ops = copied(program)

    def moved(index: int) -> int:
        return index if index <= at else index + len(new)

    for op in ops:
        if op.target >= 0:
            op.target = moved(op.target)
    for op in new:
        op.handler, op.offset = ops[at].handler, ops[at].offset
    handlers = tuple(Handler(moved(h.target), h.depth, h.lasti) for h in program.handlers)
    return Program(tuple(ops[:at] + new + ops[at:]), handlers, program.code, program.version)


def changed(program: Program, at: int, **fields: Any) -> Program:
    """Return the program with some fields of one op changed."""
    ops = copied(program)
    for name, value in fields.items():
        setattr(ops[at], name, value)
    return Program(tuple(ops), program.handlers, program.code, program.version)


def other_constant(value: Any) -> Any:
    """Return a constant that is easily confused with `value`, or None."""
    if value is None:
        return False
    if value is True or value is False:
        return int(value)
    if isinstance(value, int):
        return bool(value) if value in (0, 1) else float(value)
    if isinstance(value, float):
        return -value
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bytes):
        return bytes(reversed(value)) + b"x"
    if isinstance(value, tuple):
        return (*value[:-1], other_constant(value[-1])) if value else (None,)
    return None


Mutation = Callable[[Program, int, Op, random.Random], Optional[Program]]


def _flip(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    return changed(p, at, kind=FLIPPED[op.kind]) if op.kind in BRANCHES else None


def _swap_operands(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    two = op.kind in ("BINARY", "INPLACE", "COMPARE", "SUBSCR", "CONTAINS", "STORE_ATTR")
    if two or (op.kind == "CALL" and op.arg[0] >= 2):
        return inserted(p, at, [Op("SWAP", 2)])
    return None


def _constant(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    if op.kind != "CONST" or hasattr(op.arg, "co_code"):
        return None
    return changed(p, at, arg=other_constant(op.arg))


def _drop_delete(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    return changed(p, at, kind="JUMP", arg=None, target=at + 1) if op.kind == "DELETE_LOCAL" else None


def _drop_store(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    return changed(p, at, kind="POP", arg=None) if op.kind == "STORE_LOCAL" else None


def _drop_attribute_store(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    if op.kind != "STORE_ATTR":
        return None
    return inserted(changed(p, at, kind="POP", arg=None), at, [Op("POP")])


def _other_local(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    names = [name for name in p.code.co_varnames if name != op.arg]
    return changed(p, at, arg=r.choice(names)) if op.kind in ("LOAD_LOCAL", "STORE_LOCAL") and names else None


def _other_name(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    if op.kind in ("LOAD_GLOBAL", "LOAD_ATTR", "STORE_ATTR", "IMPORT_NAME", "IMPORT_FROM", "LOAD_NAME"):
        return changed(p, at, arg=op.arg + "_")
    return None


def _operator(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    if op.kind in ("BINARY", "INPLACE") and r.random() < 0.5:
        return changed(p, at, kind="INPLACE" if op.kind == "BINARY" else "BINARY")
    if op.kind in ("BINARY", "INPLACE"):
        return changed(p, at, arg=OTHER_OPERATOR.get(op.arg, "@"))
    if op.kind == "COMPARE":
        return changed(p, at, arg=OTHER_COMPARISON[op.arg])
    if op.kind in ("IS", "CONTAINS"):
        return changed(p, at, arg=1 - op.arg)
    return None


def _lose_handler(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    raising = op.kind in (
        "CALL",
        "LOAD_ATTR",
        "SUBSCR",
        "CALL_EX",
        "BINARY",
        "FOR_ITER",
        "STORE_ATTR",
        "YIELD",
    )
    return changed(p, at, handler=-1) if op.handler >= 0 and raising else None


def _other_target(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    if op.target < 0:
        return None
    targets = sorted({other.target for other in p.ops if other.target >= 0} - {op.target})
    return changed(p, at, target=r.choice(targets)) if targets else None


def _twice(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    if op.kind not in ("LOAD_ATTR", "GET_ITER", "UNARY"):
        return None
    return inserted(p, at, [Op("COPY", 1), Op(op.kind, op.arg), Op("POP")])


def _keywords(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    if op.kind != "CALL" or not isinstance(op.arg[1], tuple):
        return None
    argc, names, layout = op.arg
    return changed(p, at, arg=(argc, names[1:] or None, layout))


def _keep_a_copy(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    """Keep the top of the stack in a name that the function does not have."""
    if op.kind not in ("CALL", "STORE_LOCAL", "STORE_ATTR") or at == 0 or p.ops[at - 1].kind not in ("CALL", "SUBSCR"):
        return None
    return inserted(p, at, [Op("COPY", 1), Op("STORE_LOCAL", "kept by a mutant")])


def _swap_statements(p: Program, at: int, op: Op, r: random.Random) -> Program | None:
    """Swap two neighbouring reads of attributes of locals."""
    ops = p.ops[at : at + 4]
    if [o.kind for o in ops] != ["LOAD_LOCAL", "LOAD_ATTR", "LOAD_LOCAL", "LOAD_ATTR"]:
        return None
    if any(o.target >= at and o.target < at + 4 for o in p.ops):
        return None
    new = copied(p)
    new[at : at + 4] = [new[at + 2], new[at + 3], new[at], new[at + 1]]
    return inserted(Program(tuple(new), p.handlers, p.code, p.version), at + 4, [Op("SWAP", 2)])


MUTATIONS: Dict[str, Mutation] = {
    "flip a branch": _flip, "swap two operands": _swap_operands, "change a constant": _constant,
    "drop a del": _drop_delete, "drop a store": _drop_store, "drop an attribute store": _drop_attribute_store,
    "another local": _other_local, "another name": _other_name, "another operator": _operator,
    "lose a handler": _lose_handler, "another jump target": _other_target, "an event twice": _twice,
    "lose a keyword": _keywords, "keep a value": _keep_a_copy, "reorder two reads": _swap_statements,
}  # fmt: skip


def plainly_same(a: Program, b: Program) -> bool:
    """Return whether the two differ only in jumps to jumps and in copies of the same ops."""

    def landed(program: Program, at: int) -> int:
        seen = 0
        while program.ops[at].kind == "JUMP" and seen < 100:
            at, seen = program.ops[at].target, seen + 1
        return at

    work, related = [(0, 0)], set()
    while work:
        x, y = work.pop()
        x, y = landed(a, x), landed(b, y)
        if (x, y) in related:
            continue
        related.add((x, y))
        left, right = a.ops[x], b.ops[y]
        if left.kind != right.kind or (left.arg is not right.arg and left.arg != right.arg):
            return False
        if type(left.arg) is not type(right.arg) or (left.handler < 0) != (right.handler < 0):
            return False
        if left.handler >= 0:
            one, other = a.handlers[left.handler], b.handlers[right.handler]
            if (one.depth, one.lasti) != (other.depth, other.lasti):
                return False
            work.append((one.target, other.target))
        if left.target >= 0:
            work.append((left.target, right.target))
        if left.kind not in ENDS:
            work.append((x + 1, y + 1))
    return True


def mutants(program: Program, r: random.Random, each: int) -> Iterator[Tuple[str, int, Program]]:
    """Yield (name of the mutation, index of the op, the mutant), at random places."""
    places = [(name, at) for name in MUTATIONS for at in range(len(program.ops))]
    r.shuffle(places)
    made = 0
    for name, at in places:
        mutant = MUTATIONS[name](program, at, program.ops[at], r)
        if mutant is not None:
            yield name, at, mutant
            made += 1
            if made == each:
                return


def functions(count: int, r: random.Random) -> Iterator[Any]:
    """Yield random functions of the standard library."""
    paths = list(standard_library())
    r.shuffle(paths)
    found = 0
    for path in paths:
        try:
            inside = list(codes(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))[1:]
        except SyntaxError:
            continue
        for code in r.sample(inside, min(len(inside), 25)):
            yield code
            found += 1
            if found == count:
                return


def why_same(verdict: Verdict, program: Program, mutant: Program, at: int) -> str:
    """Return the reason why a mutant that is proved is the same program, or "" if none is found."""
    if plainly_same(program, mutant):
        return "the two differ only in jumps to jumps, or in which copy of the same ops is run"
    found = reason(program, mutant, at)
    if found is not None:
        return found
    return " and ".join(f"assuming that {assumption.value}" for assumption in verdict.assumptions)


def around(program: Program, mutant: Program, at: int) -> List[str]:
    """Return the ops around a mutation as lines, those of the mutant beside those that it changed."""
    lines = []
    for index in range(max(0, at - 4), min(at + 6, len(program.ops))):
        ours, theirs = repr(program.ops[index]), repr(mutant.ops[index])
        lines.append(f"{index:6} {ours:50.50} {theirs[:50] if ours != theirs else ''}")
    return lines


def main() -> None:
    """Print the table, the reasons, and the proved mutants without a reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--functions", type=int, default=1300, help="functions to change")
    parser.add_argument("--each", type=int, default=10, help="mutants of each function")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random choices")
    options = parser.parse_args()
    r = random.Random(options.seed)
    table: Dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    reasons: collections.Counter[str] = collections.Counter()
    unproved: collections.Counter[str] = collections.Counter()
    unexplained: List[str] = []
    for code in functions(options.functions, r):
        program = decode(code)
        for name, at, mutant in mutants(program, r, options.each):
            verdict = Proof(None, frozenset()).compared(program, mutant)
            table[name][verdict.grade.name] += 1
            if verdict.holds:
                why = why_same(verdict, program, mutant, at)
                if why:
                    reasons[NAMED.sub("<name>", why)] += 1
                else:
                    where = f"{pathlib.Path(code.co_filename).name}:{code.co_name}, {name} at op {at}"
                    unexplained.append("\n".join([where, *around(program, mutant, at)]))
            elif verdict.reason:
                unproved[verdict.reason] += 1
    report(table, reasons, unproved, unexplained)


NAMED = re.compile(r"^\w+(?= (is|holds|was))|(?<=set to )\w+(?=, or)|(?<=operands are ).*")


def report(
    table: Dict[str, collections.Counter[str]],
    reasons: collections.Counter[str],
    unproved: collections.Counter[str],
    unexplained: List[str],
) -> None:
    """Print the counts."""
    total = sum((counts for counts in table.values()), collections.Counter())
    for name, counts in (*sorted(table.items()), ("all", total)):
        found = "  ".join(f"{grade} {count}" for grade, count in sorted(counts.items()))
        print(f"{name:26} {sum(counts.values()):6}  {found}")
    print("\nnot accepted, though not refuted:")
    for why, count in unproved.most_common():
        print(f"{count:6}  {why}")
    print("\nproved, and the same program because")
    for why, count in reasons.most_common():
        print(f"{count:6}  {why}")
    print(f"\nproved, and no reason seen: {len(unexplained)}")
    print("\n".join(unexplained))


if __name__ == "__main__":
    main()
