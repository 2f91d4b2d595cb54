"""The layout of a code object: where its jumps and its exception table lead, as indices of instructions."""

from __future__ import annotations

from types import CodeType
from typing import Dict, FrozenSet, List, NoReturn, Optional, Sequence, Set

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.python_facts import PythonFacts
from depyf.decompiler.decode.instructions import ExceptionRange, Instructions, Raw, jump_target
from depyf.decompiler.decode.open_blocks import SETUPS, Blocks, open_blocks

_CONDITIONS = ("TRUE", "FALSE", "NONE", "NOT_NONE")
FORWARD: FrozenSet[str] = frozenset({
    "JUMP_ABSOLUTE", "JUMP_IF_NOT_EXC_MATCH", "JUMP_IF_SWALLOWED",
    "JUMP_FORWARD", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP", "FOR_ITER", "SEND",
    *(f"POP_JUMP_IF_{condition}" for condition in _CONDITIONS),
    *(f"POP_JUMP_FORWARD_IF_{condition}" for condition in _CONDITIONS),
})  # fmt: skip
BACKWARD: FrozenSet[str] = frozenset({
    "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", *(f"POP_JUMP_BACKWARD_IF_{condition}" for condition in _CONDITIONS)
})  # fmt: skip
JUMPS: FrozenSet[str] = FORWARD | BACKWARD


ENDS: FrozenSet[str] = frozenset({
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE",
})  # fmt: skip
CONTROL: FrozenSet[str] = ENDS | JUMPS


class Handler:
    """One entry of the exception table: where an exception continues, and what it finds on the stack."""

    __slots__ = ("depth", "lasti", "target")

    def __init__(self, target: int, depth: int, lasti: bool) -> None:
        self.target = target  # index of an instruction
        self.depth = depth
        self.lasti = lasti


class Layout:
    """The instructions of a code object and how control moves between them. Raises Malformed."""

    __slots__ = (
        "blocks", "borders", "code", "facts", "handlers", "instructions", "landings", "levels", "lows", "targets"
    )  # fmt: skip

    def __init__(
        self, code: CodeType, instructions: Instructions, ranges: Sequence[ExceptionRange], facts: PythonFacts
    ) -> None:
        self.code = code
        self.facts = facts
        self.instructions = instructions
        self.targets: Dict[int, int] = {}  # index of a jump -> index that it leads to
        self.landings: Set[int] = set()  # indices that jumps and exceptions lead to
        self.borders: Set[int] = set()  # the landings, and where another handler is in charge
        self.handlers: List[Optional[Handler]] = []  # the handler of each instruction; empty without a table
        self.blocks: List[Optional[Blocks]] = []  # open before each instruction; empty where there is a table
        self.levels: Dict[int, int] = {}  # index of an instruction that opens a block -> depth of the stack then
        self.lows: Dict[int, int] = {}  # the same index -> the lowest depth inside the block, where that is lower
        stacked = facts.blocks_are_stacked
        opens = JUMPS.union(SETUPS) if stacked else JUMPS
        jumps = [index for index, fields in enumerate(instructions.plain) if fields[2] in opens]
        if not jumps and not ranges:
            return
        starts = {fields[1]: index for index, fields in enumerate(instructions.plain)}
        self._read_jumps(jumps, starts)
        if stacked:
            self._follow_blocks()
        if ranges:
            self._read_table(ranges, starts)
        self.borders |= self.landings

    def _read_jumps(self, jumps: Sequence[int], starts: Dict[int, int]) -> None:
        instructions = self.instructions
        for index in jumps:
            raw = instructions[index]
            place = jump_target(raw, self.facts)
            target = starts.get(place)
            if target is None:
                fail(raw, f"jumps to {place}, where no instruction begins")
            if raw.opname == "FOR_ITER":
                target = self._after_loop(raw, target)
            self.targets[index] = target
            self.landings.add(target)

    def _after_loop(self, raw: Raw, target: int) -> int:
        """Return where FOR_ITER continues: since 3.12 it skips the instructions that clean up after generators."""
        skipped = self.facts.loop_ends
        found = [other.opname for other in self.instructions[target : target + len(skipped) + 1]]
        if tuple(found[: len(skipped)]) != skipped or len(found) <= len(skipped):
            fail(raw, f"leads to no {' and '.join(skipped) or 'instruction'}")
        return target + len(skipped)

    def _read_table(self, ranges: Sequence[ExceptionRange], starts: Dict[int, int]) -> None:
        size = len(self.instructions)
        starts[self.instructions[-1].after] = size
        self.handlers = [None] * size
        before = 0
        for entry in ranges:
            first, end, target = starts.get(entry.start), starts.get(entry.end), starts.get(entry.target)
            if first is None or end is None or target is None or target == size:
                raise Malformed(f"the exception table entry {tuple(entry)} does not lie at instructions")
            if first < before or end <= first:
                raise Malformed(f"the exception table entry {tuple(entry)} is empty or out of order")
            before = end
            self.handlers[first:end] = [Handler(target, entry.depth, entry.lasti)] * (end - first)
            self.landings.add(target)
            self.borders.add(first)
            self.borders.add(end)

    def _follow_blocks(self) -> None:
        if not any(raw.opname in SETUPS for raw in self.instructions):
            return
        self.blocks = open_blocks(self.instructions, self.targets, ENDS)
        for index, (before, blocks) in enumerate(zip(self.blocks, self.blocks[1:]), 1):
            if blocks is not None and blocks != before:
                self.borders.add(index)

    def set_level(self, index: int, depth: int) -> None:
        """Record how deep the stack is where the instruction at `index` opens a block."""
        self.levels[index] = depth

    def level_at(self, index: int) -> int:
        """Return the depth of the stack where the innermost block was opened; -1 without one."""
        blocks = self.blocks[index] if self.blocks else None
        return self.levels[blocks[-1].setup] if blocks else -1

    def may_sink(self, setup: int) -> bool:
        """Return whether what is inside a block may take values from below it: Dynamo makes such code.

        The interpreter cuts the stack down to the level of a block, never up: the handler finds what is left. A `with`
        has its exit method there.
        """
        return self.instructions[setup].opname == "SETUP_FINALLY"

    def sink(self, setup: int, depth: int) -> None:
        """Record that the stack is as low as `depth` inside the block that the instruction at `setup` opens."""
        self.lows[setup] = min(depth, self.lows.get(setup, depth))

    def handler_at(self, index: int) -> Optional[Handler]:
        """Return the handler of an instruction."""
        return self.handlers[index] if self.handlers else None

    def unpacked(self) -> int:
        """Return how many values all instructions make that unpack: a compiler has one that takes each of them."""
        plain = sum([raw.arg for raw in self.instructions if raw.opname == "UNPACK_SEQUENCE"])
        return plain + sum([(raw.arg & 255) + (raw.arg >> 8) for raw in self.instructions if raw.opname == "UNPACK_EX"])

    def ends(self, index: int) -> bool:
        """Return whether control does not continue with the next instruction."""
        return self.opname(index) in ENDS

    def opname(self, index: int) -> str:
        """Return the name of the instruction at an index; empty outside of the code."""
        return self.instructions.plain[index][2] if 0 <= index < len(self.instructions) else ""


def fail(raw: Raw, what: str) -> NoReturn:
    """Raise Malformed about one instruction."""
    raise Malformed(f"{raw.opname} at {raw.offset} {what}")
