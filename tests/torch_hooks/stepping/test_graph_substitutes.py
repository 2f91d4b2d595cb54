"""`debug(backend="eager")`: the lines of the captured graph run in the place of kernels, each effect once."""

from __future__ import annotations

import os
import sys

import pytest

torch = pytest.importorskip("torch")

import depyf  # noqa: E402
from depyf.errors import UserError  # noqa: E402


def f(x, w):
    y = torch.sin(x) @ w
    x.add_(1)
    return y.tanh()


def lines_run(function, folder):
    """Call the function; return its result and the names of the folder's files whose lines ran."""
    files = set()

    def trace(frame, event, arg):
        if os.path.dirname(frame.f_code.co_filename) == str(folder):
            files.add(os.path.basename(frame.f_code.co_filename))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return function(), files
    finally:
        sys.settrace(before)


@pytest.fixture
def prepared(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(f, backend="inductor")
    with depyf.prepare_debug(tmp_path / "dump", include_earlier=False):
        compiled(torch.ones(3, 3), torch.ones(3, 3))
    return compiled, tmp_path / "dump"


def test_the_captured_graph_runs_line_by_line_in_the_place_of_the_kernel(prepared):
    compiled, folder = prepared
    x = torch.full((3, 3), 0.5)
    expected = f(x.clone(), torch.ones(3, 3))
    with depyf.debug(pause=False, backend="eager"):
        result, files = lines_run(lambda: compiled(x, torch.ones(3, 3)), folder)
    assert torch.allclose(result, expected)
    assert any("Captured_Graph" in name for name in files)
    assert not any("kernel" in name for name in files)
    assert torch.equal(x, torch.full((3, 3), 1.5)), "the effect on x happened once"


def test_aot_graphs_run_in_the_place_of_the_kernel(prepared):
    compiled, folder = prepared
    x = torch.full((3, 3), 0.5)
    expected = f(x.clone(), torch.ones(3, 3))
    with depyf.debug(pause=False, backend="aot_eager"):
        result, files = lines_run(lambda: compiled(x, torch.ones(3, 3)), folder)
    assert torch.allclose(result, expected)
    assert not any("kernel" in name for name in files)


def test_the_kernels_run_again_afterwards(prepared):
    compiled, folder = prepared
    with depyf.debug(pause=False, backend="eager"):
        compiled(torch.ones(3, 3), torch.ones(3, 3))
    _, files = lines_run(lambda: compiled(torch.ones(3, 3), torch.ones(3, 3)), folder)
    assert any("kernel" in name for name in files)


def test_another_backend_is_an_error_that_names_the_two(prepared):
    with pytest.raises(UserError, match="eager or aot_eager"), depyf.debug(pause=False, backend="inductor"):
        pass
