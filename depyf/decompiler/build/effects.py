"""Using and writing values: the order of effects.

`stack.pending` lists the values whose computation has not been written yet, in the order in which it happened. A
value may be written inside a larger expression only if everything that happened since belongs to that same
expression, in order: that is, if the values used are the last ones pending. Otherwise they are written as
assignments to temporaries first. So the order of effects is right by construction.
"""

from __future__ import annotations

from typing import Dict, List, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import (
    DEAD,
    EMBEDDED,
    LIVE,
    Addition,
    BuildClass,
    Cell,
    Fresh,
    FreshDict,
    FunctionValue,
    GenericBase,
    Marker,
    Null,
    Slot,
    TypeParameterValue,
    Value,
    cells_node,
    is_tuple,
    pending_inside,
)
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.provisional import Inplace, Reference


def silent(frame: Frame, node: s.Expression) -> None:
    """Push a value that is computed without effect."""
    frame.stack.push_new(Value(node, frame.output.offset))


def event(frame: Frame, node: s.Expression) -> None:
    """Push a value whose computation has an effect, just now."""
    value = Value(node, frame.output.offset)
    stack = frame.stack
    if stack.killed:
        value.kills = stack.take_killed()
    value.pending = True
    stack.pending.append(value)
    stack.push_new(value)


def take_one(frame: Frame, value: Value) -> s.Expression:
    """Return the expression for one popped value, to be written in a larger one; the same as `take` does."""
    stack = frame.stack
    if value.name is not None:
        if value.refs == 0 and value.name in frame.output.temporaries:
            stack.killed.append(value.name)
        return s.Name(value.name)
    if type(value) is Value and not value.targets:
        node = value.node
        if not value.pending:
            if type(node) is not s.Constant:
                return node
        elif value.refs == 0 and value.fate == LIVE and not value.kills and stack.pending[-1:] == [value]:
            if type(node) is not Inplace and type(node) is not s.Constant:
                stack.pending.pop()
                value.pending = False
                return node
    return take(frame, value)[0]


def take(frame: Frame, *values: Value, final: bool = False, is_event: bool = False) -> List[s.Expression]:
    """Return the expressions for popped values, to be written in this order in one larger expression.

    `final`: the larger expression is a statement of its own, written at once. `is_event`: one that runs code.
    """
    stack = frame.stack
    used: List[Value] = []
    names_containers = is_event or not final
    if names_containers:
        _spill_containers(frame, values)
    before = len(stack.using)
    for value in values:
        value.refs += 1  # so that no operand before it takes it for unused
    for value in values:
        value.refs -= 1
        _collect_pending(frame, value, used, names_containers)
    del stack.using[before:]
    for value in _detach(frame, used, final and not is_event) if used else ():
        stack.killed.extend(value.kills)
        value.kills = ()
    return [node_of(frame, value) for value in values]


def _collect_pending(frame: Frame, value: Value, used: List[Value], names_containers: bool) -> None:
    """Add to `used` the pending values below `value` that are used for the last time, in the order of the text.

    Who is handed a list may empty it, to release what is in it. So no temporary may hold that too: the list gets a name
    and the temporaries are deleted (`names_containers`).
    """
    if value.name is None and isinstance(value, Slot):
        frame.tables.name_slots(frame, value.pattern)
    if value.name is not None:
        use_named(frame, value)
        return
    if not value.pending and type(value) is Value:
        return
    if isinstance(value, _NO_VALUES):
        raise Unstructured(f"{type(value).__name__} used as a value")
    items = value.items
    if items is not None:
        if value.refs > 0 or (names_containers and holds_temporary(frame, value)):
            give_name(frame, value)
            use_named(frame, value)
            return
        for item in items:
            item.refs -= 1
            _collect_pending(frame, item, used, names_containers)
        return
    if isinstance(value, FunctionValue) and value.pending and not value.is_defined and value.definition.needs_statement:
        spill_until(frame, value)
        use_named(frame, value)
        return
    if value.pending and value.refs > 0 and value.kills:
        spill_until(frame, value)  # its operands die here, not after the larger expression
        use_named(frame, value)
    elif value.pending and value.refs > 0:
        value.fate = EMBEDDED
    elif value.pending:
        goes_elsewhere = isinstance(value.node, Inplace) and value is not frame.stack.kept_in_place
        if value.fate == EMBEDDED or goes_elsewhere or not can_use_walrus(frame, value.targets):
            spill_until(frame, value)
            use_named(frame, value)
            return
        used.append(value)


_CONTAINERS = frozenset({Fresh, FreshDict})
_NO_VALUES = (Marker, Null, BuildClass, GenericBase, TypeParameterValue)


