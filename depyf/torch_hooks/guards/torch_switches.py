"""Torch's global switches that guards test: how a program asks for each, and what it is now.

Torch prints the names of those that changed: `GLOBAL_STATE changed: grad_mode num_threads`.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Callable, Dict, Mapping, NamedTuple, Sequence, Tuple

from depyf.record.guard_conditions import TorchState


class Switch(NamedTuple):
    """A switch that is not what it was when a version was compiled."""

    name: str  # torch's name for it
    asked: str  # the expression that a program asks it by; empty where there is none
    then: str = ""  # empty where it is not known
    now: str = ""

    @property
    def condition(self) -> str:
        """What the version needs, for a reader."""
        if not self.asked:
            return f"torch's switch {self.name} as it was"
        if not self.then:
            return f"{self.asked} as it was"
        return f"{self.asked} {'==' if self.then.isdecimal() else 'is'} {self.then}"


# Torch's name for a switch -> the expression that a program asks it by, and how it is read.
_KNOWN: Dict[str, Tuple[str, Callable[[Any], Any]]] = {
    "grad_mode": ("torch.is_grad_enabled()", lambda torch: torch.is_grad_enabled()),
    "default_dtype": ("torch.get_default_dtype()", lambda torch: torch.get_default_dtype()),
    "num_threads": ("torch.get_num_threads()", lambda torch: torch.get_num_threads()),
    "deterministic_algorithms": (
        "torch.are_deterministic_algorithms_enabled()",
        lambda torch: torch.are_deterministic_algorithms_enabled(),
    ),
    "deterministic_algorithms_warn_only": (
        "torch.is_deterministic_algorithms_warn_only_enabled()",
        lambda torch: torch.is_deterministic_algorithms_warn_only_enabled(),
    ),
    "autocast_cache_enabled": ("torch.is_autocast_cache_enabled()", lambda torch: torch.is_autocast_cache_enabled()),
}
_AUTOCAST = re.compile(r"autocast\((?P<device>\w+)\)_enabled$")


def changed_switches(names: Sequence[str]) -> Tuple[Switch, ...]:
    """Return the named switches as they are now; what one was is known where it has but two states."""
    return tuple(map(_switch_now, names))


def _switch_now(name: str) -> Switch:
    autocast = _AUTOCAST.match(name)
    if autocast is not None:
        device = autocast["device"]
        return _read(name, f"torch.is_autocast_enabled({device!r})", lambda torch: torch.is_autocast_enabled(device))
    return _read(name, *_KNOWN[name]) if name in _KNOWN else Switch(name, "")


def _read(name: str, asked: str, read: Callable[[Any], Any]) -> Switch:
    try:
        torch: Any = sys.modules["torch"]
        now = read(torch)
        inference = ", in torch.inference_mode()" if name == "grad_mode" and torch.is_inference_mode_enabled() else ""
    except (AttributeError, RuntimeError, TypeError):  # another torch
        return Switch(name, asked)
    return Switch(name, asked, str(not now) if now is True or now is False else "", f"{now}{inference}")


def known_states() -> Dict[str, str]:
    """Return the states of the switches whose names are known here."""
    return {name: _read(name, *_KNOWN[name]).now for name in _KNOWN}


def with_changed_states(reason: str, then: Mapping[str, str]) -> str:
    """Name the switches that are not what they were `then` in a reason of torch 2.3 or older, which names none."""
    if not reason.startswith("___check_global_state()"):
        return reason
    now = known_states()
    changed = [name for name in then if then[name] != now[name]]
    return f"GLOBAL_STATE changed: {' '.join(changed)}" if changed else reason


def with_states_then(switches: Sequence[Switch], state: TorchState) -> Tuple[Switch, ...]:
    """Add what the switches were in the state that a version was compiled for."""
    known = {"default_dtype": state.default_dtype, "num_threads": str(state.num_threads)}
    return tuple(one._replace(then=one.then or known.get(one.name, "")) for one in switches)
