"""Where graphs part that should be the same: the first input and the first operation that are not alike.

A captured graph is a module with one `forward`: its parameters, with their types, then a line for each operation:

    def forward(self, L_x_: "f32[4, 8][8, 1]cpu"):
        y: "f32[4, 8][8, 1]cpu" = L_x_.relu();  L_x_ = None

Two ranks that get inputs of other sizes have other types on every line; what they compute is compared without those.
A statement that the file has on several lines is read, and shown, as one.
"""

from __future__ import annotations

import re
from typing import Iterable, List, NamedTuple, Sequence, Tuple

_LONGEST = 200
_PARAMETER = re.compile(r'\b(?P<name>\w+): "(?P<type>[^"]*)"(?=\s*[,)])')
_OPERATION = re.compile(r'\s*(?P<name>\w+)(?:: "(?P<type>[^"]*)")? = (?P<value>.*?)(?:;  (?:\w+ = )+None)?$')
_PIECE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[()\[\]{}]")  # strings may hold brackets


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."


class _Step(NamedTuple):
    """An input or an operation: what it is called and computes, and the type of the result, where it is known."""

    name: str
    value: str
    type: str

    def __str__(self) -> str:
        typed = f"{self.name}: {self.type}" if self.type else self.name
        return _cut(f"{typed} = {self.value}" if self.value else typed)


def first_difference(graphs: Sequence[Sequence[str]]) -> List[str]:
    """Return for each graph, given as lines of code, where it differs from the others."""
    graphs = [_statements(graph) for graph in graphs]
    steps = [_read(graph) for graph in graphs]
    found = [
        _type_difference([inputs for inputs, _ in steps], "input "),
        _operation_difference([operations for _, operations in steps]),
    ]
    if not found[1]:
        found[1] = [] if found[0] else _type_difference([operations for _, operations in steps], "")
    if not any(found):
        found = [_raw(graphs)]
    return [", then ".join(part for part in parts if part) for parts in zip(*[texts for texts in found if texts])]


def _statements(lines: Sequence[str]) -> List[str]:
    """Return lines of code with each statement that is broken inside brackets, or after a backslash, on one line."""
    found: List[str] = []
    depth = 0
    is_continued = False
    for line in lines:
        if is_continued or depth > 0:
            found[-1] = _joined(found[-1], line.strip())
        else:
            found.append(line)
        brackets = [piece for piece in _PIECE.findall(line) if len(piece) == 1]
        depth = max(depth + sum(1 if one in "([{" else -1 for one in brackets), 0)
        is_continued = line.endswith("\\")
    return found


def _joined(start: str, rest: str) -> str:
    """Return what is on two lines as one line would have it: no space inside a bracket, no comma before it closes."""
    start = start.rstrip("\\").rstrip()
    if rest[:1] in (")", "]", "}"):
        is_pair = start.endswith(",") and rest[0] == ")" and "," not in start[start.rfind("(") + 1 : -1]
        return (start if is_pair else start.rstrip(",")) + rest
    return start + rest if start.endswith(("(", "[", "{")) else f"{start} {rest}"


def _read(graph: Sequence[str]) -> Tuple[List[_Step], List[_Step]]:
    """Return the inputs and the operations; what stands between `def forward` and its colon are inputs."""
    inputs: List[_Step] = []
    operations: List[_Step] = []
    in_signature = False
    for line in graph:
        in_signature = in_signature or line.lstrip().startswith("def ")
        if in_signature:
            inputs += [_Step(found["name"], "", found["type"]) for found in _PARAMETER.finditer(line)]
            in_signature = not line.endswith(":")
            continue
        found = _OPERATION.match(line)
        if found is not None:
            operations.append(_Step(found["name"], found["value"], found["type"] or ""))
        elif not line.lstrip().startswith("class "):
            operations.append(_Step("", line.strip(), ""))
    return inputs, operations


def _operation_difference(graphs: Sequence[Sequence[_Step]]) -> List[str]:
    """Return the first operation of each graph that computes something else; empty where all compute the same."""
    for place in range(max(map(len, graphs))):
        steps = [graph[place] if place < len(graph) else None for graph in graphs]
        if len({None if step is None else step[:2] for step in steps}) > 1:
            return ["(ends)" if step is None else str(step).lstrip(" =") for step in steps]
    return []


def _type_difference(graphs: Sequence[Sequence[_Step]], kind: str) -> List[str]:
    """Return the first step whose type is not the same in all graphs."""
    for steps in zip(*graphs):
        if len({step.name for step in steps}) == 1 and len({step.type for step in steps}) > 1:
            return [kind + str(step) for step in steps]
    return []


def _raw(graphs: Sequence[Sequence[str]]) -> List[str]:
    """Return the first line that is not the same in all graphs, as it is."""
    for lines in _side_by_side(graphs):
        if len(set(lines)) > 1:
            return list(map(_cut, lines))
    return [""] * len(graphs)


def _side_by_side(graphs: Sequence[Sequence[str]]) -> Iterable[List[str]]:
    for place in range(max(map(len, graphs))):
        yield [graph[place].strip() if place < len(graph) else "(ends)" for graph in graphs]
