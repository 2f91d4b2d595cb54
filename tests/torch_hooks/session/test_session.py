"""The files that prepare_debug writes, and whether their contents are true."""

from __future__ import annotations

import os
import re

import capture_tools as tools
import pytest
import torch
from capture_tools import dump, run_docs, run_toy, same
from torch_probes import CACHED_ID, EXPLAINS_BREAKS, NAMES_FIRST_BREAK, resume_name

import depyf
from depyf.record.saved_form import from_json

pytestmark = pytest.mark.usefixtures("own_inductor_cache")


def test_the_toy_example_leaves_frames_graphs_and_full_code(tmp_path):
    results, record, _ = dump(tmp_path / "d", tools.toy_example, run_toy)
    assert same(results, run_toy(tools.toy_example))
    tools.assert_all_parse(tmp_path / "d")
    names = set(os.listdir(tmp_path / "d"))
    line = tools.toy_example.__code__.co_firstlineno + 2
    resume = resume_name("toy_example", line)
    assert {
        "__transformed_code_0_for_toy_example.py",
        f"__transformed_code_0_for_{resume}.py",
        f"__transformed_code_1_for_{resume}.py",
        "full_code_for_toy_example_0.py",
        "manifest.json",
        "timings.json",
    } <= names
    assert [frame.compile_id for frame in record.frames] == ["0/0", "1/0", "2/0"]
    entry = record.frames[0]
    assert len(entry.graphs) == 1 and entry.guards and len(entry.resumes) == 2
    assert [record.function(call.function).resume_of for call in entry.resumes] == ["toy_example_0"] * 2
    (graph_break,) = entry.graph_breaks
    assert (graph_break.location.file, graph_break.location.line) == (tools.__file__, line)
    assert graph_break.location.code == "if b.sum() < 0:"
    assert "branching" in graph_break.reason or not EXPLAINS_BREAKS
    for graph in record.graphs:
        assert graph.running_files == (f"{graph.name}.Captured_Graph.0.py",)
    assert set(record.files) | {"manifest.json", "page"} == names
    assert all(frame.installed in ("replaced", "relabelled") for frame in record.frames)


def test_no_file_contains_a_random_id_an_address_or_the_path_of_the_folder(tmp_path):
    dump(tmp_path / "d", tools.toy_example, run_toy, prepare={"log_bytecode": True})
    for path in (path for path in (tmp_path / "d").rglob("*") if path.is_file()):
        content = path.read_bytes()
        assert str(tmp_path).encode() not in content, path
        if path.name not in ("timings.json", "times.js"):
            assert b"0x7" not in content and not contains_random_id(content), path


def contains_random_id(content):
    import re

    return re.search(rb"_[0-9a-f]{8}_[0-9a-f]{4}_[0-9a-f]{4}_", content)


def test_docs_example_with_dict_inputs_two_shapes_and_the_older_form_of_the_call(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(tools.docs_example, backend="aot_eager")
    with depyf.prepare_debug(compiled, tmp_path / "d"):
        results = run_docs(compiled)
    assert same(results, run_docs(tools.docs_example))
    record = from_json((tmp_path / "d" / "manifest.json").read_text())
    versions = [frame for frame in record.frames if frame.function == "docs_example_0"]
    assert [frame.compile_id for frame in versions] == ["0/0", "0/1"]
    assert versions[1].recompile_reasons and not versions[0].recompile_reasons
    stages = {part.stage for graph in record.graphs for part in graph.stages}
    assert stages == {"Captured_Graph", "Joint_graph", "Forward_graph", "Backward_graph"}
    tools.assert_all_parse(tmp_path / "d")
    assert len(list((tmp_path / "d").glob("__transformed_code_*_for_docs_example.py"))) == 2


def test_modules_get_the_names_that_programs_glob_for(tmp_path):
    model = tools.Model()
    run = lambda f: [f(torch.ones(2, 4), torch.ones(3)).detach()]  # noqa: E731
    results, record, _ = dump(tmp_path / "d", model, run, "aot_eager")
    assert same(results, run(model))
    assert list((tmp_path / "d").glob("__transformed_code*for_forward.py"))
    assert list((tmp_path / "d").glob("__compiled_fn*Forward_graph*.py"))
    assert record.functions[0].qualified_name == "Model.forward"


def test_lambdas_closures_and_files_with_odd_names_give_valid_modules(tmp_path):
    count = 0

    def counting(x):
        nonlocal count
        count += 1
        return x + count

    def inline(x):
        return torch.compile(lambda x: x + 2, backend="eager")(x)

    namespace = {}
    exec(compile("def odd(x):\n    return x + 3\n", "<a\nname>", "exec"), namespace)

    def run(compiled):
        x = torch.ones(2)
        return [compiled(x), inline(x), torch.compile(namespace["odd"], backend="eager")(x)]

    results, record, _ = dump(tmp_path / "d", counting, run)
    assert [result.tolist() for result in results] == [[2, 2], [3, 3], [4, 4]] and len(record.frames) == 3
    tools.assert_all_parse(tmp_path / "d")
    story = (tmp_path / "d" / "full_code_for_lambda_0.py").read_text()
    assert '#     return torch.compile(lambda x: x + 2, backend="eager")(x)\n' in story
    assert "\nlambda x: x + 2\n" in story


def test_functions_compiled_before_the_session_or_skipped_by_dynamo_are_reported(tmp_path, capsys):
    def breaks(x):
        x = x + 1
        print("once")
        return 5

    def loop(x):
        for _ in range(2):
            x = x + 1
            torch._dynamo.graph_break()
        return x

    torch._dynamo.reset()
    compiled = torch.compile(breaks, backend="eager")
    compiled(torch.ones(2))
    with depyf.prepare_debug(str(tmp_path / "d")) as context:
        compiled(torch.ones(3))
        torch.compile(loop, backend="eager")(torch.ones(2))
    assert not context.record.problems
    story = (tmp_path / "d" / "full_code_for_breaks_0.py").read_text()
    first = re.search(r"breaks, compiled version 1 of 2   \(compile id (.+), compiled before anyone looked\)", story)
    assert first is not None and (first[1] == "0/0" or CACHED_ID != "0/0")
    assert "why the graph broke is not known" in story
    assert "    # Dynamo has not come to it: it has not been called" in story
    assert "does not know how to trace builtin" in story or not EXPLAINS_BREAKS
    line = breaks.__code__.co_firstlineno + 2
    assert f"(what is left after {os.path.basename(__file__)}:{line})" in story
    left_alone = (tmp_path / "d" / "full_code_for_loop_0.py").read_text()
    assert "it runs as it is, eagerly" in left_alone and "for _ in range(2):" in left_alone
    if EXPLAINS_BREAKS:
        assert (
            "Call to `torch._dynamo.graph_break()`" + ", and then graph break in loop" * NAMES_FIRST_BREAK in left_alone
        )
    tools.assert_all_parse(tmp_path / "d")
    summary = capsys.readouterr().err
    assert "print" in summary and "2 graph breaks" in summary
    assert "Encountered graph break" not in summary
