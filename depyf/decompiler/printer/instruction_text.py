"""One instruction of a code object as text, whatever its argument is: a listing also shows code that is malformed.

What an argument refers to and is not there, is marked by MISSING.
"""

from __future__ import annotations

import functools
from types import CodeType
from typing import Dict, FrozenSet, Iterator, Mapping, Sequence, Tuple

from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.python_facts import PythonFacts, Version, facts_for
from depyf.decompiler.decode.instructions import Raw, every_unit, exception_ranges, jump_target, opcode_names
from depyf.decompiler.decode.opcodes import (
    BINARY_OPERATORS,
    COMMON_CONSTANTS,
    COMPARISONS,
    CONVERSIONS,
    INTRINSICS_1,
    INTRINSICS_2,
)
from depyf.text.stable_repr import stable_repr

MISSING = "<not there>"
_FUNCTION_ATTRIBUTES = (
    "defaults",
    "kwdefaults",
    "annotations",
    "closure",
    "annotate",
)  # the bits of MAKE_FUNCTION's argument
_TWO_LOCALS = frozenset({
    "LOAD_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
})  # fmt: skip
_SPECIAL_METHODS = ("__enter__", "__exit__", "__aenter__", "__aexit__")
_OTHER_COMPARISONS = ("in", "not in", "is", "is not", "exception match")
_INPLACE = tuple([f"{operator}=" for operator in BINARY_OPERATORS])


# What the argument of an opcode refers to: hasconst, hasname, hasjrel, haslocal and hasfree in Lib/opcode.py.
_CONSTANTS = frozenset({"LOAD_CONST", "RETURN_CONST", "KW_NAMES"})
_ATTRIBUTES = frozenset({
    "LOAD_NAME", "STORE_NAME", "DELETE_NAME", "LOAD_ATTR", "STORE_ATTR", "DELETE_ATTR", "LOAD_GLOBAL", "STORE_GLOBAL",
    "DELETE_GLOBAL", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_FROM_DICT_OR_GLOBALS", "IMPORT_NAME", "IMPORT_FROM",
})  # fmt: skip
_JUMPS = frozenset({
    "FOR_ITER", "SEND", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_IF_FALSE_OR_POP",
    "JUMP_IF_TRUE_OR_POP", *(f"POP_JUMP_{way}IF_{what}" for way in ("", "FORWARD_", "BACKWARD_")
    for what in ("TRUE", "FALSE", "NONE", "NOT_NONE")),
    "JUMP_ABSOLUTE", "JUMP_IF_NOT_EXC_MATCH", "SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH", "CALL_FINALLY",
})  # fmt: skip
_CELLS = frozenset({"LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF"})
_VARIABLES = frozenset({
    "LOAD_FAST", "STORE_FAST", "DELETE_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "LOAD_FAST_BORROW",
    "LOAD_FROM_DICT_OR_DEREF", "MAKE_CELL", *_CELLS,
})  # fmt: skip


@functools.lru_cache(maxsize=None)
def _bare(version: Version) -> FrozenSet[str]:
    """Return the opcodes whose argument has no meaning."""
    first = facts_for(version).first_opcode_with_argument
    return frozenset([name for opcode, name in opcode_names(version).items() if opcode < first])


LONGEST_NAME = 200  # characters, as of constants


