"""Annotations that are computed when someone asks for them: 3.14, PEP 649.

A function or a class has a function of its own for them, `__annotate__`, which returns a dict. In a class body or a
module that function is made once for all annotated names. Where it depends on the way through the body which of them
count, each has a number, which the body adds to a set when it comes to the name:

    if a:                       if a:
        x: int = 1                  x = 1; __conditional_annotations__.add(0)
                                def __annotate__(format, /):
                                    annotations = {}
                                    if 0 in __conditional_annotations__: annotations['x'] = int
                                    return annotations
"""

from __future__ import annotations

import bisect
from types import CodeType
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

from depyf.decompiler import syntax as s
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.microops import Program

ANNOTATE = "__annotate__"
STORED_AS = frozenset({"__annotate__", "__annotate_func__"})  # by modules, by classes
MARKS = "__conditional_annotations__"


class Annotated(NamedTuple):
    """An annotated name of a class body or a module."""

    number: Optional[int]  # that it has if it may not count
    name: str
    annotation: s.Expression


class BodyAnnotations:
    """What is known of the annotations in a class body or a module."""

    __slots__ = ("are_marked", "are_set_up", "marked", "names")

    def __init__(self) -> None:
        self.are_set_up = False  # whether the body has any, though they may never be reached
        self.are_marked = False  # whether it makes a set for the numbers of those that count
        self.names: Optional[Sequence[Annotated]] = None  # the annotated ones, where that is deferred; None: not read
        self.marked: Set[int] = set()  # the numbers of those among them that have been written


def annotate_code(program: Program) -> Optional[CodeType]:
    """Return the code of the function that the body makes for its annotations."""
    for code, make, store in zip(program.ops, program.ops[1:], program.ops[2:]):
        if store.kind == "STORE_NAME" and store.arg in STORED_AS and make.kind == "MAKE_FUNCTION":
            if code.kind == "CONST" and isinstance(code.arg, CODE_TYPES) and code.arg.co_name == ANNOTATE:
                return code.arg
    return None


def annotated_in(body: Sequence[s.Statement]) -> List[Annotated]:
    """Return what a function for annotations adds to its dict."""
    found: List[Annotated] = []
    for statement in body:
        number: Optional[int] = None
        if isinstance(statement, s.If):
            number = _number_of(statement.test)
            statement = statement.body[0]
        if isinstance(statement, s.AnnAssign) and isinstance(statement.target, s.Name):
            found.append(Annotated(number, statement.target.id, statement.annotation))
    return found


def _number_of(test: s.Expression) -> Optional[int]:
    """Return the number that a test is about: `number in __conditional_annotations__`."""
    if isinstance(test, s.Compare) and isinstance(test.left, s.Constant) and test.ops == ["in"]:
        return int(test.left.value)
    return None


def assigned_name(statement: s.Statement) -> Optional[str]:
    """Return `x` for the statement `x = ...`."""
    if isinstance(statement, s.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], s.Name):
        return statement.targets[0].id
    return None


def with_annotations(body: List[s.Statement], annotations: BodyAnnotations) -> List[s.Statement]:
    """Return the statements of a body with the annotations of names that always count, and of names never reached.

    Each is written at the first assignment of its name, as far as that leaves them in order; else before what follows.
    """
    annotated = annotations.names or ()
    wanted = [one for one in annotated if one.number is None]
    places: Dict[str, int] = {}
    for index, statement in enumerate(body):
        places.setdefault(assigned_name(statement) or "", index)
    start = 1 if places.get("__doc__") == 0 else 0
    new = body[:start]
    for one, place in zip(wanted, _rising([places.get(one.name, -1) for one in wanted])):
        if place is None:
            new.append(s.AnnAssign(s.Name(one.name), one.annotation))
            continue
        new.extend(body[start:place])
        assignment = body[place]
        assert isinstance(assignment, s.Assign)
        new.append(s.AnnAssign(s.Name(one.name), one.annotation, assignment.value, origin=assignment.origin))
        start = place + 1
    new.extend(body[start:])
    for one in annotated:
        if one.number is not None and one.number not in annotations.marked:
            new.append(s.If(s.Constant(False), [s.AnnAssign(s.Name(one.name), one.annotation)]))
    return new


def _rising(places: Sequence[int]) -> List[Optional[int]]:
    """Return the longest selection of places that rises, None for those left out; -1 is no place.

    Patience sorting: `ends[n]` is the last of the selection of n + 1 places that ends lowest.
    """
    ends: List[int] = []
    lowest: List[int] = []  # their places
    before: List[int] = [-1] * len(places)
    for index, place in enumerate(places):
        if place >= 0:
            length = bisect.bisect_left(lowest, place)
            before[index] = ends[length - 1] if length else -1
            ends[length : length + 1], lowest[length : length + 1] = [index], [place]
    chosen: List[Optional[int]] = [None] * len(places)
    index = ends[-1] if ends else -1
    while index >= 0:
        chosen[index] = places[index]
        index = before[index]
    return chosen
