"""Recognise exceptions of the program's signal handlers that are raised while depyf's code runs.

Python runs the handler of a signal wherever the program is, and its exception comes out there: a timeout by SIGALRM
must reach the program, and not be recorded as a bug of depyf's.
"""

from __future__ import annotations

import signal


def is_from_signal_handler(error: BaseException) -> bool:
    """Return whether a handler that the program registered for a signal raised the exception."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(getattr(handler, "__func__", handler), "__code__", None) for handler in handlers} - {None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False
