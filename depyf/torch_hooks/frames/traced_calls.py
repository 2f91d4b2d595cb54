"""The calls that led to the line that Dynamo is at, read while torch reports a graph break or a failure.

Torch prints that stack, but merges neighbouring calls of functions with the same name into the innermost of them (it
means to merge a function with its own resume functions): where a `forward` calls a `forward` that calls a `forward`,
only the last is left.  The stack before the merge is on the exception (`real_stack`), which the functions of Dynamo's
that report hold in a variable; the calls above the compiled function are on Python's own stack.
"""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import replace
from types import FrameType
from typing import Any, Callable, Iterator, List, NamedTuple, Tuple

from depyf.record.records import Location
from depyf.torch_hooks.internals import private_hooks, torch_behaviours
from depyf.torch_hooks.internals.code_owners import is_in_torch, is_outside_program
from depyf.torch_hooks.internals.stable_names import RESUME_FUNCTION, resumed_name

MOST_CALLS = 20  # innermost ones; of those above the compiled function fewer, where there are many inside it
_MOST_INSIDE = 40  # from the compiled function on
_OBSERVED = "ObservedException"  # torch's class of exceptions of the program that Dynamo sees while it traces
_WRAPPERS = "torch._dynamo.eval_frame"  # the module of the functions that torch.compile returns
# Functions that hold the exception.
_REPORTERS = ("log_graph_break", "_convert_frame", "convert_frame", private_hooks.hook("compile_frame").attribute)
_HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")  # where depyf's hooks are


class TracedCalls(NamedTuple):
    """The calls that led to the line that Dynamo is at."""

    calls: Tuple[Location, ...] = ()  # outermost first, without torch's own
    own: int | None = None  # index of the one in the compiled function itself; None where that is torch's
    raised_at: Location | None = None  # where an exception of the program leaves the function: the line that raised it


NO_CALLS = TracedCalls()


def _same(call: Location) -> Location | None:
    return call


def calls_now(
    compiled: str = "", user_call: Callable[[Location], Location | None] = _same, stack: Any = None
) -> TracedCalls:
    """Return the calls of the program; none where Dynamo traces nothing.

    `compiled` is the name of the function that Dynamo compiles: torch renames a resume function in the stack while it
    reports.  `user_call` returns the user's line for one of transformed code, None where it is not known.
    `stack`: torch's, where it is known to the caller.
    """
    frame: FrameType | None = sys._getframe(1)
    traced: List[Location] | None = _locations(stack) if stack else None
    raised_at: Location | None = None
    while frame is not None and not _is_of_dynamo(frame):
        frame = frame.f_back
    is_entry = False
    while frame is not None and not _is_of_program(frame):
        if traced is None and frame.f_code.co_name in _REPORTERS:
            traced = _on_exception(frame)
            raised_at = raised_at or _first_raise(frame)
        is_entry = is_entry or _is_wrapper(frame)
        frame = frame.f_back
    if traced is None:  # a failure is reported while the exception passes
        traced = _stack_of(sys.exc_info()[1]) or _in_tracing_context()
    if not traced:
        return NO_CALLS
    if RESUME_FUNCTION.match(compiled):
        traced[0] = replace(traced[0], function=compiled)
    above = [call for call in map(user_call, _above(frame, is_entry)) if call is not None]
    has_own = not is_in_torch(traced[0].file)
    calls = [call for call in [*reversed(above), *traced] if not is_in_torch(call.file)]
    inside = sum(not is_in_torch(call.file) for call in traced)
    calls = list(map(_with_code, _without_resumed(calls)[-max(MOST_CALLS, min(inside, _MOST_INSIDE)) :]))
    own = len(calls) - inside if has_own and inside <= len(calls) else None
    return TracedCalls(tuple(calls), own, raised_at)


def program_call(user_call: Callable[[Location], Location | None] = _same) -> Location | None:
    """Return the line of the program that called what Dynamo is about to compile; None where libraries alone did.

    A resume function is called by the code before it: the line is that of the call of the whole function.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_of_dynamo(frame):
        frame = frame.f_back
    whole = ""
    while frame is not None and not _is_of_program(frame):
        name = str(getattr(getattr(frame.f_locals.get("frame"), "f_code", None), "co_name", ""))
        whole = whole or (resumed_name(name) if RESUME_FUNCTION.match(name) else "")
        frame = frame.f_back
    calls = list(_above(frame))
    while whole and calls and whole == resumed_name(calls[0].function):
        if calls.pop(0).function == whole:
            break
    for above in calls:
        call = user_call(above)
        if call is not None and not is_outside_program(call.file):
            return _with_code(call)
    return None


def caller_of(frame: FrameType | None) -> Location | None:
    """Return the line that called what Dynamo compiles or skips, given a frame above Dynamo's; not one of torch's.

    None where the program calls what torch.compile returned: that is no call of a function that was compiled.
    """
    while frame is not None and not _is_of_program(frame):
        if _is_wrapper(frame):
            return None
        frame = frame.f_back
    return None if frame is None else Location(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def user_line(call: Location, user_call: Callable[[Location], Location | None]) -> Location | None:
    """Return a call as it is shown: the user's line for one of transformed code, with its text."""
    found = user_call(call)
    return None if found is None else _with_code(replace(found, function=resumed_name(found.function)))


