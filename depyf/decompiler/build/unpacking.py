"""Unpacking: assignments that collect their targets one by one."""

from __future__ import annotations

from typing import List, Optional, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.effects import discard, emit, flush, give_name, node_of, take
from depyf.decompiler.build.list_folding import fold_unpack, is_chained
from depyf.decompiler.build.rebinding import freeze_tuple
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import Addition, Fresh, FunctionValue, Pattern, Slot, Value
from depyf.decompiler.bytecode.microops import ANNOTATE, ANNOTATIONS, Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.provisional import Dropped, Inplace

# What follows the unpacking of one value that is an annotation (`*args: *Ts`) or a default (`[*Ts = *T]`).
_AFTER_STAR = frozenset({"CONST", "BUILD_TUPLE", "BUILD_MAP", "LOAD_CLOSURE", "RETURN"})


def op_unpack(frame: Frame, op: Op) -> None:
    """Execute UNPACK, UNPACK_EX."""
    stack = frame.stack
    before, after = op.arg if op.kind == "UNPACK_EX" else (op.arg, -1)
    count = before + 1 + after
    star = before if after >= 0 else -1
    value = stack.pop()
    if star < 0 and fold_unpack(frame, value, count):
        return
    if op.kind == "UNPACK" and count == 1 and _is_annotation(frame):
        (node,) = take(frame, value)
        starred = Addition(s.Starred(node), op.offset)
        stack.add_pending(starred)
        stack.push(starred)
        return
    if isinstance(value, Fresh) and value.kind == "tuple" and value.name is None and is_chained(frame, value, count):
        value = freeze_tuple(frame, value)
    if isinstance(value, Slot):
        pattern = Pattern(count, star, value)
    elif value.refs > 0 and value.name is None and value.items is None and not isinstance(value, FunctionValue):
        if not value.pending:
            stack.add_pending(value)
        pattern = Pattern(count, star, value)  # `a, b = c = value`: other targets follow
    else:
        if value.refs > 0 and not value.targets:
            give_name(frame, value)
        targets, value.targets = value.targets, ()
        # Unpacking runs code: the temporaries that the value was made of are deleted before.
        (node,) = take(frame, value, final=value.items is not None)
        killed = stack.take_killed()
        flush(frame)
        pattern = Pattern(count, star, (node, targets, killed, frame.output.offset))
    if count == 0:
        close_pattern(frame, pattern)
    pattern.slots = [Slot(pattern, index, op.offset) for index in range(count)]
    for slot in reversed(pattern.slots):
        stack.push(slot)


def _is_annotation(frame: Frame) -> bool:
    """Return whether the value that was unpacked just now, one alone, is a part of an annotation or of a default.

    A code generator (Dynamo of torch 2.6) may unpack one value and leave it on the stack for anything else.
    """
    if not frame.scope.settings.is_generated:
        return frame.upcoming.kind in _AFTER_STAR
    rest = frame.upcoming.ops[frame.upcoming.position :]
    is_annotated = any(op.kind == "MAKE_FUNCTION" and op.arg & (ANNOTATIONS | ANNOTATE) for op in rest)
    return is_annotated and frame.upcoming.kind in _AFTER_STAR


def name_slots(frame: Frame, pattern: Pattern) -> None:
    """Give each element that is not stored yet a temporary: it is used before."""
    if isinstance(pattern.source, str):
        raise Unstructured("unpacked values are used while they are stored")
    outer = pattern.source
    if isinstance(outer, Slot):
        name_slots(frame, outer.pattern)
    if isinstance(outer, Value):
        give_name(frame, outer)
        pattern.source = (node_of(frame, outer), [], [], outer.offset)
    node = pattern.source[0]
    for slot in pattern.slots[len(pattern.targets) :]:
        index = slot.index
        slot.name = frame.output.new_name(s.Subscript(node, s.Constant(index)))
        target: s.Expression = s.Name(slot.name)
        pattern.targets.append(s.Starred(target) if index == pattern.star else target)
    flush(frame)
    close_pattern(frame, pattern)


