"""The functions that Dynamo makes to go on after a graph break: entered in the middle of what the user wrote."""

from __future__ import annotations

from types import CodeType
from typing import Callable, Dict

import pytest

from depyf.decompiler.pipeline import decompile_frame

torch = pytest.importorskip("torch")


def resumed(function: Callable[..., object], *args: object) -> Dict[str, CodeType]:
    """The codes of the resume functions of a function, by name."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    found: Dict[str, CodeType] = {}

    def note(code: CodeType, new_code: CodeType) -> None:
        if code.co_name.startswith("torch_dynamo_resume"):
            found[code.co_name] = code

    torch._dynamo.reset()
    handle = register_bytecode_hook(note)
    try:
        torch.compile(function, backend="eager")(*args)
    finally:
        handle.remove()
        torch._dynamo.reset()
    return found


def breaks_inside_a_with(x):
    with torch.no_grad():
        x = x + 1
        torch._dynamo.graph_break()
        x = x * 2
    x = x.clone()
    return x.sin()


def test_a_resume_function_inside_a_with_is_statements_and_no_state_machine() -> None:
    (code,) = resumed(breaks_inside_a_with, torch.ones(3)).values()
    result = decompile_frame(code, constant_globals=None)
    assert result.proved, result.verdict
    assert result.rung == "idioms"
    assert "state" not in result.source
    # what comes after the user's `with` is said once, after what Dynamo does with an exception that is swallowed
    assert result.source.count("x = x * 2") == result.source.count("x.sin()") == 1
