"""What instructions take from the stack and leave on it, by opcode name: the tables of the verifier.

Written from the interpreter (Python/ceval.c of 3.11, Python/bytecodes.c of 3.12 and 3.13), apart from the micro-ops, so
that a mistake in either shows. Operands are objects, never NULL, unless a rule allows it.
"""

from __future__ import annotations

import functools
from typing import Dict, Tuple

from depyf.decompiler.bytecode.python_facts import Version, facts_for
from depyf.decompiler.decode.abstract_frame import AbstractFrame, Operand
from depyf.decompiler.decode.block_rules import OLD_FIXED, OLD_OPERANDS, OLD_SPECIAL
from depyf.decompiler.decode.code_layout import CONTROL, JUMPS, fail
from depyf.decompiler.decode.finally_rules import FINALLY_RULES
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.loop_rules import WITH_INDICES
from depyf.decompiler.decode.special_rules import SPECIAL, Rule, pop_top, pushed_constant
from depyf.decompiler.decode.stack_kinds import (
    ANY,
    BOOL,
    EXCEPTION,
    INT,
    ITERATOR,
    LIST,
    NONE,
    NULL,
    PREVIOUS,
)

# Opcodes whose argument does not change what they do to the stack: (entries popped, kinds pushed).
FIXED: Dict[str, Tuple[int, Tuple[int, ...]]] = {
    "NOP": (0, ()), "NOT_TAKEN": (0, ()), "POP_TOP": (1, ()), "POP_ITER": (1, ()),
    "PUSH_NULL": (0, (NULL,)), "LOAD_CONST": (0, (ANY,)),
    "STORE_GLOBAL": (1, ()), "DELETE_GLOBAL": (0, ()), "LOAD_NAME": (0, (ANY,)), "STORE_NAME": (1, ()),
    "DELETE_NAME": (0, ()), "LOAD_LOCALS": (0, (ANY,)), "LOAD_FROM_DICT_OR_GLOBALS": (1, (ANY,)),
    "STORE_ATTR": (2, ()), "DELETE_ATTR": (1, ()), "SETUP_ANNOTATIONS": (0, ()),
    "BINARY_SUBSCR": (2, (ANY,)), "STORE_SUBSCR": (3, ()), "DELETE_SUBSCR": (2, ()),
    "BINARY_SLICE": (3, (ANY,)), "STORE_SLICE": (4, ()), "BINARY_OP": (2, (ANY,)),
    "UNARY_POSITIVE": (1, (ANY,)), "UNARY_NEGATIVE": (1, (ANY,)), "UNARY_INVERT": (1, (ANY,)),
    "UNARY_NOT": (1, (BOOL,)), "TO_BOOL": (1, (BOOL,)), "IS_OP": (2, (BOOL,)), "CONTAINS_OP": (2, (BOOL,)),
    "LIST_TO_TUPLE": (1, (ANY,)), "FORMAT_SIMPLE": (1, (ANY,)), "FORMAT_WITH_SPEC": (2, (ANY,)),
    "BUILD_TEMPLATE": (2, (ANY,)),
    "CONVERT_VALUE": (1, (ANY,)), "LOAD_BUILD_CLASS": (0, (ANY,)), "LOAD_ASSERTION_ERROR": (0, (ANY,)),
    "GET_ITER": (1, (ITERATOR,)), "GET_YIELD_FROM_ITER": (1, (ANY,)), "GET_AITER": (1, (ANY,)),
    "GET_ANEXT": (0, (ANY,)), "GET_AWAITABLE": (1, (ANY,)),
    "PUSH_EXC_INFO": (1, (PREVIOUS, EXCEPTION)), "POP_EXCEPT": (1, ()),
    "CHECK_EXC_MATCH": (1, (BOOL,)), "CHECK_EG_MATCH": (2, (EXCEPTION | NONE, EXCEPTION | NONE)),
    "PREP_RERAISE_STAR": (2, (EXCEPTION | NONE,)), "END_ASYNC_FOR": (2, ()),
    "BEFORE_WITH": (1, (ANY, ANY)), "BEFORE_ASYNC_WITH": (1, (ANY, ANY)),
    "IMPORT_NAME": (2, (ANY,)), "IMPORT_FROM": (0, (ANY,)), "IMPORT_STAR": (1, ()), "PRINT_EXPR": (1, ()),
    "GET_LEN": (0, (INT,)), "MATCH_MAPPING": (0, (BOOL,)), "MATCH_SEQUENCE": (0, (BOOL,)),
    "MATCH_KEYS": (0, (ANY,)), "MATCH_CLASS": (3, (ANY,)), "RETURN_VALUE": (1, ()), "RETURN_CONST": (0, ()),
    "JUMP_FORWARD": (0, ()), "JUMP_BACKWARD": (0, ()), "JUMP_BACKWARD_NO_INTERRUPT": (0, ()),
    **{name: (1, ()) for name in JUMPS if name.startswith("POP_JUMP")},
}  # fmt: skip

