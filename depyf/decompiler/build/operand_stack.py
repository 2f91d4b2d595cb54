"""The operand stack: values, and which of them are pending."""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

from depyf.decompiler.build.symbolic_values import Value
from depyf.decompiler.bytecode.unstructured import Unstructured


class OperandStack:
    """The entries of the stack and the values whose effect has happened and is not written yet.

    `pending` is in the order in which the effects happened. Functions of `effects` take values off it; nothing
    else may change that order.
    """

    __slots__ = ("values", "pending", "killed", "using", "kept_in_place", "around", "births")

    def __init__(self) -> None:
        self.values: List[Value] = []
        self.pending: List[Value] = []
        self.killed: List[str] = []  # temporaries that are not used after the statement being written
        self.using: List[Value] = []  # named values that the expressions being written have used so far
        self.kept_in_place: Optional[Value] = None  # the in-place operation that is being stored where it came from
        # Around an operand that is computed only on some paths: the height of the stack, and what is pending there.
        self.around: List[Tuple[int, List[Value]]] = []
        self.births = 0

    def push(self, value: Value) -> None:
        """Push a value."""
        if value.born < 0:
            self.births += 1
            value.born = self.births
        value.refs += 1
        self.values.append(value)

    def push_new(self, value: Value) -> None:
        """Push a value that was made just now."""
        self.births += 1
        value.born = self.births
        value.refs = 1
        self.values.append(value)

    def pop(self) -> Value:
        """Pop a value."""
        if not self.values:
            raise Unstructured("the stack is empty")
        value = self.values.pop()
        value.refs -= 1
        return value

    def pop_many(self, count: int) -> List[Value]:
        """Pop `count` values, the deepest first."""
        if len(self.values) < count:
            raise Unstructured("the stack is empty")
        values = self.values[len(self.values) - count :]
        del self.values[len(self.values) - count :]
        for value in values:
            value.refs -= 1
        return values

    def top(self) -> Optional[Value]:
        """Return the topmost value and leave it; None where there is none."""
        return self.values[-1] if self.values else None

    def add_pending(self, value: Value) -> None:
        """Record that the effect of `value` happened just now."""
        if value.born < 0:
            self.births += 1
            value.born = self.births
        value.pending = True
        self.pending.append(value)

    def push_pending(self, value: Value) -> None:
        """Push a value whose effect happened just now; it is the last to use the temporaries killed so far."""
        value.kills = self.take_killed() if self.killed else ()
        self.add_pending(value)
        value.refs += 1
        self.values.append(value)

    def all_values(self) -> Iterator[Value]:
        """Yield every value on the stack, those inside fresh containers included."""
        work = list(self.values)
        seen = set()
        while work:
            value = work.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            yield value
            if value.name is None:
                work.extend(value.items or ())

    def holder(self, value: Value) -> Optional[Value]:
        """Return the fresh container on the stack that has `value` as an element."""
        for holder in self.all_values():
            if holder.name is None and any(item is value for item in holder.items or ()):
                return holder
        return None

    def take_killed(self) -> List[str]:
        """Hand over the temporaries that were used for the last time."""
        killed, self.killed = self.killed, []
        return killed