def can_use_walrus(frame: Frame, targets: Sequence[s.Expression]) -> bool:
    """Return whether `:=` can spell all the assignments of a value, and reads better than a statement."""
    names = [target.id for target in targets if isinstance(target, s.Name)]
    if len(names) < len(targets):
        return False
    return len(names) < 2 or frame.output.generated.isdisjoint(names)


def _spill_containers(frame: Frame, values: Sequence[Value]) -> None:
    """Give names to everything pending in a list or dict if some of it cannot be written inside it."""
    mutable = [value for value in values if type(value) in _CONTAINERS and value.name is None and not is_tuple(value)]
    if not mutable:
        return
    leaves: List[Value] = []
    for value in values:
        leaves.extend(reversed(list(pending_inside(value))))
    at_end = frame.stack.pending[len(frame.stack.pending) - len(leaves) :]
    in_order = len(at_end) == len(leaves) and all(a is b for a, b in zip(at_end, leaves))
    if in_order and not any(leaf.kills for leaf in leaves):
        return
    if any(next(pending_inside(container), None) is not None for container in mutable):
        for leaf in leaves:
            if leaf.pending:
                spill_until(frame, leaf)


def holds_temporary(frame: Frame, container: Value) -> bool:
    """Return whether a list or dict is the last to hold the value of a temporary."""
    if is_tuple(container):
        return False
    places: Dict[int, int] = {}  # id of a value -> how often the container holds it
    in_use = set(map(id, frame.stack.using))
    work = list(container.items or ())
    while work:
        item = work.pop()
        if item.name in frame.output.temporaries and id(item) not in in_use:
            places[id(item)] = places.get(id(item), 0) + 1
            if item.refs == places[id(item)]:
                return True
        if item.name is None:
            work.extend(item.items or ())
    return False


def use_named(frame: Frame, value: Value) -> None:
    """Record the use of a named value: after the last use its temporary is deleted."""
    frame.stack.using.append(value)
    if value.refs == 0 and value.name in frame.output.temporaries:
        frame.stack.killed.append(value.name)


def _detach(frame: Frame, used: List[Value], final: bool) -> List[Value]:
    """Take as many of the values as possible off the end of `pending`, in this order; name the rest.

    A value that was computed before them may stand after them in the text if it has a name. One that is the last
    to use temporaries gets a name, unless the statement ends with it.
    """
    kept: List[Value] = []
    position = len(used)
    for value in reversed(frame.stack.pending):
        while position and used[position - 1] is not value:
            position -= 1
        if not position or (value.kills and (kept or not final)):
            break
        position -= 1
        kept.append(value)
    staying = {id(value) for value in kept}
    for value in used:
        if id(value) not in staying:
            if value.pending:
                spill_until(frame, value)
            use_named(frame, value)
    if kept:
        del frame.stack.pending[-len(kept) :]
        for value in kept:
            value.pending = False
    kept.reverse()
    return kept


_NO_EXPRESSIONS = (*CODE_TYPES, frozenset)  # constants that no expression spells by themselves


def node_of(frame: Frame, value: Value) -> s.Expression:
    """Return the expression that stands for `value` in the text."""
    if value.name is not None:
        return s.Name(value.name)
    if value.pending:
        return Reference(value)
    if isinstance(value, Fresh):
        cells = [item.variable for item in value.items if isinstance(item, Cell) and item.name is None]
        if value.kind == "tuple" and cells and len(cells) == len(value.items) and cells == sorted(set(cells)):
            return cells_node(cells)
        nodes = [node_of(frame, item) for item in value.items]
        return s.List(nodes) if value.kind == "list" else s.Tuple(nodes)
    if isinstance(value, FreshDict):
        return s.Dict(list(value.keys), [node_of(frame, item) for item in value.items])
    if isinstance(value, FunctionValue) and not value.targets:
        return Reference(value)
    if value.targets:
        named = value.node
        for target in value.targets:
            named = s.NamedExpr(target, named)
        return named
    if isinstance(value.node, s.Constant) and type(value.node.value) in _NO_EXPRESSIONS:
        return frame.scope.placeholders.node(value.node.value)
    return value.node


def emit(frame: Frame, statement: s.Statement) -> None:
    """Write a statement whose values have been taken; everything pending happened before it."""
    output = frame.output
    killed = frame.stack.take_killed()
    flush(frame)
    statement.origin = output.offset
    output.body.append(statement)
    if killed and not isinstance(statement, (s.Return, s.Raise)):
        output.delete(killed)


def flush(frame: Frame) -> None:
    """Write everything pending."""
    while frame.stack.pending:
        _write_first(frame)


