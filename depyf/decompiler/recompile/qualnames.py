"""Qualified names: the one that a class body stores (`__qualname__ = 'Outer.C'`) is a constant of the compiler's."""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, List, Optional

from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.code_objects import facts_of
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
    consts: List[Any] = list(code.co_consts)
    changes: Dict[str, Any] = {}
    if len(uses) == 1:
        consts[load.arg] = qualified
    else:
        data = bytearray(code.co_code)
        if len(consts) > 255 or load.start != load.offset:
            return code
        data[load.offset + 1] = len(consts)
        consts.append(qualified)
        changes["co_code"] = bytes(data)
    return code.replace(co_consts=tuple(consts), **changes)


def _load_of_name(code: CodeType, instructions: List[Raw]) -> Optional[Raw]:
    """Return the instruction that loads the qualified name, which is stored at the start of the body."""
    for load, store in zip(instructions, instructions[1:]):
        if store.opname == "STORE_NAME" and code.co_names[store.arg] == "__qualname__":
            return load if load.opname == "LOAD_CONST" else None
    return None
