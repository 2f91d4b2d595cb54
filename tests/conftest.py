"""Fixtures for several rooms; without torch, leave out the tests that need it."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path

import pytest

NEED_TORCH = ["torch_hooks", "programs"]
NEED_NONE = ["test_pdb_backends.py"]  # in these folders
_files = [file for folder in NEED_TORCH for file in Path(__file__).with_name(folder).rglob("test_*.py")]
collect_ignore = (
    [] if importlib.util.find_spec("torch") else [str(file) for file in _files if file.name not in NEED_NONE]
)


def pytest_report_header() -> str:
    return f"torch is not installed: not collected: {', '.join(NEED_TORCH)}" if collect_ignore else ""


def pytest_collection_modifyitems(items) -> None:
    """Skip tests marked `untraced` in a coverage run."""
    _begin_ids_anew()
    if sys.gettrace() is not None:
        for item in items:
            if item.get_closest_marker("untraced"):
                item.add_marker(pytest.mark.skip(reason="Dynamo is called for more frames under a trace function"))


def _begin_ids_anew() -> None:
    """Have `torch._dynamo.reset` begin with compile id 0/0 again where it does not (torch 2.2)."""
    dynamo, frames = sys.modules.get("torch._dynamo"), sys.modules.get("torch._dynamo.convert_frame")
    if dynamo is None or not hasattr(frames, "FRAME_COUNTER") or "FRAME_COUNTER" in inspect.getsource(dynamo.reset):
        return
    reset = dynamo.reset

    def reset_with_ids() -> None:
        reset()
        frames.FRAME_COUNTER = 0
        frames.FRAME_COMPILE_COUNTER.clear()

    dynamo.reset = reset_with_ids


@pytest.fixture(scope="module")
def own_inductor_cache(tmp_path_factory):
    """Give each test module an empty Inductor cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield
