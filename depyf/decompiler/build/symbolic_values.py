"""The values on the operand stack: plain, and of kinds that only some operations may take.

A value is *pending* while computing it has an effect that is not written yet: it is written where it is used or,
if something else has to happen first, as an assignment to a temporary. `refs` counts the places on the stack and
inside fresh containers that hold the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.syntax.provisional import Reference

# What became of a pending value before it was written.
LIVE = 0
EMBEDDED = 1  # stands in an expression already, and is still in use elsewhere
DEAD = 2  # dropped: only its effect is written


class Value:
    """A computed value."""

    __slots__ = ("node", "pending", "name", "refs", "fate", "targets", "locals", "kills", "offset", "born")

    def __init__(self, node: s.Expression, offset: int = -1) -> None:
        self.node = node
        self.pending = False
        self.name: Optional[str] = None  # the temporary that holds it
        self.refs = 0
        self.fate = LIVE
        self.targets: Tuple[s.Expression, ...] = ()  # variables that it has been stored to while still in use
        self.locals: Tuple[s.Expression, ...] = ()  # those of them that can be read again without effect
        self.kills: Sequence[str] = ()  # temporaries whose last use is in `node`
        self.offset = offset
        self.born = -1  # its number in the order in which values came to be

    @property
    def items(self) -> Optional[List[Value]]:
        """The elements of a fresh container; None for every other value."""
        return None

    def clone(self) -> Value:
        """Copy the value for another path; containers are copied by `fork`."""
        new = object.__new__(type(self))
        for slot in (*Value.__slots__, *_own_slots(type(self))):
            setattr(new, slot, getattr(self, slot))
        new.kills = ()
        return new


def _own_slots(kind: type) -> Tuple[str, ...]:
    return () if kind is Value else kind.__slots__  # type: ignore[attr-defined]


class Fresh(Value):
    """A list or tuple made here that has not escaped: its elements are known."""

    __slots__ = ("kind", "items")

    items: List[Value]

    def __init__(self, kind: str, items: List[Value], offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.kind = kind  # "list" or "tuple"
        self.items = items


class FreshDict(Value):
    """A dict made here that has not escaped; `keys` has None where another mapping is unpacked into it."""

    __slots__ = ("keys", "items")

    items: List[Value]

    def __init__(self, keys: List[Optional[s.Expression]], items: List[Value], offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.keys = keys
        self.items = items


class Addition(Value):
    """What an operation adds to an unfinished list or dict (`*x`, `**x`, `k: x`): only the display spells it."""

    __slots__ = ()


class Null(Value):
    """The NULL that calls push."""

    __slots__ = ()


class Marker(Value):
    """An entry that no expression can use: an iterator, an exit method, an exception, the exception state."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        super().__init__(s.Constant(None))
        self.what = what


class Cell(Value):
    """A cell, on its way into a closure."""

    __slots__ = ("variable",)

    def __init__(self, variable: str) -> None:
        super().__init__(s.Subscript(cells_node([variable]), s.Constant(0)))
        self.variable = variable


def cells_node(variables: Sequence[str]) -> s.Expression:
    """Return the tuple of the cells of some variables: the closure of a lambda that reads them."""
    names: List[s.Expression] = [s.Name(name) for name in variables]
    return s.Attribute(s.Lambda(s.arguments(), names[0] if len(names) == 1 else s.Tuple(names)), "__closure__")


class Pattern:
    """An assignment that is still collecting its targets."""

    __slots__ = ("count", "star", "targets", "source", "is_done", "slots")

    def __init__(self, count: int, star: int, source: Any) -> None:
        self.count = count
        self.star = star  # index of the starred target, or -1
        self.targets: List[s.Expression] = []
        # "for", "with"; "entered", "entered async" before the with statement begins; a Slot of an outer pattern; a
        # Value that is used again; or what is unpacked: (expression, targets that it is stored to first, temporaries
        # that it kills, offset).
        self.source = source
        self.is_done = False
        self.slots: List[Slot] = []