def _write_first(frame: Frame) -> None:
    """Write the first pending value. `*x` needs the list that it extends around it: that is written."""
    stack = frame.stack
    value = stack.pending[0]
    holder = stack.holder(value) if type(value) is Addition else None
    if holder is None:
        del stack.pending[0]
        _write(frame, value)
        return
    inside = set(map(id, pending_inside(holder)))
    count = max(place for place, other in enumerate(stack.pending, 1) if id(other) in inside)
    if any(id(other) not in inside for other in stack.pending[:count]):
        raise Unstructured("something else happens while a display is being made")
    later, stack.pending = stack.pending[count:], stack.pending[:count]
    give_name(frame, holder)
    stack.pending.extend(later)


def spill_until(frame: Frame, value: Value) -> None:
    """Write everything pending up to and including `value`."""
    while value.pending:
        _write_first(frame)


def _write(frame: Frame, value: Value) -> None:
    """Write a value that is pending no more: as its definition, for its effect, or as an assignment."""
    output = frame.output
    value.pending = False
    kills, value.kills = value.kills, ()
    if type(value) is Value and value.fate != DEAD and not value.targets and type(value.node) is not Inplace:
        value.name = output.new_name(value.node)
        output.body.append(s.Assign([s.Name(value.name)], value.node, origin=value.offset))
    elif isinstance(value, FunctionValue) and value.definition.needs_statement:
        if value.targets or not frame.tables.write_definition(frame, value):
            raise Unstructured("a function that is not stored under its name")
    elif isinstance(value.node, Inplace):
        _write_in_place(frame, value, value.node)
    elif value.fate == DEAD and not value.targets:
        output.body.append(s.Expr(value.node, origin=value.offset))
    else:
        targets: List[s.Expression] = list(value.targets)
        local = next((target for target in value.targets if target in value.locals), None) if value.locals else None
        if isinstance(local, s.Name) and value.fate != DEAD:
            value.name = local.id
        elif value.fate != DEAD:
            value.name = output.new_name(value.node)
            targets.append(s.Name(value.name))
        output.body.append(s.Assign(targets, value.node, origin=value.offset))
        value.targets = ()
    if kills:
        output.delete(kills)


def _write_in_place(frame: Frame, value: Value, node: Inplace) -> None:
    """Write `x += y` on a temporary: its result does not go where it came from."""
    output = frame.output
    value.name = output.new_name(node.left)
    temporary = s.Name(value.name)
    output.body.append(s.Assign([temporary], node.left, origin=value.offset))
    output.body.append(s.AugAssign(temporary, node.op, node.right, origin=value.offset))
    if value.targets:
        output.body.append(s.Assign(list(value.targets), temporary, origin=value.offset))
        value.targets = ()
    if value.fate == DEAD:
        output.delete([value.name])


def give_name(frame: Frame, value: Value) -> None:
    """Assign a fresh container, or a silent value, to a temporary: from now on the text refers to it by name."""
    stack, output = frame.stack, frame.output
    if value.name is not None:
        return
    if value.pending:
        spill_until(frame, value)
        return
    killed = stack.take_killed()
    items = value.items
    if items is not None:
        held, value.refs = value.refs, 0
        nodes = take(frame, *release_items(items), final=True)
        node: s.Expression
        if isinstance(value, Fresh):
            node = s.List(nodes) if value.kind == "list" else s.Tuple(nodes)
        else:
            assert isinstance(value, FreshDict)
            node = s.Dict(list(value.keys), nodes)
        value.refs = held
    else:
        node = value.node
    flush(frame)
    value.name = output.new_name(node)
    output.body.append(s.Assign([s.Name(value.name)], node, origin=value.offset))
    still_used = {used.name for used in stack.using}  # by the expression around
    gone = [name for name in stack.killed if name not in still_used]
    if gone:
        output.delete(gone)
    stack.killed = [*killed, *(name for name in stack.killed if name in still_used)]


def discard(frame: Frame, value: Value) -> None:
    """Drop a popped value: delete the temporaries that it alone held; an effect not yet written stays."""
    if value.refs > 0:
        return
    if value.name is not None:
        if value.name in frame.output.temporaries:
            flush(frame)
            frame.output.delete([value.name])
        return
    items = value.items
    if items is not None and _is_display_statement(value, 1 if not frame.scope.settings.is_generated else 2):
        emit(frame, s.Expr(take(frame, value, final=True)[0]))
    elif items is not None:
        for item in items:
            item.refs -= 1
            discard(frame, item)
    elif value.pending:
        value.fate = DEAD


def _is_display_statement(container: Value, least: int) -> bool:
    """Return whether a dropped container is written: it was added to, or holds so many results or more."""
    pending = 0
    work = [container]
    while work:
        for item in work.pop().items or ():
            if item.pending and isinstance(item, Addition):
                return True
            if item.name is None and item.refs == 1:  # else something else holds it, too
                pending += item.pending
                work.append(item)
    return pending >= least


def release_items(items: Sequence[Value]) -> Sequence[Value]:
    """Return the elements of a container that is written now: its own references to them end."""
    for item in items:
        item.refs -= 1
    return items
