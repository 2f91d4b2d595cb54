"""What the variables of a frame held when a version was compiled, so that a recompile can name what changed.

Torch's guards hold only what they compare: the length of a dictionary but not its keys, the id of a function but not
its name; and of what a version was made to fit in general, a number or a size, nothing at all.  These few facts are
noted when Dynamo starts on a frame.
"""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from depyf.torch_hooks.guards.frame_values import Variables, describe, keys_of
from depyf.torch_hooks.guards.module_paths import ModulePaths
from depyf.torch_hooks.guards.size_reads import SizeRead
from depyf.torch_hooks.internals import private_hooks

_MOST_VARIABLES = 200
_MOST_NAMED = 6  # keys that are named
_LONGEST_LITERAL = 80  # characters
_LARGEST = 1 << 256  # Python spells no number of thousands of digits
_PLAIN = (bool, int, float, str, type(None))


class ModuleReference(NamedTuple):
    """A module that a variable held; it is not kept alive."""

    reference: weakref.ref[Any]
    class_name: str  # dotted
    path: str = ""  # in the model that it is part of: encoder.block[0]


@dataclass(frozen=True)
class CompiledValues:
    """Facts about the variables of one frame, by name."""

    keys: Dict[str, Tuple[str, ...]] = field(default_factory=dict)  # of dictionaries, as they are written
    objects: Dict[str, str] = field(default_factory=dict)  # of functions and members of enums: described
    metadata: Dict[str, Dict[str, str]] = field(default_factory=dict)  # plain attributes of tensor subclasses
    modes: Tuple[str, ...] = ()  # the torch function modes that were active
    modules: Dict[str, ModuleReference] = field(default_factory=dict)
    # of variables, and of the items of lists and dictionaries:
    numbers: Dict[str, Tuple[str, str]] = field(default_factory=dict)  # also None and texts: type and literal
    sizes: Dict[str, Tuple[int, ...]] = field(default_factory=dict)  # of plain tensors
    uses: Dict[str, str] = field(default_factory=dict)  # name of an input of the graph -> the stack of its first use
    reads: Dict[str, List[SizeRead]] = field(default_factory=dict)  # of sizes before that use, by torch's spelling

    def path_of_module(self, name: str) -> str:
        """Return the path of the module that a variable held; empty where it held none, or one that is no part."""
        return self.modules[name].path if name in self.modules else ""


def values_in(variables: Variables, paths: ModulePaths) -> CompiledValues:
    """Return the facts about the variables of a frame; `paths` are those of the modules that were seen before."""
    found = CompiledValues(modes=active_modes())
    for name, value in list(variables.local.items())[:_MOST_VARIABLES]:
        if type(value) in (dict, OrderedDict):
            keys = keys_of(value)
            if keys is not None:
                found.keys[name] = keys
                for key, item in list(value.items())[:_MOST_VARIABLES]:
                    _note(found, f"{name}[{key!r}]", item)
        elif type(value) in (tuple, list):
            for number, item in enumerate(value[:_MOST_VARIABLES]):
                _note(found, f"{name}[{number}]", item)
        elif type(value) in (FunctionType, BuiltinFunctionType) or issubclass(type(value), Enum):
            found.objects[name] = describe(value)
        elif _is_module(value):
            found.modules[name] = ModuleReference(weakref.ref(value), describe(type(value)), paths.of(value))
        elif not _note(found, name, value):
            metadata = metadata_of(value)
            if metadata:
                found.metadata[name] = metadata
    return found


def _note(found: CompiledValues, name: str, value: Any) -> bool:
    """Add a plain value, or the sizes of a plain tensor; return whether it is one."""
    if type(value) in _PLAIN:
        is_long = len(value) > _LONGEST_LITERAL if type(value) is str else abs(value or 0) > _LARGEST
        if not is_long:
            found.numbers[name] = (type(value).__name__, repr(value))
        return True
    if _is_plain_tensor(value):
        found.sizes[name] = tuple(value.size())
        return True
    return False


def _is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(type(value), torch.nn.Module)


def _is_plain_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter) and not value.is_nested


def other_modules(then: CompiledValues, now: CompiledValues) -> Dict[str, str]:
    """Return the variables that hold another module of the same class than they did, each with which one, in words.

    A module that is gone by now is another one for certain. Of plain objects many are made for one call: that it is
    another one explains nothing.
    """
    found: Dict[str, str] = {}
    for name, module in now.modules.items():
        before = then.modules.get(name)
        if before is not None and before.class_name == module.class_name:
            if before.reference() is not module.reference():
                which = f": {module.path}, not {before.path}" if module.path and before.path else ""
                found[name] = f"another {module.class_name.rpartition('.')[2]}{which * (module.path != before.path)}"
    return found


def active_modes() -> Tuple[str, ...]:
    """Return the torch function modes that are active for the frame, described.

    When it traces, Dynamo has set them aside.
    """
    aside = getattr(private_hooks.find("modes_set_aside"), "stack", None) or ()
    current = private_hooks.find("current_modes")
    return tuple(describe_mode(mode) for mode in [*aside, *(current() if current is not None else ())])


def describe_mode(mode: Any) -> str:
    """Describe a torch function mode: that of `with torch.device("meta")` by its device."""
    name = describe(type(mode))
    return f"torch.device({str(mode.device)!r})" if name == "torch.utils._device.DeviceContext" else name


def metadata_of(value: Any) -> Dict[str, str]:
    """Return the plain attributes of a tensor of a subclass; none of anything else."""
    torch = sys.modules.get("torch")
    kind = type(value)
    if torch is None or kind in (torch.Tensor, torch.nn.Parameter) or not issubclass(kind, torch.Tensor):
        return {}
    stored = object.__getattribute__(value, "__dict__")
    return {str(name): describe(one) for name, one in stored.items() if type(one) in _PLAIN}


def key_difference(before: Tuple[str, ...], now: Tuple[str, ...]) -> str:
    """Return which keys came and which went, in words."""
    added = [key for key in now if key not in before]
    gone = [key for key in before if key not in now]
    parts = [f"with {_few(added)}"] * bool(added) + [f"without {_few(gone)}"] * bool(gone)
    return " and ".join(parts)


def _few(keys: Sequence[str]) -> str:
    rest = len(keys) - _MOST_NAMED
    return ", ".join(keys[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
