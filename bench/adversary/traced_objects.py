"""Traced objects: every operation on one, and its death, is an entry of the log of its world.

What an operation returns or raises comes from the schedule of the world, so two runs that do the same get the same.
The methods drop their arguments before they do anything: a traceback that ends in one of them holds nothing alive.
"""

from __future__ import annotations

import collections.abc
import zlib
from types import CodeType, CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any, Callable, List, Tuple

from bench.adversary.world import Traced, World, brief, label_of, shown, world_of


class Thing(Traced):
    """An object that logs every operation on it."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        world, label = world_of(self), label_of(self)
        del self
        if name.startswith("__"):
            raise AttributeError(name)
        world.happened("get", label, name)
        return world.value()

    def __setattr__(self, name: str, value: Any) -> None:
        world, who = world_of(self), (label_of(self), name, shown(value))
        del self, value
        world.happened("set", *who)

    def __delattr__(self, name: str) -> None:
        world_of(self).happened("delete", label_of(self), name)

    def __bool__(self) -> bool:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("bool", label)
        return world.truth()

    def __hash__(self) -> int:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("hash", label)
        return (1, 2, -2, 7)[zlib.crc32(label.encode()) % 4]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        world, who = world_of(self), (label_of(self), shown(args), shown(kwargs))
        run = [item for item in args if type(item) in RUNNABLE]
        del self, args, kwargs
        if run and world.is_on:
            return world_calls(world, who, run)
        del run
        world.happened("call", *who)
        if world.is_on and world.random() < 0.1:
            world.rebind()
        return world.value()

    def __iter__(self) -> Any:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("iter", label)
        return Steps(world, f"{label}i{world.count}")

    def __await__(self) -> Any:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("await", label)
        return Steps(world, f"{label}w{world.count}")

    def __aiter__(self) -> Any:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("aiter", label)
        return AsyncSteps(world, f"{label}a{world.count}")

    def __enter__(self) -> Any:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("enter", label)
        return world.value()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        world, who = world_of(self), (label_of(self), brief(error))
        del self, kind, error, trace
        world.happened("exit", *who)
        return world.random() < 0.3

    def __aenter__(self) -> Any:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("aenter", label)
        return world.new()

    def __aexit__(self, kind: Any, error: Any, trace: Any) -> Any:
        world, who = world_of(self), (label_of(self), brief(error))
        del self, kind, error, trace
        world.happened("aexit", *who)
        return world.new()

    def __contains__(self, item: Any) -> bool:
        world, who = world_of(self), (label_of(self), shown(item))
        del self, item
        world.happened("contains", *who)
        return world.truth()

    def __format__(self, spec: str) -> str:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("format", label, spec)
        return f"<{label}>"

    def __repr__(self) -> str:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("repr", label)
        return f"<{label}>"

    def __str__(self) -> str:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("str", label)
        return label

    def __mro_entries__(self, bases: Any) -> Tuple[type, ...]:
        world, label = world_of(self), label_of(self)
        del self, bases
        world.happened("mro_entries", label)
        return (Base,)

    def __setitem__(self, key: Any, value: Any) -> None:
        world, who = world_of(self), (label_of(self), shown(key), shown(value))
        del self, key, value
        world.happened("setitem", *who)

    def __delitem__(self, key: Any) -> None:
        world, who = world_of(self), (label_of(self), shown(key))
        del self, key
        world.happened("delitem", *who)


RUNNABLE = frozenset({FunctionType, GeneratorType, MethodType, CoroutineType})


def world_calls(world: World, who: Tuple[Any, ...], run: List[Any]) -> Any:
    """Call the functions that a traced object was called with, and take one step of generators."""
    world.happened("call", *who)
    while run:
        item = run.pop(0)
        if world.random() < 0.5:
            continue
        if isinstance(item, (GeneratorType, CoroutineType)):
            world.mark("steps", shown(item))
            try:
                item.send(None)
            except StopIteration:
                pass
        else:
            world.mark("calls", item.__qualname__)
            code: CodeType = item.__code__
            item(*[world.new() for _ in range(code.co_argcount)])
        del item
    return world.value()


LENGTHS = (0, 1, 2, 2, 2, 3, 3, 5)  # of iterators, by the hash of the label


class Steps(Thing):
    """An iterator, and what `yield from` and `await` step through."""

    __slots__ = ()

    def __iter__(self) -> Any:
        world_of(self).happened("iter", label_of(self))
        return self

    def __next__(self) -> Any:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("next", label)
        given = world.given[label] = world.given.get(label, 0) + 1
        if not world.is_on or given > LENGTHS[zlib.crc32(label.encode()) % len(LENGTHS)]:
            raise StopIteration(world.new() if world.random() < 0.5 else None)
        return world.value()

    def send(self, value: Any) -> Any:
        """Log what is sent to the innermost generator."""
        world, who = world_of(self), (label_of(self), shown(value))
        del self, value
        world.happened("send", *who)
        return world.value()

    def throw(self, *what: Any) -> Any:
        """Log what is thrown into the innermost generator, and swallow or raise it."""
        world, label = world_of(self), label_of(self)
        del self
        world.happened("throw", label, shown(what))
        if world.random() < 0.5:
            raise what[0]
        return world.value()

    def close(self) -> None:
        """Log that the innermost generator is closed."""
        world_of(self).happened("close", label_of(self))


class AsyncSteps(Thing):
    """An asynchronous iterator."""

    __slots__ = ()

    def __anext__(self) -> Any:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("anext", label)
        if not world.is_on or world.random() < 0.4:
            raise StopAsyncIteration
        return world.new()


class Row(Thing):
    """A sequence, for `match` and for unpacking."""

    __slots__ = ()

    def __len__(self) -> int:
        world, label = world_of(self), label_of(self)
        del self
        world.happened("len", label)
        return zlib.crc32(label.encode()) % 4


class Book(Thing):
    """A mapping, for `match` and for `**`."""

    __slots__ = ()

    def keys(self) -> Any:
        """Return the keys that `**` unpacks."""
        world_of(self).happened("keys", label_of(self))
        return ["k", "q"]

    def get(self, key: Any, default: Any = None) -> Any:
        """Return an item for a mapping pattern, or the default."""
        world, who = world_of(self), (label_of(self), shown(key))
        del self, key
        world.happened("lookup", *who)
        return world.value() if world.truth() else default

    def __len__(self) -> int:
        world_of(self).happened("len", label_of(self))
        return 2


collections.abc.Sequence.register(Row)
collections.abc.Mapping.register(Book)
World.kinds, World.steps = (Thing, Thing, Thing, Row, Book), Steps


def _operator(name: str) -> Callable[..., Any]:
    def method(self: Thing, *other: Any) -> Any:
        world, who = world_of(self), (label_of(self), shown(other))
        del self, other
        world.happened(name, *who)
        if len(who[1]) > 6 and name not in ("getitem", "eq") and world.is_on and world.random() < 0.05:
            return NotImplemented
        return world.value()

    return method


ARITHMETIC = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "matmul",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
]
for _name in (
    *ARITHMETIC, *[f"r{name}" for name in ARITHMETIC], *[f"i{name}" for name in ARITHMETIC],
    "eq", "ne", "lt", "le", "gt", "ge", "getitem", "neg", "pos", "invert",
):  # fmt: skip
    setattr(Thing, f"__{_name}__", _operator(_name))


class _KindOfKind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        if not issubclass(type(value), Traced):
            return False
        world, label = world_of(value), label_of(value)
        del value
        world.happened("isinstance", label)
        return world.truth()


class Kind(metaclass=_KindOfKind):
    """A class for class patterns."""

    __match_args__ = ("p", "q")


class Base:
    """A base class."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__()
        for value in named.values():
            if issubclass(type(value), Traced):
                world_of(value).happened("init_subclass", label_of(value))

    def base(self, *args: Any) -> Any:
        """Do something that is logged, for `super()`."""
        for value in args:
            if issubclass(type(value), Traced):
                world_of(value).happened("base", label_of(value))
                return None
        return None
