"""The text of a graph gives each node its line: a node that is overlooked leads nowhere."""

from __future__ import annotations

from depyf.line_table.graph_lines import read_graph

TEXT = """\
# __compiled_fn_1, Captured_Graph: this code runs.
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4]", s77: "Sym(s77)"):
        l_x_ = L_x_

        # File: /a b/model.py:13 in forward, code: z = torch.exp(-x), "in f, code: 3"
        neg: "f32[4]" = -l_x_
        exp = torch.exp(neg);  neg = None

        # Annotation: {'stage': 1} recompute: MUST_SAVE File: /a b/model.py:14 in forward, code: z += 1
        exp += 1;  iadd: "f32[4]" = exp;  exp = None
        iadd[0] = 2;  setitem = iadd;  setitem = None

        # No stacktrace found for following nodes
        cond_true_0 = self.cond_true_0

        # File: /a b/model.py:15 in <lambda>, code: lambda: cond(z)
        cond = torch.ops.higher_order.cond(iadd, cond_true_0, (s77,));  iadd = cond_true_0 = None
        sym : int = torch.ops.aten.sym_size.int(cond, 0)
        return (cond, sym)

    class cond_true_0(torch.nn.Module):
        def forward(self, l_x_: "f32[4]"):
            # File: /a b/model.py:20 in yes, code: return x.sin()
            sin: "f32[4]" = l_x_.sin();  l_x_ = None
            return (sin,)
"""


def test_every_node_has_its_line_and_the_line_of_the_user_that_it_stems_from():
    found = [(node.line, node.name, node.place and node.place.line) for node in read_graph(TEXT)]
    assert found == [
        (7, "neg", 13),
        (8, "exp", 13),
        (11, "iadd", 14),
        (12, "setitem", 14),
        (15, "cond_true_0", None),
        (18, "cond", 15),
        (19, "sym", 15),
        (25, "cond_true_0.sin", 20),
    ]


def test_a_place_has_the_file_the_function_and_the_code():
    first = read_graph(TEXT)[0].place
    assert (first.file, first.function) == ("/a b/model.py", "forward")
    assert first.code == 'z = torch.exp(-x), "in f, code: 3"'
    assert [node.operation for node in read_graph(TEXT)][-2] == "sym_size"


def test_a_text_that_is_no_graph_has_no_nodes():
    assert read_graph("") == read_graph("# only = a comment\nx = 1\n") == ()


def test_a_line_of_the_users_that_ends_in_a_comma_does_not_hide_the_node_below_it():
    text = '# graph\n    # File: model.py:16 in forward, code: torch.sin(y),\n    sin: "f32[2]" = torch.sin(y)\n'
    assert [(node.line, node.name, node.place.line) for node in read_graph(text)] == [(3, "sin", 16)]


def test_values_released_on_a_line_of_their_own_are_no_nodes():
    line = '        add: "f32[4]" = neg + exp'
    text = TEXT.replace(
        "        return (cond, sym)\n", f"{line}\n        neg = exp = None\n        return (cond, sym)\n"
    )
    assert [node.name for node in read_graph(text)].count("neg") == 1


def test_a_line_of_the_users_is_found_where_torch_does_not_name_its_function():
    text = "# graph\n    # File: model.py:16, code: return x * n  # in f, code: 3\n    mul = l_x_ * 2\n"
    (node,) = read_graph(text)
    assert (node.place.file, node.place.line, node.place.function) == ("model.py", 16, "")


BROKEN = """\
class GraphModule(torch.nn.Module):
    def forward(self, x):
        # File: /model.py:13 in forward, code: z = a - b
        sub: "f32[4]" = torch.ops.aten.sub.Tensor(
            x, amax
        );  x = amax = None
        exp: "f32[4]" = torch.ops.aten.exp.default(sub);  sub = None
        long_name = \\
            Long_name

        # File: /model.py:14 in forward, code: return z
        return (
            exp,
        )
"""


def test_a_node_that_is_broken_into_lines_is_on_all_of_them():
    assert [(node.name, node.line, node.end) for node in read_graph(BROKEN)] == [
        ("sub", 4, 6),
        ("exp", 7, 0),
        ("long_name", 8, 9),
    ]
