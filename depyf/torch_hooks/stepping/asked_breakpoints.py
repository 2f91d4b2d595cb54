"""Breakpoints that a program asks for: by a function, a line of its source, or a line of a dumped file.

"model.py:9"                            a line of the user's source
"__compiled_fn_1.Captured_Graph.0.py:8" a line of a dumped file
model.forward, "Model.forward"          the first statement of a function
model                                   the same, of a module's forward
(model.forward, 12)                     a line of its source
"""

from __future__ import annotations

import dis
import inspect
import linecache
import os
from types import CodeType
from typing import Any, Iterator, List, Sequence, Tuple

from depyf.errors import UserError
from depyf.line_table.folders import FolderTable, read_tables
from depyf.torch_hooks.stepping.recorded_lines import WHY_NOT, RecordedLines
from depyf.torch_hooks.stepping.user_breakpoints import LineCarrier, Place, normal

_FORMS = "FILE:LINE, a function or module, its name, or (function, line)"


def asked_places(asked: Sequence[Any], folder: str | None, backend: str | None) -> Tuple[Place, ...]:
    """Return the lines that stop for what was asked, with the files of a folder and `debug`'s backend."""
    if not asked:
        return ()
    tables = () if folder is None else read_tables(folder)
    carrier = LineCarrier(tables, backend)
    return tuple(dict.fromkeys(place for one in asked for place in places_of(one, tables, carrier)))


def places_of(asked: Any, tables: Sequence[FolderTable], carrier: LineCarrier) -> Tuple[Place, ...]:
    """Return the lines that stop for what was asked; UserError, with what would do, where there is none."""
    file, line = _dumped(asked, tables) or _of_user(asked, tables)
    if any(normal(file) == normal(os.path.join(one.path, name)) for one in tables for name in one.record.files):
        if RecordedLines(tables).has(file, line):
            raise UserError(f"debug(breakpoints=...): {os.path.basename(file)}:{line}: {WHY_NOT}")
        return ((file, _with_code(file, line)),)
    carried = carrier.carry(file, line)
    if carried is None:
        return ((file, _with_code(file, line)),)  # not compiled: it runs where it stands
    if not carried.targets:
        raise UserError(f"debug(breakpoints=...): {carried.text}")
    return carried.targets


def _dumped(asked: Any, tables: Sequence[FolderTable]) -> Place | None:
    """Return the line of a dumped file that a text names; None where it names none."""
    name, line = _file_and_line(asked)
    for one in tables:
        if os.path.basename(name) in one.record.files:
            return os.path.join(os.path.abspath(one.path), os.path.basename(name)), line
    return None


def _of_user(asked: Any, tables: Sequence[FolderTable]) -> Place:
    name, line = _file_and_line(asked)
    if name.endswith(".py"):
        known = {function.file for one in tables for function in one.record.functions}
        known |= {place.file for one in tables for row in one.table.rows for place in row.calls}
        same = sorted(file for file in known if file.endswith(os.sep + name) or normal(file) == normal(name))
        if len(same) > 1:
            raise UserError(f"debug(breakpoints=...): {name} may be {' or '.join(same)}: give more of the path")
        if not same and not os.path.isfile(name):
            raise UserError(f"debug(breakpoints=...): there is no file {name}, and nothing was compiled from one")
        return (same[0] if same else os.path.abspath(name)), line
    if isinstance(asked, str) and ":" in asked:  # no name of a function has one
        raise UserError(f"debug(breakpoints=...): {asked!r} is none of {_FORMS}")
    if isinstance(asked, str):
        return _named(asked, tables)
    function, line = asked if isinstance(asked, tuple) and len(asked) == 2 else (asked, 0)
    function = getattr(function, "_orig_mod", function)  # of what torch.compile made of a module
    function = getattr(function, "forward", function)
    plain: Any = getattr(function, "__func__", function)
    code = getattr(inspect.unwrap(plain), "__code__", None) if callable(plain) else None
    if code is None or not isinstance(line, int):
        raise UserError(f"debug(breakpoints=...): {asked!r} is none of {_FORMS}")
    return _in_function(code, line)


def _file_and_line(asked: Any) -> Tuple[str, int]:
    if not isinstance(asked, str):
        return "", 0
    name, _, number = asked.rpartition(":")
    return (name, int(number)) if name and number.isdigit() else ("", 0)


def _named(asked: str, tables: Sequence[FolderTable]) -> Place:
    """Return the first statement of a function that was compiled, by its name."""
    functions = [function for one in tables for function in one.record.functions]
    for function in functions:
        if asked in (function.name, function.display_name):
            code = next(_codes_at(function.file, function.first_line), None)
            return (function.file, function.first_line) if code is None else _in_function(code, 0)
    names = ", ".join(sorted({function.display_name for function in functions})) or "none"
    raise UserError(f"debug(breakpoints=...): no function {asked!r} was compiled; those that were: {names}")


def _in_function(code: CodeType, line: int) -> Place:
    lines = sorted({code.co_firstlineno, *_lines_of(code)})  # before 3.11 no instruction has the first
    after = [one for one in lines if one > code.co_firstlineno]
    if not line:
        return code.co_filename, (after or lines)[0]
    if not lines[0] <= line <= lines[-1]:
        where = f"{os.path.basename(code.co_filename)}:{lines[0]}-{lines[-1]}"
        raise UserError(f"debug(breakpoints=...): {code.co_name} has no line {line}: it is at {where}")
    return code.co_filename, line


def _with_code(file: str, line: int) -> int:
    """Return the line if a debugger can stop there; UserError that names the nearest one where not."""
    text = "".join(linecache.getlines(file))
    try:
        lines = sorted(_lines_of(compile(text, file, "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        return line
    if line in lines:
        return line
    nearest = min(lines, key=lambda one: abs(one - line), default=0)
    hint = f"; the nearest that has is {nearest}: {linecache.getline(file, nearest).strip()}" if nearest else ""
    raise UserError(f"debug(breakpoints=...): {os.path.basename(file)}:{line} has no code{hint}")


def _codes_at(file: str, line: int) -> Iterator[CodeType]:
    """Yield the code of the functions that are defined at a line of a file."""
    try:
        module = compile("".join(linecache.getlines(file)), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    waiting: List[CodeType] = [module]
    while waiting:
        code = waiting.pop()
        if code.co_firstlineno == line and code is not module:
            yield code
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]


def _lines_of(code: CodeType) -> Iterator[int]:
    """Yield the lines of a code object and of those inside it."""
    yield from (line for _, line in dis.findlinestarts(code) if line)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _lines_of(one)
