"""Differences between ranks, on hand-made records: the text that the owner of a hanging job reads."""

from __future__ import annotations

from depyf.record.records import (
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    GraphRecord,
    Location,
    ProcessRecord,
    SessionRecord,
    StageRecord,
)
from depyf.report.graph_difference import first_difference
from depyf.report.rank_differences import compare, render, summary

TEXT = "# first line\nclass GraphModule:\n    def forward(self, x):\n        {}\n        return (x,)\n"


def session(rank, *compilations, complete=True, compiling=()):
    """Return a record of compilations, each (function, operation in its graph, recompile reason, line of a break)."""
    functions, frames, graphs, texts = {}, [], [], {}
    for number, (name, operation, why, place) in enumerate(compilations):
        functions[name] = FunctionRecord(f"{name}_0", name, name, "train.py", 1 + len(name), "", "file")
        file = f"__compiled_fn_{number}.Captured_Graph.0.py"
        texts[file] = TEXT.format(operation)
        graphs.append(GraphRecord(f"__compiled_fn_{number}", f"{number}/0", (StageRecord("Captured_Graph", 0, file),)))
        breaks = (GraphBreak(("print",), Location("train.py", place)),) if place else ()
        frames.append(
            FrameRecord(
                f"{number}/0",
                f"{name}_0",
                number,
                f"{number}.py",
                "",
                "replaced",
                "PROVED",
                graphs=(f"__compiled_fn_{number}",),
                graph_breaks=breaks,
                recompile_reasons=(why,) if why else (),
            )  # fmt: skip
        )
    record = SessionRecord(
        functions=tuple(functions.values()), frames=tuple(frames), graphs=tuple(graphs),
        complete=complete, compiling=compiling, rank=rank,
    )  # fmt: skip
    return record, texts


def differences(*sessions, world_size=None):
    records = {rank: record for rank, (record, _) in enumerate(sessions) if record is not None}
    return compare(records, {rank: texts for rank, (_, texts) in enumerate(sessions)}, world_size)


def test_ranks_that_differ_only_in_the_device_are_equal():
    ranks = [session(rank, ("f", f"y = x.to('cuda:{rank}')  # line", "", 0)) for rank in range(3)]
    assert differences(*ranks) == ()


def test_a_rank_that_recompiles_is_reported_with_the_failed_guard():
    plain = [session(rank, ("f", "y = x + 1", "", 0)) for rank in range(3)]
    again = session(3, ("f", "y = x + 1", "", 0), ("f", "y = x + 1", "0/0: this failed: x.size()[0] == 4", 0))
    (one,) = differences(*plain, again)
    assert one.kind == "versions" and one.place == "train.py:2"
    assert one.text == ("Rank 3 compiled f twice; ranks 0-2: once. Why, on rank 3: 0/0: this failed: x.size()[0] == 4")


def test_the_rest_of_a_method_is_named_with_its_class():
    rest = "Net.forward resumed at line 25"
    again = session(1, (rest, "y = x + 1", "", 0), (rest, "y = x + 1", "0/0: size", 0))
    (one,) = differences(session(0, (rest, "y = x + 1", "", 0)), again)
    assert one.text.startswith("Rank 1 compiled the rest of Net.forward after line 25 twice; rank 0: once.")


def test_differing_collectives_come_first_with_what_each_rank_runs():
    one = session(0, ("g", "y = x", "", 7), ("f", "y = torch.ops._c10d_functional.all_reduce(x, 'sum', '0')", "", 0))
    other = session(1, ("g", "y = x", "", 0), ("f", "y = torch.ops._c10d_functional.all_gather_into_tensor(x)", "", 0))
    first, second = differences(one, other)
    assert first.kind == "collectives"
    assert first.text == (
        "Rank 1 captured other collectives in version 0 of f: all_gather_into_tensor; rank 0: all_reduce"
    )
    assert second.kind == "graph breaks" and second.text == "Rank 0 alone: g breaks the graph at train.py:7: print"


def test_a_differing_graph_shows_the_first_line_that_differs():
    (one,) = differences(session(0, ("f", "y = x + 1", "", 0)), session(1, ("f", "y = x + 2", "", 0)))
    assert (one.kind, [view.what for view in one.views]) == ("graph", ["y = x + 1", "y = x + 2"])


SIZED = """class GraphModule(torch.nn.Module):
    def forward(self, L_weight_: "f32[16, 8][8, 1]cpu", L_x_: "f32[{0}, 8][8, 1]cpu"):
        l_x_ = L_x_
        y: "f32[{0}, 16][16, 1]cpu" = torch._C._nn.linear(l_x_, L_weight_);  l_x_ = L_weight_ = None
{1}        return (y,)
"""
DOUBLED = '        y_1: "f32[{0}, 16][16, 1]cpu" = y * 2;  y = None\n'


def first_difference_of(*texts):
    return first_difference([text.splitlines() for text in texts])


