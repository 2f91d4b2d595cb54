"""From blocks to statements: one walk over the dominator tree, sequence by sequence."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from depyf.decompiler.analysis.nonraising_ops import SILENT
from depyf.decompiler.analysis.unbound_locals import maybe_unbound
from depyf.decompiler.bytecode.constant_equality import same_op
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import (
    Block,
    Branch,
    Case,
    End,
    ForIter,
    Graph,
    Guarded,
    Jump,
    Simple,
    negated,
    threaded,
)
from depyf.decompiler.flow.regions import Region
from depyf.decompiler.fold.expression_ops import effect, ends_in_membership
from depyf.decompiler.structure.dominators import Dominance
from depyf.decompiler.structure.except_clauses import clause_ends, read_clauses
from depyf.decompiler.structure.finally_bodies import ends_of_finals, exits_of_finals
from depyf.decompiler.structure.open_statements import find_open_statements
from depyf.decompiler.structure.region_tree import (
    CaseNode,
    Clause,
    IfNode,
    Leave,
    LoopNode,
    Sequence,
    TryNode,
    WithNode,
)
from depyf.decompiler.structure.shared_returns import share_out_returns
from depyf.decompiler.structure.with_exits import Swallowed, after_with, flag_ways_out

# A block that returns or raises with at most this many ops is written again rather than jumped to.
COPIED_END = 6


Clauses = Dict[Region, List[Clause]]
Regions = Tuple[Region, ...]


class Around(NamedTuple):
    """What a sequence ends in: the block that control falls into, and the loop around."""

    fall: Optional[Block]
    header: Optional[Block] = None  # `continue` goes there
    after: Optional[Block] = None  # `break` goes there


class Task(NamedTuple):
    """Place `block` and what follows it at the end of `out`."""

    block: Block
    out: Sequence
    around: Around


def statements_of(graph: Graph, regions: Regions, flags: bool) -> Sequence:
    """Return the region tree of a folded graph, which is used up. `flags`: variables may record how a `with` ended."""
    return _Structurer(graph, regions, flags).run()


def reraises_alike(a: Block, b: Block) -> bool:
    """Return whether two blocks are copies of the end of one handler."""
    if not isinstance(a.term, End) or not isinstance(b.term, End) or a.regions != b.regions:
        return False
    return bool(a.ops) and a.ops[-1].kind == "RERAISE" and len(a.ops) == len(b.ops) and all(map(same_op, a.ops, b.ops))


def is_copy_of(a: Block, b: Block) -> bool:
    """Return whether two blocks are copies of one end of a handler, or of what is pushed on the way to one place."""
    if reraises_alike(a, b):
        return True
    if not isinstance(a.term, Jump) or not isinstance(b.term, Jump) or a.term.target is not b.term.target:
        return False
    is_silent = bool(a.ops) and all(op.kind in SILENT for op in a.ops)
    return is_silent and a.depth == b.depth and len(a.ops) == len(b.ops) and all(map(same_op, a.ops, b.ops))


def leads_to(start: Block) -> Set[Block]:
    """Return the blocks that control can come to from one."""
    seen, work = {start}, [start]
    while work:
        for target in work.pop().successors():
            if target not in seen:
                seen.add(target)
                work.append(target)
    return seen


def loop_kind(term: object) -> str:
    """Return the keyword of the loop whose header ends in `term`."""
    if isinstance(term, ForIter):
        return "async for" if term.is_async else "for"
    return "while"


def prepare(graph: Graph, regions: Regions) -> Tuple[Clauses, Swallowed]:
    """Find what lies in what, and read the handlers: the clauses of `except`, the ways out of `with`."""
    share_out_returns(graph)
    for block in list(graph.blocks):
        if isinstance(block.term, ForIter) and block.ops:  # a loop around may begin with what makes the iterator
            graph.split(block, len(block.ops))
    find_open_statements(graph)
    for block in graph.blocks:
        if isinstance(block.term, Guarded):
            block.term.region.guard = block  # a block before it may have swallowed the guard
    clauses: Clauses = {}
    swallowed: Swallowed = {}
    for region in regions:
        if region.guard is None:
            continue
        if region.kind == "except":
            clauses[region] = read_clauses(graph, region)
        elif region.kind == "with":
            swallowed[region] = after_with(graph, region)
        elif region.kind == "finally":
            del region.entry.ops[0]
            region.entry.depth += 1
        else:
            raise Unstructured(f"{region.kind} is not supported yet")
    return clauses, swallowed


class _Structurer:
    def __init__(self, graph: Graph, regions: Regions, flags: bool = False) -> None:
        self.graph = graph
        self.clauses, self.swallowed = prepare(graph, regions)
        if flags:
            flag_ways_out(graph, self.swallowed)
        self.final_ends = ends_of_finals(graph)
        self.final_exits = exits_of_finals(graph)
        self.dominance = Dominance(graph.entry)
        self.raising = maybe_unbound(graph.program) if regions else frozenset()
        self.placed: Set[Block] = set()
        self.opened: Set[Block] = set()
        self.tasks: List[Task] = []

    def run(self) -> Sequence:
        root = Sequence()
        self.tasks.append(Task(self.graph.entry, root, Around(None)))
        while self.tasks:
            self.place(self.tasks.pop())
        return root

    # -- one sequence

    def place(self, task: Task) -> None:
        """Place blocks one after the other until control leaves the sequence."""
        block: Optional[Block] = task.block
        out, around = task.out, task.around
        while block is not None:
            if (block in self.dominance.loops and block not in self.opened) or isinstance(block.term, ForIter):
                self.opened.add(block)
                block = self.loop(block, out, around)
                continue
            if block in self.placed and not self.may_be_copied(block, block):
                raise Unstructured("a block is needed in two places")
            self.placed.add(block)
            block.budget.charge(1 + len(block.ops) // 8)  # a short one may be written again and again
            out.items.extend(block.ops)
            term = block.term
            if isinstance(term, Jump):
                if block.is_continue and term.target is around.header:
                    out.items.append(Leave("continue", block.offset))
                    return
                block = self.transfer(term.target, out, around, block)
            elif isinstance(term, Branch):
                block = self.branch(block, term, out, around)
            elif isinstance(term, Case):
                block = self.case(block, term, out, around)
            elif isinstance(term, Guarded):
                block = self.guarded(block, term, out, around)
            else:
                block = None

    def transfer(self, target: Block, out: Sequence, around: Around, source: Block) -> Optional[Block]:
        """Return the block to continue with after a jump to `target`; None when the jump has been written."""
        if target is around.fall or (around.fall is not None and is_copy_of(target, around.fall)):
            return None
        if target is around.header:
            out.items.append(Leave("continue", source.offset))
            return None
        if target is around.after:
            out.items.append(Leave("break", source.offset))
            return None
        if target.ops and target.ops[0].kind == "NOWHERE":  # a finally body around never ends
            out.items += [Op("CONST", None, source.offset), Op("RETURN", None, source.offset)]
            return None
        if self.dominance.forward_preds.get(target, 0) == 1:
            if len(target.regions) < len(source.regions) and not self.may_move_in(target):
                raise Unstructured("control leaves a protected region in the middle")
            if len(target.regions) < len(source.regions):
                target.regions = source.regions  # it is written inside
            return target
        if self.may_be_copied(target, source):
            return target
        raise Unstructured("a jump that no statement makes")

    def may_move_in(self, block: Block) -> bool:
        """Return whether a block that lies outside a region cannot raise, so that it may as well be written inside."""
        if not isinstance(block.term, (End, Jump)) or not all(op.kind in SILENT for op in block.ops):
            return False
        return not any((op.offset, op.arg) in self.raising for op in block.ops if op.kind == "LOAD_LOCAL")

    def may_be_copied(self, block: Block, source: Block) -> bool:
        """Return whether a block may be written twice: a short end, or one that only pops something on the way."""
        if len(block.ops) > COPIED_END or block in self.dominance.loops:
            return False
        if self.may_move_in(block):
            return True
        return isinstance(block.term, End) and block.regions == source.regions and block.handlers == source.handlers

    @staticmethod
    def only_leaves(block: Block, around: Around) -> bool:
        """Return whether a block is just `break` or `continue`, with what that pops."""
        term = block.term
        if not isinstance(term, Jump) or term.target not in (around.header, around.after):
            return False
        return all(op.kind == "POP" for op in block.ops)

    def without_copies(self, joins: List[Block], block: Block, around: Around) -> List[Block]:
        """Return the blocks after a statement without those that may be written twice: only one can come after it.

        What comes after the statements around counts if control goes there from inside this one.
        """
        if not joins or (len(joins) < 2 and not self.is_left_for(around.fall, block)):
            return joins
        return [join for join in joins if not self.may_be_repeated(join)]

    def may_be_repeated(self, block: Block) -> bool:
        """Return whether a block may be written wherever control comes from."""
        return all(self.may_be_copied(block, pred) for pred in block.preds)

    def is_left_for(self, target: Optional[Block], block: Block) -> bool:
        """Return whether control goes to `target` from inside the statement that `block` begins."""
        if target is None:
            return False
        return any(self.dominance.dominates(block, pred) for pred in target.preds)

    # -- if

    def branch(self, block: Block, term: Branch, out: Sequence, around: Around) -> Optional[Block]:
        """Place an `if`; returns the block that comes after it."""
        joins = self.joins(block, around)
        inner = Around(joins[0], around.header, around.after) if joins else around
        node = IfNode(term.test, block.ops[-1].offset if block.ops else block.offset)
        first, second = term.true, term.false
        if self.comes_later(first, second):
            first, second = second, first
            node.test = negated(node.test)
        out.items.append(node)
        for target, arm in ((first, node.then), (second, node.orelse)):
            self.start(target, arm, inner, block)
        return self.after(joins, around)

    def case(self, block: Block, term: Case, out: Sequence, around: Around) -> Optional[Block]:
        """Place the cases of a match statement; returns the block that comes after it.

        Where cases leave, the place that the others continue at is dominated by one of them: it comes after all.
        """
        chain = [block]
        while isinstance(term.otherwise.term, Case) and term.keeps and not term.otherwise.ops:
            block.budget.charge()
            self.placed.add(term.otherwise)
            chain.append(term.otherwise)
            term = term.otherwise.term
        joins = [join for case in chain for join in self.joins(case, around)]
        inner = Around(joins[0], around.header, around.after) if joins else around
        for case in chain:
            assert isinstance(case.term, Case)
            node = CaseNode(case.term, case.offset)
            out.items.append(node)
            self.start(case.term.body, node.body, inner, case)
            out = node.orelse
        self.start(term.otherwise, out, inner, chain[-1])
        return self.after(joins, around)

    @staticmethod
    def comes_later(a: Block, b: Block) -> bool:
        return 0 <= b.offset < a.offset

    def start(self, target: Block, out: Sequence, around: Around, source: Block) -> None:
        """Begin a sequence with a jump to `target`."""
        block = self.transfer(target, out, around, source)
        if block is not None:
            self.tasks.append(Task(block, out, around))

    def joins(self, block: Block, around: Around) -> List[Block]:
        """Return the blocks to be placed after the statement that `block` begins, in order."""
        known = (around.fall, around.header, around.after)
        children = self.dominance.children[block]
        found = [c for c in children if self.dominance.forward_preds.get(c, 0) > 1 and c not in known]
        return self.without_copies(found, block, around)

    def after(self, joins: List[Block], around: Around) -> Optional[Block]:
        """Return the one join, the block to continue with."""
        if len(joins) > 1:
            raise Unstructured("several places follow one statement")
        return joins[0] if joins else None

    # -- loops

    def loop(self, header: Block, out: Sequence, around: Around) -> Optional[Block]:
        """Place the loop with this header; returns the block after it."""
        inside = self.dominance.loops.get(header, {header})
        term = header.term
        node = LoopNode(loop_kind(term), header.offset)
        done: Optional[Block] = None
        body: Optional[Block] = None
        if isinstance(term, ForIter):
            out.items.extend(header.ops)
            self.placed.add(header)
            body, done = term.body, term.done
            inside = inside | {body}  # even if the body never comes back
        elif isinstance(term, Branch) and self.is_loop_test(header, term, inside):
            node.head, node.test = header.ops, term.test
            self.placed.add(header)
            body, done = term.true, term.false
            if done in inside:
                body, done = done, body
                node.test = negated(term.test)
        exits = self.exits(header, inside, done, around.fall)
        after = self.choose_after(header, done, exits, around)
        out.items.append(node)
        inner = Around(header, header, after)
        if body is None:
            self.tasks.append(Task(header, node.body, inner))
        else:
            body.is_continue = False  # the whole body of `while a: pass`
            self.start(body, node.body, inner, header)
        if done is not None and done is not after:
            known = Around(after, around.header, around.after)
            self.start(done, node.orelse, known, header)
        return None if after is None else self.transfer_after(after, out, around, header)

    @staticmethod
    def is_loop_test(header: Block, term: Branch, inside: Set[Block]) -> bool:
        """Return whether a loop begins with a test that ends it.

        One that would have to be written in its opposite is none, nor one whose other way comes first in the code.
        """
        if effect(header.ops) != 1 or (term.true in inside) == (term.false in inside):
            return False
        done, body = (term.false, term.true) if term.true in inside else (term.true, term.false)
        if header.offset < done.offset < body.offset:
            return False
        needs_opposite = term.false in inside and isinstance(term.test, Simple) and term.test.kind == "true"
        return not (needs_opposite and ends_in_membership(header.ops))

    def transfer_after(self, after: Block, out: Sequence, around: Around, header: Block) -> Optional[Block]:
        """Return the block to continue with after a loop."""
        if after in (around.fall, around.header, around.after):
            return self.transfer(after, out, around, header)
        return after

    def exits(self, header: Block, inside: Set[Block], done: Optional[Block], fall: Optional[Block]) -> List[Block]:
        """Return where control goes when it leaves the loop other than by `done`, in order.

        Code that can only be reached from inside counts as part of the loop, even if it never goes back.
        """
        header.budget.charge(len(inside))
        owned = set(inside)
        is_for = isinstance(header.term, ForIter)
        index = self.dominance.index
        guarded = header.successors() if isinstance(header.term, Guarded) else ()
        children = [c for c in self.dominance.children[header] if c not in inside and c not in guarded]
        children = [c for c in children if is_for or c.depth <= header.depth]
        # One that only the header leads to is written inside the loop, if there is another.
        joins = [c for c in children if c not in header.successors() or self.dominance.forward_preds[c] > 1]
        outside = {fall, done, *(joins or [c for c in children if not isinstance(c.term, End)])}
        work = [c for block in inside for c in self.dominance.children[block] if c not in inside]
        while work:
            block = work.pop()
            if block in outside or (is_for and 0 <= block.depth < header.depth):
                continue  # where the sequence around continues, or the iterator is gone
            owned.add(block)
            block.budget.charge()
            work.extend(self.dominance.children[block])
        found: Set[Block] = set()
        for block in owned:
            for target in block.successors():
                # with the statement that the loop is in
                leaves_more = len(target.handlers) < len(header.handlers) or target.depth < header.depth - is_for
                if target not in owned and not leaves_more and not (block is header and target is done):
                    found.add(target)
        return sorted(found, key=lambda block: index[block])

    def choose_after(self, header: Block, done: Optional[Block], exits: List[Block], around: Around) -> Optional[Block]:
        """Return what comes after the loop: where `break` goes."""
        if done is None:
            if exits:
                return around.fall if around.fall in exits else exits[0]
            return self.lone_exit(header)
        if done in exits:
            return done
        if not exits and isinstance(done.term, End):
            inside = self.dominance.loops.get(header, {header})
            if done.line > max(block.line for block in inside):
                # An `else` that leaves: only `break` leads to what comes after it.
                beyond = [target for target in self.ways_out(header, done) if target.line > done.line]
                if len(beyond) == 1:
                    return beyond[0]
        if around.fall in exits:
            return around.fall
        known = [block for block in exits if block in (around.header, around.after)]
        returns = [b for b in exits if isinstance(b.term, End) and len(b.preds) == 1 and self.may_move_in(b)]
        own = [block for block in exits if block not in known and block not in returns]
        return [*own, *known, done][0]

    def lone_exit(self, header: Block) -> Optional[Block]:
        """Return an endless loop with one way out that is not just a return: what it leads to comes after the loop."""
        targets = self.ways_out(header, None)
        # What comes after the loop in the code comes after it in the text.
        inside = self.dominance.loops[header]
        last = max((block.offset for block in inside if block.handlers == header.handlers), default=-1)
        later = [target for target in targets if target.offset > last]
        if not later:
            later = [target for target in targets if self.dominance.forward_preds[target] > 1]
        return later[0] if len(later) == 1 else None

    def ways_out(self, header: Block, done: Optional[Block]) -> List[Block]:
        """Return where control goes when it leaves a loop, also from inside statements in it.

        With `done`: other than there. Without: not to short ends.
        """
        targets: List[Block] = []
        work = sorted(self.dominance.loops.get(header, ()), key=lambda block: self.dominance.index[block])
        seen = {*work, done}
        for block in work:  # grows
            for target in block.successors():
                if target in seen:
                    continue
                seen.add(target)
                if len(target.regions) > len(header.regions) or len(target.handlers) > len(header.handlers):
                    work.append(target)
                elif target.depth <= header.depth:
                    is_short = done is None and isinstance(target.term, End) and len(target.ops) <= COPIED_END
                    if not is_short and self.dominance.loop_of(block) is header:
                        targets.append(target)
        return targets

    # -- try and with

    def guarded(self, block: Block, term: Guarded, out: Sequence, around: Around) -> Optional[Block]:
        """Place a try or with statement; returns the block after it."""
        region: Region = term.region
        if region.kind == "with":
            return self.with_statement(block, term, out, around)
        node = TryNode(region, block.offset)
        elsewhere = self.left_by_final(region, around)
        if elsewhere is not None:
            return self.final_that_breaks(block, term, node, out, around, elsewhere)
        out.items.append(node)
        known = (around.fall, around.header, around.after)
        others = [c for c in self.dominance.children[block] if c not in (term.body, term.handler, *known)]
        others = [c for c in others if region.is_star or not self.only_leaves(c, around)]
        joins = [c for c in others if self.is_reached_outside(c, region)]
        plain = [c for c in others if c not in joins]
        if region.kind == "finally":
            joins, plain = others, []
        if not region.is_star:  # its clauses may not return
            joins = self.without_copies(joins, block, around)
        plain = self.without_copies(plain, block, around)
        if len(joins) > 1 or len(plain) > 1:
            raise Unstructured("several places follow a try")
        if not plain and region.kind != "finally" and not region.is_star:
            plain = self.return_behind(region, around)
        left_for = self.left_by_star(region, around) if region.is_star and not joins else None
        after = joins[0] if joins else left_for or around.fall
        outer = Around(after, around.header, around.after)
        in_body = Around(plain[0], around.header, around.after) if plain else outer
        self.start(term.body, node.body, in_body, block)
        if plain:
            self.tasks.append(Task(plain[0], node.orelse, outer))
        if region.kind == "finally":
            self.final_body(region, node, around)
        else:
            node.clauses = self.clauses[region]
            for clause in node.clauses:
                self.tasks.append(Task(clause.block, clause.body, outer))
        if left_for is not None:
            return self.transfer(left_for, out, around, block)
        return joins[0] if joins else None

    def return_behind(self, region: Region, around: Around) -> List[Block]:
        """Return the block to which a body continues behind its handlers, to return what cannot raise: an `else`.

        Where handlers are moved to the end of the code (3.11 and newer), no block is behind them.
        """
        behind = [c for c in self.graph.blocks if c.offset > region.entry.offset and isinstance(c.term, End)]
        self.graph.program.budget.charge(len(self.graph.blocks) // 8)
        found = [
            block
            for block in behind
            if region not in block.regions
            and self.dominance.forward_preds.get(block, 0) == 1
            and region in block.preds[0].regions
            and len(block.preds) == 1
            and isinstance(block.preds[0].term, Jump)
            and self.may_move_in(block)
            and block not in (around.fall, around.header, around.after)
        ]
        return found if len(found) == 1 else []

    def left_by_star(self, region: Region, around: Around) -> Optional[Block]:
        """Return the loop's end that comes after an `except*`: its clauses may not hold `break` or `continue`
        themselves."""
        for clause in self.clauses[region]:
            for block, _ in clause_ends(clause.block):
                if isinstance(block.term, Jump):
                    target = block.term.target
                    if target in (around.header, around.after) or self.only_leaves(target, around):
                        return target
        return None

    def final_body(self, region: Region, node: TryNode, around: Around) -> None:
        end = self.final_ends.get(region)
        if end is not None:
            self.tasks.append(Task(end, node.final, Around(None)))  # after the next one
        self.tasks.append(Task(region.entry, node.final, Around(end, around.header, around.after)))

    def left_by_final(self, region: Region, around: Around) -> Optional[Block]:
        """Return where the body of a `finally` leaves for, if no loop around continues there: what it left never runs
        twice."""
        if region.kind != "finally":
            return None
        targets = [t for t in self.final_exits.get(region, ()) if t not in (around.header, around.after)]
        targets = [t for t in targets if not self.only_leaves(t, around) and not self.may_move_in(t)]
        return targets[0] if len(targets) == 1 else None

    def final_that_breaks(
        self, block: Block, term: Guarded, node: TryNode, out: Sequence, around: Around, after: Block
    ) -> Optional[Block]:
        """Place a `while True:` that runs once: the body of a `finally` can drop an exception only by leaving a
        loop."""
        loop = LoopNode("while", block.offset)
        out.items.append(loop)
        loop.body.items.append(node)
        inside = Around(None, None, after)
        self.start(term.body, node.body, inside, block)
        self.final_body(term.region, node, inside)
        return self.transfer_after(after, out, around, block)

    def is_reached_outside(self, block: Block, region: Region) -> bool:
        """Return whether control comes to a block from outside the region, other than back from what follows it."""
        return any(region not in pred.regions and not self.dominance.dominates(block, pred) for pred in block.preds)

    def with_statement(self, block: Block, term: Guarded, out: Sequence, around: Around) -> Optional[Block]:
        region: Region = term.region
        is_async, swallowed = self.swallowed[region]
        node = WithNode(region, is_async, block.offset)
        target = threaded(swallowed)
        elsewhere = self.left_for_elsewhere(block, term, target, around)
        if elsewhere is not None:
            return self.block_left_by_break(block, term, node, out, target, elsewhere)
        out.items.append(node)
        self.start(term.body, node.body, Around(target, around.header, around.after), block)
        return self.transfer_after(target, out, around, block)

    def left_for_elsewhere(self, block: Block, term: Guarded, swallowed: Block, around: Around) -> Optional[Block]:
        """Return where the body of a `with` continues when it ends, if that is not where a swallowed exception leads.

        No compiler makes that; Dynamo does in functions that resume inside a `with`.
        """
        known = (term.body, term.handler, swallowed, around.fall, around.header, around.after)
        found = [c for c in self.dominance.children[block] if c not in known and not self.may_move_in(c)]
        if len(found) > 1:
            beyond = leads_to(swallowed)
            found = [c for c in found if c not in beyond]
        return found[0] if len(found) == 1 else None

    def block_left_by_break(
        self, block: Block, term: Guarded, node: WithNode, out: Sequence, swallowed: Block, after: Block
    ) -> Block:
        """Place a `while True:` that runs once: the body of the `with` ends by `break`, a swallowed exception
        continues below."""
        loop = LoopNode("while", block.offset)
        loop.taken = 2  # the exit method and the value entered
        out.items.append(loop)
        loop.body.items.append(node)
        self.tasks.append(Task(swallowed, loop.body, Around(None, None, after)))
        self.start(term.body, node.body, Around(swallowed, None, after), block)
        return after
