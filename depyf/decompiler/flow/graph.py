"""The control-flow graph: blocks of straight-line micro-ops, each with a terminator that names its successors."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from depyf.decompiler.bytecode.budget import Budget
from depyf.decompiler.bytecode.microops import Op, Program
from depyf.decompiler.flow.source_lines import SourceLines


class Simple:
    """A test that pops the top of the stack: is it true (or None)? `negate` asks for the opposite."""

    __slots__ = ("kind", "negate", "is_inner")

    def __init__(self, kind: str, negate: bool = False, is_inner: bool = False) -> None:
        self.kind = kind  # "true" or "none"
        self.negate = negate
        self.is_inner = is_inner  # it is in parentheses of its own, as that of `a` is in `(a or b) or c`


class Both:
    """`first and rest...` or `first or rest...`: each of the rest computes its operand with ops of its own.

    `rest` is in reverse order, so that a chain grows at its front by appending.
    """

    __slots__ = ("op", "first", "rest", "negate")

    def __init__(self, op: str, first: Test, rest: List[Tuple[List[Op], Test]], negate: bool = False) -> None:
        self.op = op
        self.first = first
        self.rest = rest
        self.negate = negate


class Choice:
    """`then if first else orelse` as a test."""

    __slots__ = ("first", "then", "orelse", "negate")

    def __init__(
        self, first: Test, then: Tuple[List[Op], Test], orelse: Tuple[List[Op], Test], negate: bool = False
    ) -> None:
        self.first = first
        self.then = then
        self.orelse = orelse
        self.negate = negate


Test = Union[Simple, Both, Choice]


def negated(test: Test) -> Test:
    """Return the same test with the opposite outcome; `test` must not be used any more."""
    test.negate = not test.negate
    return test


class Jump:
    """Go to `target`."""

    __slots__ = ("target",)

    def __init__(self, target: Block) -> None:
        self.target = target


class Branch:
    """Pop what the test needs, then go one way or the other."""

    __slots__ = ("test", "true", "false")

    def __init__(self, test: Test, true: Block, false: Block) -> None:
        self.test = test
        self.true = true
        self.false = false


class Keep:
    """The branch of a value `and`/`or`: if the top's truth is `when`, go to `keep` with it, else drop it."""

    __slots__ = ("test", "when", "keep", "drop")

    def __init__(self, test: Test, when: bool, keep: Block, drop: Block) -> None:
        self.test = test
        self.when = when
        self.keep = keep
        self.drop = drop


class ForIter:
    """Push the iterator's next value and go to `body`, or pop the iterator and go to `done`."""

    __slots__ = ("body", "done", "is_async")

    def __init__(self, body: Block, done: Block, is_async: bool = False) -> None:
        self.body = body
        self.done = done
        self.is_async = is_async


class Case:
    """One `case`: if the subject, on top of the stack, is like `pattern` and the guard holds, go to `body`.

    `keeps`: the subject stays on the stack either way; else it is popped either way.
    """

    __slots__ = ("pattern", "guard", "keeps", "body", "otherwise")

    def __init__(
        self, pattern: Any, guard: Optional[Tuple[List[Op], Test]], keeps: bool, body: Block, otherwise: Block
    ) -> None:
        self.pattern = pattern  # a Place, see structure/patterns.py
        self.guard = guard
        self.keeps = keeps
        self.body = body
        self.otherwise = otherwise


class Guarded:
    """The entry of a protected region: run `body`; an exception in the region goes to `handler`."""

    __slots__ = ("region", "body", "handler")

    def __init__(self, region: Any, body: Block, handler: Block) -> None:
        self.region = region
        self.body = body
        self.handler = handler


class End:
    """The last op of the block returns or raises."""

    __slots__ = ()


Terminator = Union[Jump, Branch, Keep, ForIter, Case, Guarded, End]

_TARGETS = {
    Jump: ("target",), Branch: ("true", "false"), Keep: ("keep", "drop"), ForIter: ("body", "done"),
    Case: ("body", "otherwise"), Guarded: ("body", "handler"), End: (),
}  # fmt: skip


MANY = 64  # predecessors that are searched in one step


