"""Resume functions, which continue in the middle of the user's function after a graph break."""

from __future__ import annotations

from types import CodeType
from typing import Callable, Dict

import pytest

from depyf.decompiler.pipeline import decompile_frame

torch = pytest.importorskip("torch")
from torch_probes import keeps_what_is_there  # noqa: E402


def resumed(function: Callable[..., object], *args: object) -> Dict[str, CodeType]:
    """Return the codes of the resume functions of a function, by name and number."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    found: Dict[str, CodeType] = {}

    def note(code: CodeType, new_code: CodeType) -> None:
        if code.co_name.startswith(("torch_dynamo_resume_in_", "resume_in_")) and code not in found.values():
            found[f"{code.co_name} {len(found)}"] = code

    torch._dynamo.reset()
    handle = register_bytecode_hook(note)
    try:
        torch.compile(function, backend="eager")(*args)
    finally:
        handle.remove()
        torch._dynamo.reset()
    return found


def resumed_in_a_with(function: Callable[..., object]) -> CodeType:
    (code,) = resumed(function, torch.ones(3)).values()
    if not keeps_what_is_there(code):
        pytest.skip("the handlers that this torch makes keep one value more than there is")
    return code


def breaks_inside_a_with(x):
    with torch.no_grad():
        x = x + 1
        torch._dynamo.graph_break()
        x = x * 2
    x = x.clone()
    return x.sin()


def test_a_resume_function_inside_a_with_is_structured_code_not_a_state_machine() -> None:
    code = resumed_in_a_with(breaks_inside_a_with)
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.rung == "idioms"
    assert "state" not in result.source
    # code after the user's `with` appears once, after Dynamo's handling of a swallowed exception
    assert result.source.count("x = x * 2") == result.source.count("x.sin()") == 1


def breaks_inside_three_withs(x):
    with torch.no_grad():
        with torch.no_grad():
            with torch.enable_grad():
                x = x + 1
                torch._dynamo.graph_break()
                x = x * 2
            x = x + 3
        x = x + 4
    return x.clone()


def test_code_after_each_of_several_withs_appears_once_guarded_by_a_flag() -> None:
    code = resumed_in_a_with(breaks_inside_three_withs)
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.rung == "statements"
    for once in ("x = x * 2", "x = x + 3", "x = x + 4", "x.clone()"):
        assert result.source.count(once) == 1
    assert "state" not in result.source.replace("statement", "")
    assert "if completed:" in result.source


def breaks_inside_two_withs(x):
    with torch.no_grad():
        with torch.enable_grad():
            x = x + 1
            torch._dynamo.graph_break()
            x = x * 2
    return x.clone()


def test_a_resume_function_that_leaves_two_withs_at_once_needs_no_flag() -> None:
    code = resumed_in_a_with(breaks_inside_two_withs)
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.rung == "idioms"
    assert "completed" not in result.source


def calls(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


class Places:
    def __init__(self):
        self.items = [0, 0]


def breaks_in_a_call_for_a_place(x):
    places = Places()
    places.items[calls(x).ndim] += calls(x)
    places.items[0] = places.last = calls(x)
    return calls(x) if calls(x).sum() > 0 else places, places.items


def test_a_resume_function_frees_what_it_passes_to_the_resume_function_of_an_inner_frame() -> None:
    config = torch._dynamo.config
    if not hasattr(config, "nested_graph_breaks"):
        pytest.skip("breaks in nested calls are not resumed there")
    with config.patch(nested_graph_breaks=True):
        codes = resumed(breaks_in_a_call_for_a_place, torch.ones(3))
    assert len(codes) > 4
    for code in codes.values():
        result = decompile_frame(code)
        assert result.proved, f"{result.verdict}\n{result.source}"
