"""The state of the two machines at one moment, and the fresh containers that each of them owns.

A fresh container is one that was made in this frame and that nothing outside has seen: its content is known,
and reading or changing it is silent. References to it are negative ints that no other machine uses. Once it
escapes, `forward` names the shared term that it has become, and whoever meets the reference follows it.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Set, Tuple

LIST, DICT, SET, PACK = "list", "dict", "set", "tuple"  # PACK: a tuple that holds references

# (key, operands, entries popped, entries pushed, how it goes on, properties of the results)
Event = Tuple[Tuple[Any, ...], List[int], int, int, int, int]


class Container:
    """A fresh list, dict or set, or a tuple that holds one."""

    __slots__ = ("forward", "items", "keys", "kind", "nested", "where")

    def __init__(self, kind: str, items: List[int], keys: List[int] | None = None) -> None:
        self.kind = kind
        self.items = items  # elements, or values of a dict; of a set, its constant elements in order of insertion
        self.keys = keys  # constant keys of a dict, in order
        self.where: Dict[int, int] | None = None  # key -> position, made when needed
        self.nested = False  # was compared as part of another container
        self.forward = 0  # the shared term that it became when it escaped

    def copy(self) -> Container:
        """An independent copy."""
        return Container(self.kind, self.items[:], None if self.keys is None else self.keys[:])


class Side:
    """One machine: everything that its next steps depend on."""

    __slots__ = (
        "captured",
        "dirty",
        "event",
        "exc",
        "heap",
        "locals",
        "pc",
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
        self.locals: Dict[str, int] = {}  # the user's names, cells that nobody else has seen included
        self.temps: Dict[str, int] = {}  # names that a generator of code invented
        self.heap: Dict[int, Container] = {}
        self.captured: Set[str] = set()  # own cells that a closure may have seen
        self.reads: Set[str] = set()  # globals and shared cells read since the last event
        # User's names written since the last event, in order; "" where a global was read in between.
        self.dirty: List[str] = []
        self.released: List[int] = []  # what names let go of since the last event, in order
        self.exc = 0  # the exception being handled (sys.exc_info)
        self.touched = False  # temps or containers changed since the last event
        self.rewrites = 0  # changes of containers other than growth at the end
        self.event: Any = None  # the Event, or the undecided bool, at which it stopped

    def resolve(self, value: int) -> int:
        """Follow an escaped container to the term that it became."""
        heap = self.heap
        while value < 0:
            forward = heap[value].forward
            if not forward:
                break
            value = forward
        return value

    def settle(self) -> None:
        """Replace references to escaped containers everywhere and forget unreachable containers."""
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
        """An independent copy, settled."""
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
        other.exc = self.exc
        other.touched = self.touched
        other.rewrites = self.rewrites
        return other


class Pair:
    """Both machines, and what is known about the values that they share."""

    __slots__ = ("a", "alike", "alike_at", "b", "crossed", "excused", "facts", "handled", "partners", "seen")

    def __init__(self, a: Side, b: Side) -> None:
        self.a = a
        self.b = b
        # bool term -> its outcome on this path; minus a MAYBE symbol -> True: it is bound
        self.facts: Dict[int, bool] = {}
        # what a name in the globals or in a shared cell holds until the next event
        self.seen: Dict[str, int] = {}
        # what A lost with its stack when an exception was raised, and names of B still hold
        self.excused: FrozenSet[int] = frozenset()
        self.crossed = False  # a place where paths meet was passed since the last event
        self.handled: Any = None  # the handlers last entered from here, with nothing changed since
        # Containers found alike: (reference in a, in b) -> how many elements; holds while `rewrites` are
        # alike_at.
        self.alike: Dict[Tuple[int, int], int] = {}
        self.partners: Dict[int, int] = {}  # a's reference -> b's and back, one to one
        self.alike_at = (0, 0)

    def copy(self) -> Pair:
        """An independent copy."""
        other = Pair(self.a.copy(), self.b.copy())
        other.facts = self.facts.copy()
        other.seen = self.seen.copy()
        other.crossed = self.crossed
        other.excused = self.excused
        other.handled = self.handled
        return other
