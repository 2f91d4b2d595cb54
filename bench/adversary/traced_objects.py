"""Traced objects: every operation on one, and its death, is an entry of the log of its world.

What an operation returns or raises comes from the schedule of the world, so two runs that do the same get the same.
The methods drop their arguments before they do anything: a traceback that ends in one of them holds nothing alive.
"""

from __future__ import annotations

import collections.abc
import random
import sys
import zlib
from dataclasses import dataclass
from types import CodeType, CoroutineType, FrameType, FunctionType, GeneratorType, MethodType
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple

LIMIT = 120  # operations of one run
GLOBAL_NAMES = ("g", "h", "m", "x")
TESTED = "<adversary>"  # file name of the code under test
REPLACED = "<depyf>"  # and of the code that may replace it


class Fault(Exception):
    """An exception of the schedule."""


class Flaw(Fault):
    """A more special one."""


class Loss(Exception):
    """Another one."""


class Stop(BaseException):
    """The end of the schedule."""


@dataclass(frozen=True)
class Schedule:
    """How traced objects act in one run."""

    seed: int
    fault_rate: float = 0.0  # of operations that raise
    fault_at: int = 0  # the operation that raises, whatever the rate
    deaths: bool = True  # deaths are logged
    acts: bool = True  # some deaths rebind a global
    names: bool = False  # the local names of the frame are logged at every operation


Entry = Tuple[Any, ...]


class World:
    """The log of one run, and the choices of its schedule."""

    def __init__(self, schedule: Schedule, names: FrozenSet[str]) -> None:
        self.schedule = schedule
        self.names = names
        self.log: List[Entry] = []
        self.chance = random.Random(schedule.seed)
        self.random = self.chance.random
        self.made = 0
        self.count = 0
        self.is_on = False
        self.namespace: Dict[str, Any] = {}

    def mark(self, *entry: Any) -> None:
        """Log what the harness does."""
        self.log.append(entry)

    def happened(self, kind: str, *who: Any) -> None:
        """Log an operation; raise if the schedule has an exception for it."""
        if not self.is_on:
            return
        self.count += 1
        self.log.append((kind, *who, brief(sys.exc_info()[1])))
        if self.schedule.names:
            self.log.append(("names", names_of(sys._getframe(1), self.names)))
        if self.count > LIMIT:
            self.log.append(("raised", "Stop"))
            raise Stop
        if self.random() < self.schedule.fault_rate or self.count == self.schedule.fault_at:
            self.log.append(("raised",))
            raise self.fault()

    def fault(self) -> BaseException:
        """Return an exception of the schedule."""
        kind, n = self.random(), self.count
        if kind < 0.5:
            return Fault(n)
        if kind < 0.7:
            return Flaw(n)
        if kind < 0.85:
            return Loss(n)
        if kind < 0.92:
            return ExceptionGroup("s", [Fault(n), Loss(n)])  # noqa: F821
        return (KeyError, StopIteration, AttributeError, IndexError, GeneratorExit)[n % 5](n)

    def new(self, label: str = "") -> Any:
        """Return a new object."""
        self.made += 1
        kind = (Thing, Thing, Thing, Row, Book)[zlib.crc32(b"%d:%d" % (self.made, self.schedule.seed)) % 5]
        return kind(self, label or f"o{self.made}")

    def value(self) -> Any:
        """Return the result of an operation, mostly a new object."""
        if not self.is_on:
            return self.new()
        kind = self.random()
        if kind < 0.8:
            return self.new()
        n = int(kind * 1000) % 10
        if n < 2:
            return (None, 0, 1, "s", "", True, False)[self.count % 7]
        if n < 5:
            return [self.new() for _ in range(1 + n % 3)]
        if n < 8:
            return (self.new(), self.new())
        return {1: self.new()} if n == 8 else Steps(self, f"o{self.made}s")

    def truth(self) -> bool:
        """Return a truth value of the schedule."""
        return self.random() < 0.55

    def rebind(self) -> None:
        """Rebind or delete a global of the function."""
        name = GLOBAL_NAMES[self.count % 3]
        self.log.append(("rebinds", name))
        if self.random() < 0.2:
            self.namespace.pop(name, None)
        else:
            self.namespace[name] = self.new()

    def died(self, label: str) -> None:
        """Log a death; some deaths rebind a global."""
        if not self.is_on or not self.schedule.deaths:
            return
        self.log.append(("dies", label))
        if self.schedule.acts:
            kind = zlib.crc32(f"{label}:{self.schedule.seed}".encode()) % 12
            if kind < 3:
                self.namespace[GLOBAL_NAMES[kind]] = Thing(self, f"{label}-heir")
            elif kind == 3:
                self.namespace.pop(GLOBAL_NAMES[len(label) % 3], None)


