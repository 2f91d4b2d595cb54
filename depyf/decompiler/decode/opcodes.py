"""Raw instructions -> micro-ops: one table for all versions, spelled by opcode name.

Most opcodes are one micro-op with a resolved argument (`_SIMPLE`); the rest have a small function each.
An opcode that changed its meaning between versions asks `PythonFacts`, never a version number.

A new opcode goes into one of the tables here (docs/recipes.md, "A new opcode"). If it needs a new micro-op:
bytecode/microops.py (its meaning and stack effect), build/op_handlers.py (its text), and prove/operations.py only if
it is not a plain event.
"""

from __future__ import annotations

from types import CodeType, MappingProxyType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import (
    ANNOTATE,
    ANNOTATIONS,
    CLOSURE,
    DEFAULTS,
    FROM_STACK,
    KWDEFAULTS,
    NULL_FIRST,
    NULL_SECOND,
    Op,
)
from depyf.decompiler.bytecode.python_facts import PythonFacts
from depyf.decompiler.decode.instructions import MOST_ARGUMENT, Plain, Raw, jump_target

COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
# What COMPARE_OP has behind these in 3.8: Include/opcode.h.
OTHER_COMPARISONS = (("CONTAINS", 0), ("CONTAINS", 1), ("IS", 0), ("IS", 1), ("EXC_COMPARE", None))
# The low bits of COMPARE_OP since 3.12, by operator; its specialised forms read them instead: Python/compile.c.
COMPARE_MASKS = (2, 10, 8, 7, 4, 12)
BINARY_OPERATORS = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
CONVERSIONS = ("", "s", "r", "a")
# Before a call with neither keyword arguments nor a receiver, as Dynamo writes it for 3.14.
_NULLS_OF_DYNAMO = [("PUSH_NULL", None), ("PUSH_NULL", None), ("SWAP", 3), ("SWAP", 2)]
COMMON_CONSTANTS = (AssertionError, NotImplementedError, tuple, all, any, list, set, None, "", True, False, -1)
INTRINSICS_1 = (
    "INVALID", "PRINT", "IMPORT_STAR", "STOPITERATION_ERROR", "ASYNC_GEN_WRAP", "UNARY_POSITIVE", "LIST_TO_TUPLE",
    "TYPEVAR", "PARAMSPEC", "TYPEVARTUPLE", "SUBSCRIPT_GENERIC", "TYPEALIAS",
)  # fmt: skip
INTRINSICS_2 = (
    "INVALID", "PREP_RERAISE_STAR", "TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS", "SET_FUNCTION_TYPE_PARAMS",
    "SET_TYPEPARAM_DEFAULT",
)  # fmt: skip

# Instructions without a meaning of their own at this level.
DROPPED = frozenset({
    "CACHE", "NOP", "NOT_TAKEN", "GEN_START", "RESUME", "PRECALL", "COPY_FREE_VARS", "ASYNC_GEN_WRAP",
    "RESERVED", "INTERPRETER_EXIT", "EXIT_INIT_CHECK", "ENTER_EXECUTOR", "TRACE_RECORD",
})  # fmt: skip

