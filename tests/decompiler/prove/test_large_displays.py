"""Large displays: Dynamo builds them at once, the compiler piece by piece; the proof must take both for the same."""

from __future__ import annotations

from typing import List

from decompile_tools import function_code

from depyf.decompiler.bytecode.microops import Op, Program
from depyf.decompiler.bytecode.python_facts import MOST_ELEMENTS_AT_ONCE, MOST_PAIRS_AT_ONCE
from depyf.decompiler.prove.large_displays import filled_one_by_one
from depyf.decompiler.prove.proof_attempts import Proof

CODE = function_code("def f(a): return a")


def program(*ops: Op) -> Program:
    return Program(ops, (), CODE, (3, 11))


def built_at_once(kind: str, elements: int, width: int) -> Program:
    loads: List[Op] = []
    for number in range(elements):
        loads += [Op("CONST", f"k{number}")] * (width - 1) + [Op("LOAD_GLOBAL", f"g{number}")]
    return program(*loads, Op(kind, elements), Op("RETURN"))


def filled(kind: str, add: str, elements: int, width: int) -> Program:
    ops = [Op(kind, 0)]
    for number in range(elements):
        ops += [Op("CONST", f"k{number}")] * (width - 1) + [Op("LOAD_GLOBAL", f"g{number}"), Op(add, 1)]
    return program(*ops, Op("RETURN"))


def test_programs_without_large_displays_stay_the_same_objects() -> None:
    small = built_at_once("BUILD_MAP", MOST_PAIRS_AT_ONCE, 2)
    assert filled_one_by_one(small, small) == (small, small)


def test_a_large_dict_is_the_same_however_it_was_built() -> None:
    count = MOST_PAIRS_AT_ONCE + 1
    one, other = filled_one_by_one(built_at_once("BUILD_MAP", count, 2), filled("BUILD_MAP", "MAP_ADD", count, 2))
    assert not any(op.kind == "BUILD_MAP" and op.arg for op in one.ops)
    assert Proof(None, frozenset()).compared(one, other).holds


def test_a_large_set_whose_elements_come_in_another_order_is_not_the_same() -> None:
    count = MOST_ELEMENTS_AT_ONCE + 1
    once = built_at_once("BUILD_SET", count, 1)
    swapped = program(once.ops[1], once.ops[0], *once.ops[2:])
    assert not Proof(None, frozenset()).compared(*filled_one_by_one(once, swapped)).holds


def test_jumps_still_lead_to_the_same_ops_after_the_rewriting() -> None:
    count = MOST_ELEMENTS_AT_ONCE + 1
    once = built_at_once("BUILD_SET", count, 1)
    last = len(once.ops)
    jumping = program(Op("JUMP", target=1), *once.ops[:-1], Op("JUMP", target=last + 1), Op("RETURN"))
    one, _ = filled_one_by_one(jumping, jumping)
    assert one.ops[one.ops[-2].target].kind == "RETURN"
