"""FX code that belongs to no graph of the session."""

from __future__ import annotations

import capture_tools as tools
import torch
from capture_tools import dump


def test_fx_code_that_belongs_to_no_graph_is_left_out_by_default(tmp_path):
    def run(compiled):
        keep.append(torch.fx.symbolic_trace(lambda x: x * 3 + 1))
        assert keep[-1](torch.ones(1)).item() == 4
        return [compiled(torch.ones(2, 2), torch.ones(2, 2))]

    keep = []
    dump(tmp_path / "clean", tools.straight, run)
    assert not list((tmp_path / "clean").glob("fx_graph_code*"))
    dump(tmp_path / "all", tools.straight, run, prepare={"clean_wild_fx_code": False})
    texts = [path.read_text() for path in (tmp_path / "all").glob("fx_graph_code_*.py")]
    assert any("x * 3" in text for text in texts)
    assert keep[-1](torch.ones(1)).item() == 4