# opcode -> (micro-op, how its argument is resolved)
_SIMPLE: Dict[str, Tuple[str, str]] = {
    "POP_TOP": ("POP", ""),
    "PUSH_NULL": ("PUSH_NULL", ""), "COPY": ("COPY", "int"), "SWAP": ("SWAP", "int"),
    "LOAD_CONST": ("CONST", "const"), "LOAD_SMALL_INT": ("CONST", "int"),
    "LOAD_FAST": ("LOAD_LOCAL", "local"), "LOAD_FAST_CHECK": ("LOAD_LOCAL", "local"),
    "LOAD_FAST_BORROW": ("LOAD_LOCAL", "local"),
    "STORE_FAST": ("STORE_LOCAL", "local"), "DELETE_FAST": ("DELETE_LOCAL", "local"),
    "LOAD_FAST_AND_CLEAR": ("LOAD_LOCAL_AND_CLEAR", "local"),
    "LOAD_DEREF": ("LOAD_CELL", "cell"), "STORE_DEREF": ("STORE_CELL", "cell"),
    "DELETE_DEREF": ("DELETE_CELL", "cell"), "LOAD_CLOSURE": ("LOAD_CLOSURE", "cell"),
    "LOAD_CLASSDEREF": ("LOAD_CLASS_CELL", "cell"),
    "STORE_GLOBAL": ("STORE_GLOBAL", "name"), "DELETE_GLOBAL": ("DELETE_GLOBAL", "name"),
    "LOAD_NAME": ("LOAD_NAME", "name"), "STORE_NAME": ("STORE_NAME", "name"), "DELETE_NAME": ("DELETE_NAME", "name"),
    "LOAD_LOCALS": ("LOAD_LOCALS", ""),
    "LOAD_FROM_DICT_OR_GLOBALS": ("LOAD_FROM_MAPPING_OR_GLOBAL", "name"),
    "LOAD_FROM_DICT_OR_DEREF": ("LOAD_FROM_MAPPING_OR_CELL", "local"),
    "STORE_ATTR": ("STORE_ATTR", "name"), "DELETE_ATTR": ("DELETE_ATTR", "name"),
    "BINARY_SUBSCR": ("SUBSCR", ""), "STORE_SUBSCR": ("STORE_SUBSCR", ""), "DELETE_SUBSCR": ("DELETE_SUBSCR", ""),
    "IS_OP": ("IS", "bit"), "CONTAINS_OP": ("CONTAINS", "bit"), "TO_BOOL": ("TO_BOOL", ""),
    "BUILD_TUPLE": ("BUILD_TUPLE", "int"), "BUILD_LIST": ("BUILD_LIST", "int"), "BUILD_SET": ("BUILD_SET", "int"),
    "BUILD_MAP": ("BUILD_MAP", "int"), "BUILD_STRING": ("BUILD_STRING", "int"), "BUILD_SLICE": ("BUILD_SLICE", "int"),
    "BUILD_CONST_KEY_MAP": ("BUILD_CONST_KEY_MAP", "int"), "LIST_TO_TUPLE": ("LIST_TO_TUPLE", ""),
    "LIST_APPEND": ("LIST_APPEND", "int"), "SET_ADD": ("SET_ADD", "int"),
    "LIST_EXTEND": ("LIST_EXTEND", "int"), "SET_UPDATE": ("SET_UPDATE", "int"),
    "DICT_UPDATE": ("DICT_UPDATE", "int"), "DICT_MERGE": ("DICT_MERGE", "int"),
    "UNPACK_SEQUENCE": ("UNPACK", "int"), "LOAD_BUILD_CLASS": ("LOAD_BUILD_CLASS", ""),
    "LOAD_ASSERTION_ERROR": ("LOAD_ASSERTION_ERROR", ""),
    "GET_YIELD_FROM_ITER": ("GET_YIELD_FROM_ITER", ""),
    "GET_AITER": ("GET_AITER", ""), "END_ASYNC_FOR": ("END_ASYNC_FOR", ""),
    "GET_AWAITABLE": ("GET_AWAITABLE", ""), "YIELD_VALUE": ("YIELD", ""), "YIELD_FROM": ("YIELD_FROM", ""),
    "RETURN_VALUE": ("RETURN", ""),
    "RAISE_VARARGS": ("RAISE", "int"), "RERAISE": ("RERAISE", "int"),
    "PUSH_EXC_INFO": ("PUSH_EXC_INFO", ""), "POP_EXCEPT": ("POP_EXCEPT", ""),
    "CHECK_EXC_MATCH": ("CHECK_EXC_MATCH", ""), "CHECK_EG_MATCH": ("CHECK_EG_MATCH", ""),
    "PREP_RERAISE_STAR": ("PREP_RERAISE_STAR", ""), "BEFORE_WITH": ("BEFORE_WITH", ""),
    "BEFORE_ASYNC_WITH": ("BEFORE_ASYNC_WITH", ""), "WITH_EXCEPT_START": ("WITH_EXCEPT_START", ""),
    "IMPORT_FROM": ("IMPORT_FROM", "name"), "IMPORT_STAR": ("IMPORT_STAR", ""),
    "GET_LEN": ("GET_LEN", ""), "MATCH_MAPPING": ("MATCH_MAPPING", ""), "MATCH_SEQUENCE": ("MATCH_SEQUENCE", ""),
    "BUILD_TEMPLATE": ("BUILD_TEMPLATE", ""),
    "SETUP_ANNOTATIONS": ("SETUP_ANNOTATIONS", ""), "PRINT_EXPR": ("PRINT_EXPR", ""),
    "CLEANUP_THROW": ("CLEANUP_THROW", ""),
}  # fmt: skip
_BINARY = {
    "POWER": "**", "MULTIPLY": "*", "MATRIX_MULTIPLY": "@", "MODULO": "%", "ADD": "+", "SUBTRACT": "-",
    "FLOOR_DIVIDE": "//", "TRUE_DIVIDE": "/", "LSHIFT": "<<", "RSHIFT": ">>", "AND": "&", "XOR": "^", "OR": "|",
}  # fmt: skip
# Operators with an instruction each (before 3.11).
OPERATORS: Dict[str, Tuple[str, str]] = {
    f"{kind}_{name}": (kind, operator) for kind in ("BINARY", "INPLACE") for name, operator in _BINARY.items()
}
# Instructions that move the top entry below others (before 3.11): how many they are, with itself.
_ROTATIONS = {"ROT_TWO": 2, "ROT_THREE": 3, "ROT_FOUR": 4}
_UNARY = {"UNARY_POSITIVE": "+", "UNARY_NEGATIVE": "-", "UNARY_INVERT": "~", "UNARY_NOT": "not"}
_JUMPS = {
    "JUMP_ABSOLUTE": "JUMP", "JUMP_FORWARD": "JUMP", "JUMP_BACKWARD": "JUMP",
    "JUMP_BACKWARD_NO_INTERRUPT": "JUMP",
    "SETUP_FINALLY": "SETUP_FINALLY", "SETUP_WITH": "SETUP_WITH", "SETUP_ASYNC_WITH": "SETUP_ASYNC_WITH",
    "JUMP_IF_NOT_EXC_MATCH": "EXC_MATCH", "JUMP_IF_SWALLOWED": "JUMP_IF_SWALLOWED",
    "POP_JUMP_IF_TRUE": "BRANCH_TRUE", "POP_JUMP_IF_FALSE": "BRANCH_FALSE",
    "POP_JUMP_IF_NONE": "BRANCH_NONE", "POP_JUMP_IF_NOT_NONE": "BRANCH_NOT_NONE",
}  # fmt: skip
for _way in ("FORWARD", "BACKWARD"):
    for _kind in ("TRUE", "FALSE", "NONE", "NOT_NONE"):
        _JUMPS[f"POP_JUMP_{_way}_IF_{_kind}"] = f"BRANCH_{_kind}"


