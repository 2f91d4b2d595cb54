"""What Inductor's autotuning tried for one operation (`mode="max-autotune"`), and which choice was the fastest.

Inductor calls the savers that are registered with it each time it has timed the choices for an operation.  Most
choices are templates with other block sizes, and few of them ever run: they become one list, not files of kernels.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Tuple

from depyf.text import python_source
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.dynamo_disabled import with_dynamo_disabled


@dataclass(frozen=True)
class Autotuned:
    """One operation for which Inductor had a choice."""

    operation: str  # "mm"
    choices: Tuple[Tuple[str, str], ...]  # name and parameters of each, in the order in which they were made
    milliseconds: Dict[str, float]  # of those that could be timed


def attach(receive: Callable[[Any, Any, Any], None]) -> Callable[[], None] | None:
    """Call `receive(timings, operation, choices)` for each operation; returns the function that stops it.

    None while Inductor is not loaded: this does not load it.  Nor does it create Inductor's selector, which imports all
    of Triton: the saver is registered when torch itself asks for the selector.
    """
    row = private_hooks.hook("autotuning_choices")
    original = private_hooks.find_loaded(row.name)
    if original is None:
        return None if row.module not in sys.modules else lambda: None
    module = sys.modules[row.module]
    lists: List[List[Any]] = []  # lists of savers to which ours was added

    @with_dynamo_disabled
    def saver(timings: Any, operation: Any, _inputs: Any, choices: Any, *_: Any) -> None:
        receive(timings, operation, choices)

    @functools.wraps(original)
    def selector(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        savers = getattr(made, "feedback_saver_fns", None)
        if isinstance(savers, list) and saver not in savers:
            savers.append(saver)
            lists.append(savers)
        return made

    setattr(module, row.attribute, selector)

    def detach() -> None:
        if getattr(module, row.attribute, None) is selector:
            setattr(module, row.attribute, original)
        for savers in lists:
            if saver in savers:
                savers.remove(saver)

    return detach


def read(timings: Any, operation: Any, choices: Any) -> Autotuned:
    """Return what Inductor passes to a saver, as plain data."""
    milliseconds = {}
    for choice, time in dict(timings or {}).items():
        if isinstance(time, (int, float)) and time == time and abs(time) != float("inf"):
            milliseconds[str(choice.name)] = float(time)
    parameters = tuple((str(choice.name), str(getattr(choice, "description", "") or "")) for choice in choices)
    return Autotuned(str(operation), parameters, milliseconds)


def listing(tuned: Autotuned) -> str:
    """Return the choices as comments, without the times, which differ from run to run."""
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
    return "".join(line + "\n" for text in lines for line in python_source.comment(text))
