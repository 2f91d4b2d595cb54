"""Line comments: the user's line behind each line of transformed code that stems from one.

    graph_out_0 = __compiled_fn_2(x)  # err.py:10-12
    w = deep(z, d)  # err.py:13: w = deep(z, d)
    return __resume_at_96_6([], [], w)  # after err.py:13: w = deep(z, d)

Tracebacks, log records and debuggers show the line of the transformed code, and so both. A comment at the end of a line
moves nothing: the code was compiled from the text without it, and has the same lines and columns. The printer breaks
lines inside brackets only, and the only strings that it writes over several lines are docstrings, which have no
instructions: so a comment never ends up inside a string.

The source may have changed since the code was compiled, or be that of something else. Where a position does not cut
whole tokens out of the line, or the line has names that the code has not, the comment has the place alone. Code without
columns (before Python 3.11) has at least the name that its line begins with.
"""

from __future__ import annotations

import dis
import keyword
import re
from types import CodeType
from typing import Dict, FrozenSet, Iterable, Iterator, List, Sequence, Set

from depyf.decompiler.bytecode.location_table import Position
from depyf.record.vocabulary import BY_GRAPH, BY_RESUME
from depyf.text.number_ranges import in_ranges
from depyf.text.python_source import printable
from depyf.text.quoted_strings import without_strings
from depyf.torch_hooks.frames.line_links import UserLine
from depyf.torch_hooks.frames.source_files import lines_of_file

WIDTH = 120  # columns of a line with its comment, as far as the code leaves room
_FEWEST = 12  # columns of the user's source: fewer are no help
_ELLIPSIS = "..."


class ShortPaths:
    """Base names of files; of two files with one base name, the second gets as many folders as it takes."""

    def __init__(self) -> None:
        self._shown: Dict[str, str] = {}
        self._taken: Set[str] = set()

    def of(self, file: str) -> str:
        """Return the end of the path `file` that stands for it and for no other file asked for before."""
        if file not in self._shown:
            parts = file.replace("\\", "/").split("/")
            count = 2 if parts[-1] == "__init__.py" else 1  # every package has one
            while "/".join(parts[-count:]) in self._taken and count < len(parts):
                count += 1
            self._shown[file] = "/".join(parts[-count:])
            self._taken.add(self._shown[file])
        return self._shown[file]


def with_comments(text: str, lines: Sequence[UserLine], source: UserSource, paths: ShortPaths) -> str:
    """Return `text` with a comment at the end of each of `lines`; it compiles to the same code."""
    if not lines:
        return text
    by_line: Dict[int, List[UserLine]] = {}
    for one in lines:
        by_line.setdefault(one.line, []).append(one)
    texts = text.split("\n")
    for number, found in by_line.items():
        line = texts[number - 1]
        if not line.endswith("\\") and '"""' not in line and "'''" not in line:
            shown = f"{line}  {_comment(found, source, paths, WIDTH - len(line) - 2)}"
            texts[number - 1] = shown if len(shown) <= WIDTH else line  # the manifest has the link all the same
    return "\n".join(texts)


def _comment(lines: Sequence[UserLine], source: UserSource, paths: ShortPaths, width: int) -> str:
    """Return the comment of one line: at most `width` columns where the place alone is no longer."""
    numbers = sorted({number for one in lines for number in _numbers(one)})
    after = "after " if all(one.found_by == BY_RESUME for one in lines) else ""
    place = f"# {after}{paths.of(source.file)}:{in_ranges(numbers)}"
    is_range = lines[0].found_by == BY_GRAPH and len(numbers) > 1
    code = "" if is_range else source.line(numbers[0], [one.position for one in lines])
    room = width - len(place) - 2
    if len(code) > room:
        code = code[: room - len(_ELLIPSIS)].rstrip() + _ELLIPSIS if room >= _FEWEST + len(_ELLIPSIS) else ""
    return printable(f"{place}: {code}" if code else place)


