"""Questions about lines get the right answer, or one line that gives the reason why there is none."""

from __future__ import annotations

import json
import shutil

import pytest
from repository import ROOT

from depyf.__main__ import main
from depyf.line_table import folders, questions
from depyf.record.records import (
    FrameRecord,
    FunctionRecord,
    GraphRecord,
    KernelSource,
    LineLink,
    Location,
    NodeSource,
    SessionRecord,
    StageRecord,
    UserFile,
)
from depyf.record.saved_form import from_json, to_json
from depyf.record.stack_text import digest_of, read_stack

SOURCE = """\
from helpers import helper

def f(x):
    # nothing
    y = helper(
        x,
    )
    print(y)
    return helper(x) + torch.cos(y)
"""
HELPERS = "import torch\ndef helper(x):\n    return torch.sin(x)\n"
CAPTURED = """\
# __compiled_fn_1, Captured_Graph: not run
class GraphModule(torch.nn.Module):
    def forward(self, x):
        # File: {helpers}:3 in helper, code: return torch.sin(x)
        sin = torch.sin(x)
        sin_1 = torch.sin(x)
        # File: {model}:9 in f, code: return helper(x) + torch.cos(y)
        cos = torch.cos(sin)
        add = sin_1 + cos
        return (sin, add)
"""
KERNEL = """\
# AOT ID: ['0_inference']
async_compile = AsyncCompile()

cpp_fused_sin_0 = async_compile.cpp_pybinding(['float*'], r'''
void kernel()
''')

cpp_fused_cos_1 = async_compile.cpp_pybinding(['float*'], r'''
void kernel()
''')

def call(args):
    # [Provenance debug handles] cpp_fused_sin_0:1
    cpp_fused_sin_0(buf0)
    cpp_fused_cos_1(buf1)
    return (buf0,)
"""


@pytest.fixture
def folder(tmp_path):
    """Write a folder as a session would leave it, of a model that calls a helper of another file twice."""
    model, helpers, dump = tmp_path / "src" / "model.py", tmp_path / "src" / "helpers.py", tmp_path / "dump"
    model.parent.mkdir()
    dump.mkdir()
    model.write_text(SOURCE)
    helpers.write_text(HELPERS)
    inner = Location(str(helpers), 3, "helper", "return torch.sin(x)")
    first = Location(str(model), 5, "f", "y = helper(")
    second = Location(str(model), 9, "f", "return helper(x) + torch.cos(y)")
    sources = (
        NodeSource((first, inner), ("sin",)),
        NodeSource((second, inner), ("sin_1",)),
        NodeSource((second,), ("cos", "add")),
    )
    texts = {
        "__transformed_code_0_for_f.py": "def f(x):\n    graph_out = __compiled_fn_1(x)\n    print(graph_out[0])\n",
        "__compiled_fn_1.Captured_Graph.0.py": CAPTURED.format(model=model, helpers=helpers),
        "__compiled_fn_1.Forward_graph.0.py": CAPTURED.format(model=model, helpers=helpers),
        "__compiled_fn_1.kernel_0.py": KERNEL,
    }
    for name, text in texts.items():
        (dump / name).write_text(text)
    kernel = StageRecord(
        "kernel",
        0,
        "__compiled_fn_1.kernel_0.py",
        sources=(KernelSource("cpp_fused_sin_0:1", ("sin",), ((first, inner),)),),
    )
    graph = GraphRecord(
        "__compiled_fn_1",
        "0/0",
        (
            StageRecord("Captured_Graph", 0, "__compiled_fn_1.Captured_Graph.0.py"),
            StageRecord("Forward_graph", 0, "__compiled_fn_1.Forward_graph.0.py"),
        ),
        (kernel,),
        sources=sources,
    )
    frame = FrameRecord(
        "0/0",
        "f_0",
        0,
        "__transformed_code_0_for_f.py",
        "",
        "replaced",
        "PROVED",
        graphs=("__compiled_fn_1",),
        line_links=(LineLink(3, str(model), 8, "proof"),),
    )
    record = SessionRecord(
        functions=(FunctionRecord("f_0", "f", "f", str(model), 3, "\n".join(SOURCE.splitlines()[2:]), "file"),),
        frames=(frame,),
        graphs=(graph,),
        files=tuple(texts),
        user_files=tuple(UserFile(str(file), digest_of(str(file))) for file in (model, helpers)),
    )
    (dump / "manifest.json").write_text(to_json(record))
    return dump


