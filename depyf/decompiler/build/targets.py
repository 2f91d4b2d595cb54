"""Assignments: stores, unpacking, augmented and chained assignment, and operations on fresh lists."""

from __future__ import annotations

from types import CodeType
from typing import Any, Collection, Dict, FrozenSet, List, Optional, Sequence, Tuple

from .. import syntax as s
from ..microops import Op
from ..undo import Unstructured
from .forms import Inplace
from .lookahead import stored_one_by_one
from .private import mangled
from .stack import Stack
from .values import (
    Fresh,
    FreshDict,
    FunctionValue,
    ImportedName,
    ImportValue,
    Marker,
    Null,
    Pattern,
    SliceParts,
    Slot,
    Value,
)


class Targets(Stack):
    """Everything that binds or changes something."""

    following = ""  # the kind of the op after the one that is executed
    upcoming: Tuple[Sequence[Op], int] = ((), 0)  # the ops that are executed and the position of the next one
    invented: Collection[str] = ()  # locals that a code generator made up
    class_name: Optional[str] = None  # the class around, whose name private names carry
    declared: Dict[str, List[str]]  # "global" and "nonlocal" declarations
    maybe_unbound: FrozenSet[Tuple[int, str]] = frozenset()  # reads of locals (offset, name) that may find no value
    unread_before_store: FrozenSet[str] = frozenset()  # locals that no value on the stack can read when they are stored

    # -- given by the builder

    def variable(self, name: str) -> str:
        """How a local, cell or free variable is spelled."""
        raise NotImplementedError

    def global_name(self, name: str) -> str:
        """How a global is spelled."""
        raise NotImplementedError

    def is_constant_global(self, name: str) -> bool:
        """Whether the global is known not to change while the frame runs."""
        raise NotImplementedError

    def is_private_cell(self, name: str) -> bool:
        """Whether a cell variable is never captured here: it is like a local then."""
        raise NotImplementedError

    def call_comprehension(self, function: FunctionValue, arguments: List[Value]) -> bool:
        """Write a call of a comprehension's function as the comprehension."""
        raise NotImplementedError

    def decorate(self, decorator: Value, function: FunctionValue) -> bool:
        """Note a call of a decorator, to be written with the definition."""
        raise NotImplementedError

    def check_closure(self, closure: Value, code: CodeType) -> None:
        """Check that a function's cells are those that its text will capture."""
        raise NotImplementedError

    def make_function(
        self, code: CodeType, defaults: Optional[Value], kwdefaults: Optional[Value], annotations: Optional[Value]
    ) -> None:
        """Push a function."""
        raise NotImplementedError

    def open_with(self, context: s.Expression, keyword: str) -> None:
        """Push the exit method of a context manager, and what it gave on entry."""
        raise NotImplementedError

    def suggest_names(self, call: Sequence[s.Expression]) -> None:
        """A function is called with temporaries: the names of its parameters may suit them."""

    def define_function(self, value: FunctionValue, name: str) -> bool:
        """Write a `def` or `class` statement for a function stored under `name`, if that is what it is."""
        raise NotImplementedError

    # -- variables

    def declare(self, op: Op) -> None:
        """Note the declaration that a store or delete needs."""
        if op.kind in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            self.declare_global(self.global_name(op.arg))

    def declare_global(self, name: str) -> None:
        """Note that the text needs `global name`."""
        names = self.declared.setdefault("global", [])
        if name not in names:
            names.append(name)

    def op_store_variable(self, op: Op) -> None:
        """STORE_LOCAL, STORE_CELL, STORE_GLOBAL, STORE_NAME"""
        self.declare(op)
        name = self.global_name(op.arg) if "GLOBAL" in op.kind else self.variable(op.arg)
        value = self.pop()
        if isinstance(value, Null):
            raise Unstructured("a variable is cleared")
        if op.kind != "STORE_LOCAL" or op.arg not in self.unread_before_store:
            self.before_rebinding(name, value)
        self.store(value, s.Name(name), is_local=op.kind == "STORE_LOCAL")
        if op.arg in self.generated and value.refs and self.pending == [value]:
            self.spill_until(value)  # a person writes `:=` to say something; a code generator does not

    def store_together(self, ops: Sequence[Op], position: int) -> int:
        """`a, b = x, y`: stores of values that were all computed before. Returns how many ops were used."""
        count = 0
        while position + count < len(ops) and ops[position + count].kind in STORES:
            count += 1
        count = min(count, len(self.values))
        plain = 0
        while plain < count and self.is_plain_value(self.values[-1 - plain]):
            plain += 1
        if plain < 2 or plain > 3:
            return 0
        run = list(ops[position : position + plain])
        born = [value.born for value in self.values[-1 : -1 - plain : -1]]
        backwards = born == sorted(born, reverse=True) and all(op.kind == "STORE_LOCAL" for op in run)
        if not backwards and born != sorted(born):
            return 0  # not computed in the order of the targets: separate statements
        values = [self.pop() for _ in run]
        if backwards:  # the compiler stores to locals from the last to the first if that saves a SWAP
            run.reverse()
            values.reverse()
        for op in run:
            self.declare(op)
        names = [self.global_name(op.arg) if "GLOBAL" in op.kind else self.variable(op.arg) for op in run]
        nodes = self.take(*values, final=True)
        for name in names:
            self.before_rebinding(name)
        self.emit(s.Assign([s.Tuple([s.Name(name) for name in names])], s.Tuple(nodes)))
        return plain

    def unpack_swapped(self, ops: Sequence[Op], position: int) -> bool:
        """`a.b, c = x, y`: two or three values are swapped so that they can be stored in order."""
        count = ops[position].arg
        values = self.values[-count:]
        if count not in (2, 3) or len(values) < count or not all(map(self.is_plain_value, values)):
            return False
        born = [value.born for value in values]
        if born != sorted(born) or not stored_one_by_one(ops, position + 1, count):
            return False
        if all(op.kind in STORES for op in ops[position + 1 : position + 1 + count]):
            return False  # only variables: `store_together`
        nodes = self.take(*self.pop_many(count), final=True)
        killed, self.killed = self.killed, []
        self.flush()
        pattern = Pattern(count, -1, (s.Tuple(nodes), [], killed, self.offset))
        pattern.slots = [Slot(pattern, index, self.offset) for index in range(count)]
        for slot in reversed(pattern.slots):
            self.push(slot)
        return True

    @staticmethod
    def is_plain_value(value: Value) -> bool:
        """A value that is on the stack once and is nothing special."""
        special = (Slot, Marker, Null, FunctionValue, ImportValue, ImportedName)
        return value.refs == 1 and value.name is None and not isinstance(value, special) and not value.targets

    def store(self, value: Value, target: s.Expression, is_local: bool = False) -> None:
        """Assign a popped value. `is_local`: the variable can be read again without effect."""
        if isinstance(value, Slot) and value.name is None:
            self.store_target(value, target)
        elif isinstance(value, ImportedName):
            self.store_imported(value, target)
        elif isinstance(value, ImportValue):
            self.store_module(value, target)
        elif value.refs > 0 and value.name is None and not isinstance(value, (Marker, Null)):
            if value.items is not None or isinstance(value, FunctionValue):
                self.store_shared(value, target, is_local)
                return
            if value.pending and self.pending[-1] is not value:
                self.flush()  # something was done since: it has a name now
                self.assign(value, target)
                return
            value.targets.append(target)
            if is_local:
                value.locals.append(target)
            if not value.pending:
                self.add_pending(value)
        elif value.targets:
            value.targets.append(target)
            self.finish_targets(value)
        elif isinstance(value, FunctionValue) and isinstance(target, s.Name) and self.define_function(value, target.id):
            pass
        else:
            self.assign(value, target)

    def store_shared(self, value: Value, target: s.Expression, is_local: bool) -> None:
        """A fresh container goes into a variable and stays in use: a local is its name from now on.

        Any other variable could not be read again without effect: the container waits for what becomes of it. So it
        does where a person wrote it so; a statement of its own is better to read where a code generator did.
        """
        waits = not (is_local and isinstance(target, s.Name) and target.id in self.invented) or self.around
        if waits and value.items is not None and value.refs == 1 and self.values[-1] is value:
            value.refs = 0
            (node,) = self.take(value)
            self.values[-1] = waiting = Value(node, value.offset)
            waiting.refs = 1
            waiting.targets.append(target)
            waiting.kills, self.killed = self.killed, []
            self.add_pending(waiting)
            return
        if not isinstance(target, s.Name):
            self.give_name(value)
            self.emit(s.Assign([target], self.node(value)))
            return
        held, value.refs = value.refs, 0
        (node,) = self.take(value, final=True)
        value.refs = held
        self.emit(s.Assign([target], node))
        value.name = target.id

    def assign(self, value: Value, target: s.Expression) -> None:
        """`target = value`, or `target op= value`."""
        place = value.node.left if isinstance(value.node, Inplace) else None
        if isinstance(place, s.Name) and isinstance(target, s.Name) and place.id == target.id:
            self.kept_in_place = value
        (node,) = self.take(value, final=True)
        self.kept_in_place = None
        if isinstance(node, Inplace):
            self.emit(s.AugAssign(target, node.op, node.right))
        else:
            self.emit(s.Assign([target], node))

    def finish_targets(self, value: Value) -> None:
        """Write `a = b = value` once the last target is known."""
        targets, value.targets = value.targets, []
        (node,) = self.take(value, final=True)
        self.emit(s.Assign(targets, node))

    def op_store_attr(self, op: Op) -> None:
        """STORE_ATTR"""
        value, owner = self.pop_many(2)
        if self.augmented(value, (owner,), op.arg):
            return
        self.store_into(value, (owner,), lambda nodes: s.Attribute(nodes[0], op.arg))

    def op_store_subscr(self, op: Op) -> None:
        """STORE_SUBSCR"""
        value, owner, key = self.pop_many(3)
        if self.fold_store(value, owner, key):
            return
        places = [owner, *(key.parts if isinstance(key, SliceParts) else [key])]
        if not self.augmented(value, places, None):
            self.store_into(value, places, as_item)

    def store_into(self, value: Value, places: Sequence[Value], make: Any) -> None:
        """Assign to an attribute or an item. Python computes the value first, then the place."""
        if isinstance(value, (Slot, ImportedName, ImportValue)) or value.refs > 0 or value.targets:
            self.store(value, make(self.take(*places)))
            return
        nodes = self.take(value, *places, final=True, is_event=True)
        self.emit(s.Assign([make(nodes[1:])], nodes[0]))

    def augmented(self, value: Value, places: Sequence[Value], attribute: Optional[str]) -> bool:
        """`x.y += v` and `x[k] += v`: the place was computed once and used twice."""
        node = value.node
        if not isinstance(node, Inplace) or value.refs or value.name is not None or not value.pending:
            return False
        read = node.left
        parts: Sequence[Any]
        if attribute is not None:
            if not isinstance(read, s.Attribute) or read.attr != attribute:
                return False
            parts = (read.value,)
        else:
            if not isinstance(read, s.Subscript):
                return False
            parts = (read.value, read.slice)
            if len(places) > 2 and isinstance(read.slice, s.Slice):
                parts = (read.value, read.slice.lower, read.slice.upper, read.slice.step)[: len(places)]
        if len(parts) != len(places) or not all(self.is_read_of(part, place) for part, place in zip(parts, places)):
            return False
        waiting = [place for place in places if place.pending]
        if self.pending[-len(waiting) - 1 :] != [*waiting, value] or any(place.refs for place in places):
            raise Unstructured("the place of an augmented assignment is in use")
        del self.pending[-len(waiting) - 1 :]
        nodes = []
        for place in places:
            place.pending = False
            nodes.extend(self.take(place, final=True))
        target = s.Attribute(nodes[0], attribute) if attribute is not None else as_item(nodes)
        self.emit(s.AugAssign(target, node.op, node.right))
        return True

    def is_read_of(self, part: Optional[s.Expression], place: Value) -> bool:
        """Whether an expression inside the value is this very place."""
        if part is place or part is place.node or (part is None and is_constant(place, None)):
            return True
        if isinstance(part, s.Slice) and isinstance(place.node, s.Slice) and not place.pending:
            return s.same(part, place.node)
        return isinstance(part, s.Name) and part.id == place.name

    # -- unpacking

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

    # -- imports

    def store_module(self, value: ImportValue, target: s.Expression) -> None:
        """`import a.b`, `import a as x`"""
        if value.fromlist or value.level or not isinstance(target, s.Name):
            raise Unstructured("an import of an unknown form")
        top = value.module.partition(".")[0]
        alias = s.alias(value.module) if target.id == top else s.alias(value.module, target.id)
        if alias.asname is not None and "." in value.module:
            raise Unstructured("an import of an unknown form")
        self.emit(s.Import([alias]))

    def store_imported(self, value: ImportedName, target: s.Expression) -> None:
        """`from m import n as x`, `import a.b as x`"""
        source = value.source
        if not isinstance(target, s.Name):
            raise Unstructured("an import into something that is not a variable")
        if source.fromlist is None:
            self.emit(s.Import([s.alias(source.module, target.id)]))
            return
        name = value.attribute
        if len(source.aliases) < len(source.fromlist):
            name = source.fromlist[len(source.aliases)]  # as it was written, where the attribute's name is private
        if mangled(name, self.class_name) != value.attribute:
            raise Unstructured("an import of names that it does not list")
        same = target.id == value.attribute
        source.aliases.append(s.alias(name) if same else s.alias(name, target.id))

    def finish_import(self, value: ImportValue) -> None:
        """The module is dropped after its names were taken."""
        if value.fromlist is None:
            return
        self.emit(s.ImportFrom(value.module or None, value.aliases, value.level))

    # -- operations on fresh lists, which happen now and leave nothing to write

    def fold_subscript(self, container: Value, key: Value) -> bool:
        """`[a, b][0]`, `[a, b][0:1]`"""
        index = self.known_key(container, key)
        if index is None:
            return False
        assert isinstance(container, Fresh)
        try:
            found = container.items[index]
        except IndexError:
            return False
        kept = found if isinstance(found, list) else [found]
        if container.refs == 0 and any(item.pending and item not in kept for item in container.items):
            return False  # `(f(), x)[1]`: the rest is there for its effect, in an expression
        if isinstance(found, list):
            for item in found:
                item.refs += 1
            self.push(Fresh(container.kind, list(found), self.offset))
        else:
            self.push(found)
        self.discard(container)
        return True

    def fold_delete(self, container: Value, key: Value) -> bool:
        """`del x[-1]`"""
        index = self.known_key(container, key)
        if index is None or not isinstance(container, Fresh) or container.kind != "list":
            return False
        gone = container.items[index] if isinstance(index, slice) else [container.items[index]]
        del container.items[index]
        for item in gone:
            item.refs -= 1
            self.discard(item)
        return True

    def fold_store(self, value: Value, container: Value, key: Value) -> bool:
        """`x[0:0] = [a]`, `x[0] = a`"""
        index = self.known_key(container, key)
        if index is None or not isinstance(container, Fresh) or container.kind != "list":
            return False
        if isinstance(index, slice):
            if not isinstance(value, Fresh) or value.name is not None:
                return False
            added = list(value.items)
            for item in added:
                item.refs += 1
            gone = container.items[index]
            container.items[index] = added
            self.discard(value)
        else:
            if not -len(container.items) <= index < len(container.items):
                return False
            gone = [container.items[index]]
            value.refs += 1
            container.items[index] = value
        for item in gone:
            item.refs -= 1
            self.discard(item)
        return True

    def fold_unpack(self, value: Value, count: int) -> bool:
        """`a, b = [x, y]` with both known; a tuple that is unpacked at once is left to the statement."""
        if not isinstance(value, Fresh) or value.name is not None or len(value.items) != count:
            return False
        if value.kind == "tuple" and (value.refs == 0 or self.is_chained(value, count)):
            return False
        for item in reversed(value.items):
            self.push(item)
        self.discard(value)
        return True

    def is_chained(self, value: Value, count: int) -> bool:
        """`a, b = c = x, y`: the tuple is unpacked, its elements are stored, and it is used again after that."""
        return value.refs == 1 and self.values[-1] is value and stored_one_by_one(*self.upcoming, count)

    @staticmethod
    def known_key(container: Value, key: Value) -> Any:
        """An index or slice that can be applied now, or None."""
        if not isinstance(container, Fresh) or container.name is not None or key.pending or key.name is not None:
            return None
        if any(isinstance(item.node, s.Starred) for item in container.items):
            return None
        node = key.node
        if isinstance(node, s.Constant) and key.items is None and type(node.value) is int:
            return node.value
        if isinstance(node, s.Slice):
            bounds = [_bound(part) for part in (node.lower, node.upper, node.step)]
            if all(bound is None or type(bound) is int for bound in bounds) and bounds[2] is None:
                return slice(*bounds)
        return None


def as_item(nodes: Sequence[s.Expression]) -> s.Expression:
    """`x[k]` from x and k, `x[i:j]` from x, i and j."""
    if len(nodes) == 2:
        return s.Subscript(nodes[0], nodes[1])
    bounds = [None if isinstance(node, s.Constant) and node.value is None else node for node in nodes[1:]]
    return s.Subscript(nodes[0], s.Slice(*bounds))


def is_constant(value: Value, constant: Any) -> bool:
    """Whether a value is this very constant."""
    return isinstance(value.node, s.Constant) and value.node.value is constant and not value.pending


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


def _bound(node: Optional[s.Expression]) -> Any:
    if node is None:
        return None
    return node.value if isinstance(node, s.Constant) else "unknown"


# What comes after the only value of an unpacking that is an annotation (`*args: *Ts`) or a default (`[*Ts = *T]`).
_AFTER_STAR = frozenset({"CONST", "BUILD_TUPLE", "LOAD_CLOSURE", "RETURN"})
STORES = frozenset({"STORE_LOCAL", "STORE_CELL", "STORE_GLOBAL", "STORE_NAME"})

__all__ = ["FreshDict", "Targets"]
