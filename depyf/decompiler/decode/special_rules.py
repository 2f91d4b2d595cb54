"""Instructions whose effect depends on more than their argument: variables, calls, functions, places in the stack."""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Dict, Iterator, Tuple

from depyf.decompiler.bytecode.code_flags import CO_ASYNC_GENERATOR
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.decode.abstract_frame import AbstractFrame, Operand
from depyf.decompiler.decode.carried_constants import constant_on_top
from depyf.decompiler.decode.code_layout import fail
from depyf.decompiler.decode.generator_shape import is_generator
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.opcodes import COMMON_CONSTANTS, INTRINSICS_1, INTRINSICS_2
from depyf.decompiler.decode.stack_kinds import (
    ANY,
    BOOL,
    CELL,
    DICT,
    EXCEPTION,
    FUNCTION,
    INT,
    ITERATOR,
    LAST_INSTRUCTION,
    LIST,
    MAYBE_NULL,
    NO_CELL,
    NO_OBJECTS,
    NONE,
    NULL,
    OF_LOOP,
    PREVIOUS,
    RECEIVER,
    SET,
    in_words,
)

Rule = Callable[[AbstractFrame, int, Raw], None]


def pushed_constant(frame: AbstractFrame, index: int) -> Any:
    """Return the constant that the instruction at `index` is sure to have pushed; None if there is none."""
    layout = frame.layout
    opname = layout.opname(index)
    if opname not in ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT") or index + 1 in layout.landings:
        return None
    argument = layout.instructions[index].arg
    if opname == "LOAD_SMALL_INT":
        return argument
    consts = layout.code.co_consts if opname == "LOAD_CONST" else COMMON_CONSTANTS
    return consts[argument] if argument < len(consts) else None


def no_meaning(raw: Raw) -> None:
    """Raise Malformed about an argument."""
    fail(raw, f"has no meaning with the argument {raw.arg}")


