"""What Inductor's autotuning tried for one operation (`mode="max-autotune"`), and which choice was the fastest.

Inductor calls the savers that are registered with it each time it has timed the choices for an operation.  Most
choices are templates with other block sizes, and few of them ever run: they become one list, apart from the kernels.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, Tuple

from depyf.report import python_text
from depyf.torch_hooks import torch_facts


@dataclass(frozen=True)
class Autotuned:
    """One operation for which Inductor had a choice."""

    operation: str  # "mm"
    choices: Tuple[Tuple[str, str], ...]  # name and parameters of each, in the order in which they were made
    milliseconds: Dict[str, float]  # of those that could be timed


def attach(receive: Callable[[Any, Any, Any], None]) -> Callable[[], None] | None:
    """Call `receive(timings, operation, choices)` for each operation; returns the function that stops it.

    None while Inductor is not loaded: this does not load it.
    """
    if torch_facts.hook("autotuning_choices").module not in sys.modules:
        return None
    selector = torch_facts.find("autotuning_choices")
    savers = getattr(selector() if callable(selector) else None, "feedback_saver_fns", None)
    if not isinstance(savers, list):
        return lambda: None

    def saver(timings: Any, operation: Any, _inputs: Any, choices: Any, *_: Any) -> None:
        receive(timings, operation, choices)

    savers.append(saver)

    def detach() -> None:
        if saver in savers:
            savers.remove(saver)

    return detach


def read(timings: Any, operation: Any, choices: Any) -> Autotuned:
    """What Inductor hands to a saver, as plain data."""
    milliseconds = {}
    for choice, time in dict(timings or {}).items():
        if isinstance(time, (int, float)) and time == time and abs(time) != float("inf"):
            milliseconds[str(choice.name)] = float(time)
    read = tuple((str(choice.name), str(getattr(choice, "description", "") or "")) for choice in choices)
    return Autotuned(str(operation), read, milliseconds)


def listing(tuned: Autotuned) -> str:
    """The choices as comments.  Times differ from run to run and are not in it."""
    fastest = min(tuned.milliseconds, key=lambda name: tuned.milliseconds[name], default=None)
    lines = [
        f"Inductor had {len(tuned.choices)} choices for {tuned.operation}. How long each took is in timings.json.",
        "What runs is in the kernel files; a slower choice may be taken where it can be fused with its neighbours.",
        "",
    ]
    for name, parameters in tuned.choices:
        remark = "the fastest" if name == fastest else "" if name in tuned.milliseconds else "could not be timed"
        lines.append(f"{name}   ({remark})" if remark else name)
        lines += [f"    {parameters}"] if parameters else []
    return "".join(line + "\n" for text in lines for line in python_text.comment(text))
