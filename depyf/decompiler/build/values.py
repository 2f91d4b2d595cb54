"""What the symbolic stack holds while statements are built.

A value is *pending* when computing it has an effect that has not been written yet: it is written where it is
used, or, if something else has to happen first, as an assignment to a temporary. `refs` counts the places on
the stack and inside fresh containers that hold the value.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Iterator, List, Optional, Sequence

from depyf.decompiler import syntax as s


class Value(s.Expression):
    """A computed value. It may stand in a syntax tree until it is known whether it gets a name."""

    __slots__ = ("node", "pending", "name", "refs", "dead", "embedded", "targets", "locals", "kills", "offset", "born")

    def __init__(self, node: s.Expression, offset: int = -1) -> None:
        self.node = node
        self.pending = False
        self.name: Optional[str] = None  # the temporary that holds it
        self.refs = 0
        self.dead = False  # dropped before it was written: only its effect counts
        self.embedded = False  # stands in an expression already, and is still in use elsewhere
        self.targets: List[s.Expression] = []  # variables that it has been stored to while still in use
        self.locals: List[s.Expression] = []  # those of them that can be read again without effect
        self.kills: List[str] = []  # temporaries whose last use is in `node`
        self.offset = offset
        self.born = -1  # when it was first on the stack, compared with others

    @property
    def items(self) -> Optional[List[Value]]:
        """The elements of a fresh container."""
        return None

    def clone(self) -> Value:
        """A copy for another path; containers are copied by `fork`."""
        new = object.__new__(type(self))
        for cls in type(self).__mro__:
            for slot in getattr(cls, "__slots__", ()):
                if hasattr(self, slot):
                    setattr(new, slot, getattr(self, slot))
        new.targets = list(self.targets)
        new.locals = list(self.locals)
        new.kills = []
        return new


class Container(Value):
    """A container made here that nothing else knows of: its elements are known."""

    __slots__ = ("_items",)

    def __init__(self, items: List[Value], offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self._items = items

    @property
    def items(self) -> List[Value]:
        return self._items

    @items.setter
    def items(self, items: List[Value]) -> None:
        self._items = items


class Fresh(Container):
    """A list or tuple."""

    __slots__ = ("kind",)

    def __init__(self, kind: str, items: List[Value], offset: int = -1) -> None:
        super().__init__(items, offset)
        self.kind = kind  # "list" or "tuple"


class FreshDict(Container):
    """A dict; `keys` has None where another mapping is unpacked into it."""

    __slots__ = ("keys",)

    def __init__(self, keys: List[Optional[s.Expression]], items: List[Value], offset: int = -1) -> None:
        super().__init__(items, offset)
        self.keys = keys


class Null(Value):
    """The NULL that calls push."""

    __slots__ = ()


class Marker(Value):
    """Something of the interpreter's own: an iterator, an exit method, an exception, the exception state."""

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
    """The tuple of the cells of some variables: a function that reads them has it as its closure."""
    names: List[s.Expression] = [s.Name(name) for name in variables]
    return s.Attribute(s.Lambda(s.arguments(), names[0] if len(names) == 1 else s.Tuple(names)), "__closure__")


class Pattern:
    """An assignment that is still collecting its targets. `finish(target)` is called when it has them all."""

    __slots__ = ("count", "star", "targets", "source", "is_done", "slots")

    def __init__(self, count: int, star: int, source: Any) -> None:
        self.count = count
        self.star = star  # index of the starred target, or -1
        self.targets: List[s.Expression] = []
        self.source = source  # a Slot of an outer pattern; a Value that is used again; or the value that is unpacked
        self.is_done = False
        self.slots: List[Slot] = []


class Slot(Value):
    """One element that an unpacking, a for loop or a with statement gives; it waits for its target."""

    __slots__ = ("pattern", "index")

    def __init__(self, pattern: Pattern, index: int, offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.pattern = pattern
        self.index = index


class FunctionValue(Value):
    """A function that is being made. Its syntax depends on what happens to it."""

    __slots__ = ("code", "parts", "decorators", "is_defined", "type_parameters")

    def __init__(self, code: CodeType, parts: Any, offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.code = code
        self.parts = parts  # defaults, keyword defaults, annotations
        self.decorators: List[s.Expression] = []
        self.type_parameters: Sequence[s.TypeParameter] = ()
        self.is_defined = False  # whether a statement that defines it is being written

    @property
    def needs_statement(self) -> bool:
        """Whether only a statement can make it: it is no lambda and no comprehension."""
        return not self.code.co_name.startswith("<")


class ClassValue(FunctionValue):
    """A class that is being made; `code` is its body's."""

    __slots__ = ("bases", "keywords")

    bases: List[s.Expression]
    keywords: List[s.keyword]


class AliasValue(FunctionValue):
    """A type alias that is being made; `code` computes its value."""

    __slots__ = ("value",)

    value: s.Expression


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
    """The function that makes classes: only a class statement can say it."""

    __slots__ = ()


class ImportValue(Value):
    """A module that is being imported."""

    __slots__ = ("module", "level", "fromlist", "aliases", "path", "root")

    def __init__(self, module: str, level: int, fromlist: Any, offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.module = module
        self.level = level
        self.fromlist = fromlist
        self.aliases: List[s.alias] = []


class ImportedName(Value):
    """What `from m import n` takes out of a module."""

    __slots__ = ("source", "attribute")

    def __init__(self, source: ImportValue, attribute: str, offset: int = -1) -> None:
        super().__init__(s.Constant(None), offset)
        self.source = source
        self.attribute = attribute


def fork(stack: Sequence[Value]) -> List[Value]:
    """A copy of the stack for another path: containers and counts are its own, sharing inside is kept."""
    memo: dict[int, Value] = {}

    def copy(value: Value) -> Value:
        known = memo.get(id(value))
        if known is not None:
            return known
        new = value.clone()
        memo[id(value)] = new
        if isinstance(new, Container):
            new.items = [copy(item) for item in new.items]
        if isinstance(new, FreshDict):
            new.keys = list(new.keys)
        return new

    return [copy(value) for value in stack]


def pending_inside(value: Value | None) -> Iterator[Value]:
    """The pending values that a popped value is made of."""
    work = [value] if value is not None else []
    while work:
        current = work.pop()
        if current.pending:
            yield current
        work.extend(current.items or ())


def holds(entry: Value, value: Value) -> bool:
    """Whether a stack entry is a value, or a container that has it inside."""
    work = [entry]
    while work:
        current = work.pop()
        if current is value:
            return True
        if current.name is None:
            work.extend(current.items or ())
    return False


def reads(node: s.Node, variable: str) -> bool:
    """Whether an expression reads a variable."""
    work: List[s.Node] = [node]
    while work:
        current = work.pop()
        if isinstance(current, s.Name):
            if current.id == variable:
                return True
        elif isinstance(current, Value):
            if current.name == variable:
                return True
            if current.name is None:
                work.append(current.node)
                work.extend(current.items or ())
        elif not isinstance(current, s.Constant):
            work.extend(s.children(current))
    return False
