"""Break long lines of generated Python without changing the code that it compiles to.

    def forward(self, a: "f32[4]", ...):            def forward(
                                                        self,
                                                        a: "f32[4]",
                                                        ...
                                                    ):
    x = torch.add(long_name, other_name);  y = None    ->  the arguments on lines of their own
    very_long_name = Very_long_name                     very_long_name = \
                                                            Very_long_name

Lines are broken inside of brackets, after a comma, and else before a name at the end of an assignment, after a
backslash.  A tensor's type, which is a string, becomes several strings that Python reads as one.  A comment continues
with a `#` and five spaces, and ends in a backslash where a word of it is broken, as a long path is: `joined_comments`
undoes both.  A line of code with a name that is too long for the width stays too long, and a text with strings of
several lines as it is.
"""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple

LIMIT = 120
CONTINUED = "#     "
_PIECE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[()\[\]{}]|, |['\"#]")
_SPACE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?P<space> (?=[^ ]))")
_SEMICOLON = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?P<end>;  )")
_CONTINUED_CODE = re.compile(r"^(?! *#).*\\\n", re.MULTILINE)
_TYPE = re.compile(r' *(?:\w+: )?"[^"\\]*"')
_TARGET = re.compile(r"\w+(?:: \"[^\"]*\")?")
# The forms of most long lines of a graph: they need no search for the brackets.
_PLAIN = r"[^()\[\]{}'\"#\\;]*"
_CALL = re.compile(
    r'( *)(\w+(?:: "[^"\\;]*")? = [\w.]+\()'
    rf"(?! )({_PLAIN}(?:\([^()\[\]{{}}'\"#\\; ]*\){_PLAIN})*)(?<![ ,(])\)"  # no comma and space in brackets inside
    r"(?:;  (\w+(?: = \w+)*) = None)?$"
)
_DEFINITION = re.compile(r'( *)(def \w+\()(\w+), ((?:\w+: "[^"\\;]*"(?:, |(?=\))))+)\):$')


def has_long_line(text: str) -> bool:
    """Return whether a line is over the limit."""
    return max(map(len, text.split("\n"))) > LIMIT


def break_lines(text: str) -> str:
    """Return `text` with no line over the limit where that can be; it compiles to the same code."""
    return "\n".join(broken_lines(text))


def broken_lines(text: str) -> List[str]:
    """Return the lines of `text` as `break_lines` breaks them, each as one text."""
    if '"""' in text or "'''" in text or ("\\\n" in text and _CONTINUED_CODE.search(text)):
        return text.split("\n")
    return [line if len(line) <= LIMIT else _broken_line(line) for line in text.split("\n")]


def _broken_line(line: str) -> str:
    target, _, name = line.partition(" = ")
    body = target.lstrip(" ")
    if name.isidentifier() and (body.isidentifier() or _TARGET.fullmatch(body)):  # most lines of a captured graph
        return f"{target} = \\\n{target[: len(target) - len(body)]}    {name}"
    call = _CALL.match(line)
    if call is not None:
        return _broken_call(*call.groups()) or "\n".join(_broken(line))
    definition = _DEFINITION.match(line)
    if definition is not None:
        indent, head, first, others = definition.groups()
        margin = f"\n{indent}    "
        parameters = margin + f"{first}, {others},".replace('", ', f'",{margin}').replace(", ", f",{margin}", 1)
        if not has_long_line(parameters):
            return f"{indent}{head}{parameters}\n{indent}):"
    return "\n".join(_broken(line))