class Block:
    """Straight-line code and what follows it. `preds` lists a predecessor once for each edge."""

    __slots__ = (
        "number", "ops", "term", "handler", "preds", "offset", "line", "depth", "regions", "handlers", "loops",
        "budget", "is_continue",
    )  # fmt: skip

    def __init__(self, number: int, budget: Budget, offset: int = -1, handler: int = -1, line: int = -1) -> None:
        self.number = number
        self.budget = budget  # of the program: asking for successors is charged
        self.ops: List[Op] = []
        self.term: Terminator = End()
        self.handler = handler  # index into Program.handlers, or -1
        self.preds: List[Block] = []
        self.offset = offset
        self.line = line
        self.depth = -1  # stack depth at entry
        self.regions: Tuple[Any, ...] = ()  # the protected regions around it, outermost first
        self.handlers: Tuple[Any, ...] = ()  # the regions in whose handler it lies, outermost first
        self.loops: Tuple[Block, ...] = ()  # the headers of the `for` loops whose iterators are on the stack
        self.is_continue = False  # it only jumps back, by a `continue` of the source

    def successors(self) -> List[Block]:
        """Return the blocks that control may continue at, handlers aside (except for a Guarded one)."""
        self.budget.charge()
        term = self.term
        return [getattr(term, name) for name in _TARGETS[type(term)]]

    def retarget(self, old: Block, new: Block) -> None:
        """Make every edge to `old` one to `new`."""
        for name in _TARGETS[type(self.term)]:
            if getattr(self.term, name) is old:
                setattr(self.term, name, new)
                if len(old.preds) > MANY:
                    self.budget.charge(len(old.preds) // MANY)
                old.preds.remove(self)
                new.preds.append(self)

    def set_term(self, term: Terminator) -> None:
        """Replace the terminator, keeping the predecessors of its targets right."""
        for target in self.successors():
            if len(target.preds) > MANY:
                self.budget.charge(len(target.preds) // MANY)
            target.preds.remove(self)
        self.term = term
        for target in self.successors():
            target.preds.append(self)

    def __repr__(self) -> str:
        names = ",".join(f"B{block.number}" for block in self.successors())
        return f"B{self.number}[{len(self.ops)} {type(self.term).__name__} {names}]"


class Graph:
    """The blocks of one program; `entry` is where it starts."""

    __slots__ = ("program", "blocks", "entry", "block_at", "lines", "entry_depth")

    def __init__(self, program: Program, lines: SourceLines) -> None:
        self.program = program
        self.blocks: List[Block] = []
        self.block_at: Dict[int, Block] = {}  # index of the first op -> block
        self.lines = lines
        self.entry_depth = 0  # stack entries at the entry
        self.entry = self.new_block()

    def new_block(self, offset: int = -1, handler: int = -1, line: int = -1) -> Block:
        """Return a new block of this graph, empty and unconnected."""
        block = Block(len(self.blocks), self.program.budget, offset, handler, line)
        self.blocks.append(block)
        return block

    def hand_over(self) -> Graph:
        """Return a graph that owns these blocks from now on; this one is spent, and reading it raises AttributeError.

        A stage that rewrites blocks begins with it: nobody is left with a graph that changed under them, and no
        block has to be copied for that.
        """
        other = Graph.__new__(Graph)
        other.program, other.lines, other.entry_depth = self.program, self.lines, self.entry_depth
        other.blocks, other.block_at, other.entry = self.blocks, self.block_at, self.entry
        del self.blocks, self.block_at, self.entry
        return other

    def part(self, blocks: List[Block], entry_depth: int) -> Graph:
        """Return a graph of some of the blocks and their handlers, with an unconnected entry of its own."""
        other = Graph.__new__(Graph)
        other.program, other.block_at, other.lines = self.program, self.block_at, self.lines
        other.blocks, other.entry_depth = blocks, entry_depth
        handlers = self.program.handlers
        other.block_at = {handlers[number].target: block for number, block in other.handler_entries().items()}
        other.entry = other.new_block()
        return other

    def split(self, block: Block, position: int) -> Block:
        """Cut a block in two before the op at `position`; return the second part."""
        rest = self.new_block(block.ops[position].offset if position < len(block.ops) else block.offset, block.handler)
        rest.line = block.line
        rest.regions = block.regions
        rest.handlers = block.handlers
        rest.loops = block.loops
        rest.ops, block.ops = block.ops[position:], block.ops[:position]
        for target in block.successors():
            target.preds.remove(block)
            target.preds.append(rest)
        rest.term, block.term = block.term, Jump(rest)
        rest.preds.append(block)
        if isinstance(rest.term, Guarded):
            rest.term.region.guard = rest
        return rest

    def handler_block(self, handler: int) -> Block:
        """Return where exceptions under `handler` continue."""
        return self.block_at[self.program.handlers[handler].target]

    def handler_entries(self) -> Dict[int, Block]:
        """Return the handlers of this graph's blocks with their first blocks; the program may have more."""
        found: Dict[int, Block] = {}
        work = {block.handler for block in self.blocks}
        while work:
            number = work.pop()
            if number >= 0 and number not in found:
                found[number] = self.handler_block(number)
                work.add(found[number].handler)
        return dict(sorted(found.items()))

    def reachable(self) -> List[Block]:
        """Return the blocks reachable from the entry, handlers included, in reverse postorder."""
        return reverse_postorder(self.entry, self._all_successors)

    def drop_unreachable(self) -> List[Block]:
        """Remove the blocks that are never reached, and their edges; return the others in reverse postorder."""
        order = self.reachable()
        alive = set(order)
        for block in self.blocks:
            if block not in alive:
                block.set_term(End())
                block.number = -1
        self.blocks[:] = [block for block in self.blocks if block in alive]
        return order

    def _all_successors(self, block: Block) -> List[Block]:
        successors = block.successors()
        if block.handler >= 0:
            successors.append(self.handler_block(block.handler))
        return successors

    def listing(self) -> str:
        """Return the graph as text, for error messages."""
        lines = []
        for block in self.reachable():
            lines.append(f"{block!r} handler={block.handler} depth={block.depth} line={block.line}")
            lines += [f"    {op!r}" for op in block.ops]
        return "\n".join(lines)


def reverse_postorder(entry: Block, successors: Any) -> List[Block]:
    """Return the blocks in depth-first order, each before those that it leads to, loops aside; iterative."""
    order: List[Block] = []
    seen = {entry}
    stack: List[Tuple[Block, Iterator[Block]]] = [(entry, iter(successors(entry)))]
    while stack:
        block, following = stack[-1]
        for target in following:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors(target))))
                break
        else:
            stack.pop()
            order.append(block)
    order.reverse()
    return order


