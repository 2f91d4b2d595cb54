"""The listing of a frame's bytecode: the instructions of the original and of the transformed code below their lines."""

from __future__ import annotations

import dis
import linecache
import re
from types import CodeType
from typing import Dict, Iterable, Iterator, List, Mapping, Sequence, Tuple

from depyf.decompiler.bytecode.location_table import lines_of

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LOADS = ("LOAD_", "PUSH_NULL", "PRECALL", "KW_NAMES")
_WIDTH = 7  # of a line's number


def listing(
    title: str,
    original: CodeType,
    transformed: CodeType,
    text: str,
    lines: Iterable[Tuple[int, int]],
    renames: Mapping[str, str],
) -> str:
    """Return the listing as text.

    lines: (offset in the transformed code, line of `text`); renames: {name in the code: name in the text}.
    """
    known = dict(lines)
    parts = [
        f"{title}\n",
        f"Original code, below the lines of {original.co_filename}:\n",
        *_below(original, _lines_by_offset(original), _source_of(original), renames),
        "Transformed code, which Dynamo made of it, below the lines of its text:\n",
        *_below(transformed, known, text.split("\n"), renames),
    ]
    return "\n".join(parts) + "\n"


def _source_of(code: CodeType) -> Sequence[str]:
    """Return the lines of the file that a code object was compiled from."""
    return [line.rstrip("\n") for line in linecache.getlines(code.co_filename)]


def _lines_by_offset(code: CodeType) -> Dict[int, int]:
    return {start: line for start, _, line in lines_of(code) if line is not None}


def _below(
    code: CodeType, lines: Mapping[int, int], source: Sequence[str], renames: Mapping[str, str]
) -> Iterator[str]:
    """Yield each stretch of instructions below the line that it belongs to; a line may come up more than once."""
    current = 0
    stretch: List[str] = []
    instructions = list(dis.get_instructions(code))
    for instruction, line in zip(instructions, _line_of_each(instructions, lines)):
        if line != current and stretch:
            yield "\n".join(stretch) + "\n"
            stretch = []
        if not stretch and line:
            shown = source[line - 1] if 0 < line <= len(source) else ""
            stretch.append(f"{line:>{_WIDTH}} | {shown}".rstrip())
        stretch.append(_spelled(instruction, renames))
        current = line
    if stretch:
        yield "\n".join(stretch) + "\n"


def _line_of_each(instructions: Sequence[dis.Instruction], lines: Mapping[int, int]) -> Iterator[int]:
    """Yield the line of each instruction: those that load a value have the line of the operation that they load it for.

    0: none has come up yet.
    """
    following, loaded_for = 0, {}
    for instruction in reversed(instructions):
        is_load = instruction.opname.startswith(_LOADS)
        following = lines.get(instruction.offset, following if is_load else 0)
        loaded_for[instruction.offset] = following
    current = 0
    for instruction in instructions:
        current = loaded_for[instruction.offset] or current
        yield current


def _spelled(instruction: dis.Instruction, renames: Mapping[str, str]) -> str:
    mark = ">>" if instruction.is_jump_target else "  "
    shown = _ADDRESS.sub("", renames.get(str(instruction.argval), instruction.argrepr))
    number = "" if instruction.arg is None else str(instruction.arg)
    argument = f"({shown})" if shown else ""
    return f"{'':{_WIDTH}}   {mark} {instruction.offset:>4} {instruction.opname:<28} {number:>4} {argument}".rstrip()
