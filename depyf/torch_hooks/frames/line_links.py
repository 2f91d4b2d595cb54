"""Line links: the user's line that each line of transformed code stems from.

Dynamo gives the instructions that it copies from the user's code their positions, and those that it makes up none:
these continue the line of the instruction before them, or that of the `def`, so lines alone would mislead. Only copied
ones have columns (`copy_positions` and `linetable_311_writer` of torch), which marks them. With `PYTHONNODEBUGRANGES`
nothing has columns; then an instruction with which the line changes must be a copied one. Either way the position has
to be one of the user's code: with `nested_graph_breaks`, older versions of torch copy positions from other files.

The decompiler has the other half, the line of the text that each instruction belongs to
(`depyf.decompiler.attempt.matched_lines`). A line to which no copied instruction leads was made up, and gets no link;
except for the call of a resume function, whose line Dynamo's table has: that of the graph break it continues after.
"""

from __future__ import annotations

import bisect
import opcode
import re
from types import CodeType
from typing import Dict, List, Mapping, Set, Tuple

from depyf.decompiler.bytecode.location_table import Position, lines_of, positions_of
from depyf.record.records import LineLink
from depyf.record.vocabulary import BY_BYTECODE, BY_PROOF, BY_RESUME
from depyf.torch_hooks.frames.decompiled_text import Decompiled

_WITH_COLUMNS = re.compile(rb"[\x80-\xe7\xf0-\xf7]")  # first byte of such an entry of a location table
_START_OF_FRAME = (0, 0)  # columns of instructions that belong to no statement
_DEFINITION = re.compile(r"^ *(?:async )?def (?!__enclosing_scope_of_)", re.MULTILINE)
_RETURNS = frozenset(number for name, number in opcode.opmap.items() if name.startswith("RETURN_"))
_RESUME = re.compile(r"\b__resume_at_\d+_\d+\b")


def line_links(
    code: CodeType, new_code: CodeType, copied: Mapping[int, Position], result: Decompiled
) -> Tuple[LineLink, ...]:
    """Return the links of the text of `new_code`, which Dynamo made of `code`, by line of the text.

    `copied` is what `copied_positions` returns for both.
    """
    if not copied:
        return ()
    defined_at = _line_of_definition(result.source)
    operations, rest = _divided(new_code, result)
    found: Dict[Tuple[int, int], str] = {}
    taken: Set[Position] = set()
    for offset, line in operations:
        if offset in copied and line != defined_at:
            found[line, copied[offset][0] or 0] = BY_PROOF
            taken.add(copied[offset])
    linked = {line for line, _ in found}
    for offset, line, found_by in rest:
        if offset in copied and line != defined_at and line not in linked and copied[offset] not in taken:
            found[line, copied[offset][0] or 0] = found_by
    linked = {line for line, _ in found}
    for line, user_line in _resume_calls(new_code, result, min(copied), linked):
        found[line, user_line] = BY_RESUME
    return tuple([LineLink(line, code.co_filename, user, found[line, user]) for line, user in sorted(found)])


def _divided(new_code: CodeType, result: Decompiled) -> Tuple[List[Tuple[int, int]], List[Tuple[int, int, str]]]:
    """Divide (offset, line) into operations that the proof matched and the rest: returns, and what is silent.

    The positions of the rest may be those of a statement before it: CPython gives a `return` inside `try` the position
    of the last statement in the `finally`.
    """
    operations, rest = [], []
    for offset, line in result.lines:
        if new_code.co_code[offset] in _RETURNS:
            rest.append((offset, line, str(BY_PROOF)))
        else:
            operations.append((offset, line))
    rest += [(offset, line, str(BY_BYTECODE)) for offset, line in result.silent_lines]
    return operations, rest


def _line_of_definition(text: str) -> int:
    """Return the line of the `def`, which only the start of the frame belongs to; 0 for a lambda."""
    found = _DEFINITION.search(text)
    return 0 if found is None else text.count("\n", 0, found.start()) + 1


def copied_positions(code: CodeType, new_code: CodeType) -> Dict[int, Position]:
    """Return offset -> position in the user's file for the instructions of `new_code` that were copied from `code`."""
    if new_code.co_filename != code.co_filename:
        return {}  # its positions are those of another file: an earlier session replaced it
    if not hasattr(new_code, "co_positions"):
        return {}
    if _WITH_COLUMNS.search(new_code.co_linetable) is not None:
        known = set(positions_of(code))
        found = enumerate(positions_of(new_code))
        copied = {2 * unit: position for unit, position in found if None not in position and position in known}
        return {offset: position for offset, position in copied.items() if position[2:] != _START_OF_FRAME}
    if _WITH_COLUMNS.search(code.co_linetable) is not None:
        return {}  # nothing was copied
    known_lines = {line for _, _, line in lines_of(code)}
    lines = lines_of(new_code)
    changes = [(start, line) for (_, _, before), (start, _, line) in zip(lines, lines[1:]) if line != before]
    return {start: (line, None, None, None) for start, line in changes if line is not None and line in known_lines}


def _resume_calls(new_code: CodeType, result: Decompiled, first_copied: int, linked: Set[int]) -> List[Tuple[int, int]]:
    """Return (line of the text, the user's line) for calls of resume functions on lines that have no link."""
    text = result.source.split("\n")
    lines = lines_of(new_code)
    starts = [start for start, _, _ in lines]
    found = []
    for offset, line in result.lines:
        if line not in linked and offset > first_copied and _RESUME.search(text[line - 1]):
            user_line = lines[bisect.bisect_right(starts, offset) - 1][2]
            if user_line is not None:
                found.append((line, user_line))
    return found
