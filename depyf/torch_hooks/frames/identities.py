"""Identities: what the user calls the function behind a code object that Dynamo compiles.

Dynamo compiles code objects, whose names often mean nothing to the user: that of a decorator's wrapper, of a function
of torch's that calls a module, or `forward`, which every module has. docs/names.md has the rules; this module is the
only place that applies them.
"""

from __future__ import annotations

import dataclasses
import gc
import inspect
from dataclasses import dataclass
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any, Container, Dict, Iterable, List, Mapping, Sequence, Tuple

from depyf.record.records import Location
from depyf.torch_hooks.frames.source_files import decorator_names
from depyf.torch_hooks.frames.wrappers import (
    Layer,
    cell_values,
    class_name,
    classes_of,
    is_module,
    is_signed,
    layers,
    methods_of,
    scopes_of,
    without_scope,
    wrapped_by,
)
from depyf.torch_hooks.internals.qualified_names import qualified_name

COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


@dataclass(frozen=True)
class Identity:
    """What the user calls a function, and what Dynamo compiles of it."""

    title: str  # "LlamaForCausalLM.forward"
    decorators: Tuple[Location, ...] = ()  # what the compiled code puts around the original, outermost first
    original: CodeType | None = None  # code of the function that the user calls; None: the compiled code is its own
    made_for: type | None = None  # the dataclass whose method it is, where Python generated that
    passed_on: Tuple[str, ...] = ()  # as in FunctionRecord


_ANONYMOUS = ("wrapper", "inner", "decorator", "wrapped", "wrap")  # functions inside of a decorator with arguments


def of_code(code: CodeType) -> Identity:
    """Return the identity of a code object of which nothing else is known; a comprehension is one of its function."""
    name = qualified_name(code)
    if code.co_name not in COMPREHENSIONS:
        return Identity(without_scope(name))
    # The innermost function may be that inside a decorator, `wrapper`: then the decorator's own name is the better one.
    holders = [one for one in scopes_of(name) if one not in COMPREHENSIONS]
    methods = [one for one in holders if "." in one]
    return _comprehension(code, (methods or holders or [""])[0 if methods else -1])


def of_comprehension(code: CodeType, holder: FrameType, called: Sequence[Any] = ()) -> Identity:
    """Return the identity of a comprehension: it is named after the function whose frame, `holder`, runs it.

    Inside a decorator's function that is the decorator.
    """
    if code.co_name not in COMPREHENSIONS or code not in holder.f_code.co_consts:
        return of_code(code)
    variables = holder.f_locals
    cells = [CellType(variables[name]) if name in variables else CellType() for name in holder.f_code.co_freevars]
    found = of_frame(holder.f_code, variables, tuple(cells), called)
    return _comprehension(code, found.decorators[0].function if found.decorators else found.title)


def _comprehension(code: CodeType, holder: str) -> Identity:
    return Identity(".".join(filter(None, [holder, code.co_name.strip("<>")])))


def of_frame(
    code: CodeType, variables: Mapping[str, Any], closure: Tuple[CellType, ...], called: Sequence[Any] = ()
) -> Identity:
    """Return the identity of the function that runs in a frame, given its variables as it starts.

    `called` are the objects that the program has passed to torch.compile and is calling.
    """
    receiver = _receiver(code, variables)
    for thing in called:
        found = _from(layers(thing), code, closure, receiver)
        if found is not None:
            return found
    for name, value, owner in methods_of(receiver, code) if receiver is not None else ():
        found = _from(layers(value, receiver, name), code, closure, receiver, owner)
        if found is not None:
            return found
    wrapped = wrapped_by(code, closure)
    return of_code(code) if wrapped is None else _identity([_unknown_function(code, closure), *layers(wrapped)])


def of_callable(thing: Any) -> Identity | None:
    """Return the identity of what a call of an object runs; None where it runs no Python."""
    found = layers(thing)
    if not found:
        return None
    last = found[-1].function
    return dataclasses.replace(_identity(found), original=last.__code__ if isinstance(last, FunctionType) else None)


def by_code(thing: Any) -> Dict[int, Identity]:
    """Return the identities of the functions that a call of an object runs, by the ids of their codes."""
    found = layers(thing)
    functions = [(number, one.function) for number, one in enumerate(found) if isinstance(one.function, FunctionType)]
    return {id(function.__code__): _identity(found[number:]) for number, function in functions}


def of_living(codes: Iterable[CodeType]) -> Dict[int, Identity]:
    """Return the identities of wrappers among these codes, by id, as far as only one function has the code.

    For what was compiled before a context was entered there is nothing else. All objects are searched, once.
    """
    alive = list(filter(may_wrap, codes))  # so that their ids stay theirs
    functions: Dict[int, List[FunctionType]] = {id(code): [] for code in alive}
    for one in gc.get_objects() if functions else ():
        if type(one) is FunctionType and id(one.__code__) in functions:
            functions[id(one.__code__)].append(one)
    return {code: _identity(layers(found[0])) for code, found in functions.items() if len(found) == 1}