def _broken_call(indent: str, head: str, arguments: str, released: str | None) -> str | None:
    """Break a call between its arguments; None where one of them is too long, or what is before them."""
    margin = f"\n{indent}    "
    width = LIMIT + 1 - len(margin)
    found = indent + head
    if len(found) > LIMIT or "  " in arguments:
        return None
    while len(arguments) > width:
        end = arguments.rfind(", ", 0, width + 1) + 1
        if not end:
            return None
        found += margin + arguments[:end]
        arguments = arguments[end + 1 :]
    found += f"{margin}{arguments}\n{indent})"
    if released is None:
        return found
    if len(indent) + len(");  ") + len(released) + len(" = None") <= LIMIT:
        return f"{found};  {released} = None"
    first, *others = _chain(f"{released} = None", indent)
    fits = len(first) + len(");  ") <= LIMIT
    return "\n".join([f"{found};  {first.lstrip(' ')}" if fits else f"{found}\n{first}", *others])


def _broken(line: str) -> List[str]:
    body = line.lstrip(" ")
    indent = line[: len(line) - len(body)]
    if body.startswith("#"):
        return _broken_comment(body, indent)
    semicolon = _end_of_statement(body)
    head, rest = (body[:semicolon], body[semicolon + 3 :]) if semicolon else (body, "")
    lines = _statement(head, indent) or [indent + head]
    lines = [*_at_spaces(lines[0], indent), *lines[1:]]
    if not semicolon:
        return lines
    if len(lines[-1]) + 3 + len(rest) <= LIMIT:
        return [*lines[:-1], f"{lines[-1]};  {rest}"]
    first, *others = _chain(rest, indent)
    if len(lines[-1]) + 3 + len(first.lstrip(" ")) <= LIMIT:
        return [*lines[:-1], f"{lines[-1]};  {first.lstrip(' ')}", *others]
    return [*lines, first, *others]


def _end_of_statement(body: str) -> int:
    """Return where the first statement of several ends; 0 where there is one."""
    end = max(body.find(";  "), 0)
    if "'" not in body[:end] and body.count('"', 0, end) in (0, 2):
        return end  # not in a string: before it there is an annotation at most
    return next((found.start() for found in _SEMICOLON.finditer(body) if found["end"]), 0)


def _at_spaces(line: str, indent: str) -> List[str]:
    """Break a line that is still too long after an equals sign or another operator, by a backslash."""
    lines = [line]
    while len(lines[-1]) > LIMIT:
        body = lines[-1]
        starts = [found.end() for found in _SPACE.finditer(body) if found["space"]]
        starts = [start for start in starts if len(indent) + 8 < start <= LIMIT - 1]
        if not starts:
            lines[-1:] = _in_first_string(body, f"{indent}    ")
            break
        after_equals = [start for start in starts if body[:start].endswith(" = ")]
        start = after_equals[0] if after_equals else starts[-1]
        lines[-1:] = [body[:start].rstrip() + " \\", f"{indent}    {body[start:]}"]
        if len(lines[-1]) >= len(body):
            break
    return lines


def _in_first_string(line: str, indent: str) -> List[str]:
    """Break a line that is too long in the string that it begins with, such as the type of a tensor: parts are one."""
    lines = [line]
    found = _TYPE.match(line)
    while found is not None and len(lines[-1]) > LIMIT:
        part = lines[-1]
        end = part.index('"', part.index('"') + 1)
        limit = min(end, LIMIT - 3)
        space = max(part.rfind(", ", len(indent) + 40, limit) + 1, 0) or part.rfind(" ", len(indent) + 8, limit)
        if space < 0:
            break
        lines[-1:] = [part[: space + 1] + '" \\', f'{indent}"{part[space + 1 :]}']
    return lines


def _chain(text: str, indent: str) -> List[str]:
    """Break `a = b = None` before names."""
    names = text.split(" = ")
    lines = [indent + names[0]]
    for name in names[1:]:
        if len(lines[-1]) + len(" = ") + len(name) + len(" = \\") <= LIMIT:
            lines[-1] += " = " + name
        else:
            lines[-1] += " = \\"
            lines.append(f"{indent}    {name}")
    return lines


