"""Exceptions that are the user's although they are raised while depyf works: those of signal handlers.

Python runs the handler of a signal wherever the program is, and what it raises comes out there: a timeout by SIGALRM
must reach the program, not be noted as a mistake of depyf's.
"""

from __future__ import annotations

import signal


def is_from_signal_handler(error: BaseException) -> bool:
    """Whether a handler that the program registered for a signal raised the exception."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(getattr(handler, "__func__", handler), "__code__", None) for handler in handlers} - {None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False
