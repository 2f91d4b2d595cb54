"""Load: a `CodeRecord` -> a code object of the running Python, or a record like one of another version.

The interpreter trusts the code objects that it makes, and some of what it does with a malformed one, even while it
makes or reads it, is undefined: instructions whose inline caches are cut off are written past the end of the code
(`deopt_code` in Objects/codeobject.c), opcodes of its own instrumentation are followed through null pointers, a
location table that ends inside an entry is read past its end. So all of that is checked here.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, List, Tuple

from depyf.decompiler.bytecode.code_flags import CO_VARARGS, CO_VARKEYWORDS, raised_future_flags
from depyf.decompiler.bytecode.code_objects import foreign_code
from depyf.decompiler.bytecode.location_table import is_well_formed
from depyf.decompiler.bytecode.python_facts import LINE_NUMBERS, facts_for
from depyf.decompiler.decode.instructions import opcode_widths
from depyf.decompiler.pyc.code_record import CodeRecord
from depyf.decompiler.pyc.damage import DamagedFile

ENTRIES_PER_BYTE, FREE_ENTRIES = 2, 100  # of the stack: an instruction of two bytes adds at most four to its depth
MOST_COMPARED = 1 << 24  # locals times cells: CPython compares all names with each other


def load(record: CodeRecord, *, is_foreign: bool = False) -> CodeType:
    """Return the code object of a record, those inside it made first. Raises DamagedFile if it is malformed."""
    make = _foreign_code if is_foreign else _running_code
    made: Dict[int, CodeType] = {}
    work: List[Tuple[CodeRecord, bool]] = [(record, False)]
    while work:
        current, is_ready = work.pop()
        if id(current) in made:
            continue
        if not is_ready:
            work.append((current, True))
            work.extend((const, False) for const in current.consts if isinstance(const, CodeRecord))
            continue
        consts = [made[id(const)] if isinstance(const, CodeRecord) else const for const in current.consts]
        _check(current)
        made[id(current)] = make(current, tuple(consts))
    return made[id(record)]


def _check(record: CodeRecord) -> None:
    _check_parameters(record)
    _check_instructions(record)
    if not _is_line_table(record):
        raise _damaged(record, "its location table is malformed")
    if len(record.varnames) * len(record.cellvars) > MOST_COMPARED:
        raise _damaged(record, "it has too many variables")


def _foreign_code(record: CodeRecord, consts: Tuple[Any, ...]) -> CodeType:
    facts = facts_for(record.version)
    fields: Dict[str, Any] = {f"co_{name}": getattr(record, name) for name in _IN_ALL_VERSIONS}
    fields["co_consts"] = consts
    fields["co_flags"] = raised_future_flags(record.flags, facts.future_flags_shift)
    fields["co_lnotab" if facts.line_table == LINE_NUMBERS else "co_linetable"] = record.linetable
    if not facts.blocks_are_stacked:
        fields.update(co_qualname=record.qualname, co_exceptiontable=record.exceptiontable)
    return foreign_code(facts, fields)


_IN_ALL_VERSIONS = (
    "argcount", "posonlyargcount", "kwonlyargcount", "stacksize", "flags", "code", "names", "varnames", "cellvars",
    "freevars", "filename", "name", "firstlineno",
)  # fmt: skip


def _running_code(record: CodeRecord, consts: Tuple[Any, ...]) -> CodeType:
    has_table = not facts_for(record.version).blocks_are_stacked
    fields = (
        record.argcount,
        record.posonlyargcount,
        record.kwonlyargcount,
        len(record.varnames),
        record.stacksize,
        record.flags,
        record.code,
        consts,
        record.names,
        record.varnames,
        record.filename,
        record.name,
        *((record.qualname,) if has_table else ()),
        record.firstlineno,
        record.linetable,
        *((record.exceptiontable,) if has_table else ()),
        record.freevars,
        record.cellvars,
    )
    try:
        return CodeType(*fields)
    except (ValueError, TypeError, OverflowError, SystemError) as error:
        raise _damaged(record, str(error)) from error


def _is_line_table(record: CodeRecord) -> bool:
    """Return whether the table of lines consists of whole entries: before 3.11 they are pairs of bytes."""
    if facts_for(record.version).blocks_are_stacked:
        return len(record.linetable) % 2 == 0
    return is_well_formed(record.linetable)


def _damaged(record: CodeRecord, what: str) -> DamagedFile:
    return DamagedFile(record.at, f"the code object {record.name!a} cannot be made: {what}")


def _check_parameters(record: CodeRecord) -> None:
    counts = (record.argcount, record.posonlyargcount, record.kwonlyargcount, record.stacksize, record.flags)
    if min(counts) < 0 or record.posonlyargcount > record.argcount:
        raise _damaged(record, "its numbers of parameters, its stack size or its flags are out of range")
    if record.stacksize > ENTRIES_PER_BYTE * len(record.code) + FREE_ENTRIES:
        raise _damaged(record, f"a stack of {record.stacksize} entries for {len(record.code)} bytes of instructions")
    parameters = record.argcount + record.kwonlyargcount
    parameters += bool(record.flags & CO_VARARGS) + bool(record.flags & CO_VARKEYWORDS)
    if parameters > len(record.varnames):
        raise _damaged(record, f"{parameters} parameters, and {len(record.varnames)} local variables")


def _check_instructions(record: CodeRecord) -> None:
    data, widths = record.code, opcode_widths(record.version)
    if not data or len(data) % 2:
        raise _damaged(record, f"its instructions are {len(data)} bytes")
    offset = 0
    while offset < len(data):
        width = widths.get(data[offset])
        if width is None:
            raise _damaged(record, f"opcode {data[offset]} at its byte {offset} is none")
        offset += width
    if offset > len(data):
        raise _damaged(record, "its last instruction is cut off")
