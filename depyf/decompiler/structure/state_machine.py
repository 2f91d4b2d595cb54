"""The last structured rung: a state machine.

For graphs that no nest of statements has: loops that are entered in two places, statements that several places follow.
Each block with more than one way to it becomes an arm of `while True` over an integer (Bahmann et al., "Perfect
Reconstructability of Control Flow from Demand Dependence Graphs", 2015, show that this is total). What the language
has a statement for stays one: a protected region, a handler, a `for` loop is a context with a machine of its own
where it needs one, inside the arm that enters it. A context is left by setting the state to a block outside and
breaking out of its machine; machines in between have no arm for that state and break as well.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Set, Tuple

from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, Branch, Case, End, ForIter, Graph, Guarded, Jump, reverse_postorder
from depyf.decompiler.flow.regions import Region
from depyf.decompiler.structure.region_tree import (
    CaseNode,
    Expect,
    Goto,
    IfNode,
    Leave,
    LoopNode,
    MachineNode,
    Sequence,
    Settle,
    TryNode,
    WithNode,
)
from depyf.decompiler.structure.statement_regions import Regions, loop_kind, prepare

# What a block lies in, outermost first: ("region" | "handler", Region) or ("for", header).
Path = Tuple[Tuple[str, Any], ...]


class Context(NamedTuple):
    """Where a sequence is being built."""

    path: Path
    arms: Set[Block]  # the blocks that are arms of this context's machine; empty if it has none
    is_arm: bool  # whether the sequence is an arm, and not what comes before the machine


class Task(NamedTuple):
    """Place `block` and what follows it in the same context at the end of `out`."""

    block: Block
    out: Sequence
    context: Context


def machines_of(graph: Graph, regions: Regions) -> Sequence:
    """Return the region tree of a folded graph, which is used up, with machines where several ways lead to a block."""
    return _Machines(graph, regions).run()


class _Machines:
    def __init__(self, graph: Graph, regions: Regions) -> None:
        self.graph = graph
        self.clauses, self.swallowed = prepare(graph, regions)
        self.paths: Dict[Any, Path] = {}
        self.order = reverse_postorder(graph.entry, self.ways)
        self.edges: Dict[Block, List[Block]] = {}  # block -> those that lead to it
        for block in self.order:
            for target in self.ways(block):
                self.edges.setdefault(target, []).append(block)
        self.variables: Dict[Tuple[str, Any], int] = {}
        self.tasks: List[Task] = []
        self.placed: Set[Block] = set()

    def run(self) -> Sequence:
        root = Sequence()
        self.enter(self.graph.entry, root, ())
        while self.tasks:
            task = self.tasks.pop()
            self.place(task.block, task.out, task.context)
        return root

    # -- what lies in what

    def ways(self, block: Block) -> List[Block]:
        """Return where control can go from a block, by the statements that it begins."""
        term = block.term
        if not isinstance(term, Guarded):
            return block.successors()
        region: Region = term.region
        if region.kind == "with":
            return [term.body, self.swallowed[region][1]]
        if region.kind == "finally":
            return [term.body, term.handler]
        return [term.body, *(clause.block for clause in self.clauses[region])]

    def path(self, block: Block) -> Path:
        """Return the contexts around a block."""
        containers: List[Tuple[str, Any]] = [("region", region) for region in block.regions]
        containers += [("handler", region) for region in block.handlers]
        containers += [("for", header) for header in block.loops]
        return tuple(sorted(containers, key=lambda container: len(self.path_to(container))))

    def path_to(self, container: Tuple[str, Any]) -> Path:
        """Return the contexts around a container."""
        known = self.paths.get(container)
        if known is None:
            kind, thing = container
            start = thing if kind == "for" else thing.guard
            known = self.paths[container] = self.path(start) if start is not None else ()
        return known

    # -- contexts

    def variable(self, path: Path) -> int:
        """Return the state variable of a context.

        The body of a `with` has its own: when the exception is swallowed, the state outside must still be what it was
        set to before. So has that of a `finally`, which runs while the state outside is set.
        """
        for container in reversed(path):
            kind, thing = container
            if (kind == "region" and thing.kind == "with") or (kind == "handler" and thing.kind == "finally"):
                return self.variables.setdefault(container, len(self.variables) + 1)
        return 0

    def enter(self, entry: Block, out: Sequence, path: Path) -> None:
        """Build a context: its machine, if it needs one, and the arms."""
        if path and path[-1] in path[:-1]:
            raise Unstructured("a statement that leads into itself")
        arms = self.arms(entry, path)
        context = Context(path, arms, True)
        if entry not in arms:
            self.place(entry, out, context._replace(is_arm=False))
        if not arms:
            return
        node = MachineNode(entry if entry in arms else None, self.variable(path), not path, entry.offset)
        out.items.append(node)
        for block in (block for block in self.order if block in arms):
            sequence = Sequence()
            node.arms.append((block, sequence))
            self.tasks.append(Task(block, sequence, context))

    def arms(self, entry: Block, path: Path) -> Set[Block]:
        """Return the blocks of a context that are reached in several ways, or from inside a statement of the
        context."""
        inside = self.reached(entry, path)
        found: Set[Block] = set()
        for block in inside:
            sources = [pred for pred in self.edges.get(block, ()) if not self.is_back_in_for(pred, block)]
            if block is entry:
                if any(pred in inside or len(self.path(pred)) > len(path) for pred in sources):
                    found.add(block)
            elif len(sources) != 1 or self.path(sources[0]) != path or isinstance(sources[0].term, Guarded):
                found.add(block)
        return found

    def reached(self, entry: Block, path: Path) -> Set[Block]:
        """Return the blocks of a context that can be reached from its entry, by way of inner contexts as well."""
        inside: Set[Block] = set()
        seen = {entry}
        work = [entry]
        while work:
            block = work.pop()
            own = self.path(block)
            if own[: len(path)] != path and block is not entry:
                continue
            if own == path or block is entry:
                inside.add(block)
            for target in self.ways(block):
                if target not in seen:
                    seen.add(target)
                    work.append(target)
        return inside

    def is_back_in_for(self, block: Block, target: Block) -> bool:
        """Return whether an edge goes from inside a `for` loop to its header."""
        return isinstance(target.term, ForIter) and target in block.loops

    # -- one sequence

    def place(self, block: Block, out: Sequence, context: Context) -> None:
        """Place a block, those that follow it alone, and the statement that they end in."""
        self.note_placed(block)
        out.items.extend(block.ops)
        term = block.term
        while isinstance(term, Jump):
            if self.is_state(term.target, context):
                self.go(term.target, out, context, block)
                return
            block = term.target
            self.note_placed(block)
            out.items.extend(block.ops)
            term = block.term
        if isinstance(term, Branch):
            node = IfNode(term.test, block.offset)
            out.items.append(node)
            self.go(term.true, node.then, context, block)
            self.go(term.false, node.orelse, context, block)
        elif isinstance(term, Case):
            case = CaseNode(term, block.offset)
            out.items.append(case)
            self.go(term.body, case.body, context, block)
            self.go(term.otherwise, case.orelse, context, block)
        elif isinstance(term, ForIter):
            self.for_loop(block, term, out, context)
        elif isinstance(term, Guarded):
            self.guarded(block, term, out, context)
        elif isinstance(term, End) and block.ops and block.ops[-1].kind == "RERAISE" and context.arms:
            self.end_of_final(block, out, context)

    def note_placed(self, block: Block) -> None:
        """Record that a block is placed; a second time is an error."""
        if block in self.placed:
            raise Unstructured("a block is needed in two places of a state machine")
        self.placed.add(block)

    def go(self, target: Block, out: Sequence, context: Context, source: Block) -> None:
        """Go to a block: place it here if nothing else leads to it, else set the state."""
        if not self.is_state(target, context):
            self.tasks.append(Task(target, out, context))
            return
        shorter = len(self.path(target))
        if any(kind == "handler" and thing.kind == "finally" for kind, thing in context.path[shorter:]):
            raise Unstructured("the body of a finally is left")
        prefixes = range(shorter, len(context.path) + 1)
        variables = list(dict.fromkeys(self.variable(context.path[:length]) for length in prefixes))
        leaves = target not in context.arms and bool(context.arms) and context.is_arm
        out.items.append(Goto(target, variables, leaves, source.offset))

    def end_of_final(self, block: Block, out: Sequence, context: Context) -> None:
        """End the body of a `finally` that has a machine: set a state that has no arm."""
        out.items.append(Expect(block, self.variable(context.path), block.offset, is_test=False))
        if context.is_arm:
            out.items.append(Leave("break", block.offset))

    def is_state(self, target: Block, context: Context) -> bool:
        """Return whether a block is reached by setting the state, and is not just placed next."""
        path = self.path(target)
        if path != context.path and path != context.path[: len(path)]:
            raise Unstructured("a statement is entered in the middle")
        return path != context.path or target in context.arms

    def for_loop(self, header: Block, term: ForIter, out: Sequence, context: Context) -> None:
        node = LoopNode(loop_kind(term), header.offset)
        out.items.append(Settle(header.offset))
        variable = self.variable(context.path)
        out.items.append(Expect(header, variable, header.offset, is_test=False))
        out.items.append(node)
        self.enter(term.body, node.body, (*context.path, ("for", header)))
        node.body.items.append(Expect(header, variable, header.offset))
        self.go(term.done, node.orelse, context, header)

    def guarded(self, block: Block, term: Guarded, out: Sequence, context: Context) -> None:
        region: Region = term.region
        path = (*context.path, ("region", region))
        out.items.append(Settle(block.offset))
        if region.kind == "with":
            is_async, after = self.swallowed[region]
            out.items.append(Expect(after, self.variable(context.path), block.offset, is_test=False))
            statement = WithNode(region, is_async, block.offset)
            out.items.append(statement)
            self.enter(term.body, statement.body, path)
            return
        node = TryNode(region, block.offset)
        out.items.append(node)
        self.enter(term.body, node.body, path)
        handler = (*context.path, ("handler", region))
        if region.kind == "finally":
            self.enter(term.handler, node.final, handler)
            return
        node.clauses = self.clauses[region]
        for clause in node.clauses:
            self.enter(clause.block, clause.body, handler)