def may_wrap(code: CodeType) -> bool:
    """Return whether a code object may be that of a wrapper: it takes any arguments, and has cells."""
    return bool(code.co_freevars and code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))


def _receiver(code: CodeType, variables: Mapping[str, Any]) -> Any:
    """Return the first argument of a call: of a method, its object."""
    if code.co_argcount:
        return variables.get(code.co_varnames[0])
    if code.co_flags & inspect.CO_VARARGS:
        passed = variables.get(code.co_varnames[code.co_kwonlyargcount])
        return passed[0] if isinstance(passed, tuple) and passed else None
    return None


def _from(
    found: List[Layer], code: CodeType, closure: Tuple[CellType, ...], first: Any, owner: type | None = None
) -> Identity | None:
    """Return the identity of the layer that the frame runs, if it is one of these; `first` is its first argument."""
    for number, layer in enumerate(found):
        if layer.is_of(code, closure):
            return dataclasses.replace(
                _identity(found[number:], owner), passed_on=_passed_on(found[number:], code, first)
            )
    return None


def _passed_on(found: Sequence[Layer], code: CodeType, first: Any) -> Tuple[str, ...]:
    """Return the name of `*args` in the code, and what its items are called by the function that gets them.

    That is certain where `inspect.signature` reads it, from `__wrapped__`, and of the call of a module, which runs its
    `forward`.
    """
    if not code.co_flags & inspect.CO_VARARGS:
        return ()
    last = found[-1]
    if len(found) == 1 and code.co_name == "__call__" and is_module(first):
        last = layers(first)[-1]
    elif len(found) == 1 or any(not is_signed(layer.function) for layer in found[:-1]):
        return ()
    is_same = last.receiver is None or last.receiver is first  # else `first` is the argument after it
    if not isinstance(last.function, FunctionType) or not is_same:
        return ()
    inner = last.function.__code__
    names = inner.co_varnames[code.co_argcount : inner.co_argcount]
    return (code.co_varnames[code.co_argcount + code.co_kwonlyargcount], *names) if names else ()


def _identity(found: Sequence[Layer], owner: type | None = None) -> Identity:
    """Return the identity of the last layer, with those before it as decorators.

    `owner` is the class that defines it, where that of the object defines another.
    """
    last = found[-1]
    original = last.function.__code__ if len(found) > 1 and isinstance(last.function, FunctionType) else None
    written = () if original is None else decorator_names(original)
    decorators = tuple([_decorator(layer, written) for layer in found[:-1]])
    if last.receiver is not None:
        name = last.attribute or last.function.__name__
        title = f"{class_name(last.receiver if owner is None else owner)}.{name}"
        return Identity(title, decorators, original, _dataclass_of(last, name))
    return Identity(_title(last.function), decorators, original)


def _dataclass_of(layer: Layer, name: str) -> type | None:
    """Return the dataclass for which Python generated a method; None for what has a source of its own."""
    if not isinstance(layer.function, FunctionType) or not layer.function.__code__.co_filename.startswith("<"):
        return None
    owners = [one for one in classes_of(layer.receiver) if vars(one).get(name) is layer.function]
    return owners[0] if owners and "__dataclass_fields__" in vars(owners[0]) else None


def _title(thing: Any) -> str:
    if isinstance(thing, FunctionType):
        return without_scope(thing.__qualname__)
    name = getattr(thing, "__name__", None)
    if not isinstance(name, str):
        return class_name(thing)
    home = getattr(thing, "__module__", None)
    return f"{home}.{name}" if isinstance(home, str) and not home.startswith(("builtins", "_")) else name


def _unknown_function(code: CodeType, closure: Tuple[CellType, ...]) -> Layer:
    """Return a layer for a function of which only the frame is known."""
    return Layer(FunctionType(code, {}, closure=closure))


def _decorator(layer: Layer, written: Container[str]) -> Location:
    """Return the decorator that made a wrapper: its name, and the place of the wrapper.

    It is the function around the wrapper, or one further out that is `written` before the original's definition. Where
    none is (a decorator of a class may wrap its methods), names that every decorator may have inside are passed over.
    """
    function = layer.function
    code = function.__code__
    cells = cell_values(code, function.__closure__ or ())
    scopes = scopes_of(qualified_name(code)) or [without_scope(qualified_name(code))]
    named = [one for one in scopes if one not in _ANONYMOUS] or scopes
    name = next((one for one in scopes if one.rpartition(".")[2] in written), named[0])
    maker = cells.get("ctx_factory")  # torch.no_grad() and others of its kind
    if isinstance(maker, MethodType):
        name = class_name(maker.__self__)
    elif "." in name and "self" in cells:  # an object that is used as a decorator
        name = class_name(cells["self"])
    return Location(code.co_filename, code.co_firstlineno, name)