# What an instruction on a local does where the slot holds a cell, or gets one back.
_ON_CELLS = {"LOAD_LOCAL": "LOAD_CLOSURE", "STORE_LOCAL": "RESTORE_CELL", "LOAD_LOCAL_AND_CLEAR": "SAVE_CELL"}
# (offset of an instruction, slot, micro-op) -> whether it acts on a cell; only for variables that are cells somewhere.
CellUses = Mapping[Tuple[int, int, str], bool]
NO_CELL_USES: CellUses = MappingProxyType({})
_AS_IT_IS = range(MOST_ARGUMENT)  # the table of arguments that are what the micro-op has


class _PlainOps(Dict[str, Optional[Tuple[str, Optional[Sequence[Any]]]]]):
    """Opcode -> micro-op and the table that its argument is an index of, if any; None for the others.

    Those on locals are not plain where a slot may hold a cell.
    """

    def __init__(self, tables: Mapping[str, Sequence[Any]], has_cells: bool) -> None:
        super().__init__()
        self._tables = tables
        self._others = ("bit", "local") if has_cells else ("bit",)

    def __missing__(self, opname: str) -> Optional[Tuple[str, Optional[Sequence[Any]]]]:
        kind, how = _SIMPLE.get(opname, ("", "bit"))
        found = None if how in self._others else (kind, self._tables[how] if how else None)
        self[opname] = found
        return found


