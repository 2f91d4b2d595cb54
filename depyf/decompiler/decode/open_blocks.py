"""Open blocks (3.7 to 3.10): which blocks are on the frame's block stack before each instruction.

A part of the layout that the verifier works on; it follows control alone, and not the stack of values. Written from
Python/ceval.c of 3.9 and 3.10.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.decode.instructions import Raw

SETUPS = frozenset({"SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH"})
MOST_OPEN = 20  # CO_MAXBLOCKS: one more is a fatal error of the interpreter


class OpenBlock(NamedTuple):
    """A block: of the instruction at index `setup`, or the one that stays open in its handler until POP_EXCEPT."""

    setup: int
    is_handler: bool


Blocks = Tuple[OpenBlock, ...]


def open_blocks(
    instructions: Sequence[Raw], targets: Mapping[int, int], ends: FrozenSet[str]
) -> List[Optional[Blocks]]:
    """Return the blocks before each instruction, the innermost last; None where control never comes.

    Raises Malformed where that depends on the path, or where a block is missing.
    """
    found: List[Optional[Blocks]] = [None] * len(instructions)
    work: List[Tuple[int, Blocks]] = [(0, ())]
    known: Dict[Blocks, Optional[Tuple[int, Blocks]]] = {}
    while work:
        index, blocks = work.pop()
        while True:
            if index >= len(instructions):
                raise Malformed("control runs off the end of the code")
            raw = instructions[index]
            if found[index] is not None:
                if found[index] != blocks:
                    raise Malformed(f"{raw.opname} at {raw.offset} is reached with different blocks open")
                break
            found[index] = blocks
            if blocks and blocks not in known:
                known[blocks] = entry = _handler_entry(blocks, targets)
                if entry is not None:
                    work.append(entry)
            after = _after(raw, index, blocks)
            if index in targets and raw.opname not in SETUPS:
                work.append((targets[index], after))
            if raw.opname in ends:
                break
            index, blocks = index + 1, after
    return found


def _handler_entry(blocks: Blocks, targets: Mapping[int, int]) -> Optional[Tuple[int, Blocks]]:
    """Return where an exception continues, and with which blocks; None if it leaves the frame."""
    for place in range(len(blocks) - 1, -1, -1):
        if not blocks[place].is_handler:
            return targets[blocks[place].setup], (*blocks[:place], OpenBlock(blocks[place].setup, True))
    return None


def _after(raw: Raw, index: int, blocks: Blocks) -> Blocks:
    opname = raw.opname
    if opname in SETUPS:
        if len(blocks) >= MOST_OPEN:
            raise Malformed(f"more than {MOST_OPEN} blocks are open at {raw.offset}")
        return (*blocks, OpenBlock(index, False))
    if opname in ("POP_BLOCK", "POP_EXCEPT", "END_ASYNC_FOR", "WITH_SWALLOWED"):
        if not blocks or blocks[-1].is_handler is not (opname != "POP_BLOCK"):
            raise Malformed(f"{opname} at {raw.offset} does not find its block")
        return blocks[:-1]
    if opname == "RETURN_VALUE" and blocks:
        raise Malformed(f"{opname} at {raw.offset} leaves blocks open")
    return blocks
