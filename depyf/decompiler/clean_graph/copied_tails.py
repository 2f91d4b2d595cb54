"""Undo the copies that the compiler makes of short ends and of the tests of loops.

A jump to a block of a few instructions that returns or raises is replaced by a copy of that block; the test of
a `while` loop is written before the loop and again at its end. Copies have the source positions of the one
expression or statement that they come from, to the column: that distinguishes them from code that was written twice.
Where there are no columns (before 3.11), what is written twice in one line is taken for copies.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, Hashable, List, Optional, Tuple

from depyf.decompiler.analysis.program_answers import answered_once
from depyf.decompiler.bytecode.constant_equality import constant_key, same_op
from depyf.decompiler.bytecode.location_table import positions_of
from depyf.decompiler.bytecode.microops import STORES, Op, Program, depth_needed, stack_effect
from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.flow.graph import Block, Branch, End, Graph, Jump, Simple, thread_jumps
from depyf.decompiler.flow.stack_depths import depth_after, find_depths

Key = Tuple[Hashable, ...]
# Two of them may be one instruction, with the columns of the first, in one copy and not in the other.
HALVES = frozenset({"LOAD_LOCAL", "STORE_LOCAL"})
CLEANS = frozenset({"POP", "POP_EXCEPT"})
MOST_STEPS = 8  # of what is popped one by one
MOST_LINES = 20  # of an expression whose copies are searched for by line


@answered_once
def _positions(program: Program) -> List[Any]:
    return positions_of(program.code)


def merge_copied_tails(graph: Graph) -> None:
    """Lead the blocks that end with copies of the same code to a single block with that code."""
    # Those of statements begin with an op that no other block has: they are never a copy as a whole.
    entries = graph.handler_entries().values()
    handlers = {block for block in entries if not block.ops or block.ops[0].kind != "PUSH_EXC_INFO"}
    _merge_reraises(graph)
    _merge_ends_of_operators(graph)
    candidates = [block for block in graph.blocks if block not in handlers]
    positions: Optional[List[Any]] = None
    merged_any = False
    while len(candidates) > 1:
        if positions is None:
            positions = _positions(graph.program)
        merged = [_merge(graph, blocks, positions) for blocks in _groups(graph, candidates, positions)]
        ends = [end for end in merged if end is not None]
        merged_any = merged_any or bool(ends)
        # Only what leads to the ends found now can have become equal.
        candidates = list(dict.fromkeys(pred for end in ends for pred in end.preds if pred not in handlers))
    if merged_any:
        thread_jumps(graph)


def _merge_reraises(graph: Graph) -> None:
    """Make one block of the copies of the end of a `finally` body: they have no place in the source in common,
    only the handler that restores the exception state, which each body has of its own."""
    groups: Dict[int, List[Block]] = {}
    for block in graph.blocks:
        if isinstance(block.term, End) and block.ops and block.ops[-1].kind == "RERAISE" and block.ops[-1].arg == 0:
            groups.setdefault(block.ops[-1].handler, []).append(block)
    for blocks in groups.values():
        if len(blocks) > 1:
            _lead_to_one_end(graph, blocks, 1)


def _merge_ends_of_operators(graph: Graph) -> None:
    """Make one block of the copies of the end of a function, or of a loop's body, whose last statement is `x or y`.

    The copy that drops x has the place of the whole expression, the one that drops y that of y.
    """
    drops = [block for block in graph.blocks if _drops_kept(block)]
    if not drops:
        return
    positions = _positions(graph.program)
    if facts_for(graph.program.version).line_tables_have_columns:
        drops = [block for block in drops if positions[block.ops[0].offset // 2][2] is not None]
    find_depths(graph)
    ends = _Ends(graph, positions)
    for block in drops:
        if not _drops_kept(block):
            continue  # another has become the one end
        size = len(block.ops)
        around = positions[block.ops[0].offset // 2]
        copies = [
            other
            for other in ends.near(size, around)
            if _is_inside(positions[other.ops[-size].offset // 2], around)
            and all(map(_same_end, other.ops[-size:], block.ops))
            and _ends_alike(other, block)
        ]
        if len(copies) > 1:
            _lead_to_one_end(graph, copies, size)
            ends = _Ends(graph, positions, ends.blocks)


class _Ends:
    """The blocks that end the function or jump, by the line of one of their last ops."""

    def __init__(self, graph: Graph, positions: List[Any], among: Optional[List[Block]] = None) -> None:
        among = graph.blocks if among is None else among
        graph.program.budget.charge(len(among) // 8)
        self.graph = graph
        self.blocks = [block for block in among if block.ops and _is_end(block)]
        self.positions = positions
        self.by_line: Dict[int, Dict[Any, List[Block]]] = {}  # number of ops at the end -> line of the first of them

    def near(self, size: int, around: Tuple[Optional[int], ...]) -> List[Block]:
        """Return the blocks whose last `size` ops begin in the lines of a place in the source, and perhaps others."""
        first, last = around[:2]
        if first is None or last is None or not first <= last < first + MOST_LINES:
            self.graph.program.budget.charge(len(self.blocks) // 8)
            return [block for block in self.blocks if len(block.ops) >= size]
        if size not in self.by_line:
            self.graph.program.budget.charge(len(self.blocks) // 8)
            found: Dict[Any, List[Block]] = {}
            for block in self.blocks:
                if len(block.ops) >= size:
                    found.setdefault(self.positions[block.ops[-size].offset // 2][0], []).append(block)
            self.by_line[size] = found
        lines = [self.by_line[size].get(line, ()) for line in range(first, last + 1)]
        if len(lines) > 1:
            self.graph.program.budget.charge(len(self.blocks) // 8)
            near = {block for blocks in lines for block in blocks}
            return [block for block in self.blocks if block in near]
        self.graph.program.budget.charge(len(lines[0]) // 8)
        return list(lines[0])


def _is_end(block: Block) -> bool:
    """Return whether a block ends the function, or continues at one place: at an end under no handler, or in a loop."""
    return isinstance(block.term, (End, Jump))


def _ends_alike(one: Block, other: Block) -> bool:
    """Return whether two blocks end alike, or lead to the same end or to copies of one."""
    if isinstance(one.term, Jump) and isinstance(other.term, Jump):
        one, other = one.term.target, other.term.target
        if one is other:
            return True
        both_end = isinstance(one.term, End) and isinstance(other.term, End) and len(one.ops) == len(other.ops)
        return both_end and all(map(_same_end, one.ops, other.ops))
    return isinstance(one.term, End) and isinstance(other.term, End)


def _drops_kept(block: Block) -> bool:
    """Return whether a block begins by dropping a value that `and` or `or` tested and kept."""
    if not _is_end(block) or not block.preds or not block.ops or block.ops[0].kind != "POP":
        return False
    return all(isinstance(pred.term, Branch) and _keeps_top(pred.ops) for pred in block.preds)


def _keeps_top(ops: List[Op]) -> bool:
    """Return whether the ops before a branch copy the value that it tests."""
    size = len(ops) - (ops[-1:] != [] and ops[-1].kind == "TO_BOOL")
    return size > 0 and ops[size - 1].kind == "COPY" and ops[size - 1].arg == 1


def _is_inside(position: Tuple[Optional[int], ...], around: Tuple[Optional[int], ...]) -> bool:
    """Return whether one place in the source lies in another; not if only one has columns."""
    line, end_line, column, end_column = position
    first, last, start, end = around
    if line is None or end_line is None or first is None or last is None:
        return False
    if column is None or end_column is None or start is None or end is None:
        return (column, start) == (None, None) and first <= line <= end_line <= last
    return (first, start) <= (line, column) and (end_line, end_column) <= (last, end)


def _same_end(one: Op, other: Op) -> bool:
    return one.handler == other.handler and same_op(one, other)


def _groups(graph: Graph, candidates: List[Block], positions: List[Any]) -> List[List[Block]]:
    """Group blocks that end in the same op of the source and continue at the same places, with as much on the stack.

    (`finally: raise x` is copied as it is below a value that was about to be returned.)
    """
    keys: List[Tuple[Block, Key]] = []
    place = 2 if facts_for(graph.program.version).line_tables_have_columns else 0
    for block in candidates:
        if block.ops and positions[block.ops[-1].offset // 2][place] is not None:
            onward = _onward(block)
            if onward is not None:
                keys.append((block, (onward, _key(block.ops[-1], positions))))
    counts = Counter([key for _, key in keys])
    if len(counts) == len(keys):
        return []  # no two of them end alike: the usual case, in which depths need not be found
    find_depths(graph)
    groups: Dict[Key, List[Block]] = {}
    for block, key in keys:
        if counts[key] > 1:
            groups.setdefault((key, depth_after(block.depth, block.ops)), []).append(block)
    return [blocks for blocks in groups.values() if len(blocks) > 1]


def _onward(block: Block) -> Optional[Key]:
    """Return where a block continues, as far as copies share it."""
    term = block.term
    if isinstance(term, End):
        return ("end",) if block.ops[-1].kind in ("RETURN", "RAISE") else None
    if isinstance(term, Jump):
        return "jump", id(term.target)
    if isinstance(term, Branch) and isinstance(term.test, Simple):
        return "branch", term.test.kind, term.test.negate, _place(term.true), _place(term.false)
    return None


def _place(block: Block) -> Key:
    """Return what two blocks share that continue alike.

    They are the same block, or copies of an end that does nothing but pop and return. The return at the
    end of a function may have a place in the source in one copy, and none in another.
    """
    popped: List[str] = []
    for _ in range(MOST_STEPS):
        if not isinstance(block.term, Jump) or not all(op.kind in CLEANS for op in block.ops):
            break
        popped += [op.kind for op in block.ops]
        block = block.term.target
    size = next((place for place, op in enumerate(block.ops) if op.kind not in CLEANS), len(block.ops))
    popped += [op.kind for op in block.ops[:size]]
    block.budget.charge(1 + len(popped) // 8)
    kinds = [op.kind for op in block.ops[size : size + 3]]
    if kinds == ["CONST", "RETURN"] and block.ops[-2].arg is None and isinstance(block.term, End):
        return *popped, "returns"
    return *popped, id(block)


def _key(op: Op, positions: List[Any], to_the_column: bool = True) -> Key:
    """Return what two copies of an op share."""
    constant = op.kind == "CONST"
    position = positions[op.offset // 2]
    if not to_the_column and op.kind in HALVES:
        position = position[0]
    return op.kind, constant_key(op.arg) if constant else op.arg, op.handler, position


def _merge(graph: Graph, blocks: List[Block], positions: List[Any]) -> Optional[Block]:
    """Make what the blocks have in common at their ends one block, and return that; None if nothing fits."""
    size = _common(blocks, positions)
    if size == 1 and _return_alike(blocks, positions):
        return _lead_to_one_end(graph, blocks, size)
    if not isinstance(blocks[0].term, Jump) or any(len(block.ops) != size for block in blocks):
        size = _fitting(blocks, size)
        if not size:
            return None
    return _lead_to_one_end(graph, blocks, size)


def _return_alike(blocks: List[Block], positions: List[Any]) -> bool:
    """Return whether the blocks only return what a block before each computes, and that is copied as well.

    `try: return x` ends under the handler of the `try`, but for the return itself.
    """
    before: List[Block] = []
    for block in blocks:
        pred = block.preds[0] if len(block.preds) == 1 else block
        if not _only_returns(block) or not isinstance(pred.term, Jump) or not pred.ops:
            return False
        before.append(pred)
    if len({_key(pred.ops[-1], positions) for pred in before}) > 1:
        return False
    return _part(before[0].ops[-_common(before, positions) :], 1) > 0


def _only_returns(block: Block) -> bool:
    return len(block.ops) == 1 and block.ops[0].kind == "RETURN"


def _part(ops: List[Op], left: int) -> int:
    """Return how many ops at the end use nothing from before and leave so many values: as many as possible, 0 if none
    do."""
    return next((len(ops) - start for start, found in enumerate(_left_alone(ops)) if found == left), 0)


def _lead_to_one_end(graph: Graph, blocks: List[Block], size: int) -> Block:
    """Make the last `size` ops of the blocks, and where they lead, one block."""
    whole = [block for block in blocks if len(block.ops) == size]
    if whole:
        end = whole[0]
    else:
        tail = blocks[0].ops[-size:]
        depth = depth_after(blocks[0].depth, blocks[0].ops[:-size])
        end = graph.new_block(tail[0].offset, tail[0].handler, graph.lines.get(tail[0].offset, -1))
        end.ops = tail
        end.depth = depth
        end.set_term(_same_term(blocks[0]))
    for block in blocks:
        if block is not end:
            del block.ops[-size:]
            block.set_term(Jump(end))
            if not block.ops:
                for pred in list(block.preds):
                    pred.retarget(block, end)
    return end


def _same_term(block: Block) -> Any:
    term = block.term
    if isinstance(term, Branch) and isinstance(term.test, Simple):
        return Branch(Simple(term.test.kind, term.test.negate, term.test.is_inner), term.true, term.false)
    return Jump(term.target) if isinstance(term, Jump) else End()


def _common(blocks: List[Block], positions: List[Any]) -> int:
    """Return how many ops at their ends the blocks have in common."""
    size = 1
    longest = min(len(block.ops) for block in blocks)
    while size < longest:
        first = _key(blocks[0].ops[-1 - size], positions, to_the_column=False)
        if any(_key(block.ops[-1 - size], positions, to_the_column=False) != first for block in blocks[1:]):
            break
        size += 1
    while size > 1 and any(_splits_walrus(block.ops, len(block.ops) - size) for block in blocks):
        size -= 1
    return size


def _splits_walrus(ops: List[Op], position: int) -> bool:
    """Return whether the op here stores the copy that the op before it makes: the two are one expression."""
    return position > 0 and ops[position].kind in STORES and ops[position - 1].kind == "COPY"


def _fitting(blocks: List[Block], size: int) -> int:
    """Return how much of a common end of `size` ops is to be merged.

    All of it if the copies begin inside an expression. Else the largest part that uses nothing from the stack
    before it: what goes before that cleans up, with a value to be returned below. A bare RETURN is no sign of an
    expression: it can have the position of the `with` that it leaves.
    """
    ops = blocks[0].ops[len(blocks[0].ops) - size :]
    is_test = isinstance(blocks[0].term, Branch)
    if not isinstance(blocks[0].term, Jump) and not is_test and size > 1 and _begins_inside(ops):
        return size
    if isinstance(blocks[0].term, Jump) and all(op.kind == "POP" for op in ops):
        before = [block.ops[-size - 1] for block in blocks if len(block.ops) > size]
        return size if all(map(_ends_a_statement, before)) else 0  # `break`, which pops the iterator
    if not is_test:
        onward = blocks[0].term
        return _part(ops, int(isinstance(onward, Jump) and _only_returns(onward.target)))
    for start, found in enumerate(_left_alone(ops)):
        if found >= 1:  # more than one: a test inside an expression
            return size - start
    return size if all(len(block.ops) == size for block in blocks) else 0


def _begins_inside(ops: List[Op]) -> bool:
    """Return whether the ops begin inside an expression, or with the store that takes its value."""
    depth = 0
    for op in ops:
        is_statement = _ends_a_statement(op)
        if depth < depth_needed(op):
            return not is_statement or op.kind.startswith("STORE_")
        if is_statement:
            return False
        popped, pushed = stack_effect(op)
        depth += pushed - popped
    return False


def _ends_a_statement(op: Op) -> bool:
    return op.kind == "POP" or op.kind.startswith(("STORE_", "DELETE_"))


def _left_alone(ops: List[Op]) -> List[int]:
    """Return, from each op on, how many values all that follow leave on the stack; -1 if they use what was there."""
    found: List[int] = []
    left = needed = 0
    for op in reversed(ops):
        popped, pushed = stack_effect(op)
        needed = max(depth_needed(op), needed - pushed + popped, 0)
        left += pushed - popped
        found.append(-1 if needed else left)
    found.reverse()
    return found
