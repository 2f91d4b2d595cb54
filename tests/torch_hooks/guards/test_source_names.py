"""The values that guards test, in the user's spelling."""

from __future__ import annotations

import pytest

from depyf.torch_hooks.guards.source_names import readable


@pytest.mark.parametrize("name", ["_140525308614976_c0", "_140525308614976_c1", "_..._c1/2"])
def test_torch_has_one_name_in_all_versions(name: str) -> None:
    assert readable(f"G['torch'].Tensor is G['{name}'].Tensor") == "torch.Tensor is torch.Tensor"


SPELLED = {
    "dict(type(L['self']).__dict__)['scale'] == 2": "type(self).scale == 2",
    "dict.__getitem__(L['o'], list(dict.keys(L['o']))[1]).size()": "list(o.values())[1].size()",
}


@pytest.mark.parametrize("torch_text", SPELLED)
def test_values_are_spelled_as_a_program_reads_them(torch_text: str) -> None:
    assert readable(torch_text) == SPELLED[torch_text]
