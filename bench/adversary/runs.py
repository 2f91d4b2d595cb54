"""Run a function on a schedule and return the log of what it did."""

from __future__ import annotations

import builtins
import dis
import functools
import gc
import inspect
import sys
import warnings
from dataclasses import dataclass
from types import CodeType, FunctionType, TracebackType
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional

from bench.adversary.traced_objects import Base, Kind
from bench.adversary.world import (
    GLOBAL_NAMES,
    REPLACED,
    TESTED,
    Entry,
    Fault,
    Flaw,
    Loss,
    Schedule,
    World,
    brief,
    described,
    names_of,
    shown,
)

STEPS = 7  # of a generator


# In CPython 3.13, reading the f_locals of a frame crashes while a variable that is a cell inside an inlined
# comprehension only, or outside of it only, holds a plain value.
F_LOCALS_CRASHES = sys.version_info[:2] == (3, 13)


@dataclass(frozen=True)
class Subject:
    """A module that binds `f`, compiled."""

    source: str
    module: CodeType
    code: CodeType  # of `f`
    names: FrozenSet[str]  # the user's local names
    has_names: bool  # the local names of its frames can be read at any time


def subject_of(source: str) -> Subject:
    """Compile a module that binds `f`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = compile(source, TESTED, "exec", dont_inherit=True, optimize=0)
    inside = list(codes_in(module))
    code = next(item for item in inside if item.co_name == "f")
    names = [name for item in inside for name in (*item.co_varnames, *item.co_cellvars, *item.co_freevars)]
    has_names = not F_LOCALS_CRASHES or all(cells_are_made_first(item) for item in inside)
    return Subject(source, module, code, frozenset([name for name in names if "." not in name]), has_names)


def cells_are_made_first(code: CodeType) -> bool:
    """Return whether all cells of a code object are made before anything else, and stay cells."""
    slots = [*code.co_varnames, *[name for name in code.co_cellvars if name not in code.co_varnames]]
    cells = {slots.index(name) for name in code.co_cellvars}
    made = [one for one in zip(code.co_code[::2], code.co_code[1::2]) if one[0] == dis.opmap["MAKE_CELL"]]
    start = code.co_code[::2].index(dis.opmap["RESUME"])
    is_first = code.co_code[: 2 * start : 2].count(dis.opmap["MAKE_CELL"]) == len(made) == len(cells)
    cleared = dis.opmap.get("LOAD_FAST_AND_CLEAR", 0)
    pairs = zip(code.co_code[::2], code.co_code[1::2])
    return is_first and not any(opcode == cleared and argument in cells for opcode, argument in pairs)


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside of it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes_in(const)


Replacement = Callable[[FunctionType, Dict[str, Any]], FunctionType]


def run(
    subject: Subject, code: Optional[CodeType], schedule: Schedule, replaced: Optional[Replacement] = None
) -> List[Entry]:
    """Run `f`, with other code if one is given, or what `replaced(f, globals)` returns; return the log."""
    world = World(schedule, subject.names)
    hook, sys.unraisablehook = sys.unraisablehook, lambda found: world.mark("unraisable", brief(found.exc_value))
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        namespace = namespace_of(world)
        exec(subject.module, namespace)
        function = function_of(namespace)
        if replaced is not None:
            function = replaced(function, namespace)
        if code is not None:
            function.__code__ = code
        drive(world, function)
    finally:
        world.is_on = False
        sys.unraisablehook = hook
        if was_enabled:
            gc.enable()
    return world.log


def function_of(namespace: Dict[str, Any]) -> FunctionType:
    """Return the function `f` of a module."""
    function = namespace["f"]
    while not isinstance(function, FunctionType):
        function = function.__func__
    return function


def namespace_of(world: World) -> Dict[str, Any]:
    """Return the globals of the module."""

    def traced_import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        del globals, locals
        world.happened("import", name, shown(fromlist), level)
        return world.new()

    space: Dict[str, Any] = {name: world.new(name) for name in GLOBAL_NAMES}
    space.update(Fault=Fault, Flaw=Flaw, Loss=Loss, Kind=Kind, Base=Base, __name__=TESTED)
    space["__builtins__"] = {**vars(builtins), "__import__": traced_import}
    world.namespace = space
    return space


@functools.lru_cache(maxsize=None)
def caller(positional: int, named: tuple[str, ...], has_self: bool) -> Callable[..., Any]:
    """Return a function that calls `f` with new objects that nothing else holds."""
    arguments = ["self"] * has_self + [f"new('a{n}')" for n in range(positional)] + [f"{k}=new('{k}')" for k in named]
    made: Callable[..., Any] = eval(f"lambda f, new, self: f({', '.join(arguments)})")
    return made


def call(world: World, function: FunctionType) -> Any:
    """Call the function with new objects as arguments."""
    code = function.__code__
    first = code.co_argcount
    named = tuple(code.co_varnames[first : first + code.co_kwonlyargcount])
    subject = world.namespace.get("self")
    is_method = subject is not None
    if world.schedule.seed % 3 and not is_method:
        first -= len(function.__defaults__ or ())
        named = tuple([name for name in named if name not in (function.__kwdefaults__ or ())])
    return caller(first - is_method, named, is_method)(function, world.new, subject)


def drive(world: World, function: FunctionType) -> None:
    """Call the function and do all that can be done with its result."""
    world.is_on = True
    try:
        result = call(world, function)
    except BaseException as error:
        finish(world, error)
    else:
        world.mark("returns", shown(result))
        flags = function.__code__.co_flags
        if flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
            step_through(world, result)
        elif flags & inspect.CO_ASYNC_GENERATOR:
            step_through_async(world, result)
        del result
    world.mark("result dropped")
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            world.mark("cell", name, shown(cell.cell_contents))
        except ValueError:
            world.mark("cell", name)
    for name in ("z", "d", *GLOBAL_NAMES):
        world.mark("global", name, shown(world.namespace.get(name)))
    world.mark("operations", world.count)


def finish(world: World, error: BaseException) -> None:
    """Log an exception that left the function, then clear its traceback."""
    world.mark("raises", described(error))
    if world.schedule.names:
        world.mark("traceback", list(frames_of(world, error.__traceback__)))
    error.__traceback__ = None
    world.mark("traceback cleared")


def frames_of(world: World, trace: Optional[TracebackType]) -> Iterator[Any]:
    """Yield the function and the user's names of each frame under test in a traceback."""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in (TESTED, REPLACED):
            yield trace.tb_frame.f_code.co_name, names_of(trace.tb_frame, world.names)
        trace = trace.tb_next


