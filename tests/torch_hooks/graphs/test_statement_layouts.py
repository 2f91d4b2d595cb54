"""A graph's function gets the lines and columns that compiling its file would give it, without compiling it."""

from __future__ import annotations

import random

import pytest

from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.text.line_breaks import broken_lines
from depyf.torch_hooks.graphs.generated_functions import forwards_in
from depyf.torch_hooks.graphs.statement_layouts import _joins_loads, moved_to_log

pytestmark = pytest.mark.skipif(not RUNNING.line_tables_have_columns, reason="lines without columns: it is compiled")

W = [f"l_self_modules_layers_modules_{number}_modules_self_attn_parameters_weight_" for number in range(4)]
NODES = [
    f"{W[0]} = {W[0].upper()}",
    f"x = torch._C._nn.linear({', '.join(W)});  {' = '.join(W)} = None",
    f"y = torch.nn.functional.layer_norm({W[0]}, (16,), {W[1]}, eps = 1e-05);  {W[0]} = None",
    f"z = {W[1]} * {W[2]};  {W[1]} = {W[2]} = None",
    "x = y + z;  y = None",
    "x = x.sum()",
    "x += z;  y = x;  x = None",
    "getitem = split[(slice(None, None, None), -1)]",
    "q = torch.einsum('a;  b, (c', x, [y, z])",
    f"cat = torch.cat([{W[0]}, {W[1]}], dim = -1);  {W[1]} = None",
]


def two_texts(nodes):
    """Return what torch compiles of a graph, and what it logs."""
    parameters = [one.upper() for one in W]
    source = ["", "", "", f"def forward(self, {', '.join(f'{one} : torch.Tensor' for one in parameters)}):"]
    logged = ["class GraphModule(torch.nn.Module):"]
    logged += [f"""    def forward(self, {", ".join(f'{one}: "f32[16, 16][16, 1]cpu"' for one in parameters)}):"""]
    for number, node in enumerate(nodes):
        if number % 3:
            logged += ["        ", f"        # File: a.py:{number} in forward, code: {'call(x)  ' * 12}"]
        before, equals, after = node.partition(" = ")
        if ";  y = x;" in node:  # the node is the second statement of its line
            before, equals, after = "x += z;  y", " = ", "x;  x = None"
        has_type = not node.startswith("l_")
        source.append("    " + node)
        logged.append("        " + before + (': "f32[4, 16][16, 1]cpu"' if has_type else "") + equals + after)
    return "\n".join([*source, "    return (x,)", "    "]), "\n".join([*logged, "        return (x,)", "        "])


def moved_code(source, logged):
    (code,) = forwards_in(source, "<eval_with_key>.0")
    broken = broken_lines(logged)
    return moved_to_log(code, source, logged, broken, "graph.py"), forwards_in("\n" + "\n".join(broken), "graph.py")


@pytest.mark.parametrize("seed", range(20))
def test_a_debugger_and_a_traceback_find_each_instruction_where_the_file_has_it(seed):
    choose = random.Random(seed)
    nodes = choose.choices(NODES, k=12) if seed else NODES
    moved, (compiled,) = moved_code(*two_texts(nodes))
    if moved is None:
        assert _joins_loads()
        return
    assert moved.co_code == compiled.co_code
    assert list(moved.co_lines()) == list(compiled.co_lines())
    assert list(moved.co_positions()) == list(compiled.co_positions())
    assert moved.co_linetable == compiled.co_linetable
    assert (moved.co_filename, moved.co_firstlineno) == ("graph.py", compiled.co_firstlineno)


SHORT = ["x = y + z;  y = None", "x = x.sum()"]


def test_statements_that_fit_their_lines_are_moved_with_every_python_that_has_columns():
    moved, (compiled,) = moved_code(*two_texts(SHORT))
    assert moved is not None and moved.co_linetable == compiled.co_linetable


@pytest.mark.parametrize(
    ("shown", "instead"),
    [
        (" = y + z", " = y - z"),
        ("y = None", "z = None"),
        ("return (x,)", "return (y,)"),
        ("        return (x,)", "        x = None\n        return (x,)"),
        ("        return (x,)", ""),
        (W[0].upper(), W[0]),
        ("def forward(self, ", "def forward(self, more, "),
        ('x: "f32', 'x: f"f32'),
        ("    def forward", "    def backward"),
    ],
)
def test_a_text_that_is_another_function_lends_no_lines(shown, instead):
    source, logged = two_texts(SHORT)
    assert shown in logged
    (code,) = forwards_in(source, "<eval_with_key>.0")
    other = logged.replace(shown, instead, 1)
    assert moved_to_log(code, source, other, broken_lines(other), "graph.py") is None


def test_a_method_of_a_broken_call_is_compiled_as_its_line_is_not_that_of_its_object():
    node = f"x = torch.cat([{', '.join(W)}]).view({', '.join(W)})"
    assert moved_code(*two_texts([node]))[0] is None


def test_a_graph_with_a_graph_inside_or_with_a_text_of_several_lines_is_compiled():
    source, logged = two_texts(SHORT)
    for node in ("x = (lambda: y)()", "x = f('''a\n    b''')", "x = f('\\n')"):
        one, other = (text.replace("x.sum()", node[4:], 1) for text in (source, logged))
        assert moved_code(one, other)[0] is None
    nested = (
        logged + "\n        class inner(torch.nn.Module):\n            def forward(self):\n                return 1\n"
    )
    (code,) = forwards_in(source, "<eval_with_key>.0")
    assert moved_to_log(code, source, nested, broken_lines(nested), "graph.py") is None