def thread_jumps(graph: Graph) -> None:
    """Lead edges past blocks that only jump, and remove those blocks."""
    finals: Dict[Block, Block] = {}
    for block in graph.blocks:
        for target in block.successors():
            final = target if target.ops else threaded(target, finals)
            # An edge of a block that will be removed stays, so that a long chain of them takes linear time.
            if final is not target and (block.ops or not isinstance(block.term, Jump) or block is graph.entry):
                block.retarget(target, final)
    gone: Dict[Block, None] = {}
    work = [block for block in graph.blocks if _is_unused(graph, block)]
    while work:
        block = work.pop()
        following = block.successors()
        gone[block] = None
        block.set_term(End())
        work.extend(target for target in dict.fromkeys(following) if target not in gone and _is_unused(graph, target))
    graph.blocks[:] = [block for block in graph.blocks if block not in gone]


def _is_unused(graph: Graph, block: Block) -> bool:
    return not block.ops and not block.preds and block is not graph.entry


def threaded(block: Block, finals: Optional[Dict[Block, Block]] = None) -> Block:
    """Return the block that an empty one leads to. A jump cannot raise, so its protection does not matter.

    `finals` holds what was found before, where many are asked for: long chains are followed once.
    """
    finals = {} if finals is None else finals
    seen = {block}
    while block not in finals and not block.ops and isinstance(block.term, Jump) and block.term.target not in seen:
        if block.is_continue:
            break
        block = block.term.target
        seen.add(block)
    final = finals.get(block, block)
    if len(seen) > 1:
        block.budget.charge(len(seen))
        finals.update(dict.fromkeys(seen, final))
    return final
