"""Qualified names that are constants of the compiler's.

A class body stores its own (`__qualname__ = 'Outer.C'`). Before 3.11 those of functions are constants of the code that
makes them.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, List, Mapping, Optional, Sequence

from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.decode.function_names import made_functions
from depyf.decompiler.decode.instructions import Raw, raw_instructions

_USES_CONSTANT = frozenset({"LOAD_CONST", "RETURN_CONST", "KW_NAMES"})


def with_prefix(qualified: str, old: str, new: str) -> str:
    """Return a qualified name with the prefix `old`, if it has it, replaced by `new`."""
    if qualified == old or qualified.startswith(old + "."):
        return new + qualified[len(old) :]
    return qualified


def with_class_qualname(code: CodeType, qualified: str) -> CodeType:
    """Return a class body that stores this qualified name; any other code unchanged."""
    if code.co_flags & CO_OPTIMIZED or code.co_name == "<module>":
        return code
    instructions = raw_instructions(code, facts_of(code).version)
    load = _load_of_name(code, instructions)
    if load is None or code.co_consts[load.arg] == qualified:
        return code
    uses = [raw for raw in instructions if raw.opname in _USES_CONSTANT and raw.arg == load.arg]
    return _with_constant(code, load, qualified, len(uses))


def _with_constant(code: CodeType, load: Raw, value: str, uses: int) -> CodeType:
    """Return the code with another constant for one of its `uses`; unchanged if there are too many constants."""
    consts: List[Any] = list(code.co_consts)
    changes: Dict[str, Any] = {}
    if uses == 1:
        consts[load.arg] = value
    else:
        data = bytearray(code.co_code)
        if len(consts) > 255 or load.start != load.offset:
            return code
        data[load.offset + 1] = len(consts)
        consts.append(value)
        changes["co_code"] = bytes(data)
    return code.replace(co_consts=tuple(consts), **changes)


def with_function_qualnames(code: CodeType, pairs: Mapping[int, CodeType], like: CodeType) -> CodeType:
    """Return the code with the names that `like` gives the functions it makes.

    `pairs`: index of a code object among the constants -> its counterpart in `like`.
    """
    theirs = {id(like.co_consts[made.code]): made.name for made in made_functions(like)}
    for number, made in enumerate(made_functions(code)):
        name = theirs.get(id(pairs.get(made.code)), made.name)
        if name != made.name:
            again = made_functions(code)[number]
            raws = raw_instructions(code, facts_of(code).version)
            uses = len([0 for raw in raws if raw.opname in _USES_CONSTANT and raw.arg == again.load_name.arg])
            code = _with_constant(code, again.load_name, name, uses)
    return code


def class_qualname(code: CodeType) -> Optional[str]:
    """Return the qualified name that a class body stores; None for any other code."""
    if code.co_flags & CO_OPTIMIZED or code.co_name == "<module>":
        return None
    load = _load_of_name(code, raw_instructions(code, facts_of(code).version))
    return None if load is None else code.co_consts[load.arg]


def _load_of_name(code: CodeType, instructions: Sequence[Raw]) -> Optional[Raw]:
    """Return the instruction that loads the qualified name, which is stored at the start of the body."""
    for load, store in zip(instructions, instructions[1:]):
        if store.opname == "STORE_NAME" and code.co_names[store.arg] == "__qualname__":
            return load if load.opname == "LOAD_CONST" else None
    return None
