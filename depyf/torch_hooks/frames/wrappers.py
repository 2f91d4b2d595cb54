"""Wrappers: the functions that a call of an object runs one inside the other, from the decorator to the original.

Nothing of the user's runs: attributes are read from the dictionaries of objects and classes.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, Container, Dict, Iterator, List, Tuple

_MOST = 100  # one inside the other; more is a cycle
_CALLS_FORWARD = ("_call_impl", "_wrapped_call_impl", "__call__")  # of torch.nn.Module: they run hooks and `forward`
_LOCAL = ".<locals>."


@dataclass(frozen=True)
class Layer:
    """One function on the way from what is called to the original."""

    function: Any  # a Python function, or whatever else can be called where there is none
    receiver: Any = None  # the object or class whose method it is
    attribute: str = ""  # ... and the name of the method

    def is_of(self, code: CodeType, closure: Tuple[CellType, ...]) -> bool:
        """Return whether a frame of this code with these cells runs it: decorators share the code of their wrappers."""
        function = self.function
        if not isinstance(function, FunctionType) or function.__code__ is not code:
            return False
        own = function.__closure__ or ()
        return len(own) == len(closure) and all(
            one is other or _is_alike(one, other) for one, other in zip(own, closure)
        )


def _is_alike(one: CellType, other: CellType) -> bool:
    """Return whether both cells hold the same object: those of a running frame can be read, but not had."""
    try:
        return one.cell_contents is other.cell_contents
    except ValueError:
        return False


def layers(called: Any, receiver: Any = None, attribute: str = "") -> List[Layer]:
    """Return the functions that a call of `called` runs, outermost first; the last one is the original."""
    found: List[Layer] = []
    thing = called
    for _ in range(_MOST):
        if isinstance(thing, (staticmethod, classmethod)):
            thing = thing.__func__
        elif isinstance(thing, MethodType):
            receiver, attribute, thing = thing.__self__, thing.__func__.__name__, thing.__func__
        elif isinstance(thing, functools.partial):
            inner = vars(thing).get("__wrapped__")  # accelerate hides a module's forward behind one
            found += layers(thing.func, receiver, attribute)[:1] if inner is not None else []
            thing = thing.func if inner is None else inner
        elif isinstance(thing, FunctionType):
            found.append(Layer(thing, receiver, attribute))
            thing = _inside(thing, receiver)
        elif is_module(thing):
            receiver, attribute = thing, "forward"
            thing = own_dictionary(thing).get("forward") or inspect.getattr_static(type(thing), "forward", None)
        else:
            method = None if isinstance(thing, type) else inspect.getattr_static(type(thing), "__call__", None)
            if not isinstance(method, FunctionType):
                found += [Layer(thing)] if callable(thing) else []
                return found
            receiver, attribute, thing = thing, "__call__", method
        if thing is None or any(thing is layer.function for layer in found):
            return found
    return found


def _inside(function: FunctionType, receiver: Any) -> Any:
    """Return what a function was put around; None for an original."""
    stored = vars(function)
    for name in ("_torchdynamo_orig_callable", "__wrapped__"):
        if name in stored:
            return stored[name]
    if is_module(receiver) and runs_forward(function):
        return receiver
    return wrapped_by(function.__code__, function.__closure__ or ())


def is_signed(function: Any) -> bool:
    """Return whether a wrapper takes what the function inside takes: `functools.wraps` means that."""
    return isinstance(function, FunctionType) and isinstance(vars(function).get("__wrapped__"), FunctionType)


def runs_forward(function: FunctionType) -> bool:
    """Return whether this is the function of torch's by which a module runs its hooks and its `forward`."""
    return function.__name__ in _CALLS_FORWARD and function.__module__ == "torch.nn.modules.module"


def wrapped_by(code: CodeType, closure: Tuple[CellType, ...]) -> Any:
    """Return what a wrapper passes its arguments to: the only thing in its cells that it calls with them.

    A wrapper takes whatever it is given; a function that names its parameters is one of its own.
    """
    if not closure or not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return None
    values = cell_values(code, closure)
    held = {name for name, value in values.items() if callable(value) and not isinstance(value, type)}
    called = set(_called_with_arguments(code, held)) if held else set()
    return values[called.pop()] if len(called) == 1 else None


def _called_with_arguments(code: CodeType, names: Container[str]) -> Iterator[str]:
    """Yield which of these variables the code calls with `*args` or `**kwargs`."""
    last = None
    for instruction in dis.get_instructions(code):
        if instruction.argval in names and instruction.opname.startswith("LOAD_"):
            last = instruction.argval
        elif instruction.opname == "CALL_FUNCTION_EX" and last is not None:
            yield last
            last = None


def cell_values(code: CodeType, closure: Tuple[CellType, ...]) -> Dict[str, Any]:
    """Return the values of the variables that a function shares with the one around it, as far as they have one."""
    values = {}
    for name, cell in zip(code.co_freevars, closure):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            continue
    return values


def is_module(thing: Any) -> bool:
    """Return whether this is one of torch's modules."""
    module = getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", None)
    return module is not None and issubclass(type(thing), module)


def _is_tensor(thing: Any) -> bool:
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and issubclass(type(thing), tensor)


def own_dictionary(thing: Any) -> Dict[str, Any]:
    """Return the attributes that are stored in an object itself."""
    try:
        stored = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return stored if isinstance(stored, dict) else {}


def classes_of(receiver: Any) -> Tuple[type, ...]:
    """Return the classes in which a method of an object is looked up; of a class, its own."""
    owner = receiver if isinstance(receiver, type) else type(receiver)
    found: Tuple[type, ...] = type.__dict__["__mro__"].__get__(owner)
    return found


def methods_of(receiver: Any, code: CodeType) -> Iterator[Tuple[str, Any, type | None]]:
    """Yield (name, value, class) of the methods of an object that may run `code`, the likely ones first.

    The class is given where another one overrides its method: the name of the object's own class would be wrong.
    """
    classes = classes_of(receiver)
    stored = own_dictionary(receiver) if not isinstance(receiver, type) else {}
    likely = dict.fromkeys((code.co_name, "forward"))
    for name in likely:
        if name in stored:
            yield name, stored[name], None
        for number, owner in enumerate(classes):
            if name in vars(owner):
                is_hidden = name in stored or any(name in vars(one) for one in classes[:number])
                yield name, vars(owner)[name], owner if is_hidden else None
    for owner in classes[:-1] if is_module(receiver) or (code.co_freevars and not _is_tensor(receiver)) else ():
        for name, value in vars(owner).items():
            function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if isinstance(function, FunctionType) and (function.__code__ is code or vars(function)):
                yield name, value, None


def class_name(receiver: Any) -> str:
    """Return the name of the class of an object, or of a class, as its source has it."""
    owner = receiver if isinstance(receiver, type) else type(receiver)
    return without_scope(str(type.__dict__["__qualname__"].__get__(owner)))


def without_scope(qualified_name: str) -> str:
    """Return a name without the functions in which it is defined."""
    return qualified_name.rpartition(_LOCAL)[2]


def scopes_of(qualified_name: str) -> List[str]:
    """Return the names of the functions in which a function is defined, innermost first."""
    return qualified_name.split(_LOCAL)[-2::-1]
