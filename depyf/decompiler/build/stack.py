"""The symbolic stack, and the order of effects.

`pending` lists the values whose computation has not been written yet, in the order in which it happened. A
value may be written inside a larger expression only if everything that happened since belongs to that same
expression, in order: that is, if the values used are the last ones pending. Otherwise they are written as
assignments to temporaries first. So the order of effects is right by construction.
"""

from __future__ import annotations

from types import CodeType
from typing import Dict, FrozenSet, Iterator, List, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.constants import Placeholders
from depyf.decompiler.build.forms import Inplace
from depyf.decompiler.build.names import Names
from depyf.decompiler.build.values import (
    BuildClass,
    Cell,
    Fresh,
    FreshDict,
    FunctionValue,
    GenericBase,
    Marker,
    Null,
    Pattern,
    Slot,
    TypeParameterValue,
    Value,
    cells_node,
    holds,
    pending_inside,
    reads,
)
from depyf.decompiler.bytecode.unstructured import Unstructured


class Stack:
    """Values, what is pending, and the statements written so far."""

    placeholders: Placeholders
    generated: FrozenSet[str] = frozenset()  # locals that a code generator added to the user's

    def __init__(self, names: Names) -> None:
        self.names = names
        self.values: List[Value] = []
        self.pending: List[Value] = []
        self.out: List[s.Statement] = []
        self.killed: List[str] = []  # temporaries that are not used after the statement being written
        self.own_targets: List[s.Expression] = []  # of the last `del` that was written, if all of them are ours
        self.offset = -1
        self.births = 0
        self.temporaries: List[str] = []
        self.using: List[Value] = []  # named values that the expressions being written have used so far
        self.kept_in_place: Value | None = None  # the in-place operation that is being stored where it came from
        # What is around an operand that is computed only on some paths: the height of the stack, what is pending.
        self.around: List[Tuple[int, List[Value]]] = []

    # -- the stack itself

    def push(self, value: Value) -> None:
        """Push a value."""
        self.note_birth(value)
        value.refs += 1
        self.values.append(value)

    def note_birth(self, value: Value) -> None:
        """Number the values in the order in which they come to be."""
        if value.born < 0:
            self.births += 1
            value.born = self.births

    def pop(self) -> Value:
        """Pop a value."""
        if not self.values:
            raise Unstructured("the stack is empty")
        value = self.values.pop()
        value.refs -= 1
        return value

    def pop_many(self, count: int) -> List[Value]:
        """Pop `count` values, the deepest first."""
        values = [self.pop() for _ in range(count)]
        values.reverse()
        return values

    def silent(self, node: s.Expression) -> None:
        """Push a value that is computed without effect."""
        self.push(Value(node, self.offset))

    def event(self, node: s.Expression) -> Value:
        """Push a value whose computation has an effect, just now."""
        value = Value(node, self.offset)
        value.kills, self.killed = self.killed, []
        self.add_pending(value)
        self.push(value)
        return value

    def add_pending(self, value: Value) -> None:
        """Note that `value` was computed just now."""
        self.note_birth(value)
        value.pending = True
        self.pending.append(value)

    # -- using values

    def take(self, *values: Value, final: bool = False, is_event: bool = False) -> List[s.Expression]:
        """The expressions for values that were popped, to be written in this order in one larger expression.

        `final`: the larger expression is a statement of its own, written at once. `is_event`: one that runs code.
        """
        used: List[Value] = []
        names_containers = is_event or not final
        if names_containers:
            self._settle_containers(values)
        before = len(self.using)
        for value in values:
            value.refs += 1  # until it is its turn, so that no other operand takes it for unused
        for value in values:
            value.refs -= 1
            self._collect(value, used, names_containers)
        del self.using[before:]
        for value in self._detach(used, final and not is_event) if used else ():
            self.killed.extend(value.kills)
            value.kills = []
        return [self.node(value) for value in values]

    def _collect(self, value: Value, used: List[Value], names_containers: bool) -> None:
        """Gather the pending values below `value` that are used for the last time, in the order of the text.

        A list that is handed over may be emptied by who gets it, to release what is in it: then no temporary may
        hold that too, so the list gets a name and the temporaries go (`names_containers`).
        """
        if value.name is None and isinstance(value, Slot):
            self.name_slots(value.pattern)
        if value.name is not None:
            self.let_go(value)
            return
        if isinstance(value, (Marker, Null, BuildClass, GenericBase, TypeParameterValue)):
            raise Unstructured(f"{type(value).__name__} used as a value")
        items = value.items
        if items is not None:
            if value.refs > 0 or (names_containers and self.holds_temporary(value)):
                self.give_name(value)
                self.let_go(value)
                return
            for item in items:
                item.refs -= 1
                self._collect(item, used, names_containers)
            return
        if isinstance(value, FunctionValue) and value.pending and not value.is_defined and value.needs_statement:
            self.spill_until(value)
            self.let_go(value)
            return
        if value.pending and value.refs > 0 and value.kills:
            self.spill_until(value)  # what it used last goes now, not when all of this is done
            self.let_go(value)
        elif value.pending and value.refs > 0:
            value.embedded = True
        elif value.pending:
            goes_elsewhere = isinstance(value.node, Inplace) and value is not self.kept_in_place
            if value.embedded or goes_elsewhere or not self.can_be_named_inside(value.targets):
                self.spill_until(value)
                self.let_go(value)
                return
            used.append(value)

    def can_be_named_inside(self, targets: Sequence[s.Expression]) -> bool:
        """Whether `:=` can say all the assignments of a value, and nobody would rather read a statement."""
        names = [target.id for target in targets if isinstance(target, s.Name)]
        if len(names) < len(targets):
            return False
        return len(names) < 2 or self.generated.isdisjoint(names)

    def _settle_containers(self, values: Sequence[Value]) -> None:
        """If something pending in a list or dict cannot be written inside it, all of it gets names at once."""
        mutable = [value for value in values if value.items is not None and not _is_tuple(value) and value.name is None]
        if not mutable:
            return
        leaves: List[Value] = []
        for value in values:
            leaves.extend(reversed(list(pending_inside(value))))
        at_end = self.pending[len(self.pending) - len(leaves) :]
        in_order = len(at_end) == len(leaves) and all(a is b for a, b in zip(at_end, leaves))
        if in_order and not any(leaf.kills for leaf in leaves):
            return
        if any(next(pending_inside(container), None) is not None for container in mutable):
            for leaf in leaves:
                if leaf.pending:
                    self.spill_until(leaf)

    def holds_temporary(self, container: Value) -> bool:
        """Whether a list or dict is the last to hold the value of a temporary."""
        if _is_tuple(container):
            return False
        places: Dict[int, int] = {}  # how often it holds each
        in_use = set(map(id, self.using))
        work = list(container.items or ())
        while work:
            item = work.pop()
            if item.name in self.temporaries and id(item) not in in_use:
                places[id(item)] = places.get(id(item), 0) + 1
                if item.refs == places[id(item)]:
                    return True
            if item.name is None:
                work.extend(item.items or ())
        return False

    def let_go(self, value: Value) -> None:
        """A named value is used: if for the last time, its temporary goes after the statement."""
        self.using.append(value)
        if value.refs == 0 and value.name in self.temporaries:
            self.killed.append(value.name)

    def _detach(self, used: List[Value], final: bool) -> List[Value]:
        """Take as many of the values as can be off the end of `pending`, in this order; name the rest.

        A value that was computed before them may stand after them in the text if it has a name. One that is the last
        to use temporaries gets a name, unless the statement ends with it.
        """
        kept: List[Value] = []
        position = len(used)
        for value in reversed(self.pending):
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
                    self.spill_until(value)
                self.let_go(value)
        if kept:
            del self.pending[-len(kept) :]
            for value in kept:
                value.pending = False
        kept.reverse()
        return kept

    def node(self, value: Value) -> s.Expression:
        """The expression that stands for `value` in the text."""
        if value.name is not None:
            return s.Name(value.name)
        if value.pending:
            return value  # resolved when it is known whether it has got a name
        if isinstance(value, Fresh):
            cells = [item.variable for item in value.items if isinstance(item, Cell) and item.name is None]
            if value.kind == "tuple" and cells and len(cells) == len(value.items) and cells == sorted(set(cells)):
                return cells_node(cells)
            nodes = [self.node(item) for item in value.items]
            return s.List(nodes) if value.kind == "list" else s.Tuple(nodes)
        if isinstance(value, FreshDict):
            return s.Dict(list(value.keys), [self.node(item) for item in value.items])
        if isinstance(value, FunctionValue) and not value.targets:
            return value
        if value.targets:
            named = value.node
            for target in value.targets:
                named = s.NamedExpr(target, named)
            return named
        if isinstance(value.node, s.Constant) and type(value.node.value) in (CodeType, frozenset):
            return self.placeholders.node(value.node.value)
        return value.node

    # -- writing

    def emit(self, statement: s.Statement) -> None:
        """Write a statement whose values have been taken; what is still pending happened before it."""
        killed, self.killed = self.killed, []
        self.flush()
        statement.origin = self.offset
        self.out.append(statement)
        if killed and not isinstance(statement, (s.Return, s.Raise)):
            self.delete(killed)

    def delete(self, names: Sequence[str]) -> None:
        """Unbind temporaries after their last use, as the original's stack would let go of them."""
        targets: List[s.Expression] = [s.Name(name) for name in dict.fromkeys(names)]
        last = self.out[-1] if self.out else None
        are_ours = all(name in self.temporaries or name in self.generated for name in names)
        if are_ours and isinstance(last, s.Delete) and last.targets is self.own_targets:
            self.own_targets.extend(targets)
        else:
            self.out.append(s.Delete(targets, origin=self.offset))
            self.own_targets = targets if are_ours else []

    def flush(self) -> None:
        """Write everything pending."""
        while self.pending:
            self._write_first()

    def _write_first(self) -> None:
        """Write the first pending value. `*x` can only be said inside the list that it extends: that is written."""
        value = self.pending[0]
        holder = self._holder(value) if isinstance(value.node, s.Starred) else None
        if holder is None:
            self._write(self.pending.pop(0))
            return
        later, self.pending = self.pending[1:], self.pending[:1]
        self.give_name(holder)
        self.pending.extend(later)

    def _holder(self, value: Value) -> Value | None:
        """The fresh container on the stack that has a value as an element."""
        for holder in self.all_values():
            if holder.name is None and any(item is value for item in holder.items or ()):
                return holder
        return None

    def spill_until(self, value: Value) -> None:
        """Write everything pending up to and including `value`."""
        while value.pending:
            self._write_first()

    def _write(self, value: Value) -> None:
        value.pending = False
        kills, value.kills = value.kills, []
        if isinstance(value, FunctionValue) and value.needs_statement:
            if value.targets or not self.write_definition(value):
                raise Unstructured("a function that is not stored under its name")
        elif isinstance(value.node, Inplace):
            self._write_in_place(value, value.node)
        elif value.dead and not value.targets:
            self.out.append(s.Expr(value.node, origin=value.offset))
        else:
            targets: List[s.Expression] = list(value.targets)
            local = next((target for target in value.targets if target in value.locals), None)
            if isinstance(local, s.Name) and not value.dead:
                value.name = local.id
            elif not value.dead:
                value.name = self.new_name(value.node)
                targets.append(s.Name(value.name))
            self.out.append(s.Assign(targets, value.node, origin=value.offset))
            value.targets = []
        if kills:
            self.delete(kills)

    def _write_in_place(self, value: Value, node: Inplace) -> None:
        """`x += y` whose result does not go where it came from: on a temporary."""
        value.name = self.new_name(node.left)
        temporary = s.Name(value.name)
        self.out.append(s.Assign([temporary], node.left, origin=value.offset))
        self.out.append(s.AugAssign(temporary, node.op, node.right, origin=value.offset))
        if value.targets:
            self.out.append(s.Assign(value.targets, temporary, origin=value.offset))
            value.targets = []
        if value.dead:
            self.delete([value.name])

    def write_definition(self, value: FunctionValue) -> bool:
        """Write the statement that defines a function that is used without being stored; False if none can."""
        raise NotImplementedError

    def new_name(self, node: s.Expression) -> str:
        """A name for a temporary."""
        name = self.names.fresh(node)
        self.temporaries.append(name)
        return name

    def give_name(self, value: Value) -> None:
        """Make a fresh container, or a silent value, a temporary: from now on the text refers to it by name."""
        if value.name is not None:
            return
        if value.pending:
            self.spill_until(value)
            return
        killed, self.killed = self.killed, []
        items = value.items
        if items is not None:
            held, value.refs = value.refs, 0
            nodes = self.take(*_referenced(items), final=True)
            node: s.Expression
            if isinstance(value, Fresh):
                node = s.List(nodes) if value.kind == "list" else s.Tuple(nodes)
            else:
                assert isinstance(value, FreshDict)
                node = s.Dict(list(value.keys), nodes)
            value.refs = held
        else:
            node = value.node
        self.flush()
        value.name = self.new_name(node)
        self.out.append(s.Assign([s.Name(value.name)], node, origin=value.offset))
        still_used = {used.name for used in self.using}  # around what was written here
        gone = [name for name in self.killed if name not in still_used]
        if gone:
            self.delete(gone)
        self.killed = [*killed, *(name for name in self.killed if name in still_used)]

    def settle(self, value: Fresh) -> Value:
        """A tuple that is used twice, as the index of `x[a, b:c] += d` is, becomes one expression."""
        held, value.refs = value.refs, 0
        pending = any(pending_inside(value))
        nodes = self.take(*_referenced(value.items))
        settled = Value(s.Tuple(nodes), value.offset)
        settled.refs = held
        self.values = [settled if other is value else other for other in self.values]
        if pending:
            self.add_pending(settled)
        return settled

    def name_slots(self, pattern: Pattern) -> None:
        """Unpacked values are used before they are stored: give each a temporary."""
        raise NotImplementedError

    def discard(self, value: Value) -> None:
        """A value was popped and is not used: what it held is let go of; an effect not yet written stays."""
        if value.refs > 0:
            return
        if value.name is not None:
            if value.name in self.temporaries:
                self.flush()
                self.delete([value.name])
            return
        items = value.items
        if items is not None:
            for item in items:
                item.refs -= 1
                self.discard(item)
        elif value.pending:
            value.dead = True

    def all_values(self) -> Iterator[Value]:
        """Every value on the stack, those inside fresh containers included."""
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

    def before_rebinding(self, variable: str, stored: Value | None = None) -> None:
        """The variable is about to change: values on the stack that read it get a name while they can.

        `stored`, which is about to go into the variable, has been popped and is computed before it changes.
        """
        for value in list(self.all_values()):
            if isinstance(value, (Cell, Marker, Null)) and value.name is None:
                continue
            if value.name == variable:
                value.name = self.new_name(s.Name(variable))
                self.flush()
                self.out.append(s.Assign([s.Name(value.name)], s.Name(variable), origin=self.offset))
            elif value.name is None and not value.pending and value.items is None and reads(value.node, variable):
                if type(value) is not Value or value.refs != 1 or not self.read_in_order(value):
                    self.give_name(value)
        own = set(map(id, pending_inside(stored)))
        later = self.pending[len(self.pending) - len(own) :]
        if all(id(value) in own for value in later):
            return  # everything else that is pending is written before
        for value in list(self.pending):
            if id(value) not in own and value.pending and reads(value.node, variable):
                self.spill_until(value)

    def read_in_order(self, value: Value) -> bool:
        """`f(i, g(), i := 3)`: a variable that was read before it changes is written where it was read.

        False where it is not on the stack.
        """
        place = next((index for index, entry in enumerate(self.values) if holds(entry, value)), -1)
        if place < 0:
            return False
        pending = next((waiting for depth, waiting in self.around if place < depth), self.pending)
        later = [position for position, other in enumerate(pending) if other.born > value.born]
        value.pending = True
        pending.insert(later[0] if later else len(pending), value)
        return True


def _is_tuple(value: Value) -> bool:
    return isinstance(value, Fresh) and value.kind == "tuple"


def _referenced(items: Sequence[Value]) -> Sequence[Value]:
    """The elements of a container that is written now: the container's own references end."""
    for item in items:
        item.refs -= 1
    return items
