"""Assignments: stores, augmented and chained assignment, imports."""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.forms import Inplace
from depyf.decompiler.build.lookahead import stored_one_by_one
from depyf.decompiler.build.private import mangled
from depyf.decompiler.build.unpacking import Unpacking
from depyf.decompiler.build.values import (
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
from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.bytecode.unstructured import Unstructured


class Targets(Unpacking):
    """Everything that binds or changes something."""

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
        """Whether a cell variable has not been captured yet, or never is: it is like a local then."""
        raise NotImplementedError

    def call_comprehension(self, function: FunctionValue, arguments: List[Value]) -> bool:
        """Write a call of a comprehension's function as the comprehension."""
        raise NotImplementedError

    def decorate(self, decorator: Value, function: FunctionValue) -> bool:
        """Note a call of a decorator, to be written with the definition."""
        raise NotImplementedError

    def is_own_closure(self, closure: Value, code: CodeType) -> bool:
        """Whether a function's cells are those that its text will capture."""
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
        if self.has_it_already(op, value):
            return
        if op.kind != "STORE_LOCAL" or op.arg not in self.unread_before_store:
            self.before_rebinding(name, value)
        self.store(value, s.Name(name), is_local=op.kind == "STORE_LOCAL", is_event=self.lets_go(op))
        if op.arg in self.generated and value.refs and value.pending:
            self.spill_until(value)  # a person writes `:=` to say something; a code generator does not

    def has_it_already(self, op: Op, value: Value) -> bool:
        """`x = x`, which code generators write, says nothing where nobody else can have changed the variable."""
        if op.kind != "STORE_LOCAL" and not (op.kind == "STORE_CELL" and self.is_private_cell(op.arg)):
            return False
        is_read = type(value) is Value and value.name is None and not value.pending and not value.targets
        return is_read and isinstance(value.node, s.Name) and value.node.id == self.variable(op.arg)

    def lets_go(self, op: Op) -> bool:
        """Whether a store to a variable releases, there and then, what anybody may have put into it."""
        return op.kind != "STORE_LOCAL" and not (op.kind == "STORE_CELL" and self.is_private_cell(op.arg))

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
        nodes = self.take(*values, final=True, is_event=any(map(self.lets_go, run)))
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

    def store(self, value: Value, target: s.Expression, is_local: bool = False, is_event: bool = False) -> None:
        """Assign a popped value. `is_local`: the variable can be read again without effect.

        `is_event`: what is assigned to may run code, by letting go of what it held.
        """
        if isinstance(value, Slot) and value.name is None:
            self.store_target(value, target)
        elif isinstance(value, ImportedName):
            self.store_imported(value, target)
        elif isinstance(value, ImportValue):
            self.store_module(value, target)
        elif value.refs > 0 and value.name is None and not isinstance(value, (Marker, Null)):
            is_statement = isinstance(value, FunctionValue) and not isinstance(value.node, s.Lambda)
            if value.items is not None or is_statement:
                self.store_shared(value, target, is_local)
                return
            if value.pending and (value.kills or self.pending[-1] is not value):
                self.flush()  # something was done since, or what it used last goes now: it has a name
                self.assign(value, target, is_event)
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
            self.assign(value, target, is_event)

    def store_shared(self, value: Value, target: s.Expression, is_local: bool) -> None:
        """A fresh container goes into a variable and stays in use: a local is its name from now on.

        Any other variable could not be read again without effect: the container waits for what becomes of it. So it
        does where a person wrote it so; a statement of its own is better to read where a code generator did.
        """
        waits = not (is_local and isinstance(target, s.Name) and target.id in self.generated) or self.around
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

    def assign(self, value: Value, target: s.Expression, is_event: bool = False) -> None:
        """`target = value`, or `target op= value`."""
        place = value.node.left if isinstance(value.node, Inplace) else None
        if isinstance(place, s.Name) and isinstance(target, s.Name) and place.id == target.id:
            self.kept_in_place = value
        (node,) = self.take(value, final=True, is_event=is_event)
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


def as_item(nodes: Sequence[s.Expression]) -> s.Expression:
    """`x[k]` from x and k, `x[i:j]` from x, i and j."""
    if len(nodes) == 2:
        return s.Subscript(nodes[0], nodes[1])
    bounds = [None if isinstance(node, s.Constant) and node.value is None else node for node in nodes[1:]]
    return s.Subscript(nodes[0], s.Slice(*bounds))


def is_constant(value: Value, constant: Any) -> bool:
    """Whether a value is this very constant."""
    return isinstance(value.node, s.Constant) and value.node.value is constant and not value.pending
