"""Values of the user's program, read without running any of its code, and described in a word or two.

`read` follows an expression such as `self.layers[0].scale` or `len(names)` through the variables of a frame.  It reads
only where reading has no effect: variables, the dictionaries of objects and modules, built-in containers of exactly
their own type, and the properties of a plain tensor.  Anything else is Unreadable.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections import OrderedDict, deque
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Callable, ContextManager, Dict, Mapping, Tuple

from depyf.text.articles import with_article
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.qualified_names import qualified_name

LONGEST = 80
_MOST_KEYS = 200
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, tuple, dict, set, frozenset)
# What may be asked of a tensor: name -> whether it is called.
_OF_TENSOR = {
    **dict.fromkeys(("size", "stride", "storage_offset", "dim"), True),
    **dict.fromkeys(("dtype", "device", "requires_grad", "_base"), False),
}


class Unreadable(Exception):
    """The value cannot be read without running code of the user's."""


def read(expression: str, variables: Mapping[str, Any], global_variables: Mapping[str, Any]) -> Any:
    """Evaluate an expression over these variables; Unreadable when that is not certain or not safe."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unreadable(expression) from None
    with _no_torch_function():
        return _Reader(variables, global_variables).value(tree)


def _no_torch_function() -> ContextManager[Any]:
    """Switch off the user's torch function modes: asking a tensor for its shape must not call them."""
    disable = private_hooks.find("disable_torch_function") if "torch" in sys.modules else None
    if disable is None:
        return nullcontext()
    context: ContextManager[Any] = disable()
    return context


@dataclass(frozen=True)
class Variables:
    """The variables of the frame that Dynamo compiles again."""

    file: str = ""
    local: Mapping[str, Any] = ()  # type: ignore[assignment]
    of_module: Mapping[str, Any] = ()  # type: ignore[assignment]

    def describe(self, expression: str) -> str:
        """Describe the value that the expression has now; empty where it cannot be read."""
        try:
            return describe(read(expression, self.local, self.of_module))
        except Unreadable:
            return ""

    def describe_other(self, expression: str) -> str:
        """Describe an object that replaced the one that was there: of a class that names no single value, another."""
        try:
            value = read(expression, self.local, self.of_module)
        except Unreadable:
            return ""
        described = describe(value)
        return f"another {describe(type(value))}" if described == with_article(describe(type(value))) else described

    def holding_same(self, expression: str) -> Tuple[str, ...]:
        """Return the names of the variables that hold the object that the expression has now."""
        try:
            value = read(expression, self.local, self.of_module)
        except Unreadable:
            return ()
        return tuple([name for name, held in self.local.items() if held is value])

    def keys(self, expression: str) -> Tuple[str, ...] | None:
        """Return the keys that a dictionary has now, as they are written; None where they cannot be read."""
        try:
            value = read(expression, self.local, self.of_module)
        except Unreadable:
            return None
        return keys_of(value)


def keys_of(value: Any) -> Tuple[str, ...] | None:
    """Return the keys of a plain dictionary as they are written; None where there are many, or others than texts."""
    if type(value) not in (dict, OrderedDict) or len(value) > _MOST_KEYS:
        return None
    return tuple(map(repr, value)) if all(type(key) in (str, int) for key in value) else None


def variables_now() -> Variables:
    """Return those of the frame that Dynamo reports on at this moment, in this thread; none where it is not found.

    The frame is a local of the function of Dynamo's that reports.
    """
    caller: Any = sys._getframe(1)
    while caller is not None:
        if str(caller.f_globals.get("__name__", "")).startswith("torch._dynamo."):
            frame = caller.f_locals.get("frame")
            code = getattr(frame, "f_code", None)
            if code is not None:
                return Variables(code.co_filename, dict(frame.f_locals), frame.f_globals)
        caller = caller.f_back
    return Variables(local={}, of_module={})


class _Reader:
    def __init__(self, variables: Mapping[str, Any], global_variables: Mapping[str, Any]) -> None:
        self._variables = variables
        self._globals = global_variables

    def value(self, node: ast.expr) -> Any:
        reader: Callable[[Any], Any] | None = getattr(self, "_" + type(node).__name__, None)
        if reader is None:
            raise Unreadable(ast.dump(node))
        return reader(node)

    def _Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        for names in (self._variables, self._globals):
            if node.id in names:
                return names[node.id]
        raise Unreadable(node.id)

    def _Attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if _is_plain_tensor(owner) and _OF_TENSOR.get(node.attr) is False:
            return getattr(owner, node.attr)
        if node.attr in _SAFE_ATTRIBUTES.get(type(owner), ()):
            return _of_cell(owner) if type(owner) is CellType else getattr(owner, node.attr)
        return _attribute(owner, node.attr)

    def _Subscript(self, node: ast.Subscript) -> Any:
        inside: Any = node.slice
        if type(inside).__name__ == "Index":  # Python 3.8 has one around the expression
            inside = inside.value
        if isinstance(node.value, ast.Name) and node.value.id in ("L", "G") and isinstance(inside, ast.Constant):
            names, key = self._variables if node.value.id == "L" else self._globals, inside.value
            if isinstance(key, str) and key in names:
                return names[key]
        owner, index = self.value(node.value), self.value(inside)
        if type(owner) is dict and issubclass(type(index), Enum):
            return _at_member(owner, index)
        if _is_list_of_modules(owner) and type(index) is int:
            return _attribute(owner, str(index))
        if not (type(owner) in (list, tuple, dict, OrderedDict) or _is_shape(owner)) or type(index) not in _PLAIN:
            raise Unreadable(ast.dump(node))
        try:
            return owner[index]
        except (LookupError, TypeError):
            raise Unreadable(ast.dump(node)) from None

    def _Call(self, node: ast.Call) -> Any:
        """Evaluate `len(x)`, `type(x)`, `getattr(x, 'y')`, `x.keys()`, `list(dict.keys(x))`, the shape of a tensor."""
        if node.keywords:
            raise Unreadable(ast.dump(node))
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) == 2:
            return _attribute(self.value(node.args[0]), str(self.value(node.args[1])))
        if isinstance(node.func, ast.Name) and len(node.args) == 1:
            argument = self.value(node.args[0])
            if node.func.id == "type":
                return type(argument)
            if node.func.id == "len" and type(argument) in (*_CONTAINERS, OrderedDict, deque, str):
                return len(argument)
            if node.func.id == "len" and _is_list_of_modules(argument):
                return len(_dictionary(argument)["_modules"])
            if node.func.id == "list" and type(argument) in _CONTAINERS:
                return list(argument)
        elif isinstance(node.func, ast.Attribute):
            if _is_keys_of_dict(node.func) and len(node.args) == 1:
                owner = self.value(node.args[0])
                if type(owner) is dict:
                    return list(owner)
            elif node.func.attr == "keys" and not node.args:
                owner = self.value(node.func.value)
                if type(owner) in (dict, OrderedDict):
                    return list(owner)
            elif _OF_TENSOR.get(node.func.attr):
                owner = self.value(node.func.value)
                arguments = [self.value(argument) for argument in node.args]
                if _is_plain_tensor(owner) and all(type(argument) is int for argument in arguments):
                    return getattr(owner, node.func.attr)(*arguments)
        raise Unreadable(ast.dump(node))


