"""Unpacking: assignments that collect their targets one by one."""

from __future__ import annotations

from typing import List, Optional, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.fresh import FreshLists
from depyf.decompiler.build.values import Fresh, FunctionValue, Pattern, Slot, Value
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured

# What comes after the only value of an unpacking that is an annotation (`*args: *Ts`) or a default (`[*Ts = *T]`).
_AFTER_STAR = frozenset({"CONST", "BUILD_TUPLE", "LOAD_CLOSURE", "RETURN"})


class Unpacking(FreshLists):
    """`a, (b, *c) = value`: each element waits for its target, and the statement for them all."""

    def assign(self, value: Value, target: s.Expression) -> None:
        """`target = value`"""
        raise NotImplementedError

    def op_unpack(self, op: Op) -> None:
        """UNPACK, UNPACK_EX"""
        before, after = op.arg if op.kind == "UNPACK_EX" else (op.arg, -1)
        count = before + 1 + after
        star = before if after >= 0 else -1
        value = self.pop()
        if star < 0 and self.fold_unpack(value, count):
            return
        if op.kind == "UNPACK" and count == 1 and self.following in _AFTER_STAR:
            (node,) = self.take(value)
            starred = Value(s.Starred(node), op.offset)
            self.add_pending(starred)
            self.push(starred)
            return
        if isinstance(value, Fresh) and value.kind == "tuple" and value.name is None and self.is_chained(value, count):
            value = self.settle(value)
        if isinstance(value, Slot):
            pattern = Pattern(count, star, value)
        elif value.refs > 0 and value.name is None and value.items is None and not isinstance(value, FunctionValue):
            if not value.pending:
                self.add_pending(value)
            pattern = Pattern(count, star, value)  # `a, b = c = value`: there is more to come
        else:
            if value.refs > 0 and not value.targets:
                self.give_name(value)
            targets, value.targets = value.targets, []
            # Unpacking runs code: temporaries that the value was made of are gone by then.
            (node,) = self.take(value, final=value.items is not None)
            killed, self.killed = self.killed, []
            self.flush()
            pattern = Pattern(count, star, (node, targets, killed, self.offset))
        if count == 0:
            self.close_pattern(pattern)
        pattern.slots = [Slot(pattern, index, op.offset) for index in range(count)]
        for slot in reversed(pattern.slots):
            self.push(slot)

    def name_slots(self, pattern: Pattern) -> None:
        if pattern.targets or pattern.source in ("for", "with"):
            raise Unstructured("unpacked values are used while they are stored")
        outer = pattern.source
        if isinstance(outer, Slot):
            self.name_slots(outer.pattern)
        if isinstance(outer, Value):
            self.give_name(outer)
            pattern.source = (self.node(outer), [], [], outer.offset)
        node = pattern.source[0]
        held = {slot.index: slot for slot in pattern.slots}
        for index, slot in sorted(held.items()):
            slot.name = self.new_name(s.Subscript(node, s.Constant(index)))
            target: s.Expression = s.Name(slot.name)
            pattern.targets.append(s.Starred(target) if index == pattern.star else target)
        self.flush()
        self.close_pattern(pattern)

    def store_target(self, slot: Slot, target: Optional[s.Expression]) -> None:
        """Give a slot its target; None drops the element."""
        pattern = slot.pattern
        if target is None and pattern.source == "with":
            pattern.is_done = True
            return
        if slot.refs > 0 or slot.index != len(pattern.targets):
            self.name_slots(pattern)
            if target is not None:
                self.assign(slot, target)
            else:
                self.discard(slot)
            return
        if target is None:
            target = Dropped("_")
        else:
            fill_dropped(pattern, target)
        if slot.index == pattern.star:
            target = s.Starred(target)
        pattern.targets.append(target)
        if len(pattern.targets) == pattern.count:
            self.close_pattern(pattern)

    def close_pattern(self, pattern: Pattern) -> None:
        """All targets are known."""
        pattern.is_done = True
        source = pattern.source
        if source in ("for", "with"):
            names = self.name_dropped(pattern.targets)
            if names:
                self.delete(names)
            return
        target = s.Tuple(pattern.targets)
        if isinstance(source, Slot):
            self.store_target(source, target)
            return
        if isinstance(source, Value):
            if self.name_dropped([target]):
                raise Unstructured("an element that is dropped while the others are stored twice")
            source.targets.append(target)
            return
        node, targets, killed, _ = source
        self.killed = killed + self.killed + self.name_dropped([target])
        self.emit(s.Assign([*targets, target], node))

    def name_dropped(self, targets: Sequence[s.Expression]) -> List[str]:
        """Give elements that nothing takes a temporary each."""
        names: List[str] = []
        work = list(targets)
        while work:
            target = work.pop(0)
            if isinstance(target, Dropped):
                target.id = self.new_name(s.Name("unused"))
                names.append(target.id)
            elif isinstance(target, (s.Tuple, s.List)):
                work.extend(target.elts)
            elif isinstance(target, s.Starred):
                work.append(target.value)
        return names


class Dropped(s.Name):
    """The target of an element that is popped: of several stores to one variable the compiler keeps the last."""

    __slots__ = ()


def fill_dropped(pattern: Pattern, target: s.Expression) -> None:
    """The elements dropped just before `target` go to the variable that is stored first."""
    while isinstance(target, s.Tuple) and target.elts:
        target = target.elts[0]
    if isinstance(target, s.Starred):
        target = target.value
    if type(target) is s.Name:
        _fill_end(pattern.targets, target.id)


def _fill_end(targets: List[s.Expression], name: str) -> bool:
    """Give the dropped elements at the end a variable. Returns whether there is nothing else."""
    for position in range(len(targets) - 1, -1, -1):
        target = targets[position]
        if isinstance(target, Dropped):
            targets[position] = s.Name(name)
        elif isinstance(target, s.Starred) and isinstance(target.value, Dropped):
            targets[position] = s.Starred(s.Name(name))
        elif not isinstance(target, s.Tuple) or not isinstance(target.elts, list) or not _fill_end(target.elts, name):
            return False
    return True
