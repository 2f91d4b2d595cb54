"""Program calls: how the program came to the function that Dynamo considers at this moment, read from the stack."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from types import CellType, CodeType, FrameType
from typing import Any, Iterator, List, Mapping, Tuple

from depyf.record.records import Location
from depyf.torch_hooks.frames import identities
from depyf.torch_hooks.frames.identities import Identity
from depyf.torch_hooks.frames.traced_calls import caller_of

_DYNAMO = "torch._dynamo."
_WRAPPERS = "torch._dynamo.eval_frame"  # defines the function that torch.compile returns; what it calls is its `fn`
_DISABLES = "DisableContext"


@dataclass(frozen=True)
class ProgramCall:
    """The call of a function that Dynamo is about to compile or to skip."""

    code: CodeType  # of that function
    identity: Identity  # ... and what the user calls it
    caller: CodeType | None  # code that calls it: that of a transformed frame where it is a resume function
    entry: Identity | None  # what the program called, of what it passed to torch.compile; None where it is not known
    called_at: Location | None = None  # the line that calls it, torch's own aside: perhaps one of transformed code


def call_in_progress() -> ProgramCall | None:
    """Return the call that Dynamo, which has called depyf in this thread, considers; None where there is none.

    Dynamo's frame is a local of the functions of Dynamo's that consider it. The wrappers of torch.compile are further
    down the stack, the one that the program called at its bottom.
    """
    frame: Any = sys._getframe(1)
    considered: Any = None
    caller: Any = None
    called_at: Location | None = None
    called: List[Any] = []
    while frame is not None:
        module = frame.f_globals.get("__name__")
        is_of_dynamo = type(module) is str and module.startswith(_DYNAMO)
        if considered is None:
            found = frame.f_locals.get("frame") if is_of_dynamo else None
            considered = found if isinstance(getattr(found, "f_code", None), CodeType) else None
        elif caller is None and not is_of_dynamo:
            caller = frame
            called_at = None if called else caller_of(frame)
        if module == _WRAPPERS and "fn" in frame.f_code.co_freevars:
            called += _compiled(frame.f_locals)
        frame = frame.f_back
    if considered is None:
        return None
    return dataclasses.replace(_read(considered, caller, called), called_at=called_at)


def _compiled(variables: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what the wrapper with these variables calls; torch.compiler.disable makes wrappers, too."""
    if type(variables.get("self")).__name__ != _DISABLES and variables.get("fn") is not None:
        yield variables["fn"]


def _closure_of(considered: Any) -> Tuple[CellType, ...]:
    """Return the cells of a frame; torch 2.4 and older do not have them, and new ones hold the same objects."""
    cells = getattr(considered, "closure", None)
    if cells is not None:
        return tuple(cells)
    variables = considered.f_locals
    names = considered.f_code.co_freevars
    return tuple([CellType(variables[name]) if name in variables else CellType() for name in names])


def _read(considered: Any, caller: FrameType | None, called: List[Any]) -> ProgramCall:
    code: CodeType = considered.f_code
    if caller is not None and code.co_name in identities.COMPREHENSIONS:
        identity = identities.of_comprehension(code, caller, called)
    else:
        identity = identities.of_frame(code, considered.f_locals, _closure_of(considered), called)
    entry = identities.of_callable(called[-1]) if called else None
    return ProgramCall(code, identity, None if caller is None else caller.f_code, entry)
