"""The module around a definition, as far as the bytecode shows it: what it imports, and whether it names `super`.

The compiler reads a module's own names before it writes the code of any function in it, and calls of attributes depend
on them: `x.f()` is no method call where the module imports `x`, and `super().f()` is not fused where it names `super`.
Statements at the end of the text that is compiled, and not shown, make the compiler write the very same instructions.
"""

from __future__ import annotations

import functools
import keyword
import re
from types import CodeType
from typing import Iterator, Mapping, Pattern, Set

from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.nested_code import with_nested
from depyf.decompiler.bytecode.python_facts import Version, facts_for
from depyf.decompiler.decode.instructions import Raw, opcode_number, opcode_widths, raw_instructions


def module_context(code: CodeType, shown: Mapping[str, str], *, has_imports: bool = True) -> str:
    """Return the statements that the compiler needs behind the text of `code`; empty for most code.

    `shown`: name in the code -> name in the text, where they differ. The imports are a guess, which the proof checks.
    """
    reads = has_imports and facts_of(code).imported_names_have_no_methods
    names = {shown.get(name, name) for name in _imported_names(code)} if reads else ()
    text = "".join([f"import {name}\n" for name in sorted(names) if _can_be_imported(name)])
    if facts_of(code).super_calls_are_fused and _has_plain_super(code):
        text += "super\n"
    return text


def _can_be_imported(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and name != "__debug__"


def _imported_names(code: CodeType) -> Set[str]:
    """Return the globals of which attributes are called, none of them as methods."""
    codes, version = list(with_nested(code)), facts_of(code).version
    found = {name for one in codes for name in _globals_at(_plain_call(version), one)}
    if found:
        found -= {name for one in codes for name in _globals_at(_method_call(version), one)}
    return found


def _globals_at(pattern: Pattern[bytes], code: CodeType) -> Iterator[str]:
    """Yield the name of each LOAD_GLOBAL where the pattern matches."""
    data, names = code.co_code, code.co_names
    for found in pattern.finditer(data):
        start = found.start()
        if not start % 2 and data[start + 1] >> 1 < len(names):
            yield names[data[start + 1] >> 1]


_EVEN, _ODD = (b"[%s]" % re.escape(bytes(range(first, 256, 2))) for first in (0, 1))


@functools.lru_cache(maxsize=None)
def _plain_call(version: Version) -> Pattern[bytes]:
    """Return a pattern of the bytes that load a global and its attribute to call it, and not as a method."""
    facts = facts_for(version)
    attribute = _instruction(version, "LOAD_ATTR", _EVEN if facts.load_attr_has_method_bit else b".")
    if facts.null_is_first:
        return _pattern(_instruction(version, "LOAD_GLOBAL", _ODD), attribute)
    return _pattern(_instruction(version, "LOAD_GLOBAL", _EVEN), attribute, _instruction(version, "PUSH_NULL"))


@functools.lru_cache(maxsize=None)
def _method_call(version: Version) -> Pattern[bytes]:
    """Return a pattern of the bytes that load a global and its method."""
    has_bit = facts_for(version).load_attr_has_method_bit
    method = _instruction(version, "LOAD_ATTR", _ODD) if has_bit else _instruction(version, "LOAD_METHOD")
    return _pattern(_instruction(version, "LOAD_GLOBAL", _EVEN), method)


def _pattern(*instructions: bytes) -> Pattern[bytes]:
    """Return a pattern of instructions one after the other, wherever they begin: half of the bytes are arguments."""
    return re.compile(b"(?=%s)" % b"".join(instructions), re.DOTALL)


def _instruction(version: Version, opname: str, argument: bytes = b".") -> bytes:
    opcode = opcode_number(opname, version)
    return re.escape(bytes([opcode])) + argument + b".{%d}" % (opcode_widths(version)[opcode] - 2)


def _has_plain_super(code: CodeType) -> bool:
    """Return whether calls of `super` in the code, nested code included, are not fused with the attribute read."""
    calls = False
    for current in with_nested(code):
        if "super" in current.co_names:  # code generators may leave the name there unused
            raws = raw_instructions(current, facts_of(current).version)
            if any(raw.opname == "LOAD_SUPER_ATTR" for raw in raws):
                return False
            calls = calls or any(_loads_super(current, raw) for raw in raws)
    return calls


def _loads_super(code: CodeType, raw: Raw) -> bool:
    if raw.opname == "LOAD_NAME":
        return code.co_names[raw.arg] == "super"
    shift = int(facts_of(code).load_global_has_null_bit)
    return raw.opname == "LOAD_GLOBAL" and code.co_names[raw.arg >> shift] == "super"