def step_through(world: World, made: Any) -> None:
    """Drive a generator or coroutine by hand."""
    for step in range(STEPS):
        try:
            result = step_once(world, made, step)
        except StopIteration as stop:
            world.mark("stops", shown(stop.value))
            break
        except BaseException as error:
            finish(world, error)
            break
        world.mark("yields", shown(result))
        del result
        if world.schedule.names:
            frame = getattr(made, "gi_frame", None) or getattr(made, "cr_frame", None)
            world.mark("names", names_of(frame, world.names) if frame is not None else [])
    world.mark("left")


def step_once(world: World, made: Any, step: int) -> Any:
    """Do one thing with a generator: resume it, send to it, throw into it, or close it."""
    way = world.random() if step else 0.0
    if way < 0.5:
        return made.send(None)
    if way < 0.8:
        return made.send(world.new())
    if way < 0.95:
        world.mark("throws")
        return made.throw(Fault(step))
    return made.close()


def step_through_async(world: World, made: Any) -> None:
    """Drive an asynchronous generator by hand."""
    for step in range(STEPS):
        way = world.random() if step else 0.0
        try:
            if way < 0.8:
                waiting = made.asend(None if way < 0.5 else world.new())
            else:
                waiting = made.athrow(Fault(step)) if way < 0.95 else made.aclose()
            for _ in range(STEPS):
                world.mark("waits", shown(waiting.send(None)))
        except StopIteration as stop:
            world.mark("yields", shown(stop.value))
        except BaseException as error:
            finish(world, error)
            if isinstance(error, StopAsyncIteration):
                break
        waiting = None
    world.mark("left")
