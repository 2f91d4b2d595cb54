"""The state of the two machines at one moment, and the fresh containers that each of them owns.

A fresh container was made in this frame and has not escaped: its content is known, and reading or changing it
is silent. References to it are negative ints that no other machine uses. Once it escapes, `forward` is the
shared term that it became, and every use of the reference follows it.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Set, Tuple

LIST, DICT, SET, PACK = "list", "dict", "set", "tuple"  # PACK: a tuple that holds references

# (key, operands, entries popped, entries pushed, how the machine continues, properties of the results)
Event = Tuple[Tuple[Any, ...], List[int], int, int, int, int]


class Container:
    """A fresh list, dict or set, or a tuple that holds one."""

    __slots__ = ("forward", "items", "keys", "kind", "nested", "where")

    def __init__(self, kind: str, items: List[int], keys: List[int] | None = None) -> None:
        self.kind = kind
        self.items = items  # elements; values of a dict; constant elements of a set in insertion order
        self.keys = keys  # constant keys of a dict, in order
        self.where: Dict[int, int] | None = None  # key -> position, computed when needed
        self.nested = False  # compared as part of another container
        self.forward = 0  # the shared term that it became on escape

    def copy(self) -> Container:
        """Return an independent copy."""
        return Container(self.kind, self.items[:], None if self.keys is None else self.keys[:])


class Side:
    """One machine: everything that its next steps depend on."""

    __slots__ = (
        "captured",
        "dirty",
        "event",
        "exc",
        "gained",
        "heap",
        "locals",
        "lost_names",
        "pc",
        "pending",
        "reads",
        "released",
        "rewrites",
        "stack",
        "temps",
        "touched",
    )  # fmt: skip

    def __init__(self) -> None:
        self.pc = 0
        self.stack: List[int] = []
        self.locals: Dict[str, int] = {}  # the user's names, including own cells that nothing else can reach
        self.temps: Dict[str, int] = {}  # names that a code generator invented
        self.heap: Dict[int, Container] = {}
        self.captured: Set[str] = set()  # own cells that a closure may reach
        self.reads: Dict[str, None] = {}  # globals and shared cells read since the last event, in order
        # The user's names written since the last event, in order; "" where a global was read in between.
        self.dirty: List[str] = []
        self.released: List[int] = []  # values that names released since the last event, in order
        self.pending: List[int] = []  # symbols that the last op released, not yet events (releases.py)
        self.exc = 0  # the exception being handled (sys.exc_info)
        self.touched = False  # temps or containers changed since the last event
        # Since the last `Correspondence.holds_no_more`: the values that temps got, and whether one lost its value.
        self.gained: List[int] = []
        self.lost_names = True
        self.rewrites = 0  # number of changes to containers other than appending
        self.event: Any = None  # the Event, or the undecided bool, where it stopped

    def resolve(self, value: int) -> int:
        """Return the term that an escaped container became; any other value as it is."""
        heap = self.heap
        while value < 0:
            forward = heap[value].forward
            if not forward:
                break
            value = forward
        return value

    def settle(self) -> None:
        """Replace references to escaped containers everywhere and drop unreachable containers."""
        if not self.heap:
            return
        resolve = self.resolve
        self.stack[:] = [resolve(value) if value < 0 else value for value in self.stack]
        for names in (self.locals, self.temps):
            for name, value in names.items():
                if value < 0:
                    names[name] = resolve(value)
        kept: Dict[int, Container] = {}
        work = [v for v in self.stack if v < 0] + [v for v in self.temps.values() if v < 0]
        work += [v for v in self.locals.values() if v < 0]
        while work:
            value = work.pop()
            if value in kept:
                continue
            container = kept[value] = self.heap[value]
            items = container.items
            for index, item in enumerate(items):
                if item < 0:
                    item = items[index] = resolve(item)
                    if item < 0:
                        work.append(item)
        self.heap = kept

    def copy(self) -> Side:
        """Return an independent copy, settled."""
        self.settle()
        other = Side()
        other.pc = self.pc
        other.stack = self.stack[:]
        other.locals = self.locals.copy()
        if self.temps:
            other.temps = self.temps.copy()
        if self.heap:
            other.heap = {reference: container.copy() for reference, container in self.heap.items()}
        if self.captured:
            other.captured = self.captured.copy()
        if self.reads:
            other.reads = self.reads.copy()
        if self.dirty:
            other.dirty = self.dirty[:]
        if self.released:
            other.released = self.released[:]
        if self.pending:
            other.pending = self.pending[:]
        other.exc = self.exc
        other.touched = self.touched
        other.rewrites = self.rewrites
        return other


class Pair:
    """Both machines, and the facts about the values that they share."""

    __slots__ = ("a", "b", "crossed", "equal", "equal_at", "excused", "facts", "handled", "kept", "partners", "seen")

    def __init__(self, a: Side, b: Side) -> None:
        self.a = a
        self.b = b
        # bool term -> its outcome on this path; minus a MAYBE symbol -> True: it is bound
        self.facts: Dict[int, bool] = {}
        # name of a global or of a shared cell -> its value until the next event
        self.seen: Dict[str, int] = {}
        # values that A lost with its stack when an exception was raised, and that names of B still hold
        self.excused: FrozenSet[int] = frozenset()
        self.crossed = False  # passed a place where paths meet since the last event
        self.handled: Any = None  # the handlers last entered from here, with nothing changed since
        # Containers found equal: (reference in a, in b) -> number of elements compared. Valid as long as the
        # `rewrites` of both sides are `equal_at`.
        self.equal: Dict[Tuple[int, int], int] = {}
        self.partners: Dict[int, int] = {}  # a's reference -> b's and back, one to one
        self.equal_at = (0, 0)
        # A's stack below the operands when all that B held was last seen to be held by A; None: not known.
        self.kept: List[int] | None = None

    def size(self) -> int:
        """Return how many entries the state has, roughly."""
        a, b = self.a, self.b
        size = len(a.locals) + len(b.locals) + len(a.stack) + len(b.stack) + len(self.facts) + len(a.captured)
        if a.temps or b.temps or a.heap or b.heap:
            size += len(a.temps) + len(b.temps)
            size += sum([1 + len(one.items) for heap in (a.heap, b.heap) for one in heap.values()])
        return size

    def copy(self) -> Pair:
        """Return an independent copy."""
        other = Pair(self.a.copy(), self.b.copy())
        other.facts = self.facts.copy()
        other.seen = self.seen.copy()
        other.crossed = self.crossed
        other.excused = self.excused
        other.handled = self.handled
        return other