class Translator:
    """Translate one code object; `ops` collects the result with jump targets as byte offsets."""

    def __init__(self, code: CodeType, facts: PythonFacts, cell_uses: CellUses = NO_CELL_USES) -> None:
        self.code = code
        self.facts = facts
        self.ops: List[Op] = []
        self.jumps: List[Op] = []  # those among them that have a target
        self.offset = 0
        self.consts, self.names = code.co_consts, code.co_names
        local = set(code.co_varnames) if code.co_cellvars else ()
        cells = tuple([name for name in code.co_cellvars if name not in local])
        self.slots = code.co_varnames + cells + code.co_freevars
        self.cells = code.co_cellvars + code.co_freevars if facts.cells_are_numbered_apart else self.slots
        # How an argument is resolved -> the table that it is an index of.
        self.tables: Dict[str, Sequence[Any]] = {
            "local": self.slots, "cell": self.cells, "const": self.consts, "name": self.names, "int": _AS_IT_IS
        }  # fmt: skip
        self.cell_uses = cell_uses
        self.plain = _PlainOps(self.tables, bool(cell_uses))
        if not facts.load_attr_has_method_bit:
            self.plain["LOAD_ATTR"] = ("LOAD_ATTR", self.names)
        self.kwnames: Any = None
        self.has_matched = False  # whether the last instruction was a match that pushed its outcome (3.10)

    def translate(self, fields: Plain) -> None:
        """Append the micro-ops of one instruction, given as the fields of a Raw."""
        offset, _, opname, arg, _ = fields
        plain = self.plain[opname]
        if plain is not None:
            kind, table = plain
            self.ops.append(Op(kind, None if table is None else table[arg], offset))
            return
        if opname == "LOAD_ATTR" and not arg & 1:  # of a method there is one more op
            self.ops.append(Op(opname, self.names[arg >> 1], offset))
            return
        self.offset = offset
        simple = _SIMPLE.get(opname)
        if simple is not None:
            kind, how = simple
            if how == "local":
                self.local(kind, arg)
            elif arg > 1:
                raise Malformed(f"{opname} at {offset} has no meaning with the argument {arg}")
            else:
                self.emit(kind, arg)
            return
        if opname in DROPPED:
            return
        raw = Raw(*fields)
        jump = _JUMPS.get(opname)
        if jump is not None:
            if self.has_matched:
                jump, self.has_matched = self.after_match(raw), False
            self.jump(jump, jump_target(raw, self.facts))
            return
        unary = _UNARY.get(opname)
        if unary is not None:
            self.emit("UNARY", unary)
            return
        operator = OPERATORS.get(opname)
        if operator is not None:
            self.emit(*operator)
            return
        special = _SPECIAL.get(opname)
        if special is None:
            raise ValueError(f"{opname} at {raw.offset} has no translation")
        special(self, raw)

    def emit(self, kind: str, arg: Any = None) -> None:
        """Append one micro-op."""
        self.ops.append(Op(kind, arg, self.offset))

    def jump(self, kind: str, target: int, arg: Any = None) -> None:
        """Append a jump; `target` is a byte offset until the whole code is translated."""
        op = Op(kind, arg, self.offset, target)
        self.ops.append(op)
        self.jumps.append(op)

    def local(self, kind: str, slot: int) -> None:
        """Append an op on a local, cell or free variable; some act on the cell in the slot, not on a value."""
        name = self.slots[slot]
        if self.cell_uses and self.cell_uses.get((self.offset, slot, kind)):
            kind = _ON_CELLS[kind]
        self.ops.append(Op(kind, name, self.offset))

    def null_and(self, load: Callable[[], None]) -> None:
        """Emit a load, and NULL where this version's calls expect it."""
        if self.facts.call_layout == NULL_FIRST:
            self.emit("PUSH_NULL")
            load()
        else:
            load()
            self.emit("PUSH_NULL")

    def attribute(self, name: str, with_null: bool) -> None:
        """Emit an attribute read; `with_null` pushes the method pair, always as NULL and the attribute's value."""
        self.emit("LOAD_ATTR", name)
        if with_null:
            self.emit("PUSH_NULL")
            if self.facts.call_layout != NULL_SECOND:
                self.emit("SWAP", 2)

    def after_match(self, raw: Raw) -> str:
        """Return the jump that leaves a pattern where there was no match."""
        if raw.opname != "POP_JUMP_IF_FALSE":
            raise Malformed(f"{raw.opname} at {raw.offset} follows a match, and does not leave the pattern")
        return "BRANCH_NONE"

    def take_kwnames(self) -> Any:
        """Return the names set by KW_NAMES for the next call, and clear them."""
        names, self.kwnames = self.kwnames, None
        return names


