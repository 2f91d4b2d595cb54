"""Live stepping: `prepare_debug(folder, debug=True)` has debuggers stop in code as soon as it is compiled."""

from __future__ import annotations

import sys

from depyf.torch_hooks.session.capture import Capture
from depyf.torch_hooks.stepping.attendance import Attendance
from depyf.torch_hooks.stepping.user_breakpoints import LineCarrier, carrier_of_record


def begin(capture: Capture) -> Attendance:
    """Attend to debuggers while a session records: breakpoints are carried over whenever something was compiled."""

    def carrier() -> LineCarrier:
        record = capture.so_far()
        return carrier_of_record(capture.recording.folder.known_path, record)

    attendance = Attendance(carrier, _show)
    attendance.attend_running()
    attendance.answer_breakpoint_calls()
    capture.when_linked = attendance.lines_changed
    return attendance


def _show(text: str) -> None:
    if sys.stderr is not None:
        print(f"depyf: prepare_debug(): breakpoint {text}", file=sys.stderr, flush=True)
