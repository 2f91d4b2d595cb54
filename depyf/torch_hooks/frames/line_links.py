"""Line links: the user's line that each line of transformed code stems from.

Dynamo gives the instructions that it copies from the user's code their positions, and those that it makes up none:
these continue the line of the instruction before them, or that of the `def`, so lines alone would mislead. Only copied
ones have columns (`copy_positions` and `linetable_311_writer` of torch), which marks them. With `PYTHONNODEBUGRANGES`
nothing has columns; then an instruction with which the line changes must be a copied one. Either way the position has
to be one of the user's code: with `nested_graph_breaks`, older versions of torch copy positions from other files.

The decompiler has the other half, the line of the text that each instruction belongs to
(`depyf.decompiler.attempt.matched_lines`). A line to which no copied instruction leads was made up, and gets no link;
except for the call of a resume function, which has that of the graph break it continues after, the call of the function
that Dynamo makes of a comprehension, which is named after its line, and the call of a graph, which stands for several.

Code that runs in place of Dynamo's has the positions of its file. It carries the links among its constants, for a later
session or `inspect`, which find nothing but this code in Dynamo's cache.
"""

from __future__ import annotations

import bisect
import opcode
import re
from types import CodeType
from typing import Dict, Iterable, List, Mapping, NamedTuple, Set, Tuple

from depyf.decompiler.attempt.matched_lines import silent_lines
from depyf.decompiler.bytecode.location_table import Position, lines_of, positions_of
from depyf.record.records import LineLink, NodeSource
from depyf.record.vocabulary import BY_BYTECODE, BY_GRAPH, BY_NAME, BY_PROOF, BY_RESUME
from depyf.torch_hooks.frames.decompiled_text import Decompiled

_START_OF_FRAME = (0, 0)  # columns of instructions that belong to no statement
_NUMBER = rb"[\x40-\x7f]*[\x00-\x3f]"
# An entry of a location table that has other columns; in the long form, columns are one more than they are.
_WITH_COLUMNS = re.compile(rb"[\x80-\xe7]|[\xf0-\xf7]" + _NUMBER + _NUMBER + rb"(?!\x01\x01)")
_DEFINITION = re.compile(r"^ *(?:async )?def (?!__enclosing_scope_of_)", re.MULTILINE)
_RETURNS = frozenset(number for name, number in opcode.opmap.items() if name.startswith("RETURN_"))
_RESUME = re.compile(r"\b__resume_at_\d+_\d+\b")
_COMPREHENSION = re.compile(r"\b__comprehension_\w+_at_(\d+)_\d+\(")
_GRAPH_CALL = re.compile(r"\b__compiled_fn_\d+\(")
_CARRIED = "depyf: the user's lines"


class UserLine(NamedTuple):
    """A line of the text, the position in the user's file that it stems from, and how that is known."""

    line: int
    position: Position
    found_by: str


def user_lines(code: CodeType, new_code: CodeType, result: Decompiled) -> Tuple[UserLine, ...]:
    """Return where the lines of the text of `new_code`, which Dynamo made of `code`, stem from, by line."""
    if new_code.co_filename != code.co_filename:
        return _carried_lines(new_code, result)
    copied = copied_positions(code, new_code)
    if not copied:
        return tuple([UserLine(*one, BY_NAME) for one in _comprehension_calls(code, result, set())])
    defined_at = _line_of_definition(result.source)
    operations, rest = _divided(new_code, result)
    found = {(line, copied[offset]): BY_PROOF for offset, line in operations if offset in copied and line != defined_at}
    linked = {line for line, _ in found}
    taken = {position for _, position in found}
    others: Dict[Tuple[int, Position], str] = {}
    for offset, line, found_by in rest:
        if offset in copied and line != defined_at and line not in linked and copied[offset] not in taken:
            others.setdefault((line, copied[offset]), found_by)
    linked.update(line for line, _ in others)
    for line, position in _resume_calls(result, copied, linked):
        others[line, position] = BY_RESUME
    for line, position in _comprehension_calls(code, result, linked):
        others[line, position] = BY_NAME
    lines = [UserLine(line, position, found_by) for (line, position), found_by in {**found, **others}.items()]
    return tuple(sorted(lines, key=lambda one: (one.line, one.position[0] or 0, one.position[2] or 0, one.found_by)))


def with_graph_call(
    lines: Tuple[UserLine, ...], code: CodeType, result: Decompiled, sources: Iterable[NodeSource]
) -> Tuple[UserLine, ...]:
    """Add the call of the graph whose nodes have these `sources`: it stands for a range of lines of `code`."""
    calls = [source.calls[0] for source in sources]
    if not calls or any(call.file != code.co_filename for call in calls):
        return lines
    numbers = [call.line for call in calls]
    linked = {one.line for one in lines}
    text = [one for one in enumerate(result.source.split("\n"), start=1) if "__compiled_fn_" in one[1]]
    found = [number for number, line in text if _GRAPH_CALL.search(line) and number not in linked]
    position = (min(numbers), max(numbers), None, None)
    return tuple(
        sorted([*lines, *[UserLine(number, position, BY_GRAPH) for number in found]], key=lambda one: one.line)
    )


