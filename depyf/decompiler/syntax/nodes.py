"""Nodes: the base classes of the syntax tree, small mutable records with slots.

The tree mirrors Python's `ast`: same class names, same field names. It differs in three ways: there is no
`ctx`, operators are plain strings (`BinOp(a, "+", b)`), and it can hold the syntax of every Python from 3.8
to 3.15 whatever interpreter runs it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Type, TypeVar

T = TypeVar("T")


class Node:
    """Anything in the tree."""

    __slots__: tuple[str, ...] = ()
    parts: ClassVar[tuple[str, ...]] = ()  # the fields that may hold nodes

    def __repr__(self) -> str:
        fields = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.__slots__])
        return f"{type(self).__qualname__}({fields})"


if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    def last_field(*, default: Any, kw_only: bool) -> Any:
        """Declare a field that comes after those of the subclasses."""

    @dataclass_transform(eq_default=False, field_specifiers=(last_field,))
    def node(cls: Type[T]) -> Type[T]:
        """Make a node class; see below."""

    @node
    class Located(Node):
        """A node that starts a line: it may carry a comment, and the offset in the bytecode that it came from."""

        trailing: str = last_field(default="", kw_only=True)  # a comment at the end of the (header) line
        origin: int = last_field(default=-1, kw_only=True)  # offset of the first instruction; not compared

else:

    class Located(Node):
        """A node that starts a line: it may carry a comment, and the offset in the bytecode that it came from."""

        __slots__ = ()

    def node(cls: Type[T]) -> Type[T]:
        """Decorate a class to be a dataclass with slots, compared by identity (`same` compares trees).

        A `Located` node gets the fields `trailing` and `origin` after its own, and every field that has a
        default needs no argument. (`dataclass(slots=True, kw_only=True)` would do, but needs Python 3.10.)
        Only its `__init__` is kept: what else it makes of a hundred classes, the garbage collector has to walk.
        """
        fields = dict(cls.__dict__.get("__annotations__", {}))  # noqa: RUF063 (get_annotations needs 3.10)
        if issubclass(cls, Located):
            fields.update(trailing="str", origin="int")
            cls.trailing, cls.origin = "", -1
        cls.__annotations__ = fields
        cls.__doc__ = cls.__doc__ or cls.__name__  # or else the signature is made for it
        plain = dataclasses.dataclass(eq=False, repr=False)(cls)
        dropped = {"__dict__", "__weakref__", "__dataclass_fields__", "__dataclass_params__", *fields}
        namespace = {name: value for name, value in plain.__dict__.items() if name not in dropped}
        namespace["__slots__"] = tuple(fields)
        namespace["parts"] = tuple([name for name, kind in fields.items() if kind not in ("str", "int", "bool")])
        return type(cls)(cls.__name__, cls.__bases__, namespace)


class Expression(Node):
    """A node that has a value."""

    __slots__ = ()


class Statement(Located):
    """A node that is an item of a body."""

    __slots__ = ()


class Pattern(Node):
    """A pattern after `case`."""

    __slots__ = ()


class TypeParameter(Node):
    """A type parameter, in the brackets of `def f[T]()`."""

    __slots__ = ()