def _load_global(t: Translator, raw: Raw) -> None:
    if not t.facts.load_global_has_null_bit:
        t.emit("LOAD_GLOBAL", t.code.co_names[raw.arg])
        return
    name = t.code.co_names[raw.arg >> 1]
    if raw.arg & 1:
        t.null_and(lambda: t.emit("LOAD_GLOBAL", name))
    else:
        t.emit("LOAD_GLOBAL", name)


def _load_attr(t: Translator, raw: Raw) -> None:
    if t.facts.load_attr_has_method_bit:
        t.attribute(t.code.co_names[raw.arg >> 1], bool(raw.arg & 1))
    else:
        t.attribute(t.code.co_names[raw.arg], False)


def _load_method(t: Translator, raw: Raw) -> None:
    t.attribute(t.code.co_names[raw.arg], True)


def _load_super_attr(t: Translator, raw: Raw) -> None:
    t.emit("LOAD_SUPER_ATTR", (t.code.co_names[raw.arg >> 2], not raw.arg & 2))
    if raw.arg & 1:
        t.emit("PUSH_NULL")
        if t.facts.call_layout == NULL_FIRST:
            t.emit("SWAP", 2)


def _compare(t: Translator, raw: Raw) -> None:
    number = raw.arg >> t.facts.compare_shift
    if t.facts.compare_has_all and raw.arg >= len(COMPARISONS):
        kind, arg = OTHER_COMPARISONS[raw.arg - len(COMPARISONS)]
        t.emit(kind, arg)
        return
    low = raw.arg & (1 << min(t.facts.compare_shift, 4)) - 1
    if t.facts.compare_shift and low != COMPARE_MASKS[number]:
        raise Malformed(f"COMPARE_OP at {raw.offset} states another comparison to its specialised forms")
    t.emit("COMPARE", COMPARISONS[number])
    if t.facts.compare_can_convert and raw.arg & 16:
        t.emit("TO_BOOL")


def _binary_op(t: Translator, raw: Raw) -> None:
    kinds = len(BINARY_OPERATORS)
    if raw.arg == 2 * kinds and t.facts.subscript_is_operator:
        t.emit("SUBSCR")
        return
    if raw.arg >= 2 * kinds:
        raise Malformed(f"BINARY_OP at {raw.offset} has no operator {raw.arg}")
    t.emit("INPLACE" if raw.arg >= kinds else "BINARY", BINARY_OPERATORS[raw.arg % kinds])


def _jump_or_pop(t: Translator, raw: Raw) -> None:
    t.emit("COPY", 1)
    t.jump("BRANCH_FALSE" if "FALSE" in raw.opname else "BRANCH_TRUE", jump_target(raw, t.facts))
    t.emit("POP")


def _get_iter(t: Translator, raw: Raw) -> None:
    t.emit("GET_YIELD_FROM_ITER" if raw.arg and t.facts.iterators_have_indices else "GET_ITER")
    if t.facts.iterators_have_indices:
        t.emit("PUSH_INDEX")


def _pop_iter(t: Translator, raw: Raw) -> None:
    for _ in range(1 + t.facts.iterators_have_indices):
        t.emit("POP")


def _name_index(t: Translator, position: int) -> None:
    """Give the NULL that was pushed in the place of an index its own name; `position` is that of its op."""
    if t.facts.iterators_have_indices and len(t.ops) >= -position and t.ops[position].kind == "PUSH_NULL":
        t.ops[position].kind = "PUSH_INDEX"


def _send(t: Translator, raw: Raw) -> None:
    _name_index(t, -2)
    t.jump("SEND", jump_target(raw, t.facts))


def _for_iter(t: Translator, raw: Raw) -> None:
    _name_index(t, -1)
    t.jump("FOR_ITER", jump_target(raw, t.facts) + 2 * len(t.facts.loop_ends))


def _end_for(t: Translator, raw: Raw) -> None:
    # Never reached: FOR_ITER skips it. Kept so that an unexpected jump here is detected.
    for _ in range(3 - len(t.facts.loop_ends)):
        t.emit("POP")


def _end_send(t: Translator, raw: Raw) -> None:
    t.emit("SWAP", 2 + t.facts.iterators_have_indices)
    for _ in range(1 + t.facts.iterators_have_indices):
        t.emit("POP")


