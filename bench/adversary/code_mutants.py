"""Mutants of code objects: of their instructions, exception tables, line tables and other fields."""

from __future__ import annotations

import dis
import opcode
import random
from types import CodeType
from typing import Any, Callable, Dict, List, Optional, Tuple

from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION
from depyf.decompiler.decode.instructions import opcode_widths

Mutation = Callable[[CodeType, random.Random], Optional[CodeType]]
WIDTHS = opcode_widths(RUNNING_VERSION)  # without the opcodes that only the interpreter writes
HAS_EXCEPTION_TABLES = hasattr(CodeType, "co_exceptiontable")  # 3.11
LINE_TABLE = "co_linetable" if hasattr(CodeType, "co_linetable") else "co_lnotab"  # before 3.10
NAMES = [opcode.opname[number] for number in WIDTHS if number]


def places(code: CodeType) -> List[int]:
    """Return the offsets of the instructions that are no inline caches."""
    return [one.offset for one in dis.get_instructions(code) if one.opname != "CACHE"]


def with_bytes(code: CodeType, at: int, *new: int) -> CodeType:
    """Return the code with some bytes changed."""
    changed = bytearray(code.co_code)
    changed[at : at + len(new)] = bytes(new)
    return with_code(code, bytes(changed))


def with_code(code: CodeType, data: bytes) -> CodeType:
    """Return the code with other instructions; ValueError if the interpreter crashes when it only reads them."""
    at = 0
    while at < len(data):
        at += WIDTHS.get(data[at], len(data) + 1)
    if at != len(data):
        raise ValueError("an opcode of the interpreter's own, or inline caches that are cut off")
    return code.replace(co_code=data)


def other_argument(code: CodeType, chance: random.Random) -> Optional[CodeType]:
    """Change the argument of an instruction a little, or to anything."""
    at = chance.choice(places(code))
    old = code.co_code[at + 1]
    new = chance.choice([old + 1, old - 1, old ^ 1, old + 2, 0, 1, old ^ 16, chance.randrange(256)]) & 255
    return None if new == old else with_bytes(code, at + 1, new)


def other_opcode(code: CodeType, chance: random.Random) -> Optional[CodeType]:
    """Change an instruction into another one with the same inline caches."""
    at = chance.choice(places(code))
    old = opcode.opname[code.co_code[at]]
    caches = cache_sizes()
    alike = [name for name in NAMES if caches.get(name, 0) == caches.get(old, 0) and name != old]
    near = [name for name in alike if name.split("_")[0] == old.split("_")[0]]
    new = chance.choice(near if near and chance.random() < 0.6 else alike)
    return with_bytes(code, at, opcode.opmap.get(new, 0))


def cache_sizes() -> Dict[str, int]:
    """Return the number of inline caches of each instruction that has some."""
    found: Any = getattr(opcode, "_inline_cache_entries", {})
    if isinstance(found, dict):
        return found
    return {opcode.opname[number]: size for number, size in enumerate(found) if size}


def without_one(code: CodeType, chance: random.Random) -> Optional[CodeType]:
    """Change an instruction without caches into NOP."""
    at = chance.choice(places(code))
    if cache_sizes().get(opcode.opname[code.co_code[at]], 0) or code.co_code[at] == opcode.opmap["NOP"]:
        return None
    return with_bytes(code, at, opcode.opmap["NOP"], 0)


def swapped(code: CodeType, chance: random.Random) -> Optional[CodeType]:
    """Swap two neighbouring instructions without caches."""
    found = places(code)
    near = [at for at, after in zip(found, found[1:]) if after == at + 2]
    near = [at for at in near if not cache_sizes().get(opcode.opname[code.co_code[at + 2]], 0)]
    if not near:
        return None
    at = chance.choice(near)
    one, other = code.co_code[at : at + 2], code.co_code[at + 2 : at + 4]
    return None if one == other else with_bytes(code, at, *other, *one)


def other_constants(code: CodeType, chance: random.Random) -> Optional[CodeType]:
    """Swap two constants, or names."""
    field = chance.choice(["co_consts", "co_names", "co_varnames"])
    items = list(getattr(code, field))
    if len(items) < 2:
        return None
    at = chance.randrange(len(items) - 1)
    items[at], items[at + 1] = items[at + 1], items[at]
    changes: Dict[str, Any] = {field: tuple(items)}
    return code.replace(**changes)


def other_fields(code: CodeType, chance: random.Random) -> Optional[CodeType]:
    """Change the stack size, the flags, or drop names and constants."""
    way = chance.randrange(5)
    if way == 0:
        return code.replace(co_stacksize=max(0, code.co_stacksize + chance.choice([-1, 1, 5])))
    if way == 1:
        return code.replace(co_flags=code.co_flags ^ (1 << chance.choice([2, 3, 5, 7, 9])))
    if way == 2:
        return code.replace(co_names=code.co_names[:-1]) if code.co_names else None
    if way == 3:
        return code.replace(co_consts=code.co_consts[:-1]) if code.co_consts else None
    return with_code(code, code.co_code[: -2 * chance.randint(1, 3)])


# ---------------------------------------------------------------- exception tables


def exception_entries(table: bytes) -> List[Tuple[int, int, int, int]]:
    """Return (start, length, target, depth and lasti) of each entry (Objects/exception_handling_notes.txt)."""
    numbers, at = [], 0
    while at < len(table):
        value = table[at] & 63
        while table[at] & 64:
            at += 1
            value = value << 6 | table[at] & 63
        numbers.append(value)
        at += 1
    return [tuple(numbers[n : n + 4]) for n in range(0, len(numbers), 4)]  # type: ignore[misc]