def store_target(frame: Frame, slot: Slot, target: Optional[s.Expression]) -> None:
    """Give a slot its target; None drops the element."""
    pattern = slot.pattern
    if pattern.source in ("entered", "entered async"):
        raise Unstructured("a manager is entered without a with block")
    if target is None and pattern.source == "with":
        pattern.is_done = True
        return
    if slot.refs > 0 or slot.index != len(pattern.targets):
        name_slots(frame, pattern)
        if target is not None:
            assign(frame, slot, target)
        else:
            discard(frame, slot)
        return
    if target is None:
        target = Dropped()
    else:
        fill_dropped(pattern, target)
    if slot.index == pattern.star:
        target = s.Starred(target)
    pattern.targets.append(target)
    if len(pattern.targets) == pattern.count:
        close_pattern(frame, pattern)


def assign(frame: Frame, value: Value, target: s.Expression, is_event: bool = False) -> None:
    """Write `target = value` or `target op= value`."""
    place = value.node.left if isinstance(value.node, Inplace) else None
    if isinstance(place, s.Name) and isinstance(target, s.Name) and place.id == target.id:
        frame.stack.kept_in_place = value
    (node,) = take(frame, value, final=True, is_event=is_event)
    frame.stack.kept_in_place = None
    if isinstance(node, Inplace):
        emit(frame, s.AugAssign(target, node.op, node.right))
    else:
        emit(frame, s.Assign([target], node))


def close_pattern(frame: Frame, pattern: Pattern) -> None:
    """Write the assignment whose targets are all known, or hand its targets to the pattern around it."""
    pattern.is_done = True
    source = pattern.source
    if source in ("for", "with"):
        names = name_dropped(frame, pattern.targets)
        if names:
            frame.output.delete(names)
        return
    target = s.Tuple(pattern.targets)
    if isinstance(source, Slot):
        store_target(frame, source, target)
        return
    if isinstance(source, Value):
        if name_dropped(frame, [target]):
            raise Unstructured("an element that is dropped while the others are stored twice")
        source.targets += (target,)
        return
    node, targets, killed, _ = source
    frame.stack.killed = killed + frame.stack.killed + name_dropped(frame, [target])
    emit(frame, s.Assign([*targets, target], node))


def name_dropped(frame: Frame, targets: Sequence[s.Expression]) -> List[str]:
    """Give elements that are popped a temporary each; return their names."""
    names: List[str] = []
    work = list(targets)
    while work:
        target = work.pop(0)
        if isinstance(target, Dropped):
            target.id = frame.output.new_name(s.Name("unused"))
            names.append(target.id)
        elif isinstance(target, (s.Tuple, s.List)):
            work.extend(target.elts)
        elif isinstance(target, s.Starred):
            work.append(target.value)
    return names


def fill_dropped(pattern: Pattern, target: s.Expression) -> None:
    """Store the elements dropped just before `target` in the variable that is stored first."""
    while isinstance(target, s.Tuple) and target.elts:
        target = target.elts[0]
    if isinstance(target, s.Starred):
        target = target.value
    if type(target) is s.Name:
        _fill_end(pattern.targets, target.id)


def _fill_end(targets: List[s.Expression], name: str) -> bool:
    """Give the dropped elements at the end a variable. Return whether there are no others."""
    for position in range(len(targets) - 1, -1, -1):
        target = targets[position]
        if isinstance(target, Dropped):
            targets[position] = s.Name(name)
        elif isinstance(target, s.Starred) and isinstance(target.value, Dropped):
            targets[position] = s.Starred(s.Name(name))
        elif not isinstance(target, s.Tuple) or not isinstance(target.elts, list) or not _fill_end(target.elts, name):
            return False
    return True