def _is_of_dynamo(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("torch._dynamo.")


def _is_of_program(frame: FrameType) -> bool:
    """Return whether the frame called what is compiled: Dynamo's frames have torch's and contextlib's between them."""
    file = frame.f_code.co_filename
    return not is_in_torch(file) and os.path.basename(file) != "contextlib.py" and not file.startswith(_HERE)


def _on_exception(frame: FrameType) -> List[Location] | None:
    """Return the stack of the exception that a function of Dynamo's reports on; None where it holds none."""
    held = frame.f_locals
    return _stack_of(held.get("exc")) or _stack_of(held.get("e"))


def _first_raise(frame: FrameType) -> Location | None:
    """Return the line that raised the exception of the program on which Dynamo gave up, where it keeps a traceback.

    A `finally` and the end of a `with` raise it once more, and Dynamo before 2.14 reports the line of the last such.
    """
    reported = frame.f_locals.get("exc") or frame.f_locals.get("e")
    cause = getattr(reported, "__cause__", None)
    if not any(one.__name__ == _OBSERVED for one in type(cause).__mro__):
        return None
    if torch_behaviours.has("reported_first_raises"):
        return next(
            (_with_code(one) for one in reversed(_on_exception(frame) or ()) if not is_in_torch(one.file)), None
        )
    raised = getattr(getattr(frame.f_locals.get("self"), "exn_vt_stack", None), "_current_exception", None)
    link: Any = getattr(getattr(raised, "exc_vt", raised), "__traceback__", None)  # `exc_vt`: of a class of the user's
    found = None
    for _ in range(_MOST_LINKS):
        summary = getattr(getattr(link, "frame_summary", None), "frame_summary", None)
        if summary is None:
            break
        if not is_in_torch(summary.filename):
            found = Location(summary.filename, int(summary.lineno or 0), summary.name)
        link = getattr(link, "tb_next", None)
    return None if found is None else _with_code(found)


_MOST_LINKS = 1000


def _stack_of(exception: Any) -> List[Location] | None:
    """Return the stack of an exception of Dynamo's; one by which it skips a frame has that of its cause."""
    stack = getattr(exception, "real_stack", None) or getattr(getattr(exception, "__cause__", None), "real_stack", None)
    return _locations(stack) if stack else None


def _in_tracing_context() -> List[Location]:
    extract = private_hooks.find("traced_stack")
    return [] if extract is None else _locations(extract())


def _locations(stack: Any) -> List[Location]:
    """Read torch's stack, a list of FrameSummary."""
    return [Location(one.filename, int(one.lineno or 0), one.name) for one in stack if one.filename]


def _is_wrapper(frame: FrameType) -> bool:
    """Return whether this is the function that torch.compile returns; what it calls is its `fn`."""
    return frame.f_globals.get("__name__") == _WRAPPERS and "fn" in frame.f_code.co_freevars


def _above(frame: FrameType | None, is_entry: bool = False) -> Iterator[Location]:
    """Yield the calls above the compiled function, innermost first, up to the program's call of what it compiled.

    `is_entry`: the program called the compiled function itself.
    """
    calls: List[Location] = []
    inside = 0 if is_entry else None  # how many of them are inside what torch.compile returned, the outermost of it
    while frame is not None and len(calls) < MOST_CALLS:
        if _is_wrapper(frame):
            inside = len(calls)
        elif not is_in_torch(frame.f_code.co_filename):
            calls.append(Location(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    for number, call in enumerate(calls):
        yield call
        if inside is not None and number >= inside and not is_outside_program(call.file):
            return


def _with_code(call: Location) -> Location:
    return replace(call, code=linecache.getline(call.file, call.line).strip())


def _without_resumed(calls: List[Location]) -> List[Location]:
    """Leave out a function that has been left for its resume function: the call continues there.

    The transformed code of the function, or of a resume function before it, calls the resume function.
    """
    found: List[Location] = []
    for call in calls:
        if RESUME_FUNCTION.match(call.function):
            name = resumed_name(call.function)
            if found and resumed_name(found[-1].function) == name:
                found.pop()
            call = replace(call, function=name)
        found.append(call)
    return found