def _statement(text: str, indent: str) -> List[str]:
    """Break a statement inside of its last brackets; none where it has no such brackets."""
    opening, closing, commas = _outermost(text)
    if opening is None:
        return []
    inside, end = text[opening + 1 : closing], text[closing:]
    items = [item for item in _split(inside, opening + 1, commas) if item]
    is_definition = text.startswith("def ")
    lines: List[str] = []
    for number, item in enumerate(items):
        is_last = number + 1 == len(items)
        shown = item + ("" if is_last and not is_definition else ",")
        fits = lines and len(lines[-1]) + 1 + len(shown) <= LIMIT
        if fits and not is_definition and not lines[-1].startswith(f"{indent}    )"):
            lines[-1] += " " + shown
        elif len(indent) + 4 + len(shown) > LIMIT:
            lines += _item(shown, indent + "    ", is_definition)
        else:
            lines.append(f"{indent}    {shown}")
    return [indent + text[: opening + 1], *lines, indent + end]


def _item(text: str, indent: str, is_parameter: bool) -> List[str]:
    """Break an item that is too long for a line of its own."""
    name, colon, annotation = text.partition(": ")
    if is_parameter and colon:
        return [f"{indent}{name}:", *_in_first_string(f"{indent}    {annotation}", f"{indent}    ")]
    return _statement(text, indent) or [indent + text]


def _outermost(text: str) -> Tuple[int | None, int, List[int]]:
    """Return where the last outermost brackets that hold something open and close, and the commas inside of them."""
    found: Tuple[int | None, int, List[int]] = (None, 0, [])
    depth, start, commas = 0, 0, []  # type: int, int, List[int]
    for piece in _PIECE.finditer(text):
        sign = piece[0]
        if sign in "([{":
            if depth == 0:
                start, commas = piece.start(), []
            depth += 1
        elif sign in ")]}":
            depth -= 1
            if depth == 0 and piece.start() > start + 1 and (found[0] is None or piece.start() - start > 20):
                found = (start, piece.start(), commas)
        elif sign == ", " and depth == 1:
            commas.append(piece.start())
        elif sign in "'\"#":
            return None, 0, []  # a string that does not end, or a comment: not what this was made for
    return found


def _split(text: str, start: int, commas: List[int]) -> Iterator[str]:
    position = 0
    for comma in commas:
        yield text[position : comma - start].strip()
        position = comma - start + 1
    yield text[position:].strip().rstrip(",")


# ---------------------------------------------------------------- comments


def _broken_comment(body: str, indent: str) -> List[str]:
    lines = [indent + body]
    while len(lines[-1]) > LIMIT:
        line = lines[-1]
        margin = len(indent) + (len(CONTINUED) if line.startswith(CONTINUED, len(indent)) else 2)
        space = line.rfind(" ", margin + 1, LIMIT + 1)
        while space > 0 and line[space - 1] == "\\":  # would be read as the mark of a broken word
            space = line.rfind(" ", margin + 1, space)
        if space > 0:
            lines[-1:] = [line[:space], indent + CONTINUED + line[space + 1 :]]
        else:
            slash = line.rfind("/", margin + 1, LIMIT - 1) + 1 or LIMIT - 1
            lines[-1:] = [line[:slash] + "\\", indent + CONTINUED + line[slash:]]
    return lines


def joined_comments(text: str) -> Iterator[Tuple[int, str]]:
    """Yield the lines of a text with their numbers, each comment that `break_lines` broke as one line."""
    if CONTINUED not in text:
        yield from enumerate(text.split("\n"), 1)
        return
    waiting: Tuple[int, str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        body = line.lstrip(" ")
        if waiting is not None and body.startswith(CONTINUED):
            start, rest = waiting[1], body[len(CONTINUED) :]
            waiting = (waiting[0], start[:-1] + rest if start.endswith("\\") else f"{start} {rest}")
            continue
        if waiting is not None:
            yield waiting
        waiting = (number, line) if body.startswith("#") else None
        if waiting is None:
            yield number, line
    if waiting is not None:
        yield waiting
