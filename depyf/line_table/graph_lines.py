"""Read the text of a graph at some stage: on which line each node is, and which line of the user's it stems from.

Torch prints the user's line as a comment above the nodes that stem from it (2.2 without the function):

    # File: model.py:13 in forward, code: z = torch.exp(-z * z)
    neg: "f32[4, 8]" = torch.ops.aten.neg.default(sin)
    mul_3: "f32[4, 8]" = torch.ops.aten.mul.Tensor(neg, sin)
"""

from __future__ import annotations

import re
from typing import Dict, List, Match, NamedTuple, Optional, Tuple

from depyf.record.records import Location
from depyf.text.line_breaks import joined_comments

_FILE = re.compile(r"# (?:.* )?File: (?P<file>.+?):(?P<line>\d+)(?: in (?P<function>.+?))?, code: ?(?P<code>.*)$")
_NO_STACK = "No stacktrace found for following nodes"
_GOES_ON = ("(", "[", "{", ",", "\\")
_CLASS = re.compile(r"(?P<indent> *)class (?P<name>\w+)\(")
_NODE = re.compile(r' +(?P<name>[A-Za-z_]\w*)(?:: "[^"]*"| ?: [^=]+?)? = ')
# x += y;  iadd: "f32[4]" = x;  x = None
_CHANGED = re.compile(r' +[^;]*;  (?P<name>[A-Za-z_]\w*)(?:: "[^"]*"| ?: [^=]+?)? = [A-Za-z_]\w*\b')
_RELEASED = re.compile(r" +(?:\w+ = )+None$")  # values that are no longer needed, where they have a line of their own
_OPERATION = re.compile(r"torch\.ops\.\w+\.(?P<name>\w+)")


class NodeLine(NamedTuple):
    """A node in the text of a graph."""

    line: int  # of the text, from 1
    name: str  # of a graph inside the graph with its name before: "cond_true_0.add"
    place: Optional[Location]  # the user's line; None where torch has none
    operation: str = ""  # "mm" of torch.ops.aten.mm.default
    end: int = 0  # the last line, where it is broken into several


def read_graph(text: str) -> Tuple[NodeLine, ...]:
    """Return the nodes of a graph's text, without its inputs, in the order of the lines."""
    found: List[NodeLine] = []
    classes: List[Tuple[int, str]] = []
    prefix = ""  # of the names in a graph inside the graph
    place: Optional[Location] = None
    places: Dict[str, Optional[Location]] = {}  # comment -> the line that it names
    has_comment = False  # inputs come before the first one
    is_open = False  # whether the line before goes on in this one
    indent_of_last: Optional[int] = None  # of the last node found, as long as its lines follow
    end = 0  # its last line so far, where it has several
    for number, line in joined_comments(text):
        if not has_comment and indent_of_last is None and "#" not in line and "class " not in line:
            continue
        stripped = line.lstrip()
        is_comment = stripped.startswith("#")
        indent = len(line) - len(stripped)
        if indent_of_last is not None:
            if stripped and not is_comment and _goes_on(stripped, indent, indent_of_last):
                end = number
            else:
                indent_of_last = None
                if end:
                    found[-1], end = found[-1]._replace(end=end), 0
        is_continued, is_open = is_open, not is_comment and stripped.endswith(_GOES_ON)
        if is_comment:
            if stripped in places:
                place = places[stripped]
            elif " File: " in stripped or _NO_STACK in stripped:
                comment = _FILE.search(stripped)
                if comment is None and _NO_STACK not in stripped:
                    continue
                place = places[stripped] = None if comment is None else _place(comment)
            else:
                continue
            has_comment = True
        elif stripped.startswith("class "):
            opened = _CLASS.match(line)
            if opened is not None:
                classes = [*[one for one in classes if one[0] < indent], (indent, opened["name"])]
                prefix = "".join([f"{name}." for _, name in classes[1:]])
                has_comment = False
        elif has_comment and " = " in line and not is_continued and not stripped.startswith(")"):
            if stripped.endswith("None") and _RELEASED.match(line):
                continue
            node = _NODE.match(line) or _CHANGED.match(line)
            if node is not None:
                operation = _OPERATION.search(line) if "torch.ops." in line else None
                name = operation["name"] if operation is not None else ""
                found.append(NodeLine(number, prefix + node["name"], place, name))
                indent_of_last = indent
    if end:
        found[-1] = found[-1]._replace(end=end)
    return tuple(found)


def _place(comment: Match[str]) -> Location:
    file, line, function, code = comment.group("file", "line", "function", "code")
    return Location(file, int(line), function or "", code.strip())


def _goes_on(stripped: str, indent: int, indent_of_node: int) -> bool:
    """Return whether a line of code continues the node above it: it is deeper, or closes its brackets."""
    return indent > indent_of_node or (indent == indent_of_node and stripped[0] in ")]}")
