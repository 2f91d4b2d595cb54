"""A context that decompiles large frames must not bring the program's full garbage collections forward."""

from __future__ import annotations

import gc

from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.pipeline import decompile_frame


def instructions_alive() -> int:
    return len([thing for thing in gc.get_objects() if type(thing) is Op])


def test_instructions_are_freed_without_the_collector():
    lines = "".join(f"    if a.x{i} > {i}:\n        a.y{i}({i})\n" for i in range(50))
    space: dict = {}
    exec(f"def f(a):\n{lines}    return a\n", space)
    gc.collect()
    gc.disable()
    try:
        before = instructions_alive()
        assert decompile_frame(space["f"].__code__).proved
        assert instructions_alive() == before
    finally:
        gc.enable()