def _numbers(line: UserLine) -> Iterable[int]:
    """Return the user's lines that a line stems from: all from first to last for the call of a graph."""
    first, last = line.position[0] or 0, line.position[1] or 0
    return range(first, last + 1) if line.found_by == BY_GRAPH else [first]


class UserSource:
    """The source of one code object, as far as it is still what the code was compiled from."""

    def __init__(self, code: CodeType) -> None:
        self.file = code.co_filename
        self._code = code
        self._names: FrozenSet[str] = frozenset()
        self._first_names: Dict[int, str] | None = None  # line -> name

    def line(self, number: int, positions: Iterable[Position]) -> str:
        """Return a line without its indentation; empty where it cannot be read, or has other code at `positions`."""
        lines = lines_of_file(self.file)
        if not 0 < number <= len(lines):
            return ""
        text = lines[number - 1].rstrip("\r\n")
        pieces = [_piece(text, position) for position in positions if position[0] == number]
        if not all(piece is not None and self._knows(piece) for piece in pieces):
            return ""
        if any(start is None for line, _, start, _ in positions if line == number) and not self._begins(text, number):
            return ""
        return text.strip().replace("\t", " ")

    def _knows(self, piece: str) -> bool:
        """Return whether the code has all names in a piece of source; mangled ones count."""
        if not piece.isascii():
            return True  # identifiers are normalised, so the code may spell them in another way
        if not self._names:
            self._names = frozenset(_names_in(self._code))
        code, *_ = _QUOTE.split(without_strings(piece), maxsplit=1)  # a string may end in a later line
        unknown = set(_NAME.findall(code)) - self._names - _KEYWORDS
        return all(name.startswith("__") and any(one.endswith(name) for one in self._names) for name in unknown)

    def _begins(self, text: str, number: int) -> bool:
        """Return whether a line has the name that its first instruction with a name has, where code has no columns."""
        if self._first_names is None:
            self._first_names = _first_names(self._code)
        name = self._first_names.get(number)
        return name is None or not text.isascii() or name in _WORD.findall(text)


_WORD = re.compile(r"\w+")
_QUOTE = re.compile("['\"]")
_KEYWORDS = frozenset(keyword.kwlist) | {"__debug__"}
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*|(?<=[\w)\]]\.)[A-Za-z_]\w*")


def _piece(text: str, position: Position) -> str | None:
    """Return what a position cuts out of its first line; None where it does not cut at the borders of words."""
    _, last, start, end = position
    if start is None or end is None:
        return text  # the code has no columns
    data = text.encode()
    stop = end if last == position[0] else len(data)
    if not start < stop <= len(data):
        return None
    before, piece = data[:start].decode(errors="replace"), data[start:stop].decode(errors="replace")
    after = data[stop:].decode(errors="replace")
    if piece != piece.strip() or _is_word(before[-1:] + piece[:1]) or _is_word(piece[-1:] + after[:1]):
        return None
    return piece


def _is_word(pair: str) -> bool:
    return len(pair) == 2 and (pair[0].isalnum() or pair[0] == "_") and (pair[1].isalnum() or pair[1] == "_")


def _first_names(code: CodeType) -> Dict[int, str]:
    """Return the name in the first instruction of each line that has one, but names that a source spells otherwise."""
    found: Dict[int, str] = {}
    line = 0
    for one in dis.get_instructions(code):
        line = one.starts_line or line
        has_name = one.opcode in dis.hasname or one.opcode in dis.haslocal or one.opcode in dis.hasfree
        if has_name and isinstance(one.argval, str):
            is_plain = one.argval.isidentifier() and "__" not in one.argval and one.argval != "AssertionError"
            found.setdefault(line, one.argval if is_plain else "")
    return {line: name for line, name in found.items() if name}


def _names_in(code: CodeType) -> Iterator[str]:
    """Yield every name of a code object and of those inside it: of variables, attributes and keyword arguments."""
    for name in (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars):
        yield from name.split(".")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
        elif isinstance(constant, tuple):
            yield from [name for name in constant if isinstance(name, str)]
