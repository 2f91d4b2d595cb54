"""Stages that a custom backend announces become files of their graph."""

from __future__ import annotations

import capture_tools as tools
import pytest
import torch
from capture_tools import dump, session, stages

pytestmark = pytest.mark.usefixtures("own_inductor_cache")


def test_stages_of_a_custom_backend_become_files(tmp_path):
    def backend(graph_module, example_inputs):
        from torch._dynamo.utils import lazy_format_graph_code

        lazy_format_graph_code("before split", graph_module)
        return graph_module.forward

    run = lambda f: [f(torch.ones(2, 2), torch.ones(2, 2))]  # noqa: E731
    before = torch._dynamo.utils.lazy_format_graph_code
    _, record, _ = dump(tmp_path / "d", tools.straight, run, backend)
    assert torch._dynamo.utils.lazy_format_graph_code is before
    stages = [part.stage for part in record.graphs[0].stages]
    assert "before split" in stages
    assert (tmp_path / "d" / f"{record.graphs[0].name}.before_split.0.py").exists()


def test_a_backend_that_is_imported_in_one_session_announces_its_stages_in_the_next(tmp_path, monkeypatch):
    (tmp_path / "lazily_imported_backend.py").write_text(
        "from torch._dynamo.utils import lazy_format_graph_code\n"
        "def backend(graph_module, example_inputs):\n"
        "    lazy_format_graph_code('my stage', graph_module)\n"
        "    return graph_module.forward\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def program():
        import lazily_imported_backend

        torch.compile(lambda x: x + 1, backend=lazily_imported_backend.backend)(torch.ones(2))

    original = torch._dynamo.utils.lazy_format_graph_code
    for name in ("one", "two"):
        (graph,) = session(tmp_path / name, program).graphs
        assert "my stage" in stages(graph), name
    import lazily_imported_backend

    assert lazily_imported_backend.lazy_format_graph_code is original
