"""Small pieces of Python text that are valid whatever they are made from.

Function names may be `<lambda>`, sources may be missing, comments may come from anywhere: what leaves these
functions compiles as a module.
"""

from __future__ import annotations

import ast
import functools
import keyword
import re
import textwrap
from typing import Iterable, List, Sequence, Union

from depyf.text.quiet_compile import compile_quietly, parse_quietly
from depyf.text.quoted_strings import is_closed, without_strings
from depyf.text.repeated_lines import LineShapes

WIDTH = 116

Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef]

# The name that the decompiler gives to the function around one with `nonlocal`.
ENCLOSING = "__enclosing_scope_of_"


class Checked(str):
    """A line of whole statements that are known to be Python: nobody needs to compile them to see that."""

    __slots__ = ()


_shapes = LineShapes()  # a memo, like the cache of `is_module`: it changes no result


@functools.lru_cache(maxsize=256)
def is_module(text: str) -> bool:
    """Return whether this interpreter compiles `text` as a module: a stray `return` or `nonlocal` does not."""
    thin, shapes = _shapes.thinned(text)
    try:
        compile_quietly(thin, "<text>")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    _shapes.add(shapes)
    return True


def definition(text: str) -> Definition | None:
    """Return the one function at the top of `text`, or inside the function that stands for its enclosing scope."""
    if not is_module(text):
        return None
    found = _functions(parse_quietly(text).body)
    if len(found) == 1 and found[0].name.startswith(ENCLOSING):
        found = _functions(found[0].body)
    return found[0] if len(found) == 1 else None


