"""What the variables of a frame held when a version was compiled, so that a recompile can name what changed.

Torch's guards hold only what they compare: the length of a dictionary but not its keys, the id of a function but not
its name.  These few facts are noted when Dynamo starts on a frame.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType
from typing import Any, Dict, Sequence, Tuple

from depyf.torch_hooks.guards.frame_values import Variables, describe, keys_of

_MOST_VARIABLES = 200
_MOST_NAMED = 6  # keys that are named


@dataclass(frozen=True)
class CompiledValues:
    """Facts about the variables of one frame, by name."""

    keys: Dict[str, Tuple[str, ...]] = field(default_factory=dict)  # of dictionaries, as they are written
    functions: Dict[str, str] = field(default_factory=dict)  # what names a function: described
    metadata: Dict[str, Dict[str, str]] = field(default_factory=dict)  # plain attributes of tensor subclasses


def values_in(variables: Variables) -> CompiledValues:
    """Return the facts about the variables of a frame."""
    found = CompiledValues()
    for name, value in list(variables.local.items())[:_MOST_VARIABLES]:
        if type(value) is dict:
            keys = keys_of(value)
            if keys is not None:
                found.keys[name] = keys
        elif type(value) in (FunctionType, BuiltinFunctionType):
            found.functions[name] = describe(value)
        else:
            metadata = metadata_of(value)
            if metadata:
                found.metadata[name] = metadata
    return found


def metadata_of(value: Any) -> Dict[str, str]:
    """Return the plain attributes of a tensor of a subclass; none of anything else."""
    torch = sys.modules.get("torch")
    kind = type(value)
    if torch is None or kind in (torch.Tensor, torch.nn.Parameter) or not issubclass(kind, torch.Tensor):
        return {}
    stored = object.__getattribute__(value, "__dict__")
    plain = (bool, int, float, str, type(None))
    return {str(name): describe(one) for name, one in stored.items() if type(one) in plain}


def key_difference(before: Tuple[str, ...], now: Tuple[str, ...]) -> str:
    """Return which keys came and which went, in words."""
    added = [key for key in now if key not in before]
    gone = [key for key in before if key not in now]
    parts = [f"with {_few(added)}"] * bool(added) + [f"without {_few(gone)}"] * bool(gone)
    return " and ".join(parts)


def _few(keys: Sequence[str]) -> str:
    rest = len(keys) - _MOST_NAMED
    return ", ".join(keys[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