def _load_fast(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.push(frame.slots.loaded(raw, frame.held, raw.arg))


def _load_fast_check(frame: AbstractFrame, index: int, raw: Raw) -> None:
    kind = frame.slots.loaded(raw, frame.held, raw.arg, is_checked=True)
    frame.held &= ~(1 << raw.arg)
    frame.push(kind)


def _store(frame: AbstractFrame, raw: Raw, slot: int) -> None:
    frame.slots.check(raw, slot)
    if frame.depth <= frame.floor:
        frame.underflow(raw, 1)
    before, kind = frame.held, frame.kind_at(1)
    if kind & NO_OBJECTS & ~NULL:
        fail(raw, f"takes {in_words(kind & NO_OBJECTS)} for an object")
    frame.held = frame.slots.stored(before, slot, kind)
    if slot in frame.slots.cells:
        frame.slots.note(raw, slot, "STORE_LOCAL", kind == CELL)
    if frame.held & ~before:
        frame.has_changed = True
    frame.drop(1)


def _store_fast(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _store(frame, raw, raw.arg)


def _delete_fast(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if frame.slots.loaded(raw, frame.held, raw.arg, is_checked=True) == CELL:
        fail(raw, f"deletes the cell of {frame.slots.names[raw.arg]}")
    _empty(frame, raw.arg)


def _empty(frame: AbstractFrame, slot: int) -> None:
    frame.held = frame.slots.stored(frame.held, slot, NULL)
    frame.has_changed = True


def _load_fast_and_clear(frame: AbstractFrame, index: int, raw: Raw) -> None:
    kind = frame.slots.taken(raw, frame.held, raw.arg)
    _empty(frame, raw.arg)
    frame.push(kind)


def _load_load(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.push(frame.slots.loaded(raw, frame.held, raw.arg >> 4))
    frame.push(frame.slots.loaded(raw, frame.held, raw.arg & 15))


def _store_load(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _store(frame, raw, raw.arg >> 4)
    frame.push(frame.slots.loaded(raw, frame.held, raw.arg & 15))


def _store_store(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _store(frame, raw, raw.arg >> 4)
    _store(frame, raw, raw.arg & 15)


def _make_cell(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg not in frame.slots.cells or raw.arg in frame.slots.namesakes:
        fail(raw, f"makes a cell of variable {raw.arg}, which is none")
    if frame.slots.may_hold_cell(frame.held, raw.arg):
        fail(raw, f"makes a cell of {frame.slots.names[raw.arg]}, which holds one")
    frame.held = frame.slots.stored(frame.held, raw.arg, CELL)
    frame.has_changed = True


def _copy_free_vars(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg != len(frame.slots.free):
        fail(raw, f"copies {raw.arg} free variables of {len(frame.slots.free)}")
    if any(frame.slots.may_hold_cell(frame.held, slot) for slot in frame.slots.free):
        fail(raw, "copies the free variables again")
    frame.held = frame.slots.with_free_cells(frame.held)
    frame.has_changed = True


def _cell(pops: int, pushes: Tuple[int, ...]) -> Rule:
    def rule(frame: AbstractFrame, index: int, raw: Raw) -> None:
        frame.slots.check_cell(raw, frame.held, raw.arg)
        frame.change(raw, pops, pushes)

    return rule


def _copy(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg < 1:
        no_meaning(raw)
    frame.check(raw, (Operand(raw.arg, ~(NULL | OF_LOOP), False),))
    frame.push(frame.kind_at(raw.arg))


def _swap(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg < 1:
        no_meaning(raw)
    frame.need(raw, raw.arg)
    if raw.arg > 1:
        frame.swap(raw.arg)


# Opcodes that add to a container in the stack: (entries popped, kind of the container).
_ADDS: Dict[str, Tuple[int, int]] = {
    "LIST_APPEND": (1, LIST), "LIST_EXTEND": (1, LIST), "SET_ADD": (1, SET), "SET_UPDATE": (1, SET),
    "MAP_ADD": (2, DICT), "DICT_UPDATE": (1, DICT), "DICT_MERGE": (1, DICT),
}  # fmt: skip


def _add(frame: AbstractFrame, index: int, raw: Raw) -> None:
    pops, kind = _ADDS[raw.opname]
    if raw.arg < 1:
        no_meaning(raw)
    frame.pop(raw, pops)
    frame.check(raw, (Operand(raw.arg, kind, False),))
    if raw.opname == "DICT_MERGE":  # names the callable in its error message
        frame.check(raw, (Operand(raw.arg + (2 if frame.null_is_first else 3), ANY, False),))


def _precall(frame: AbstractFrame, index: int, raw: Raw) -> None:
    layout = frame.layout
    if layout.opname(index + 1) != "CALL" or layout.instructions[index + 1].arg != raw.arg:
        fail(raw, "is not followed by its CALL")


def is_names(value: object, most: int) -> bool:
    """Return whether a constant can name keyword arguments."""
    return isinstance(value, tuple) and len(value) <= most and all(isinstance(name, str) for name in value)


def _kw_names(frame: AbstractFrame, index: int, raw: Raw) -> None:
    layout = frame.layout
    call = index + 2 if layout.opname(index + 1) == "PRECALL" else index + 1
    if layout.opname(call) != "CALL" or any(between in layout.landings for between in range(index + 1, call + 1)):
        fail(raw, "is not followed by its CALL")
    consts = layout.code.co_consts
    if raw.arg >= len(consts) or not is_names(consts[raw.arg], layout.instructions[call].arg):
        fail(raw, "names no keyword arguments of its CALL")


def _load_global(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if not raw[3] & 1:
        frame.depth += 1
        return
    frame.special = (frame.depth if frame.null_is_first else frame.depth + 1, NULL, frame.special)
    frame.depth += 2


def _load_attr(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.pop(raw, 1)
    if raw[3] & 1:
        _push_method(frame)
    else:
        frame.depth += 1


def _load_method(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.pop(raw, 1)
    _push_method(frame)


def _load_super_attr(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.pop(raw, 3)
    if raw.arg & 1:
        _push_method(frame)
    else:
        frame.depth += 1


def _push_method(frame: AbstractFrame) -> None:
    """Push a method and `self`, or an attribute and NULL."""
    frame.special = (frame.depth if frame.null_is_first else frame.depth + 1, MAYBE_NULL, frame.special)
    frame.depth += 2


def call_with(frame: AbstractFrame, raw: Raw, arguments: int) -> None:
    """Replace the arguments, the callable and what is beside it by the result."""
    above, below = (1, 1) if frame.null_is_first else (0, 2)
    frame.pop(raw, arguments + above)
    if frame.depth - 2 + above < frame.floor:
        frame.sink(raw, 2 - above)
    if frame.kind_at(1) & PREVIOUS:
        fail(raw, "takes a saved exception for an object")
    frame.drop(1)  # may be NULL
    if below == 2:
        frame.pop(raw, 1)
    frame.depth += 1


def _call(frame: AbstractFrame, index: int, raw: Raw) -> None:
    place, special = frame.depth - raw[3] - 2, frame.special
    if special is not None and special[0] == (place if frame.null_is_first else place + 1):
        special = special[2]  # NULL, or a method's `self`, and all arguments are plain objects
    if place < frame.floor or (special is not None and special[0] >= place):
        call_with(frame, raw, raw[3])
    else:
        frame.depth, frame.special = place + 1, special


def _call_kw(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if not is_names(constant_on_top(frame.layout, index), raw.arg):
        fail(raw, "has no names of its keyword arguments before it")
    call_with(frame, raw, raw.arg + 1)


def _call_ex(frame: AbstractFrame, index: int, raw: Raw) -> None:
    has_both = frame.layout.facts.unpacked_calls_have_both
    if raw.arg > 1:
        no_meaning(raw)
    has_keywords = raw.arg
    if has_both:
        frame.need(raw, 1)
        has_keywords = int(frame.kind_at(1) != NULL)
        if not has_keywords:
            if not _null_was_pushed(frame, index - 1):
                fail(raw, "has no NULL before it in the place of keyword arguments")
            frame.drop(1)
    frame.need(raw, has_keywords + 3)
    if has_keywords:
        frame.check(raw, (Operand(1, DICT, False),))
    if frame.kind_at(has_keywords + (3 if frame.null_is_first else 2)) != NULL:
        fail(raw, "finds no NULL beside its callable")
    call_with(frame, raw, has_keywords + 1)


# How Dynamo pushes the two NULLs of a call on 3.14: one goes below the arguments.
_TWO_NULLS = [("PUSH_NULL", 0), ("PUSH_NULL", 0), ("SWAP", 3), ("SWAP", 2)]


def _null_was_pushed(frame: AbstractFrame, index: int) -> bool:
    """Return whether the NULL on top was pushed by the instruction at `index`, or by those that end there."""
    layout = frame.layout
    if layout.opname(index) in ("PUSH_NULL", "LOAD_GLOBAL"):
        return True
    start = index + 1 - len(_TWO_NULLS)
    if start < 0 or not layout.landings.isdisjoint(range(start + 1, index + 2)):
        return False
    return [(raw.opname, raw.arg) for raw in layout.instructions[start : index + 1]] == _TWO_NULLS


def _make_function(frame: AbstractFrame, index: int, raw: Raw) -> None:
    sets_after = frame.layout.facts.function_attributes_are_set_after
    if raw.arg > 15 or (raw.arg and sets_after):
        no_meaning(raw)
    code = pushed_constant(frame, index - 1)
    if not isinstance(code, CODE_TYPES):
        fail(raw, "has no code object before it")
    following = frame.layout.instructions[index + 1 : index + 2]
    if sets_after and code.co_freevars and [(other.opname, other.arg) for other in following] != [_CLOSURE]:
        fail(raw, f"gives {code.co_name} no closure")
    frame.change(raw, 1, ())
    if not sets_after:
        check_closure(frame, index - 2, raw, code, bool(raw.arg & 8))
    for flag, kind in ((8, CELL), (4, ANY), (2, DICT), (1, ANY)):
        if raw.arg & flag:
            frame.check(raw, (Operand(1, kind, False),))
            frame.pop(raw, 1)
    frame.push(FUNCTION)


_CLOSURE = ("SET_FUNCTION_ATTRIBUTE", 8)


def check_closure(frame: AbstractFrame, before: int, raw: Raw, code: CodeType, has_closure: bool) -> None:
    """Check that a function gets as many cells as its code has free variables; `before` is where the tuple is made."""
    if has_closure != bool(code.co_freevars):
        fail(raw, f"gives {code.co_name} {'a' if has_closure else 'no'} closure")
    if has_closure and frame.kind_at(2 if frame.layout.facts.function_attributes_are_set_after else 1) == CELL:
        fail(raw, f"gives {code.co_name} a cell for its closure, which is a tuple of cells")
    if has_closure and frame.layout.opname(before) == "BUILD_TUPLE":
        count = frame.layout.instructions[before].arg
        if count != len(code.co_freevars):
            fail(raw, f"gives {code.co_name} {count} cells for {len(code.co_freevars)} free variables")


def _set_function_attribute(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg not in ((1, 2, 4, 8, 16) if frame.layout.facts.annotations_are_deferred else (1, 2, 4, 8)):
        no_meaning(raw)
    if frame.layout.opname(index - 1) not in ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"):
        fail(raw, "does not follow its MAKE_FUNCTION")
    part = CELL if raw.arg == 8 else DICT if raw.arg == 2 else FUNCTION if raw.arg == 16 else ANY
    frame.check(raw, (Operand(1, FUNCTION, True), Operand(2, part, False)))
    if raw.arg == 8:
        code = pushed_constant(frame, index - 2)
        if not isinstance(code, CODE_TYPES):
            fail(raw, "does not follow its MAKE_FUNCTION")
        check_closure(frame, index - 3, raw, code, True)
    frame.change(raw, 2, (FUNCTION,))


def _build_map(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.change(raw, 2 * raw.arg, (DICT,))


def _const_key_map(frame: AbstractFrame, index: int, raw: Raw) -> None:
    keys = pushed_constant(frame, index - 1)
    if not isinstance(keys, tuple) or len(keys) != raw.arg:
        fail(raw, "has no tuple of its keys before it")
    frame.change(raw, raw.arg + 1, (DICT,))


def _build(kind: int) -> Rule:
    return lambda frame, index, raw: frame.change(raw, raw.arg, (kind,))


def _build_tuple(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Build a tuple, which may become a closure unless an element is no cell."""
    place, special, kind = frame.depth - raw.arg, frame.special, ANY
    while special is not None and special[0] >= place:
        if not special[1] & CELL:
            kind = NO_CELL
        special = special[2]
    frame.change(raw, raw.arg, (kind,))


# How a function for annotations begins (3.14): the compiler relies on it that the format it is asked for is an int.
_FORMAT_CHECK = [
    ("RESUME", 0), ("LOAD_FAST_BORROW", 0), ("LOAD_SMALL_INT", 2), ("COMPARE_OP", 4 << 5 | 4), ("POP_JUMP_IF_FALSE", 3),
    ("NOT_TAKEN", 0), ("LOAD_COMMON_CONSTANT", 1), ("RAISE_VARARGS", 1),
]  # fmt: skip


def _checks_format(frame: AbstractFrame, index: int) -> bool:
    if not frame.layout.facts.annotations_are_deferred or frame.layout.code.co_argcount != 1 or index < 3:
        return False
    found = frame.layout.instructions[index - 3 : index + 5]
    return [(raw.opname, raw.arg) for raw in found] == _FORMAT_CHECK


def _compare(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Lengths in patterns are compared without TO_BOOL: the result is a bool."""
    is_bool = frame.layout.facts.compare_can_convert and raw.arg & 16
    if not is_bool and frame.depth > 1 and type(pushed_constant(frame, index - 1)) is int:
        is_bool = frame.kind_at(2) == INT or _checks_format(frame, index)
    frame.change(raw, 2, (BOOL if is_bool else ANY,))


def _unpack(frame: AbstractFrame, index: int, raw: Raw) -> None:
    is_plain = raw.opname == "UNPACK_SEQUENCE"
    count = raw.arg if is_plain else (raw.arg & 255) + (raw.arg >> 8) + 1
    if count > 255 and frame.layout.unpacked() > 2 * len(frame.layout.instructions):  # one may store two of them
        fail(raw, f"makes {count} values, more than the code could use")
    frame.pop(raw, 1)
    if not is_plain:
        frame.special = (frame.depth + (raw.arg >> 8), LIST, frame.special)
    frame.depth += count


# What the intrinsics need of their operands.
_OPERANDS: Dict[str, Tuple[Operand, ...]] = {
    "STOPITERATION_ERROR": (Operand(1, EXCEPTION, True),),
    "LIST_TO_TUPLE": (Operand(1, LIST, False),),
    "PREP_RERAISE_STAR": (Operand(1, LIST, False), Operand(2, EXCEPTION, True)),
    "SET_FUNCTION_TYPE_PARAMS": (Operand(2, FUNCTION, False),),
}
_RESULTS = {"STOPITERATION_ERROR": EXCEPTION, "PREP_RERAISE_STAR": EXCEPTION | NONE}


def _intrinsic(frame: AbstractFrame, index: int, raw: Raw) -> None:
    is_unary = raw.opname == "CALL_INTRINSIC_1"
    names = INTRINSICS_1 if is_unary else INTRINSICS_2[: frame.layout.facts.binary_intrinsics]
    if not 0 < raw.arg < len(names):
        no_meaning(raw)
    name = names[raw.arg]
    frame.check(raw, _OPERANDS.get(name, ()))
    if name == "STOPITERATION_ERROR":
        _only_in_generators(frame, index, raw)
    elif name == "ASYNC_GEN_WRAP":
        _wrap(frame, index, raw)
    frame.change(raw, 1 if is_unary else 2, (_RESULTS.get(name, ANY),))


def _wrap(frame: AbstractFrame, index: int, raw: Raw) -> None:
    layout = frame.layout
    if layout.opname(index + 1) != "YIELD_VALUE" or not layout.code.co_flags & CO_ASYNC_GENERATOR:
        fail(raw, "is not before a YIELD_VALUE of an async generator")


def _async_gen_wrap(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _wrap(frame, index, raw)
    frame.change(raw, 1, (ANY,))


def _pop_except(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Take the saved exception, which no other instruction may: the one handled now would stay when the frame ends."""
    frame.check(raw, (Operand(1, PREVIOUS, True),))
    if frame.depth <= frame.floor:
        frame.underflow(raw, 1)
    frame.drop(1)


def _reraise(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg > 2:
        no_meaning(raw)
    frame.check(raw, (Operand(1, EXCEPTION | NONE, True),))
    if raw.arg:
        frame.check(raw, (Operand(raw.arg + 1, LAST_INSTRUCTION, True),))
    frame.pop(raw, 1)


# What these push is never an iterator.
_NO_ITERATORS = frozenset({
    "BUILD_TUPLE", "BUILD_STRING", "BUILD_SLICE", "LIST_TO_TUPLE", "UNARY_NOT", "IS_OP", "CONTAINS_OP",
    "LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT", "LOAD_SMALL_INT",
})  # fmt: skip


def _for_iter(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.check(raw, (Operand(1, ITERATOR, False),))
    check_iterator(frame, index, raw)


def check_iterator(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Raise Malformed where FOR_ITER at `index` loops over what is no iterator for sure."""
    index -= 1
    while frame.layout.opname(index) in ("NOP", "PUSH_NULL"):  # the second in the place of an index: 3.15
        index -= 1
    before = frame.layout.instructions[index]
    if before.opname in _NO_ITERATORS:
        fail(raw, f"loops over what {before.opname} made, which is no iterator")
    if before.opname == "LOAD_CONST":
        constant = frame.layout.code.co_consts[before.arg : before.arg + 1]
        if constant and not isinstance(constant[0], Iterator):
            fail(raw, "loops over a constant, which is no iterator")


def _only_in_generators(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if not is_generator(frame.layout):
        fail(raw, "is for generators only")


def in_generators(pops: int, pushes: Tuple[int, ...], *operands: Operand) -> Rule:
    """Return the rule of an instruction that only generators and coroutines have."""

    def rule(frame: AbstractFrame, index: int, raw: Raw) -> None:
        _only_in_generators(frame, index, raw)
        frame.check(raw, operands)
        frame.change(raw, pops, pushes)

    return rule


def make_yield(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Yield an object."""
    _only_in_generators(frame, index, raw)
    frame.check(raw, (Operand(1, ANY, False),))
    if frame.depth <= frame.floor and frame.kind_at(1) != ANY:
        fail(raw, "has a handler that keeps what is yielded")  # it finds what is sent in there
    frame.drop(1)
    frame.push(ANY)


def _resume(frame: AbstractFrame, index: int, raw: Raw) -> None:
    layout = frame.layout
    if raw.arg and layout.opname(index - 1) != "YIELD_VALUE" and layout.opname(index + 3) != "RETURN_GENERATOR":
        no_meaning(raw)


# What the compiler writes where a `with` statement begins. The object stays below: the exit method may be its own.
_BEGIN_WITH = [("COPY", 1), ("LOAD_SPECIAL", 1), ("SWAP", 2), ("SWAP", 3), ("LOAD_SPECIAL", 0), ("CALL", 0)]
_BEGIN_ASYNC_WITH = [("COPY", 1), ("LOAD_SPECIAL", 3), ("SWAP", 2), ("SWAP", 3), ("LOAD_SPECIAL", 2), ("CALL", 0)]


def _load_special(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Load `__enter__` or `__exit__`, which decoding folds into one micro-op."""
    layout = frame.layout
    first = index - (1 if raw.arg & 1 else 4)
    found = [(other.opname, other.arg) for other in layout.instructions[max(first, 0) : first + 6]]
    if found not in (_BEGIN_WITH, _BEGIN_ASYNC_WITH) or not layout.borders.isdisjoint(range(first + 1, first + 6)):
        fail(raw, "is not at the beginning of a `with` statement")
    frame.change(raw, 1, (ANY, RECEIVER))


def pop_top(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Drop an object, what is above the exit method of a `with` statement, or a part of what a loop is over."""
    kind = frame.kind_at(1)
    if (kind & RECEIVER == RECEIVER or kind & OF_LOOP) and frame.depth > frame.floor:
        frame.drop(1)
    else:
        frame.pop(raw, 1)


def _load_common_constant(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg >= frame.layout.facts.common_constants:
        no_meaning(raw)
    frame.push(ANY)


def _load_small_int(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg > 255:
        no_meaning(raw)
    frame.push(ANY)


def _with_except_start(frame: AbstractFrame, index: int, raw: Raw) -> None:
    has_receiver = frame.layout.facts.exits_have_receivers
    operands = [Operand(1, EXCEPTION, True), Operand(2, PREVIOUS, True), Operand(3, LAST_INSTRUCTION, True)]
    frame.check(raw, (*operands, Operand(5 if has_receiver else 4, ANY, False)))
    if has_receiver and frame.kind_at(4) & RECEIVER != RECEIVER:
        fail(raw, "finds no receiver of its exit method")
    frame.push(ANY)


def _nothing(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Do nothing: the verifier itself follows these jumps."""


SPECIAL: Dict[str, Rule] = {
    "LOAD_FAST": _load_fast, "LOAD_FAST_BORROW": _load_fast, "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _load_load,
    "LOAD_SPECIAL": _load_special, "LOAD_COMMON_CONSTANT": _load_common_constant, "LOAD_SMALL_INT": _load_small_int,
    "WITH_EXCEPT_START": _with_except_start, "LOAD_FAST_CHECK": _load_fast_check, "STORE_FAST": _store_fast,
    "DELETE_FAST": _delete_fast, "LOAD_FAST_AND_CLEAR": _load_fast_and_clear,
    "LOAD_FAST_LOAD_FAST": _load_load, "STORE_FAST_LOAD_FAST": _store_load, "STORE_FAST_STORE_FAST": _store_store,
    "MAKE_CELL": _make_cell, "COPY_FREE_VARS": _copy_free_vars, "LOAD_CLOSURE": _cell(0, (CELL,)),
    "LOAD_DEREF": _cell(0, (ANY,)), "STORE_DEREF": _cell(1, ()), "DELETE_DEREF": _cell(0, ()),
    "LOAD_CLASSDEREF": _cell(0, (ANY,)), "LOAD_FROM_DICT_OR_DEREF": _cell(1, (ANY,)),
    "COPY": _copy, "SWAP": _swap, **dict.fromkeys(_ADDS, _add),
    "LOAD_GLOBAL": _load_global, "LOAD_ATTR": _load_attr, "LOAD_METHOD": _load_method,
    "LOAD_SUPER_ATTR": _load_super_attr,
    "PRECALL": _precall, "KW_NAMES": _kw_names, "CALL": _call, "CALL_KW": _call_kw, "CALL_FUNCTION_EX": _call_ex,
    "MAKE_FUNCTION": _make_function, "SET_FUNCTION_ATTRIBUTE": _set_function_attribute,
    "BUILD_TUPLE": _build_tuple, "BUILD_STRING": _build(ANY), "BUILD_LIST": _build(LIST), "BUILD_SET": _build(SET),
    "BUILD_MAP": _build_map, "BUILD_CONST_KEY_MAP": _const_key_map, "COMPARE_OP": _compare,
    "UNPACK_SEQUENCE": _unpack, "UNPACK_EX": _unpack, "CALL_INTRINSIC_1": _intrinsic, "CALL_INTRINSIC_2": _intrinsic,
    "POP_EXCEPT": _pop_except, "RERAISE": _reraise, "FOR_ITER": _for_iter, "SEND": _only_in_generators,
    "YIELD_VALUE": make_yield, "RESUME": _resume, "RETURN_GENERATOR": in_generators(0, (ANY,)),
    "END_SEND": in_generators(2, (ANY,)),
    "CLEANUP_THROW": in_generators(3, (NONE, ANY), Operand(1, EXCEPTION, True)), "ASYNC_GEN_WRAP": _async_gen_wrap,
    "JUMP_IF_FALSE_OR_POP": _nothing, "JUMP_IF_TRUE_OR_POP": _nothing,
}  # fmt: skip