def _functions(body: Sequence[ast.stmt]) -> list[Definition]:
    return [node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def in_its_scope(text: str) -> str:
    """Wrap a function with `nonlocal` in a function whose parameters those names are; return other text unchanged."""
    if "nonlocal" not in text:
        return text
    try:
        tree = parse_quietly(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    names = sorted({name for node in ast.walk(tree) if isinstance(node, ast.Nonlocal) for name in node.names})
    functions = _functions(tree.body)
    if not names or len(functions) != 1 or is_module(text):
        return text
    inside_strings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno is not None
        for line in range(node.lineno + 1, node.end_lineno + 1)
    }
    lines = [f"def {ENCLOSING}{functions[0].name}({', '.join(names)}):"]
    for number, line in enumerate(text.strip("\n").split("\n"), start=1 + _leading_newlines(text)):
        lines.append("    " + line if line.strip() and number not in inside_strings else line)
    wrapped = "\n".join([*lines, "", f"    return {functions[0].name}", ""])
    return wrapped if is_module(wrapped) else text


def _leading_newlines(text: str) -> int:
    return len(text) - len(text.lstrip("\n"))


_NO_WORD = re.compile(r"\W")


def identifier(name: str) -> str:
    """Return `name` as a Python identifier: `<lambda>` is `_lambda_`."""
    name = _NO_WORD.sub("_", name) or "_"
    if name[0].isdigit():
        name = "_" + name
    return name + "_" if keyword.iskeyword(name) or not name.isidentifier() else name


def identifiers(names: Iterable[str]) -> list[str]:
    """Return `identifier` of each name, made distinct where two fall together."""
    chosen: List[str] = []
    for name in names:
        candidate = identifier(name)
        while candidate in chosen:
            candidate += "_"
        chosen.append(candidate)
    return chosen


def printable(text: str) -> str:
    """Return `text` without characters that could not stand in a source file or would end a comment."""
    if text.isprintable():
        return text  # lone surrogates are not printable
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(one if one == "\t" or one.isprintable() else one.encode("unicode_escape").decode() for one in text)


_LINE_END = re.compile(r"\r\n|\n|\r")


def comment(text: str, indent: str = "") -> list[str]:
    """Return `text` as comment lines, one for each of its lines."""
    return [(indent + "# " + printable(line)).rstrip() for line in _LINE_END.split(text)]


def wrapped_comment(text: str, indent: str = "") -> list[str]:
    """Return `text`, one line, as comment lines of the width, each further one with a larger margin."""
    if len(indent) + 2 + len(text) <= WIDTH:
        return comment(text, indent)
    most = max(WIDTH - len(indent) - 2, 20)
    body = text.lstrip(" ")
    margin = " " * min(len(text) - len(body), most // 2)
    lines = textwrap.wrap(
        body,
        most,
        initial_indent=margin,
        subsequent_indent=margin + "    ",
        break_long_words=False,
        break_on_hyphens=False,
        tabsize=1,
    )
    return [line for one in lines for part in _in_width(one, most) for line in comment(part, indent)]


def _in_width(line: str, most: int) -> list[str]:
    """Return a line whose only word is too wide with less of a margin, an address stays whole then, or else cut."""
    word = line.lstrip(" ")
    margin = " " * max(0, min(len(line) - len(word), most - len(word)))
    return [margin + word[start : start + most] for start in range(0, len(word), most)]


def code_or_comment(text: str) -> list[str]:
    """Return the lines of `text` if it is a module, else the same as a comment."""
    text = in_its_scope(text)
    if is_module(text):
        return text.strip("\n").split("\n")
    return comment(text.strip("\n"))


def heading(text: str, rule: str) -> list[str]:
    """Return a comment that starts a section."""
    line = "# " + rule * (WIDTH - 2)
    return [line, *(one for part in _LINE_END.split(text) for one in wrapped_comment(part)), line]


# Tests that need no parser: values reached by names, attributes and subscripts, compared with each other or with plain
# constants. A frame of many layers has thousands of guards, and nearly all of them are such tests joined by `and`.
_KEYWORDS = "|".join(sorted(set(keyword.kwlist) - {"None", "True", "False"}))
_NAME = rf"(?!(?:{_KEYWORDS})\b)[A-Za-z_][A-Za-z0-9_]*"
_TEXT = r"(?:'[^'\\\n]*'|\"[^\"\\\n]*\")"
_STEPS = rf"(?:\.{_NAME}|\[(?:{_TEXT}|0|[1-9][0-9]*)\]|\(\)|\({_TEXT}\))*"
_PATH = rf"(?:list\(dict\.keys\({_NAME}{_STEPS}\)\)|{_NAME}){_STEPS}"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
_OPERAND = rf"(?:(?:type|len)\({_PATH}\)|{_PATH}|{_NUMBER}|{_TEXT}|\((?:{_NUMBER}, )+{_NUMBER}\)|\({_NUMBER},\)|\(\))"
_TEST = rf"{_OPERAND}(?: (?:is not|is|==|!=|<=|>=|<|>|not in|in) {_OPERAND})?"
_ONE_PATH = re.compile(_PATH)
_NEXT_TEST = re.compile(rf"({_TEST})(?: and |$)")


def simple_tests(condition: str) -> list[str]:
    """Return the operands of a conjunction of simple tests; none where that takes a parser."""
    found: list[str] = []
    position = 0
    while position < len(condition):
        match = _NEXT_TEST.match(condition, position)
        if match is None:
            return []
        found.append(match[1])
        position = match.end()
    return found if not condition.endswith(" and ") else []


def conjunction(condition: str) -> list[str]:
    """Return the operands of `condition`, such that joining them with `and` means the same.

    `condition` is an expression on one line, else this raises what `ast.parse` does; an operand that binds less tightly
    than `and` comes in parentheses.
    """
    tree = _parsed(condition)
    pieces = condition.split(" and ")
    if not _is_loose(condition) and (len(pieces) == 1 or all(map(is_closed, pieces))):
        return pieces
    if not isinstance(tree, ast.BoolOp) or not isinstance(tree.op, ast.And):
        return [condition if _binds_tightly(tree) else f"({condition})"]
    # A segment leaves the parentheses around it behind; on one line its tokens mean the same without them.
    segments = [(segment(condition, node), node) for node in tree.values]
    return [piece if _binds_tightly(node) else f"({piece})" for piece, node in segments]


@functools.lru_cache(maxsize=4096)
def operands(condition: str) -> tuple[str, ...]:
    """Return `conjunction` of what may be no expression on one line: none then."""
    try:
        return tuple(simple_tests(condition) or conjunction(condition))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


@functools.lru_cache(maxsize=4096)
def is_operand(text: str) -> bool:
    """Return whether `text` is an expression on one line that can be joined to others with `and` as it is."""
    simple = _NEXT_TEST.fullmatch(text)  # the largest pattern: one for single tests would be compiled besides
    if simple is not None and simple.end(1) == len(text):
        return True
    try:
        return _binds_tightly(_parsed(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


@functools.lru_cache(maxsize=4096)
def is_primary(text: str) -> bool:
    """Return whether `text` is an expression on one line that an attribute can be taken from: `a.b`, `f(x)[0]`."""
    if _ONE_PATH.fullmatch(text) is not None:
        return True
    try:
        return isinstance(_parsed(f"{text}.x"), ast.Attribute)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _parsed(text: str) -> ast.expr:
    """Return the tree of an expression on one line; raise what `ast.parse` does for any other text."""
    if "\n" in text or ("#" in text and "#" in without_strings(text)):
        raise SyntaxError("not one line, or a comment")
    return ast.parse(text, mode="eval").body


_LOOSER = re.compile(r" or | if |lambda|:=|yield")  # what binds less tightly than `and`, or reads so
_SIZES = re.compile(r"\([0-9, ]*\)")  # a comma elsewhere may be one of a tuple without parentheses


def _is_loose(condition: str) -> bool:
    """Return whether something in `condition` may bind less tightly than `and`."""
    return _LOOSER.search(condition) is not None or ("," in condition and "," in _SIZES.sub("", condition))


def segment_of(lines: Sequence[str], node: ast.expr | ast.stmt) -> str:
    """Return the lines' part that `node` was parsed from: `ast.get_source_segment` splits the text each time."""
    if node.end_lineno is None or node.lineno == node.end_lineno:
        return segment(lines[node.lineno - 1], node)
    return ast.get_source_segment("\n".join(lines), node) or ""


def segment(text: str, node: ast.expr | ast.stmt) -> str:
    """Return the part of `text`, one line, that `node` was parsed from."""
    if text.isascii():
        return text[node.col_offset : node.end_col_offset]
    return text.encode()[node.col_offset : node.end_col_offset].decode()


def _binds_tightly(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        return isinstance(node.op, ast.And)
    return not isinstance(node, (ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Tuple))


def filled(pieces: Sequence[str], indent: str, first: bool) -> list[str]:
    """Return `pieces` joined by `and`, on as few lines as fit the width; `first`: no `and` before the first one."""
    lines: list[str] = []
    full = True  # whether the last line takes no more: an operand of many lines stands alone
    for number, piece in enumerate(pieces):
        text = piece if first and not number else "and " + piece
        if not full and len(lines[-1]) + 1 + len(text) <= WIDTH:
            lines[-1] += " " + text
        else:
            wrapped = broken(text, indent)
            full = len(wrapped) > 1
            lines += wrapped
    return lines


def bracketed(head: str, items: str, tail: str) -> list[str]:
    """Return `head(items)tail` on one line where it fits the width, else with the items on lines of their own."""
    whole = f"{head}({items}){tail}"
    if len(whole) <= WIDTH or not items:
        return [whole]
    indent = " " * (len(head) - len(head.lstrip(" ")))
    lines = [indent + "   "]
    for item in items.split(", "):  # names, at most with a star or a default
        if len(lines[-1]) + len(item) + 2 > WIDTH and lines[-1].strip():
            lines.append(indent + "   ")
        lines[-1] += f" {item},"
    lines[-1] = lines[-1][:-1]
    return [head + "(", *lines, indent + ")" + tail]


def broken(text: str, indent: str) -> list[str]:
    """Return `text`, which will stand inside brackets, broken before tokens where it is too wide."""
    lines = [indent + text]
    while len(lines[-1]) > WIDTH:
        line = lines[-1]
        starts = [start for start in _token_starts(line) if len(indent) + 8 < start <= WIDTH]
        starts = starts or [start for start in _step_starts(line) if len(indent) + 8 < start <= WIDTH]
        if not starts:
            break
        lines[-1:] = [line[: starts[-1]].rstrip(), indent + "    " + line[starts[-1] :]]
        if len(lines[-1]) >= len(line):
            break
    return lines


_STEP = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<=[\w\])])(?P<step>\.(?=[^\W\d])|\[)")
_STRING_OR_SPACE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?P<space>\s+)|['\"]")


def _step_starts(line: str) -> list[int]:
    """Columns at which an attribute or a subscript starts: inside brackets a line can be broken there, too."""
    return [found.start() for found in _STEP.finditer(line) if found["step"]]


def _token_starts(line: str) -> list[int]:
    """Columns at which a token starts after a space; none when a text constant in the line does not end."""
    starts = []
    for found in _STRING_OR_SPACE.finditer(line):
        if found["space"]:
            starts.append(found.end())
        elif len(found[0]) == 1:
            return []
    return starts