def _import_name(t: Translator, raw: Raw) -> None:
    if not t.facts.imports_have_modes:
        t.emit("IMPORT_NAME", t.names[raw.arg])
        return
    if raw.arg & 3 >= len(_IMPORTS):
        raise Malformed(f"IMPORT_NAME at {raw.offset} has no meaning with the argument {raw.arg}")
    t.emit(_IMPORTS[raw.arg & 3], t.names[raw.arg >> 2])


_IMPORTS = ("IMPORT_NAME_BY_MODE", "LAZY_IMPORT_NAME", "IMPORT_NAME")  # by the low bits of the argument


def _return_const(t: Translator, raw: Raw) -> None:
    t.emit("CONST", t.code.co_consts[raw.arg])
    t.emit("RETURN")


def _kw_names(t: Translator, raw: Raw) -> None:
    t.kwnames = t.code.co_consts[raw.arg]


def _call(t: Translator, raw: Raw) -> None:
    t.emit("CALL", (raw.arg, t.take_kwnames(), t.facts.call_layout))


def _call_kw(t: Translator, raw: Raw) -> None:
    previous = t.ops[-1]
    if previous.kind == "CONST":
        t.ops.pop()
        t.emit("CALL", (raw.arg, previous.arg, t.facts.call_layout))
    else:
        t.emit("CALL", (raw.arg, FROM_STACK, t.facts.call_layout))


def _call_ex(t: Translator, raw: Raw) -> None:
    has_keywords = raw.arg & 1
    if t.facts.unpacked_calls_have_both:
        has_keywords = int(not _drop_null(t.ops))
    t.emit("CALL_EX", (has_keywords, t.facts.call_layout))


def _call_method(t: Translator, raw: Raw) -> None:
    t.emit("CALL", (raw.arg, None, NULL_FIRST))


def _drop_null(ops: List[Op]) -> bool:
    """Drop the NULL that was pushed in the place of keyword arguments; return whether there is one on top."""
    if ops[-1].kind == "PUSH_NULL":
        ops.pop()
        return True
    if [(op.kind, op.arg) for op in ops[-4:]] != _NULLS_OF_DYNAMO:
        return False
    del ops[-4], ops[-2]  # what is left puts the other one beside the callable
    return True


def _make_function(t: Translator, raw: Raw) -> None:
    if t.facts.functions_are_named_where_made:
        if not t.ops or t.ops[-1].kind != "CONST":
            raise Malformed(f"MAKE_FUNCTION at {raw.offset} has no qualified name before it")
        t.ops.pop()  # see function_names.py
    t.emit("MAKE_FUNCTION", raw.arg)


def _set_function_attribute(t: Translator, raw: Raw) -> None:
    previous = t.ops[-1]
    if previous.kind != "MAKE_FUNCTION":
        raise Malformed(f"SET_FUNCTION_ATTRIBUTE at {raw.offset} does not follow MAKE_FUNCTION")
    before = previous.arg or 0
    order = _ATTRIBUTE_ORDER.get(raw.arg, 0)
    if not order or any(_ATTRIBUTE_ORDER[flag] >= order for flag in _ATTRIBUTE_ORDER if before & flag):
        # Each takes the value below the function, so in another order the attributes would get other values.
        raise Malformed(f"SET_FUNCTION_ATTRIBUTE at {raw.offset} is not in the compiler's order")
    previous.arg = before | raw.arg


# The attributes of a function in the order of their values on the stack; a function has annotations or computes them.
_ATTRIBUTE_ORDER = {CLOSURE: 1, ANNOTATIONS: 2, ANNOTATE: 2, KWDEFAULTS: 3, DEFAULTS: 4}


def _binary_slice(t: Translator, raw: Raw) -> None:
    t.emit("BUILD_SLICE", 2)
    t.emit("SUBSCR")


def _store_slice(t: Translator, raw: Raw) -> None:
    t.emit("BUILD_SLICE", 2)
    t.emit("STORE_SUBSCR")


def _format_value(t: Translator, raw: Raw) -> None:
    t.emit("FORMAT", (CONVERSIONS[raw.arg & 3], int(bool(raw.arg & 4))))