def made_of(folder, place):
    """Return (file without the graph, line, whether it is sure) of what was made of a line."""
    answer = questions.ask(place, folders.read_tables(str(folder)))
    rows = [row for found in answer.found for row in found.rows if not row.last_line]
    return sorted({(row.file.replace("__compiled_fn_1.", ""), row.line, row.source.is_sure) for row in rows})


def test_a_line_leads_to_all_that_was_made_of_it(folder):
    assert made_of(folder, "model.py:9") == [
        ("Captured_Graph.0.py", 6, True),
        ("Captured_Graph.0.py", 8, True),
        ("Captured_Graph.0.py", 9, True),
        ("Forward_graph.0.py", 5, False),  # one of the two is of line 5: the comment has the innermost line alone
        ("Forward_graph.0.py", 6, False),
        ("Forward_graph.0.py", 8, True),
        ("Forward_graph.0.py", 9, True),
        ("__transformed_code_0_for_f.py", 2, True),
    ]
    assert ("kernel_0.py", 14, True) in made_of(folder, "model.py:5")
    assert made_of(folder, "model.py:8") == [("__transformed_code_0_for_f.py", 3, True)]


def test_a_line_inside_a_statement_of_several_lines_stands_for_it(folder):
    assert made_of(folder, "model.py:6") == made_of(folder, "src/model.py:7") == made_of(folder, "model.py:5")


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("__compiled_fn_1.Captured_Graph.0.py:5", ["helpers.py:3", "model.py:5"]),
        ("__compiled_fn_1.Captured_Graph.0.py:4", ["helpers.py:3", "model.py:5"]),
        ("__compiled_fn_1.Forward_graph.0.py:8", ["model.py:9"]),
        ("__compiled_fn_1.kernel_0.py:14", ["helpers.py:3", "model.py:5"]),
        ("__compiled_fn_1.kernel_0.py:5", ["helpers.py:3", "model.py:5"]),
        ("cpp_fused_sin_0", ["helpers.py:3", "model.py:5"]),
        ("cpp_fused_sin_0:1", ["helpers.py:3", "model.py:5"]),
        ("__transformed_code_0_for_f.py:3", ["model.py:8"]),
    ],
)
def test_a_line_of_a_file_in_the_folder_and_a_kernel_lead_back(folder, place, lines):
    for asked in (place, str(folder / place)) if ".py" in place else (place,):
        answer = questions.ask(asked, folders.read_tables(str(folder)))
        calls = [call for found in answer.found for row in found.rows for call in row.calls]
        assert sorted({f"{call.file.rpartition('/')[2]}:{call.line}" for call in calls}) == lines


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("other.py:3", "nothing that was compiled stems from other.py; files it stems from: helpers.py, model.py"),
        ("model.py:4", "model.py:4 has no code"),
        ("src/model.py:99", "has no line 99: it has 9"),
        ("model.py:0", "has no line 0"),
        ("model.py:1", "model.py:1: nothing that was compiled stems from this line, and no graph breaks here"),
        ("__compiled_fn_1.kernel_0.py:2", "has no node, kernel or statement"),
        ("__compiled_fn_1.kernel_0.py:15", "run with INDUCTOR_PROVENANCE=1"),
        ("cpp_fused_cos_1", "run with INDUCTOR_PROVENANCE=1"),
        ("cpp_fused_tan_2", "no kernel of that name was called"),
    ],
)
def test_what_has_no_answer_is_one_line_with_the_reason(folder, capsys, place, reason):
    if place.startswith("src/"):
        place = str(folder.parent / place)  # a file that is named whole is read, to compare it
    assert main(["where", place, str(folder)]) == 1
    out, err = capsys.readouterr()
    assert not out and reason in err and err.count("\n") == 1 and err.startswith("depyf: ")