def line_links(code: CodeType, lines: Iterable[UserLine]) -> Tuple[LineLink, ...]:
    """Return the links of a frame of `code` as they are recorded: which lines a graph is made of is recorded there."""
    own = [one for one in lines if one.found_by != BY_GRAPH]
    links = [LineLink(line, code.co_filename, position[0] or 0, found_by) for line, position, found_by in own]
    return tuple(dict.fromkeys(links))


def _line_of_definition(text: str) -> int:
    """Return the line of the `def`, which only the start of the frame belongs to; 0 for a lambda."""
    found = _DEFINITION.search(text)
    return 0 if found is None else text.count("\n", 0, found.start()) + 1


def _divided(new_code: CodeType, result: Decompiled) -> Tuple[List[Tuple[int, int]], List[Tuple[int, int, str]]]:
    """Divide (offset, line) into operations that the proof matched and the rest: returns, and what is silent.

    The positions of the rest may be those of a statement before it: CPython gives a `return` inside `try` the position
    of the last statement in the `finally`.
    """
    instructions = new_code.co_code
    operations, rest = [], []
    for offset, line in result.lines:
        if instructions[offset] in _RETURNS:
            rest.append((offset, line, str(BY_PROOF)))
        else:
            operations.append((offset, line))
    return operations, rest + [(offset, line, str(BY_BYTECODE)) for offset, line in _silent(result)]


def _silent(result: Decompiled) -> Tuple[Tuple[int, int], ...]:
    return () if result.code is None else silent_lines(result.source, result.code, result.lines, result.origins)


def copied_positions(code: CodeType, new_code: CodeType) -> Dict[int, Position]:
    """Return offset -> position in the user's file for the instructions of `new_code` that were copied from `code`."""
    if not hasattr(new_code, "co_positions"):
        return {}
    if _WITH_COLUMNS.search(new_code.co_linetable) is not None:
        known = {position for position in positions_of(code) if None not in position}
        copied = {2 * unit: position for unit, position in enumerate(positions_of(new_code)) if position in known}
        return {offset: position for offset, position in copied.items() if position[2:] != _START_OF_FRAME}
    if _WITH_COLUMNS.search(code.co_linetable) is not None:
        return {}  # nothing was copied
    known_lines = {line for _, _, line in lines_of(code)}
    lines = lines_of(new_code)
    changes = [(start, line) for (_, _, before), (start, _, line) in zip(lines, lines[1:]) if line != before]
    return {start: (line, None, None, None) for start, line in changes if line is not None and line in known_lines}


def _resume_calls(
    result: Decompiled, copied: Mapping[int, Position], linked: Set[int]
) -> Iterable[Tuple[int, Position]]:
    """Yield the lines that call resume functions and have no link, each with the last position copied before the call.

    Dynamo writes such a call behind the instruction at which the graph broke, and it has the line of that.
    """
    text = enumerate(result.source.split("\n"), start=1)
    calls = {number for number, line in text if "__resume_at_" in line and _RESUME.search(line)} - linked
    offsets = sorted(copied)
    for offset, line in result.lines if calls else ():
        if line in calls and offset > offsets[0]:
            yield line, copied[offsets[bisect.bisect(offsets, offset) - 1]]


def _comprehension_calls(code: CodeType, result: Decompiled, linked: Set[int]) -> Iterable[Tuple[int, Position]]:
    """Yield the lines that call functions of comprehensions and have no link, each with the line in the name."""
    if "__comprehension_" not in result.source:
        return
    known = {line for _, _, line in lines_of(code)}
    for number, text in enumerate(result.source.split("\n"), start=1):
        found = _COMPREHENSION.search(text)
        if found is not None and number not in linked and int(found[1]) in known:
            yield number, (int(found[1]), int(found[1]), None, None)


def carrying(code: CodeType, lines: Tuple[UserLine, ...]) -> CodeType:
    """Return `code`, whose positions are those of its file, with `lines` of that file as one more constant."""
    return code.replace(co_consts=(*code.co_consts, (_CARRIED, *map(tuple, lines)))) if lines else code


def _carried_lines(new_code: CodeType, result: Decompiled) -> Tuple[UserLine, ...]:
    """Return the lines that `new_code` carries, for another text of it."""
    last = new_code.co_consts[-1] if new_code.co_consts else None
    if type(last) is not tuple or last[:1] != (_CARRIED,):
        return ()
    carried: Dict[int, List[UserLine]] = {}
    for one in last[1:]:
        carried.setdefault(one[0], []).append(UserLine(*one))
    line_at = {2 * unit: position[0] for unit, position in enumerate(positions_of(new_code))}
    found = {
        (line, one.position, one.found_by)
        for offset, line in (*result.lines, *_silent(result))
        for one in carried.get(line_at.get(offset) or 0, ())
    }
    return tuple([UserLine(*one) for one in sorted(found, key=lambda one: (one[0], str(one)))])