class Slot(Value):
    """One element of an unpacking, the item of a for loop or what a with statement enters; it waits for its target."""

    __slots__ = ("pattern", "index")

    def __init__(self, pattern: Pattern, index: int, offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.pattern = pattern
        self.index = index


@dataclass(frozen=True)
class Definition:
    """What a `def`, `class` or `type` statement is made of, besides the name that it binds."""

    code: CodeType  # of the function, of the class body, or of the function that computes an alias
    parts: Sequence[Optional[s.Expression]]  # defaults, keyword defaults, annotations
    decorators: Sequence[s.Expression] = ()
    type_parameters: Sequence[s.TypeParameter] = ()
    bases: Optional[Sequence[s.Expression]] = None  # only classes have them
    keywords: Sequence[s.keyword] = ()
    alias: Optional[s.Expression] = None  # only aliases have one

    @property
    def is_class(self) -> bool:
        """Return whether a `class` statement makes it."""
        return self.bases is not None

    @property
    def needs_statement(self) -> bool:
        """Return whether only a statement can make it: it is no lambda and no comprehension."""
        return not self.code.co_name.startswith("<")


class FunctionValue(Value):
    """A function, class or type alias that is being made. Its syntax depends on what happens to it."""

    __slots__ = ("definition", "is_defined")

    def __init__(self, definition: Definition, offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.definition = definition
        self.is_defined = False  # whether a statement that defines it is being written


class TypeParameterValue(Value):
    """A type parameter that is being made."""

    __slots__ = ("parameter",)

    def __init__(self, parameter: Any, offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.parameter = parameter  # TypeVar, ParamSpec or TypeVarTuple


class GenericBase(Value):
    """The tuple of a class's type parameters, and the base `Generic[...]` that is made of it."""

    __slots__ = ()


class SliceParts(Value):
    """A slice that is about to be stored to; its parts have not been taken yet."""

    __slots__ = ("parts",)

    def __init__(self, parts: List[Value], offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.parts = parts


class BuildClass(Value):
    """The function that makes classes: only a class statement can call it."""

    __slots__ = ()


class ImportedModule:
    """What an import statement names; `aliases` collects the names that are taken out of the module."""

    __slots__ = ("name", "level", "fromlist", "is_lazy", "aliases")

    def __init__(self, name: str, level: int, fromlist: Any, is_lazy: bool) -> None:
        self.name = name
        self.level = level
        self.is_lazy = is_lazy
        self.fromlist = fromlist  # None for `import a.b`
        self.aliases: List[s.alias] = []


class ImportValue(Value):
    """A module that is being imported."""

    __slots__ = ("module",)

    def __init__(self, module: ImportedModule, offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.module = module


class ImportedName(Value):
    """What `from m import n` takes out of a module."""

    __slots__ = ("module", "attribute")

    def __init__(self, module: ImportedModule, attribute: str, offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.module = module
        self.attribute = attribute


def fork(stack: Sequence[Value]) -> List[Value]:
    """Copy the stack for another path: containers and counts are its own, sharing inside is kept."""
    memo: Dict[int, Value] = {}

    def copy(value: Value) -> Value:
        known = memo.get(id(value))
        if known is not None:
            return known
        new = value.clone()
        memo[id(value)] = new
        if isinstance(new, (Fresh, FreshDict)):
            new.items = [copy(item) for item in new.items]
        if isinstance(new, FreshDict):
            new.keys = list(new.keys)
        return new

    return [copy(value) for value in stack]


def pending_inside(value: Value | None) -> Iterator[Value]:
    """Yield the pending values that a popped value is made of."""
    work = [value] if value is not None else []
    while work:
        current = work.pop()
        if current.pending:
            yield current
        work.extend(current.items or ())


def holds(entry: Value, value: Value) -> bool:
    """Return whether a stack entry is a value, or a container that has it inside."""
    work = [entry]
    while work:
        current = work.pop()
        if current is value:
            return True
        if current.name is None:
            work.extend(current.items or ())
    return False


def reads(node: s.Node, variable: str) -> bool:
    """Return whether an expression reads a variable."""
    work: List[s.Node] = [node]
    while work:
        current = work.pop()
        if isinstance(current, s.Name):
            if current.id == variable:
                return True
        elif isinstance(current, Reference):
            value = current.value
            if value.name == variable:
                return True
            if value.name is None:
                work.append(value.node)
                work.extend(map(Reference, value.items or ()))
        elif not isinstance(current, s.Constant):
            work.extend(s.children(current))
    return False


def is_tuple(value: Value) -> bool:
    """Return whether a value is a tuple made here."""
    return isinstance(value, Fresh) and value.kind == "tuple"