# Attributes of built-in types that are stored, not computed by code of the user's.
_SAFE_ATTRIBUTES: Dict[type, Tuple[str, ...]] = {
    FunctionType: ("__code__", "__closure__", "__defaults__", "__kwdefaults__"),
    CellType: ("cell_contents",),
    functools.partial: ("func", "args", "keywords"),
    slice: ("start", "stop", "step"),
    MethodType: ("__func__", "__self__"),
}


def _at_member(owner: Dict[Any, Any], member: Enum) -> Any:
    """Return what a dictionary has for a member of an enum, without a hash or comparison of the user's."""
    for key, value in owner.items():
        if key is member:
            return value
    raise Unreadable("a member of an enum")


def _of_cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        raise Unreadable("cell_contents") from None


_FIELD_OF_NAMED_TUPLE: Any = type(vars(inspect.FullArgSpec)["args"])  # which is a named tuple


def _attribute(owner: Any, name: str) -> Any:
    """Read an attribute that is stored, not computed; of a module also its parameters, buffers and inner modules."""
    stored: Dict[str, Any] = vars(owner) if issubclass(type(owner), ModuleType) else _dictionary(owner)
    if name in stored:
        return stored[name]
    for kept in ("_parameters", "_buffers", "_modules"):
        inner: Any = stored.get(kept)
        if type(inner) in (dict, OrderedDict) and name in inner:  # torch 2.4 and older have ordered ones
            return inner[name]
    found: Any = inspect.getattr_static(type(owner), name, Unreadable)
    if type(found) is _FIELD_OF_NAMED_TUPLE and issubclass(type(owner), tuple):
        return found.__get__(owner)
    if found is Unreadable or hasattr(type(found), "__get__"):
        raise Unreadable(name)
    return found


def _dictionary(owner: Any) -> Dict[str, Any]:
    try:
        stored = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}
    return stored if type(stored) is dict else {}


def _is_plain_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter)


def _is_list_of_modules(value: Any) -> bool:
    torch = sys.modules.get("torch")
    kinds = () if torch is None else (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential)
    return type(value) in kinds


def _is_shape(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and type(value) is torch.Size


def describe(value: Any) -> str:
    """Describe the value in words that are the same in every run: itself where it is plain, else its kind."""
    if type(value) in _PLAIN:
        text = repr(value)
        return text if len(text) <= LONGEST else text[:LONGEST] + "..."
    if _is_plain_tensor(value):
        return _tensor(value)
    if type(value) in _DESCRIBED:
        return _DESCRIBED[type(value)](value)
    if issubclass(type(value), Enum):
        return f"{describe(type(value))}.{object.__getattribute__(value, '__dict__').get('_name_', '')}"
    if issubclass(type(value), type):
        home = vars(value).get("__module__", "builtins")
        home = home if type(home) is str else "builtins"  # a type in C may have an attribute of that name
        name = str(type.__dict__["__qualname__"].__get__(value))
        return name if home in ("builtins", "__main__") else f"{home}.{name}"
    if type(value) in _CONTAINERS or type(value) in (OrderedDict, deque):
        return f"{'an' if type(value) is OrderedDict else 'a'} {type(value).__name__} of {len(value)}"
    if _is_shape(value):
        return repr(tuple(value))
    if str(type(value)) in ("<class 'torch.dtype'>", "<class 'torch.device'>"):
        return str(value)
    return with_article(describe(type(value)))


def _place(code: CodeType) -> str:
    return f"{qualified_name(code)} ({code.co_filename}:{code.co_firstlineno})"


# Functions and code are named by where they are written.
_DESCRIBED: Dict[type, Callable[[Any], str]] = {
    FunctionType: lambda value: _place(value.__code__),
    CodeType: lambda value: f"the code of {_place(value)}",
    BuiltinFunctionType: lambda value: f"the built-in {value.__name__}",
}


def _is_keys_of_dict(node: ast.Attribute) -> bool:
    return node.attr == "keys" and isinstance(node.value, ast.Name) and node.value.id == "dict"


def _tensor(value: Any) -> str:
    with _no_torch_function():
        grad = ", requires grad" if value.requires_grad else ""
        return f"a tensor of {value.dtype} {tuple(value.size())} on {value.device}{grad}"