# opcode -> what it needs of operands: those that it only reads, and those that have to be of a kind.
_OPERANDS: Dict[str, Tuple[Operand, ...]] = {
    **dict.fromkeys(
        ("GET_ANEXT", "IMPORT_FROM", "GET_LEN", "MATCH_MAPPING", "MATCH_SEQUENCE"), (Operand(1, ANY, False),)
    ),
    "MATCH_KEYS": (Operand(1, ANY, False), Operand(2, ANY, False)),
    "POP_EXCEPT": (Operand(1, PREVIOUS, True),),
    "PUSH_EXC_INFO": (Operand(1, EXCEPTION, True),),
    "CHECK_EXC_MATCH": (Operand(2, EXCEPTION, True),),
    "CHECK_EG_MATCH": (Operand(2, EXCEPTION | NONE, True),),
    "PREP_RERAISE_STAR": (Operand(1, LIST, False), Operand(2, EXCEPTION, True)),
    "END_ASYNC_FOR": (Operand(1, EXCEPTION, True),),
    "LIST_TO_TUPLE": (Operand(1, LIST, False),),
}
_NEED_BOOL = ("UNARY_NOT", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE")
# Opcodes with a few arguments only: argument -> entries popped; each pushes one object, RAISE_VARARGS none.
_CHOSEN: Dict[str, Dict[int, int]] = {
    "BUILD_SLICE": {2: 2, 3: 3},
    "FORMAT_VALUE": {0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 2},
    "RAISE_VARARGS": {0: 0, 1: 1, 2: 2},
    "BUILD_INTERPOLATION": {2: 2, 3: 3, 6: 2, 7: 3, 10: 2, 11: 3, 14: 2, 15: 3},
}


def _fixed(pops: int, pushes: Tuple[int, ...], operands: Tuple[Operand, ...]) -> Rule:
    if not operands and not pushes:
        return lambda frame, index, raw: frame.pop(raw, pops)

    def rule(frame: AbstractFrame, index: int, raw: Raw) -> None:
        frame.check(raw, operands)
        frame.change(raw, pops, pushes)

    return rule


_A_BOOL = Operand(1, BOOL, True)


def _of_bool(pops: int, pushes: Tuple[int, ...]) -> Rule:
    def rule(frame: AbstractFrame, index: int, raw: Raw) -> None:
        if not isinstance(pushed_constant(frame, index - 1), bool):
            frame.check(raw, (_A_BOOL,))
        frame.change(raw, pops, pushes)

    return rule


def _chosen(frame: AbstractFrame, index: int, raw: Raw) -> None:
    pops = _CHOSEN[raw.opname].get(raw.arg)
    if pops is None:
        fail(raw, f"has no meaning with the argument {raw.arg}")
    frame.change(raw, pops, () if raw.opname == "RAISE_VARARGS" else (ANY,))


@functools.lru_cache(maxsize=None)
def rules_for(version: Version, locals_are_plain: bool) -> Dict[str, Tuple[int, int, Rule]]:
    """Return opcode -> (entries popped, change of the depth, what it does to a frame).

    Where all that an instruction does is to pop objects and to push one, the numbers suffice. For others the first is
    NEVER, and the function has to be called; it raises Malformed if the frame is not fit for the instruction.
    `locals_are_plain`: no variable is a cell, and loads test for themselves whether there is a value.
    """
    facts = facts_for(version)
    operands = dict(_OPERANDS)
    fixed = FIXED
    if facts.blocks_are_stacked:
        operands.update(OLD_OPERANDS)
        fixed = {name: FIXED[name] for name in FIXED if name not in OLD_SPECIAL}
        fixed.update(OLD_FIXED)
    functions = {name: _fixed(pops, pushes, operands.get(name, ())) for name, (pops, pushes) in fixed.items()}
    if facts.branches_need_bool:
        operands.update(dict.fromkeys(_NEED_BOOL, (_A_BOOL,)))
        functions.update({name: _of_bool(*FIXED[name]) for name in _NEED_BOOL})
    functions.update(SPECIAL)
    if facts.blocks_are_stacked:
        functions.update(OLD_SPECIAL)
    if facts.finally_is_subroutine:
        functions.update(FINALLY_RULES)
    if facts.exits_have_receivers:
        functions["POP_TOP"] = pop_top
    functions.update(dict.fromkeys(_CHOSEN, _chosen))
    functions["END_FOR"] = _fixed(3 - len(facts.loop_ends), (), ())
    found = {name: (NEVER, 0, function) for name, function in functions.items()}
    for name, (pops, pushes) in fixed.items():
        are_tracked = any(kind != ANY and (kind != BOOL or facts.branches_need_bool) for kind in pushes)
        if not are_tracked and name not in operands and name not in CONTROL:
            found[name] = (pops, len(pushes) - pops, functions[name])
    if facts.iterators_have_indices:
        found.update({name: (NEVER, 0, function) for name, function in WITH_INDICES.items()})
    if not facts.load_attr_has_method_bit:
        found["LOAD_ATTR"] = (1, 0, _fixed(1, (ANY,), ()))
    if not facts.branches_need_bool:
        found["COMPARE_OP"] = (2, -1, functions["COMPARE_OP"])
    if locals_are_plain:
        found["LOAD_FAST_BORROW"] = (0, 1, functions["LOAD_FAST_BORROW"])
        found["LOAD_FAST"] = (0, 1, functions["LOAD_FAST"])
        found["STORE_FAST"] = (1, -1, functions["STORE_FAST"])
    return found


def _unknown(frame: AbstractFrame, index: int, raw: Raw) -> None:
    fail(raw, "is not for programs")


NEVER = 1 << 40  # more than any stack holds
UNKNOWN: Tuple[int, int, Rule] = (NEVER, 0, _unknown)
