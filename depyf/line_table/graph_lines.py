"""Read the text of a graph at some stage: on which line each node is, and which line of the user's it stems from.

Torch prints the user's line as a comment above the nodes that stem from it (2.2 without the function):

    # File: model.py:13 in forward, code: z = torch.exp(-z * z)
    neg: "f32[4, 8]" = torch.ops.aten.neg.default(sin)
    mul_3: "f32[4, 8]" = torch.ops.aten.mul.Tensor(neg, sin)
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from depyf.record.records import Location
from depyf.text.line_breaks import joined_comments

_FILE = re.compile(r"# (?:.* )?File: (?P<file>.+?):(?P<line>\d+)(?: in (?P<function>.+?))?, code: ?(?P<code>.*)$")
_NO_STACK = "No stacktrace found for following nodes"
_GOES_ON = ("(", "[", "{", ",", "\\")
_CLASS = re.compile(r"(?P<indent> *)class (?P<name>\w+)\(")
_NODE = re.compile(r' +(?P<name>[A-Za-z_]\w*)(?:: "[^"]*"| ?: [^=]+?)? = (?P<value>.*)$')
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
    place: Optional[Location] = None
    has_comment = False  # inputs come before the first one
    is_open = False  # whether the line before goes on in this one
    indent_of_last: Optional[int] = None  # of the last node found, as long as its lines follow
    end = 0  # its last line so far, where it has several
    for number, line in joined_comments(text):
        stripped = line.lstrip()
        is_comment = stripped.startswith("#")
        if indent_of_last is not None:
            if _goes_on(stripped, len(line) - len(stripped), indent_of_last):
                end = number
            else:
                indent_of_last = None
                if end:
                    found[-1], end = found[-1]._replace(end=end), 0
        is_continued, is_open = is_open, not is_comment and stripped.endswith(_GOES_ON)
        if is_comment:
            comment = _FILE.search(line)
            if comment is not None:
                code, function = comment["code"].strip(), comment["function"] or ""
                place = Location(comment["file"], int(comment["line"]), function, code)
            elif _NO_STACK in line:
                place = None
            else:
                continue
            has_comment = True
        elif stripped.startswith("class "):
            opened = _CLASS.match(line)
            if opened is not None:
                indent = len(opened["indent"])
                classes = [*[one for one in classes if one[0] < indent], (indent, opened["name"])]
                has_comment = False
        elif has_comment and " = " in line and not is_continued and not stripped.startswith(")"):
            node = None if _RELEASED.match(line) else _NODE.match(line) or _CHANGED.match(line)
            if node is not None:
                prefix = "".join([f"{name}." for _, name in classes[1:]])
                operation = _OPERATION.search(line)
                name = operation["name"] if operation is not None else ""
                found.append(NodeLine(number, prefix + node["name"], place, name))
                indent_of_last = len(line) - len(stripped)
    if end:
        found[-1] = found[-1]._replace(end=end)
    return tuple(found)


def _goes_on(stripped: str, indent: int, indent_of_node: int) -> bool:
    """Return whether a line continues the node above it: it is deeper, or closes its brackets."""
    if not stripped or stripped.startswith("#"):
        return False
    return indent > indent_of_node or (indent == indent_of_node and stripped[0] in ")]}")