def test_graphs_for_other_input_sizes_name_the_sizes_not_whole_signatures():
    assert first_difference_of(SIZED.format(4, ""), SIZED.format(6, "")) == [
        "input L_x_: f32[4, 8][8, 1]cpu",
        "input L_x_: f32[6, 8][8, 1]cpu",
    ]


def test_graphs_that_compute_something_else_show_the_first_differing_operation():
    assert first_difference_of(SIZED.format(4, ""), SIZED.format(6, DOUBLED.format(6))) == [
        "input L_x_: f32[4, 8][8, 1]cpu, then return (y,)",
        "input L_x_: f32[6, 8][8, 1]cpu, then y_1: f32[6, 16][16, 1]cpu = y * 2",
    ]
    assert first_difference_of(SIZED.format(4, ""), SIZED.format(4, DOUBLED.format(4))) == [
        "return (y,)",
        "y_1: f32[4, 16][16, 1]cpu = y * 2",
    ]


BROKEN = """class GraphModule(torch.nn.Module):
    def forward(
        self,
        L_x_: "f32[4, 8][8, 1]cpu",
    ):
        gelu: "f32[4, 8][8, 1]cpu" = torch._C._nn.gelu(
            L_x_, approximate='{0}',
            scale=(1, 2),
        );  L_x_ = None
        copied: "f32[4, 8][8, 1]cpu" = \\
            gelu
        return (copied,)
"""


def test_a_statement_on_several_lines_is_shown_whole():
    assert first_difference_of(BROKEN.format("none"), BROKEN.format("tanh")) == [
        f"gelu: f32[4, 8][8, 1]cpu = torch._C._nn.gelu(L_x_, approximate='{how}', scale=(1, 2))"
        for how in ("none", "tanh")
    ]
    other = BROKEN.format("none").replace("            gelu\n", "            gelu_1\n")
    assert first_difference_of(BROKEN.format("none"), other) == [
        "copied: f32[4, 8][8, 1]cpu = gelu",
        "copied: f32[4, 8][8, 1]cpu = gelu_1",
    ]
    whole = BROKEN.format("none").replace("(\n            L_x_,", "(L_x_,").replace("2),\n        )", "2))")
    assert first_difference_of(whole, BROKEN.format("tanh"))[0].endswith("gelu(L_x_, approximate='none', scale=(1, 2))")


def test_graphs_of_an_unknown_form_show_the_first_line_that_differs():
    assert first_difference_of("a", "b") == ["a", "b"] and first_difference_of("a", "") == ["a", "(ends)"]
    long = "x" * 500
    assert first_difference_of(f"y = f({long})", "y = g()") == [f"y = f({long})"[:200] + " ...", "y = g()"]
    other = 'def forward(self, a: "f32[1]"):', 'def forward(self, a: "f32[1]", b: "f32[1]"):'
    assert first_difference_of(*other) == list(other)


def test_a_differing_order_is_reported_at_the_first_compilation_that_differs():
    calls = [("f", "y = x", "", 0), ("g", "y = x", "", 0), ("h", "y = x", "", 0)]
    (one,) = differences(session(0, *calls), session(1, calls[0], calls[2], calls[1]))
    assert one.kind == "order" and "compilation 2 of those they share: rank 0: g (version 0); rank 1: h" in one.text


def test_ranks_that_were_killed_or_left_no_record_are_listed():
    killed = session(0, ("f", "y = x", "", 0), complete=False, compiling=("g (train.py:9) [1/0]",))
    ended = differences(killed, (None, {}), session(2, ("f", "y = x", "", 0)), world_size=3)
    assert [one.kind for one in ended] == ["ended", "ended"]
    assert ended[0].text.startswith("Rank 1 left no record") and "was compiling g (train.py:9) [1/0]" in ended[1].text


def test_the_printed_text_has_each_rank_and_each_difference():
    found = differences(session(0, ("f", "y = x + 1", "", 0)), session(1, ("f", "y = x + 2", "", 0)))
    processes = [ProcessRecord(f"rank_{rank}", rank, frames=1, graphs=1) for rank in (0, 1)]
    text = render(processes, found)
    assert text.splitlines()[0] == "2 ranks, and one thing that they did not do alike:"
    assert "rank_1  1     1       1       0             yes" in text
    assert text.endswith(
        "1. another graph of f, version 0 (train.py:2)\n     rank 0: y = x + 1\n     rank 1: y = x + 2\n"
    )
    assert found[0].text in summary(processes, found, "/d")
    assert summary(processes, (), "/d").splitlines()[0] == "depyf: All 2 ranks compiled the same."


def test_the_summary_of_ranks_ends_with_the_page_that_shows_them():
    files = ("manifest.json", "ranks.txt", "index.html")
    assert summary((ProcessRecord("rank_0", 0, frames=1),), (), "/d", files).splitlines()[1:] == [
        "  side by side: /d/ranks.txt",
        "  page: /d/index.html",
    ]
