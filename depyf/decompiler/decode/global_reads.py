"""Whether code reads a global of some name: then no variable around it may be called so."""

from __future__ import annotations

from types import CodeType

from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.nested_code import with_nested
from depyf.decompiler.decode.instructions import raw_instructions

# opcode -> how many bits below the index of the name its argument has
_READS = {"LOAD_GLOBAL": 1, "LOAD_NAME": 0, "LOAD_FROM_DICT_OR_GLOBALS": 0}


def reads_global(code: CodeType, name: str) -> bool:
    """Return whether a code object, or one inside it, reads a global of this name."""
    for current in with_nested(code):
        if name in current.co_names:  # code generators may leave a name there unused
            place = current.co_names.index(name)
            for raw in raw_instructions(current, facts_of(current).version):
                if raw.opname in _READS and raw.arg >> _READS[raw.opname] == place:
                    return True
    return False