def test_a_name_that_two_files_end_in_is_ambiguous_until_more_of_the_path_is_given(folder, capsys):
    other = folder.parent / "lib" / "model.py"
    other.parent.mkdir()
    other.write_text(SOURCE)
    text = (folder / "manifest.json").read_text()
    second = json.loads(text)["functions"][0]
    second.update(key="f_1", file=str(other))
    manifest = json.loads(text)
    manifest["functions"].append(second)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert main(["where", "model.py:9", str(folder)]) == 1
    assert f"model.py may be {other} or {folder.parent / 'src' / 'model.py'}" in capsys.readouterr().err
    assert main(["where", "src/model.py:9", str(folder)]) == 0


def test_a_source_that_changed_since_is_not_answered_about(folder, capsys):
    model = folder.parent / "src" / "model.py"
    model.write_text("# a line above\n" + SOURCE)
    assert main(["where", f"{model}:9", str(folder)]) == 1
    assert "model.py has changed since it was compiled" in capsys.readouterr().err
    assert main(["where", "helpers.py:3", str(folder)]) == 0


def test_a_source_that_is_not_here_is_answered_about_from_the_record(folder, capsys):
    shutil.rmtree(folder.parent / "src")
    assert main(["where", "model.py:9", str(folder)]) == 0
    assert "return helper(x) + torch.cos(y)" in capsys.readouterr().out


def test_a_folder_that_is_none_of_ours_is_one_line(tmp_path, capsys):
    assert main(["where", "model.py:9", str(tmp_path)]) == 2 == main(["lines", str(tmp_path / "nowhere")])
    (tmp_path / "manifest.json").write_text("{")
    assert main(["where", "model.py:9", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 3


def test_a_manifest_of_another_program_beside_ours_is_not_asked(folder, capsys):
    ours = (folder / "manifest.json").read_text()
    for own, other in (("depyf_manifest.json", "manifest.json"), ("manifest.json", "depyf_manifest.json")):
        (folder / own).write_text(ours)
        (folder / other).write_text('{"name": "an application"}')
        assert main(["where", "model.py:5", str(folder)]) == 0
        assert "cpp_fused_sin_0" in capsys.readouterr().out


def test_the_answer_names_each_file_its_line_and_how_that_is_known(folder, capsys):
    assert main(["where", "model.py:5", str(folder)]) == 0
    out = capsys.readouterr().out
    assert (
        f"{folder}/__compiled_fn_1.Captured_Graph.0.py:5: sin = torch.sin(x)  # from helpers.py:3, which it calls"
        in out
    )
    assert "kernel, its operations, by torch's provenance tracking:" in out
    assert "not known: the lines of 1 kernel in __compiled_fn_1.kernel_0.py" in out
    assert main(["lines", str(folder)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["basis"] for row in rows if row["calls"]} >= {"proof", "the stack of the node", "the call of the graph"}


def test_a_folder_of_schema_1_is_answered_about_from_its_texts(folder, capsys):
    record = from_json((folder / "manifest.json").read_text())
    manifest = json.loads(to_json(record, compact=True))
    manifest.update(schema=1)
    del manifest["user_files"], manifest["graphs"][0]["sources"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert ("Captured_Graph.0.py", 8, True) in made_of(folder, "model.py:9")
    model = folder.parent / "src" / "model.py"
    model.write_text("# a line above\n" + SOURCE)
    assert main(["where", f"{model}:9", str(folder)]) == 1


def test_a_stack_is_read_with_its_calls_and_without_the_marks_of_columns():
    text = '  File "a.py", line 3, in f\n    g(x)\n    ^^^^\n  File "b.py", line 9, in g\n    x.sin()\nGradient addition node\n'
    assert read_stack(text) == (Location("a.py", 3, "f", "g(x)"), Location("b.py", 9, "g", "x.sin()"))
    assert read_stack('  File "<stdin>", line 1, in f') == (Location("<stdin>", 1, "f", ""),)


def test_where_needs_no_torch():
    assert "import torch" not in "".join(path.read_text() for path in (ROOT / "depyf" / "line_table").glob("*.py"))
