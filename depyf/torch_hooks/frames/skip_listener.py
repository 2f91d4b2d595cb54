"""Listen to the frames that Dynamo does not compile, through `add_skip_reason` (torch 2.12 and newer).

Dynamo calls it once for each code object, since it never considers one again. The reasons are general ("an error was
suppressed"); what was wrong is in the compilation of the same thread that ended just before.

Older torch hands the exception that ended a compilation to its log, whether or not anybody reads it.
"""

from __future__ import annotations

import inspect
import sys
from types import CodeType, FunctionType, MethodType
from typing import Any, Callable

from depyf.torch_hooks.internals import private_hooks


def attach(receive: Callable[[str, CodeType, bool], None]) -> Callable[[], None]:
    """Call `receive(reason, code, entry)` for each frame that Dynamo skips; returns the function that stops it.

    `entry`: whether the frame is the very function that the program handed to torch.compile.  The name that
    Dynamo calls is bound to a function of ours, which calls torch's own as well, and is bound back at the end.
    """
    row = private_hooks.hook("skip_reasons")
    original = private_hooks.find(row.name)
    home = sys.modules.get(row.module)
    if original is None or home is None:
        return lambda: None

    def listener(reason: str, frame: Any) -> Any:
        receive(str(reason), frame.f_code, is_entry(frame.f_code, sys._getframe(1)))
        return original(reason, frame)

    setattr(home, row.attribute, listener)

    def detach() -> None:
        if getattr(home, row.attribute, None) is listener:
            setattr(home, row.attribute, original)

    return detach


def attach_to_log(receive: Callable[[BaseException], None]) -> Callable[[], None]:
    """Call `receive` with the exception by which Dynamo skips a frame, where there is no `add_skip_reason`."""
    logger = private_hooks.find("frame_logger")
    if logger is None or private_hooks.find("skip_reasons") is not None:
        return lambda: None
    write = logger.debug

    def debug(message: object, *values: Any, stacklevel: int = 1, **options: Any) -> None:
        if values and isinstance(values[0], BaseException) and str(message).startswith("Skipping frame"):
            receive(values[0])
        write(message, *values, stacklevel=stacklevel + 1, **options)

    logger.debug = debug

    def detach() -> None:
        if vars(logger).get("debug") is debug:
            del logger.debug

    return detach


def is_entry(code: CodeType, frame: Any) -> bool:
    """Return whether the wrapper that torch.compile returned calls the code that Dynamo was asked about.

    The wrapper may be on top of the stack for another reason: it is there when the interpreter runs the callback of a
    weak reference meanwhile, and its helpers call functions of the standard library.
    """
    while frame is not None and frame.f_code.co_filename.endswith("convert_frame.py"):
        frame = frame.f_back
    if frame is None or str(frame.f_globals.get("__name__", "")) != "torch._dynamo.eval_frame":
        return False
    called: Any = frame.f_locals.get("fn")
    called = called.__func__ if isinstance(called, MethodType) else called
    if not isinstance(called, FunctionType):
        called = inspect.getattr_static(type(called), "__call__", None)
    return not isinstance(called, FunctionType) or called.__code__ is code
