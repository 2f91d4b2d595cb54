"""The logged text of a graph gets the signature of the function that runs, and nothing else of it."""

from __future__ import annotations

import pytest

from depyf.torch_hooks.graphs.graph_text import like_running

LOGGED = """class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2]", y: "f32[2]"):
        cos: "f32[2]";
        # user.py:3: cos = x.cos()
        cos: "f32[2]" = torch.cos(x);  x = None
        return (cos,)
"""
BOXED = """
def forward(self, arg):
    x, y, = arg
    arg.clear()
    cos = torch.cos(x);  x = None
    return (cos,)
"""


def test_a_boxed_graph_keeps_its_shapes_and_the_users_lines():
    text = like_running(LOGGED, BOXED)
    assert "def forward(self, arg):" in text
    assert "x, y, = arg" in text
    assert "arg.clear()" in text
    assert 'cos: "f32[2]" = torch.cos(x);  x = None' in text
    assert "# user.py:3" in text


@pytest.mark.parametrize(
    "running",
    [
        BOXED.replace("cos =", "sin ="),
        BOXED.replace("    return (cos,)\n", "    more = cos + 1\n    return (more,)\n"),
        "def forward(self, arg):\n    return (arg,)\n",
        "def other(self): pass\n",
        "not Python",
    ],
)
def test_another_graph_is_not_taken_for_it(running):
    assert like_running(LOGGED, running) is None
