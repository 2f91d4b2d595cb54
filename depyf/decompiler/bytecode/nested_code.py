"""A code object and those nested in it."""

from __future__ import annotations

from types import CodeType
from typing import Dict, Iterator, List, Optional

from depyf.decompiler.bytecode.code_objects import CODE_TYPES

DEEPEST = 60  # functions and classes inside each other: the parser accepts 100 levels of indentation
MOST_SHARED = 4  # how often, on average, an instruction may be met on a walk over the code objects inside
SHARED_AT_LEAST = 10_000


def is_part_of_statement(code: CodeType) -> bool:
    """Return whether code has no definition of its own in the source around it: an expression, annotations, a bound.

    Functions that compute annotations, bounds and type aliases have a parameter of their own in 3.14.
    """
    if code.co_name.startswith("<") or code.co_varnames[:1] == (".format",):
        return True
    return code.co_name == "__annotate__" and code.co_varnames[:1] == ("format",)


def with_nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all that are nested in it, each before those inside it, in the order of the source."""
    work = [code]
    while work:
        current = work.pop()
        yield current
        work.extend([const for const in reversed(current.co_consts) if isinstance(const, CODE_TYPES)])


def too_nested(code: CodeType) -> Optional[str]:
    """Return why the code objects inside are too many to be walked; None for what a compiler makes.

    They may refer to each other again and again: 40 objects, each twice in the next one, are 2 ** 40 functions.
    """
    if not inside(code):
        return None
    levels: List[List[CodeType]] = [[code]]
    while levels[-1]:
        if len(levels) > DEEPEST + 1:
            return f"functions are nested {DEEPEST + 1} deep"
        levels.append(list({id(inner): inner for one in levels[-1] for inner in inside(one)}.values()))
    met: Dict[int, int] = {}  # id of a code object -> the instructions that a walk over it meets
    for level in reversed(levels):
        for one in level:
            if id(one) not in met:
                met[id(one)] = len(one.co_code) // 2 + sum([met[id(inner)] for inner in inside(one)])
    if met[id(code)] > MOST_SHARED * size_of(code) + SHARED_AT_LEAST:
        return "functions inside each other share their code too often"
    return None


def size_of(code: CodeType) -> int:
    """Return how many instructions a code object and all distinct ones inside it have."""
    found = {id(code): code}
    work = [code]
    while work:
        new = [inner for inner in inside(work.pop()) if id(inner) not in found]
        found.update((id(inner), inner) for inner in new)
        work.extend(new)
    return sum([len(one.co_code) // 2 for one in found.values()])


def inside(code: CodeType) -> List[CodeType]:
    """Return the code objects right inside another."""
    return [const for const in code.co_consts if isinstance(const, CODE_TYPES)]
