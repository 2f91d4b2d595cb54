"""Locals that have the name of another one and are never used: they get a name of their own.

Dynamo of torch 2.6 to 2.11 lists the variable that keeps the stack of torch function modes twice, and uses one of the
two slots. Micro-ops name variables, so a name must be that of one slot. What an unused slot is called makes no
difference: it never has a value, so not even `locals()` has its name.
"""

from __future__ import annotations

from types import CodeType
from typing import Dict, List

from depyf.decompiler.analysis.used_locals import used_locals
from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.decode import decode


def named_apart(code: CodeType) -> CodeType:
    """Return the code with a name for each local; as it is where two that are used have the same name."""
    names = code.co_varnames
    if len(set(names)) == len(names):
        return code
    cells = [*code.co_cellvars, *code.co_freevars]
    slots: Dict[str, List[int]] = {}
    for slot, name in enumerate(names):
        slots.setdefault(name, []).append(slot)
    trial = list(names)
    for name, same in slots.items():
        if len(same) > 1 and name in cells:
            return code
        for number, slot in enumerate(same[1:], 1):
            trial[slot] = _free_name(f"{name}_unused_{number}", [*trial, *cells])
    try:
        program = decode(code.replace(co_varnames=tuple(trial)))
    except (Malformed, ValueError, RecursionError, MemoryError):  # which the caller finds again, in the code as it was
        return code
    used = used_locals(program)
    for same in slots.values():
        in_use = [slot for slot in same if trial[slot] in used]
        if len(in_use) > 1:
            return code
        for slot in in_use:
            trial[same[0]], trial[slot] = trial[slot], trial[same[0]]
    return code.replace(co_varnames=tuple(trial))


def _free_name(name: str, taken: List[str]) -> str:
    while name in taken:
        name += "_"
    return name