class InstructionTexts:
    """The instructions of one code object as texts."""

    def __init__(self, code: CodeType, renames: Mapping[str, str]) -> None:
        self.code = code
        self.facts = facts_of(code)
        self.renames = renames  # name in the code -> the one to show
        cells = tuple([name for name in code.co_cellvars if name not in code.co_varnames])
        self.variables = code.co_varnames + cells + code.co_freevars
        self.units = list(every_unit(code, self.facts.version))
        self.constants: Dict[int, str] = {}  # index -> text
        self.problem = ""  # of the exception table
        self.targets = {jump_target(raw, self.facts) for raw in self.units if raw.opname in _JUMPS}
        try:
            self.targets.update(entry.target for entry in exception_ranges(code))
        except ValueError as error:
            self.problem = str(error)

    def __iter__(self) -> Iterator[Tuple[int, str]]:
        """Yield (offset, text) of each instruction; inline caches are left out."""
        for raw in self.units:
            mark = ">>" if raw.offset in self.targets else "  "
            yield raw.offset, f"{mark} {raw.offset:4d} {raw.opname:<24} {self._argument(raw)}".rstrip()

    def _argument(self, raw: Raw) -> str:
        opname, arg = raw.opname, raw.arg
        if opname in _bare(self.facts.version):
            return ""
        if opname in _CONSTANTS:
            return self._constant(arg) if arg < len(self.code.co_consts) else f"{arg} {MISSING}"
        if opname in _ATTRIBUTES:
            return self._name(self.code.co_names, arg >> _bits_below_name(opname, self.facts))
        if opname in _TWO_LOCALS:
            return f"{self._name(self.variables, arg >> 4)}, {self._name(self.variables, arg & 15)}"
        if opname in _CELLS and self.facts.cells_are_numbered_apart:
            return self._name(self.code.co_cellvars + self.code.co_freevars, arg)
        if opname in _VARIABLES:
            return self._name(self.variables, arg)
        if opname in _JUMPS:
            target = jump_target(raw, self.facts)
            return f"to {target}" if 0 <= target < len(self.code.co_code) else f"to {target} {MISSING}"
        return _meaning(opname, arg, self.facts)

    def _constant(self, index: int) -> str:
        """Return the text of a constant, made once: it may be long, and in many instructions."""
        if index not in self.constants:
            self.constants[index] = stable_repr(self.code.co_consts[index])
        return self.constants[index]

    def _name(self, names: Sequence[str], index: int) -> str:
        if index >= len(names):
            return f"{index} {MISSING}"
        name = self.renames.get(names[index], names[index])
        return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "..."


def _bits_below_name(opname: str, facts: PythonFacts) -> int:
    """Return how many bits of an argument are not part of the index of its name."""
    if opname == "LOAD_GLOBAL":
        return int(facts.load_global_has_null_bit)
    imports = 2 if facts.imports_have_modes else 0
    attributes = int(facts.load_attr_has_method_bit)
    return {"LOAD_ATTR": attributes, "LOAD_SUPER_ATTR": 2, "IMPORT_NAME": imports}.get(opname, 0)


def _meaning(opname: str, arg: int, facts: PythonFacts) -> str:
    """Return an argument that is a number in words, where it has some."""
    words: Sequence[str] = ()
    if opname == "COMPARE_OP":
        others = _OTHER_COMPARISONS if facts.compare_has_all else ()
        words, arg = (*COMPARISONS, *others), arg >> facts.compare_shift
    elif opname == "BINARY_OP":
        words = (*BINARY_OPERATORS, *_INPLACE, *(["[]"] if facts.subscript_is_operator else []))
    elif opname == "LOAD_SPECIAL":
        words = _SPECIAL_METHODS
    elif opname == "LOAD_COMMON_CONSTANT":
        constants = COMMON_CONSTANTS[: facts.common_constants]
        words = [getattr(constant, "__name__", repr(constant)) for constant in constants]
    elif opname == "CALL_INTRINSIC_1":
        words = INTRINSICS_1
    elif opname == "CALL_INTRINSIC_2":
        words = INTRINSICS_2
    elif opname in ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"):
        return ", ".join([part for bit, part in enumerate(_FUNCTION_ATTRIBUTES) if arg >> bit & 1]) or str(arg)
    elif opname in ("FORMAT_VALUE", "CONVERT_VALUE") and arg < 8:
        return ("!" + CONVERSIONS[arg & 3] if arg & 3 else "") + (":" if arg & 4 else "") or str(arg)
    if not words:
        return str(arg)
    return words[arg] if arg < len(words) else f"{arg} {MISSING}"