def brief(error: Optional[BaseException]) -> str:
    """Return an exception as text."""
    if error is None:
        return ""
    return f"{type(error).__name__}{shown(error.args)}"


def described(error: Optional[BaseException], depth: int = 0) -> Any:
    """Return all that a program can read from an exception."""
    if error is None or depth > 5:
        return None
    inside = [described(item, depth + 1) for item in getattr(error, "exceptions", ())]
    return (
        brief(error),
        getattr(error, "name", None),
        described(error.__context__, depth + 1),
        described(error.__cause__, depth + 1),
        error.__suppress_context__,
        inside,
    )


def names_of(frame: Optional[FrameType], names: FrozenSet[str]) -> List[str]:
    """Return the user's names and values in the nearest frame under test."""
    while frame is not None and frame.f_code.co_filename not in (TESTED, REPLACED):
        frame = frame.f_back
    if frame is None:
        return []
    return sorted([f"{name}={shown(value)}" for name, value in frame.f_locals.items() if name in names])


def shown(value: Any, depth: int = 0) -> str:
    """Return a value as text: traced objects by their label, no addresses."""
    kind = type(value)
    if kind in LABELLED:
        return str(label_of(value))
    if depth > 4:
        return "..."
    if kind in (list, tuple, set, frozenset):
        return f"{kind.__name__}({', '.join([shown(item, depth + 1) for item in value])})"
    if kind is dict:
        return "{" + ", ".join([f"{shown(k, depth + 1)}: {shown(v, depth + 1)}" for k, v in value.items()]) + "}"
    if kind is FunctionType:
        parts = (value.__defaults__, value.__kwdefaults__, value.__annotations__, value.__doc__)
        return f"<function {value.__qualname__} {[shown(part, depth + 1) for part in parts]}>"
    if isinstance(value, type):
        return shown_class(value, depth)
    if isinstance(value, BaseException):
        return f"{kind.__name__}({shown(value.args, depth + 1)})"
    if kind is slice:
        return f"slice({shown((value.start, value.stop, value.step), depth + 1)})"
    if kind in PLAIN:
        return repr(value)
    return f"<{kind.__name__} {getattr(value, '__qualname__', '')}>"


def shown_class(value: type, depth: int) -> str:
    """Return a class under test with what is in it, and any other by its name."""
    if getattr(value, "__module__", "") != TESTED:
        return f"<class {value.__qualname__}>"
    left_out = ("__module__", "__dict__", "__weakref__", "__static_attributes__", "__firstlineno__")
    inside = [f"{k}={shown(v, depth + 1)}" for k, v in vars(value).items() if k not in left_out]
    return f"<class {value.__qualname__} {', '.join(inside)}>"


PLAIN = frozenset({int, str, float, bool, type(None), bytes, complex, type(...)})


class Thing:
    """An object that logs every operation on it."""

    __slots__ = ("_label", "_world")

    def __init__(self, world: World, label: str) -> None:
        set_label(self, label)
        set_world(self, world)

    def __del__(self) -> None:
        world_of(self).died(label_of(self))

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
        if world.is_on and world.random() < 0.06:
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


label_of: Callable[[Any], str] = Thing._label.__get__  # type: ignore[attr-defined]
world_of: Callable[[Any], World] = Thing._world.__get__  # type: ignore[attr-defined]
set_label: Callable[[Any, str], None] = Thing._label.__set__  # type: ignore[attr-defined]
set_world: Callable[[Any, World], None] = Thing._world.__set__  # type: ignore[attr-defined]
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
        if not world.is_on or world.random() < 0.4:
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
LABELLED = frozenset({Thing, Row, Book, Steps, AsyncSteps})


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
        if type(value) not in LABELLED:
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
            if type(value) in LABELLED:
                world_of(value).happened("init_subclass", label_of(value))

    def base(self, *args: Any) -> Any:
        """Do something that is logged, for `super()`."""
        for value in args:
            if type(value) in LABELLED:
                world_of(value).happened("base", label_of(value))
                return None
        return None