def _convert_value(t: Translator, raw: Raw) -> None:
    if not raw.arg:
        raise Malformed(f"CONVERT_VALUE at {raw.offset} has no meaning with the argument 0")
    t.emit("CONVERT", CONVERSIONS[raw.arg])


def _build_interpolation(t: Translator, raw: Raw) -> None:
    if raw.arg >> 2 >= len(CONVERSIONS) or not raw.arg & 2:
        raise Malformed(f"BUILD_INTERPOLATION at {raw.offset} has no meaning with the argument {raw.arg}")
    t.emit("BUILD_INTERPOLATION", (CONVERSIONS[raw.arg >> 2], raw.arg & 1))


def _load_common_constant(t: Translator, raw: Raw) -> None:
    constant = COMMON_CONSTANTS[: t.facts.common_constants][raw.arg]
    if constant is AssertionError:
        t.emit("LOAD_ASSERTION_ERROR")
    else:
        t.emit("CONST", constant)


def _map_add(t: Translator, raw: Raw) -> None:
    t.emit("MAP_ADD_VALUE_FIRST" if t.facts.comprehensions_compute_values_first else "MAP_ADD", raw.arg)


def _get_anext(t: Translator, raw: Raw) -> None:
    t.emit("GET_ANEXT", raw.arg if t.facts.loops_are_blocks and raw.arg else None)


def _unpack_ex(t: Translator, raw: Raw) -> None:
    t.emit("UNPACK_EX", (raw.arg & 255, raw.arg >> 8))


def _intrinsic_1(t: Translator, raw: Raw) -> None:
    name = INTRINSICS_1[raw.arg]
    if name == "PRINT":
        t.emit("PRINT_EXPR")
        t.emit("CONST", None)
    elif name == "IMPORT_STAR":
        t.emit("IMPORT_STAR")
        t.emit("CONST", None)
    elif name == "UNARY_POSITIVE":
        t.emit("UNARY", "+")
    elif name == "LIST_TO_TUPLE":
        t.emit("LIST_TO_TUPLE")
    elif name != "ASYNC_GEN_WRAP":
        t.emit("INTRINSIC", (name, 1))


def _intrinsic_2(t: Translator, raw: Raw) -> None:
    name = INTRINSICS_2[raw.arg]
    if name == "PREP_RERAISE_STAR":
        t.emit("PREP_RERAISE_STAR")
    else:
        t.emit("INTRINSIC", (name, 2))


def _pair(first: str, second: str) -> Callable[[Translator, Raw], None]:
    def translate(t: Translator, raw: Raw) -> None:
        t.local(first, raw.arg >> 4)
        t.local(second, raw.arg & 15)

    return translate


def _make_cell(t: Translator, raw: Raw) -> None:
    """Make a new cell: at the start of a function, or where an inlined comprehension has put another one aside."""
    previous = t.ops[-1] if t.ops else None
    if previous is None or previous.arg != t.slots[raw.arg]:
        return
    if previous.kind == "LOAD_LOCAL_AND_CLEAR":
        raise ValueError(f"{previous.arg} is a local and a cell in comprehensions inside each other")
    if previous.kind == "SAVE_CELL":
        previous.kind = "RENEW_CELL"


def _return_generator(t: Translator, raw: Raw) -> None:
    t.emit("RETURN_GENERATOR")


def _rotate(t: Translator, raw: Raw) -> None:
    t.emit("ROTATE", _ROTATIONS.get(raw.opname, raw.arg))


def _copy_two(t: Translator, raw: Raw) -> None:
    t.emit("COPY", 2)
    t.emit("COPY", 2)


def _match(t: Translator, raw: Raw) -> None:
    """Match. In 3.10 the instruction pushes whether there was a match, and a jump follows: as if it tested for None."""
    if raw.opname == "MATCH_CLASS":
        t.emit("MATCH_CLASS", raw.arg)
    else:
        t.emit("MATCH_KEYS")
    if t.facts.matches_push_bool:
        t.emit("COPY", 1)
        t.has_matched = True


# What the displays of 3.7 and 3.8 collect that unpack, and what the arguments of calls are collected in.
UNPACKED = {
    "BUILD_LIST_UNPACK": "list", "BUILD_TUPLE_UNPACK": "tuple", "BUILD_SET_UNPACK": "set", "BUILD_MAP_UNPACK": "dict",
    "BUILD_TUPLE_UNPACK_WITH_CALL": "arguments", "BUILD_MAP_UNPACK_WITH_CALL": "keywords",
}  # fmt: skip


