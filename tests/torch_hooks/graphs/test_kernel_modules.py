"""The text of a file shows whether it is a module of kernels, and which graph it implements."""

from __future__ import annotations

import pytest

from depyf.torch_hooks.graphs.kernel_modules import aot_id, read_kernels

HEAD = "import torch\nasync_compile = AsyncCompile()\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"# AOT ID: ['3_backward']\n{HEAD}def call(args):\n    primals_1, = args\n", ("3", "backward")),
        (f"{HEAD}def call(args):\n    primals_1, tangents_1 = args\n", ("", "backward")),  # from here on torch 2.2
        (f"{HEAD}def call(args):\n    primals_1, = args\n", ("", "forward")),
        (f"{HEAD}def call(args):\n    arg0_1, arg1_1 = args\n", ("", "inference")),
        (f"{HEAD}def call(args):\n    x, = args\n", ("", "")),
        ("def call(args):\n    primals_1, = args\n", ("", "")),
    ],
)
def test_a_module_of_kernels_is_known_by_its_graph_or_the_names_of_its_inputs(tmp_path, text, found):
    assert aot_id(text) == found
    path = tmp_path / "module.py"
    path.write_text(text)
    assert read_kernels(str(path)) == (text if any(found) else "")