def exception_table(entries: List[Tuple[int, int, int, int]]) -> bytes:
    """Return the bytes of an exception table."""
    out = bytearray()
    for entry in entries:
        for n, number in enumerate(entry):
            pieces = [number & 63]
            while number > 63:
                number >>= 6
                pieces.append(number & 63 | 64)
            pieces.reverse()
            pieces[0] |= 128 if n == 0 else 0
            out += bytes(pieces)
    return bytes(out)


def other_entry(code: CodeType, chance: random.Random) -> Optional[CodeType]:
    """Change, drop, repeat or move an entry of the exception table."""
    entries = exception_entries(code.co_exceptiontable)
    if not entries:
        entries = [(0, len(code.co_code) // 2, chance.randrange(len(code.co_code) // 2), chance.randrange(4))]
        return code.replace(co_exceptiontable=exception_table(entries))
    at = chance.randrange(len(entries))
    way = chance.randrange(6)
    if way == 0:
        del entries[at]
    elif way == 1:
        entries.insert(chance.randint(0, len(entries)), entries[at])
    elif way == 2:
        chance.shuffle(entries)
    else:
        fields = list(entries[at])
        field = chance.randrange(4)
        choices = [fields[field] + 1, fields[field] - 1, fields[field] ^ 1, chance.randrange(len(code.co_code) // 2)]
        if field == 2:
            choices += [entry[2] for entry in entries]
        fields[field] = max(0, chance.choice(choices))
        entries[at] = tuple(fields)  # type: ignore[assignment]
    return code.replace(co_exceptiontable=exception_table(entries))


def other_table_byte(code: CodeType, chance: random.Random) -> Optional[CodeType]:
    """Change one byte of the exception table, or cut it off."""
    return damaged(code, "co_exceptiontable", chance)


def other_line_table(code: CodeType, chance: random.Random) -> Optional[CodeType]:
    """Change one byte of the line table, cut it off, or drop it."""
    return damaged(code, LINE_TABLE, chance)


def damaged(code: CodeType, field: str, chance: random.Random) -> Optional[CodeType]:
    """Change one byte of a table, cut it off, or drop it."""
    table = bytearray(getattr(code, field))
    if not table:
        return None
    way, at = chance.randrange(4), chance.randrange(len(table))
    if way == 0:
        del table[at:]
    elif way == 1:
        table = bytearray()
    else:
        table[at] = chance.randrange(256)
    changes: Dict[str, Any] = {field: bytes(table)}
    return code.replace(**changes)


BYTECODE: Dict[str, Mutation] = {
    "another argument": other_argument,
    "another opcode": other_opcode,
    "one instruction less": without_one,
    "two instructions swapped": swapped,
    "constants or names swapped": other_constants,
    "another field": other_fields,
}
OF_EXCEPTION_TABLES: Dict[str, Mutation] = {
    "another entry of the exception table": other_entry,
    "another byte of the exception table": other_table_byte,
}
TABLES: Dict[str, Mutation] = {
    **(OF_EXCEPTION_TABLES if HAS_EXCEPTION_TABLES else {}),
    "another line table": other_line_table,
}


def mutated(code: CodeType, mutation: Mutation, chance: random.Random) -> Optional[CodeType]:
    """Return the code with one mutation, in itself or in a code object inside of it."""
    inside = [n for n, const in enumerate(code.co_consts) if isinstance(const, CodeType)]
    try:
        if not inside or chance.random() < 0.7:
            return mutation(code, chance)
        at = chance.choice(inside)
        changed = mutated(code.co_consts[at], mutation, chance)
        if changed is None:
            return None
        return code.replace(co_consts=(*code.co_consts[:at], changed, *code.co_consts[at + 1 :]))
    except (ValueError, IndexError):
        return None  # the interpreter refuses to make such a code object


def change(one: CodeType, other: CodeType) -> str:
    """Return in words where a mutant differs from the original."""
    for field in ("co_exceptiontable", LINE_TABLE, "co_names", "co_varnames", "co_flags", "co_stacksize"):
        if getattr(one, field, None) != getattr(other, field, None):
            if field == "co_exceptiontable":
                return f"{field}: {entries_of(one)} -> {entries_of(other)}"
            return f"{field}: {getattr(one, field)!r:.200} -> {getattr(other, field)!r:.200}"
    for a, b in zip(one.co_consts, other.co_consts):
        if isinstance(a, CodeType) and isinstance(b, CodeType) and a != b:
            return f"in {a.co_name}: {change(a, b)}"
    if one.co_consts != other.co_consts:
        return f"co_consts: {one.co_consts!r:.200} -> {other.co_consts!r:.200}"
    before, after = (instructions(code) for code in (one, other))
    return "; ".join(f"@{at}: {before.get(at)} -> {after.get(at)}" for at in before if before[at] != after.get(at))


def entries_of(code: CodeType) -> str:
    """Return the exception table of a code object as text."""
    try:
        return str(exception_entries(code.co_exceptiontable))
    except IndexError:
        return repr(code.co_exceptiontable)


def instructions(code: CodeType) -> Dict[int, str]:
    """Return the instructions by offset, as text; without names, which may not exist."""
    data = code.co_code
    return {at: f"{opcode.opname[data[at]]} {data[at + 1]}" for at in range(0, len(data) - 1, 2)}