def _build_unpacked(t: Translator, raw: Raw) -> None:
    t.emit("BUILD_UNPACKED", (UNPACKED[raw.opname], raw.arg))


# Parts of `finally` and `with` in 3.8, see finally_copies.py; block_stacks.py replaces these ops.
_PARTS_OF_FINALLY = (
    "BEGIN_FINALLY", "CALL_FINALLY", "END_FINALLY", "POP_FINALLY", "WITH_CLEANUP_START", "WITH_CLEANUP_FINISH",
    "WITH_SWALLOWED",
)  # fmt: skip


_SPECIAL: Dict[str, Callable[[Translator, Raw], None]] = {
    **dict.fromkeys(_PARTS_OF_FINALLY, lambda t, raw: t.emit(raw.opname, raw.arg)),
    **dict.fromkeys(UNPACKED, _build_unpacked),
    "CALL_FUNCTION": _call, "CALL_FUNCTION_KW": _call_kw, "CALL_METHOD": _call_method, "DUP_TOP_TWO": _copy_two,
    "DUP_TOP": lambda t, raw: t.emit("COPY", 1), "POP_BLOCK": lambda t, raw: t.emit("POP_BLOCK"),
    **dict.fromkeys((*_ROTATIONS, "ROT_N"), _rotate), "MATCH_KEYS": _match, "MATCH_CLASS": _match,
    "COPY_DICT_WITHOUT_KEYS": lambda t, raw: t.emit("REST_OF_MAPPING"),
    "LOAD_GLOBAL": _load_global, "LOAD_ATTR": _load_attr, "LOAD_METHOD": _load_method,
    "LOAD_SUPER_ATTR": _load_super_attr, "COMPARE_OP": _compare, "BINARY_OP": _binary_op,
    "JUMP_IF_FALSE_OR_POP": _jump_or_pop, "JUMP_IF_TRUE_OR_POP": _jump_or_pop,
    "GET_ITER": _get_iter, "POP_ITER": _pop_iter, "SEND": _send, "IMPORT_NAME": _import_name,
    "FOR_ITER": _for_iter, "END_FOR": _end_for, "END_SEND": _end_send, "RETURN_CONST": _return_const,
    "MAP_ADD": _map_add, "GET_ANEXT": _get_anext,
    "KW_NAMES": _kw_names, "CALL": _call, "CALL_KW": _call_kw, "CALL_FUNCTION_EX": _call_ex,
    "MAKE_FUNCTION": _make_function, "SET_FUNCTION_ATTRIBUTE": _set_function_attribute,
    "BINARY_SLICE": _binary_slice, "STORE_SLICE": _store_slice, "FORMAT_VALUE": _format_value,
    "FORMAT_SIMPLE": lambda t, raw: t.emit("FORMAT", ("", 0)),
    "FORMAT_WITH_SPEC": lambda t, raw: t.emit("FORMAT", ("", 1)),
    "CONVERT_VALUE": _convert_value, "UNPACK_EX": _unpack_ex, "BUILD_INTERPOLATION": _build_interpolation,
    "LOAD_COMMON_CONSTANT": _load_common_constant, "LOAD_SPECIAL": lambda t, raw: t.emit("LOAD_SPECIAL", raw.arg),
    "CALL_INTRINSIC_1": _intrinsic_1, "CALL_INTRINSIC_2": _intrinsic_2,
    "LOAD_FAST_LOAD_FAST": _pair("LOAD_LOCAL", "LOAD_LOCAL"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _pair("LOAD_LOCAL", "LOAD_LOCAL"),
    "STORE_FAST_LOAD_FAST": _pair("STORE_LOCAL", "LOAD_LOCAL"),
    "STORE_FAST_STORE_FAST": _pair("STORE_LOCAL", "STORE_LOCAL"),
    "RETURN_GENERATOR": _return_generator, "MAKE_CELL": _make_cell,
}  # fmt: skip


def translated_opnames() -> List[str]:
    """Return every opcode name that has a translation."""
    return sorted({*DROPPED, *_SIMPLE, *_UNARY, *OPERATORS, *_JUMPS, *_SPECIAL, "EXTENDED_ARG"})
