"""The world of one run: its log, and the choices of its schedule."""

from __future__ import annotations

import random
import re
import sys
import zlib
from dataclasses import dataclass
from types import FrameType, FunctionType
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

    kinds: Tuple[Any, ...] = ()  # the classes of new objects, and of iterators: set in traced_objects
    steps: Any = None

    def __init__(self, schedule: Schedule, names: FrozenSet[str]) -> None:
        self.schedule = schedule
        self.names = names
        self.log: List[Entry] = []
        self.chance = random.Random(schedule.seed)
        self.random = self.chance.random
        self.made = 0
        self.count = 0
        self.is_on = False
        self.given: Dict[str, int] = {}  # how many items each iterator has given
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
        kind = self.kinds[zlib.crc32(b"%d:%d" % (self.made, self.schedule.seed)) % len(self.kinds)]
        return kind(self, label or f"o{self.made}")

    def value(self) -> Any:
        """Return the result of an operation, mostly a new object."""
        if not self.is_on:
            return self.new()
        kind = self.random()
        if kind < 0.9:
            return self.new()
        n = int(kind * 1000) % 10
        if n < 2:
            return (None, 0, 1, "s", "", True, False)[self.count % 7]
        if n < 5:
            return [self.new() for _ in range(1 + n % 3)]
        if n < 8:
            return (self.new(), self.new())
        return {1: self.new()} if n == 8 else self.steps(self, f"o{self.made}s")

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
                self.namespace[GLOBAL_NAMES[kind]] = self.kinds[0](self, f"{label}-heir")
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
    if issubclass(kind, Traced):
        return str(label_of(value))
    if depth > 4:
        return "..."
    if kind in (list, tuple):
        return f"{kind.__name__}({', '.join([shown(item, depth + 1) for item in value])})"
    if kind in (set, frozenset):
        parts = [shown(item, depth + 1) for item in value]
        if not all(type(item) in PLAIN or issubclass(type(item), Traced) for item in value):
            parts.sort()  # some are hashed by their address
        return f"{kind.__name__}({', '.join(parts)})"
    if kind is dict:
        pairs = [f"{shown(k, depth + 1)}: {shown(v, depth + 1)}" for k, v in value.items() if k is not LINE]
        return "{" + ", ".join(pairs) + "}"
    if kind is FunctionType:
        attributes = (value.__defaults__, value.__kwdefaults__, annotations_of(value), value.__doc__)
        return f"<function {value.__qualname__} {[shown(part, depth + 1) for part in attributes]}>"
    if isinstance(value, type):
        return shown_class(value, depth)
    if isinstance(value, BaseException):
        return f"{kind.__name__}({shown(value.args, depth + 1)})"
    if kind is slice:
        return f"slice({shown((value.start, value.stop, value.step), depth + 1)})"
    if kind is str:
        return ADDRESS.sub("", repr(value))
    if kind in PLAIN:
        return repr(value)
    return f"<{kind.__name__} {getattr(value, '__qualname__', '')}>"


def annotations_of(function: FunctionType) -> Any:
    """Return the annotations of a function, or what computing them raises: since 3.14 that happens here."""
    try:
        return function.__annotations__
    except BaseException as error:
        return brief(error)


def shown_class(value: type, depth: int) -> str:
    """Return a class under test with what is in it, and any other by its name."""
    if getattr(value, "__module__", "") != TESTED:
        return f"<class {value.__qualname__}>"
    left_out = ("__module__", "__dict__", "__weakref__", "__static_attributes__", LINE)
    inside = [f"{k}={shown(v, depth + 1)}" for k, v in vars(value).items() if k not in left_out]
    return f"<class {value.__qualname__} {', '.join(inside)}>"


LINE = sys.intern("__firstlineno__")  # that class bodies store since 3.13; line numbers are not compared
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
PLAIN = frozenset({int, str, float, bool, type(None), bytes, complex, type(...)})


class Traced:
    """An object of a world: it has a label, and its death is logged."""

    __slots__ = ("_label", "_world")

    def __init__(self, world: World, label: str) -> None:
        set_label(self, label)
        set_world(self, world)

    def __del__(self) -> None:
        world_of(self).died(label_of(self))


label_of: Callable[[Any], str] = Traced._label.__get__  # type: ignore[attr-defined]
world_of: Callable[[Any], World] = Traced._world.__get__  # type: ignore[attr-defined]
set_label: Callable[[Any, str], None] = Traced._label.__set__  # type: ignore[attr-defined]
set_world: Callable[[Any, World], None] = Traced._world.__set__  # type: ignore[attr-defined]
