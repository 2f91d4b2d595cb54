"""Blocks inside each other around a comprehension: where they are too many, CPython's compiler does not survive.

It accepts 20 statically nested blocks (CO_MAXBLOCKS in Python/compile.c), and refuses more with a SyntaxError. But
where the comprehension that is one too many is inlined, 3.12.1 and 3.13.0 crash instead: the state of the symbol table
is not put back. No compiler can have made such code, so there is no text of it to show.
"""

from __future__ import annotations

from typing import Iterator, List, Tuple

from depyf.decompiler import syntax as s

MOST_BLOCKS = 20

_INLINED = (s.ListComp, s.SetComp, s.DictComp)
_SCOPES = (s.FunctionDef, s.AsyncFunctionDef, s.ClassDef, s.Lambda, s.GeneratorExp)
_LOOPS = (s.For, s.AsyncFor, s.While)
_WITHS = (s.With, s.AsyncWith)
_TRIES = (s.Try, s.TryStar)


def nests_too_many_blocks(tree: s.Module, text: str) -> bool:
    """Return whether a comprehension is inside more blocks than the compiler survives; `text` is that of the tree."""
    if " for " not in text:
        return False  # there is no comprehension
    at_most = 1 + text.count(" for ") + 3 * text.count("try:") + text.count("while ")
    if "with " in text:
        at_most += text.count("with ") + text.count(",")
    if at_most <= MOST_BLOCKS:
        return False
    stack: List[Tuple[s.Node, int]] = [(tree, 0)]
    while stack:
        node, blocks = stack.pop()
        if isinstance(node, _INLINED) and blocks >= MOST_BLOCKS:
            return True
        stack.extend(_inner(node, blocks))
    return False


def _inner(node: s.Node, blocks: int) -> Iterator[Tuple[s.Node, int]]:
    """Yield the nodes directly below, each with the number of blocks around it."""
    if isinstance(node, _TRIES):
        final = bool(node.finalbody)
        inside = [(node.body, final + bool(node.handlers)), (node.orelse, final), (node.finalbody, 1)]
        for body, more in inside:
            yield from ((statement, blocks + more) for statement in body)
        yield from ((handler, blocks + final + 2) for handler in node.handlers)
        return
    if isinstance(node, _SCOPES):
        blocks = 0
    elif isinstance(node, (*_LOOPS, *_INLINED)):
        blocks += 1
    elif isinstance(node, _WITHS):
        blocks += len(node.items)
    for child in s.children(node):
        yield child, blocks
