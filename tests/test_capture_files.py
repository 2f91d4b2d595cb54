"""What a user finds in the folder, and whether it is true."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import types

import capture_tools as tools
import pytest
import torch
from capture_tools import breakpoints, dump, run_docs, run_toy, same, statement_lines
from torch_probes import AOT_EAGER_INTERPRETS, NAMES_FIRST_BREAK

import depyf
from depyf.record import from_json


@pytest.fixture(scope="module", autouse=True)
def own_inductor_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


RUNNING_FILE = {"eager": "Captured_Graph.0", "aot_eager": "Forward_graph.0"}


def test_toy_example_leaves_frames_graphs_and_the_whole_story(tmp_path):
    results, record, _ = dump(tmp_path / "d", tools.toy_example, run_toy)
    assert same(results, run_toy(tools.toy_example))
    tools.assert_all_parse(tmp_path / "d")
    names = set(os.listdir(tmp_path / "d"))
    line = tools.toy_example.__code__.co_firstlineno + 2
    resume = f"torch_dynamo_resume_in_toy_example_at_{line}"
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
    assert graph_break.location.code == "if b.sum() < 0:" and "branching" in graph_break.reason
    for graph in record.graphs:
        assert graph.running_files == (f"{graph.name}.Captured_Graph.0.py",)
    assert set(record.files) | {"manifest.json"} == names
    assert all(frame.installed in ("replaced", "relabelled") for frame in record.frames)


def test_no_random_id_no_address_and_no_path_of_the_folder_in_any_file(tmp_path):
    dump(tmp_path / "d", tools.toy_example, run_toy, prepare={"log_bytecode": True})
    for path in (tmp_path / "d").iterdir():
        content = path.read_bytes()
        assert str(tmp_path).encode() not in content, path
        if path.name != "timings.json":
            assert b"0x7" not in content and not tools_random_id(content), path


def tools_random_id(content):
    import re

    return re.search(rb"_[0-9a-f]{8}_[0-9a-f]{4}_[0-9a-f]{4}_", content)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_breakpoints_in_frame_and_graph_are_hit_and_show_the_locals(tmp_path, backend):
    folder = tmp_path / "d"
    _, record, compiled = dump(folder, tools.toy_example, run_toy, backend)
    frame = folder / "__transformed_code_0_for_toy_example.py"
    graph = folder / f"{record.frames[0].graphs[0]}.{RUNNING_FILE[backend]}.py"
    places = [(frame, statement_lines(frame)[-1]), (graph, statement_lines(graph)[-1])]
    places += [(frame, statement_lines(frame)[0]), (frame, statement_lines(frame)[1])]
    with breakpoints(*places) as debugger:
        compiled(torch.ones(10), torch.ones(10))
    hits = {name: values for name, _, values in debugger.hits}
    assert torch.equal(hits[frame.name]["a"], torch.ones(10))
    if backend == "aot_eager" and AOT_EAGER_INTERPRETS:
        assert_said_to_be_interpreted(graph, record.graphs[0])
        return
    assert any(torch.is_tensor(value) and value.shape == (10,) for value in hits[graph.name].values())
    assert {line for name, line, _ in debugger.hits if name == graph.name} == {places[1][1]}


def assert_said_to_be_interpreted(path, graph):
    assert path.name in graph.running_files and not graph.linked_files
    assert "node by node in an interpreter: breakpoints here are not hit" in path.read_text().splitlines()[0]


def test_breakpoints_in_the_backward_graph_are_hit(tmp_path):
    run = lambda compiled: run_toy(compiled, grad=True)  # noqa: E731
    results, record, compiled = dump(tmp_path / "d", tools.toy_example, run, "aot_eager")
    assert same(results, run(tools.toy_example))
    graph = tmp_path / "d" / f"{record.frames[0].graphs[0]}.Backward_graph.0.py"
    if AOT_EAGER_INTERPRETS:
        assert_said_to_be_interpreted(graph, record.graphs[0])
        return
    a = torch.ones(10, requires_grad=True)
    out = compiled(a, torch.ones(10)).sum()
    with torch.autograd.set_multithreading_enabled(False):
        with breakpoints((graph, statement_lines(graph)[-1])) as debugger:
            out.backward()
    # autograd runs the backward of CPU graphs in the thread that asks for it
    assert debugger.hits and a.grad is not None


def test_inductor_kernels_are_linked_and_the_other_stages_say_that_they_do_not_run(tmp_path):
    folder = tmp_path / "d"
    run = lambda f: [f(torch.ones(3, 4), torch.ones(3, 4))]  # noqa: E731
    results, record, compiled = dump(folder, tools.straight, run, "inductor")
    assert same(results, run(tools.straight))
    (graph,) = record.graphs
    kernel = f"{graph.name}.kernel_0.py"
    assert graph.running_files == (kernel,)
    stages = {part.stage for part in graph.stages}
    assert stages == {"Captured_Graph", "BEFORE_PRE_GRAD", "Forward_graph", "AFTER_POST_GRAD"}
    for part in graph.stages:
        first = (folder / part.file).read_text().splitlines()[0]
        assert first.startswith("# ") and "not run" in first and kernel in first
    tools.assert_all_parse(folder)
    with breakpoints((folder / kernel, statement_lines(folder / kernel, "call")[-1])) as debugger:
        assert torch.equal(compiled(torch.ones(3, 4), torch.ones(3, 4)), results[0])
    assert [name for name, _, _ in debugger.hits] == [kernel]


def test_a_backward_that_never_ran_is_not_said_to_be_in_the_kernel_of_the_forward(tmp_path):
    run = lambda f: [f(torch.ones(3, 4, requires_grad=True), torch.ones(3, 4)).detach()]  # noqa: E731
    for backend in ("aot_eager", "inductor"):
        _, record, _ = dump(tmp_path / backend, tools.straight, run, backend)
        (graph,) = record.graphs
        parts = {part.stage: part for part in graph.stages}
        first = (tmp_path / backend / parts["Backward_graph"].file).read_text().splitlines()[0]
        if not parts["Backward_graph"].linked:  # AOTAutograd makes its function, Inductor waits for the first call
            assert first.endswith("Backward_graph: nothing that was made of it has run so far"), first
        assert backend == "aot_eager" or not parts["Backward_graph"].instead
        assert backend == "aot_eager" or parts["Forward_graph"].instead == (graph.kernels[0].file,)


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


def test_bytecode_files_load_with_plain_pickle_and_with_dill(tmp_path):
    folder = tmp_path / "d"
    _, record, _ = dump(folder, tools.toy_example, run_toy, prepare={"log_bytecode": True})
    dill = pytest.importorskip("dill")
    for frame in record.frames:
        assert f"{frame.file}.original_bytecode" in frame.bytecode_files
        assert f"{frame.file}.transformed_bytecode" in frame.bytecode_files
        for name in frame.bytecode_files:
            for loader in (pickle, dill):
                with open(folder / name, "rb") as stream:
                    assert isinstance(loader.load(stream), types.CodeType)
    with open(folder / f"{record.frames[0].file}.original_bytecode", "rb") as stream:
        code = pickle.load(stream)
    assert code.co_code == tools.toy_example.__code__.co_code
    check = "import pickle, sys; c = pickle.load(open(sys.argv[1], 'rb')); assert 'depyf' not in sys.modules"
    for name in record.frames[0].bytecode_files:
        subprocess.run([sys.executable, "-I", "-c", check, str(folder / name)], check=True)
    revived = types.FunctionType(code, tools.toy_example.__globals__)
    assert same(run_toy(revived), run_toy(tools.toy_example))


def test_two_functions_that_share_one_kernel_module_say_which_file_is_linked(tmp_path):
    torch._dynamo.reset()

    def once(a, b):
        return (a * 2 + b).relu().sum(-1)

    functions = [torch.compile(function, backend="inductor") for function in (tools.straight, once)]
    with depyf.prepare_debug(str(tmp_path / "d")) as context:
        for function in functions:
            function(torch.ones(3, 4), torch.ones(3, 4))
    first, second = context.record.graphs
    assert first.running_files == (f"{first.name}.kernel_0.py",)
    kernels = [graph.kernels[0] for graph in (first, second)]
    if kernels[1].linked:  # torch loaded the module twice: each has its own file
        return
    assert kernels[1].instead == (kernels[0].file,)
    assert kernels[0].file in (tmp_path / "d" / kernels[1].file).read_text().splitlines()[0]


def test_a_later_session_in_another_folder_takes_the_links_over(tmp_path):
    run = lambda f: [f(torch.ones(3, 4), torch.ones(3, 4))]  # noqa: E731
    for backend in ("eager", "inductor"):
        for name in ("one", "two"):
            folder = tmp_path / backend / name
            _, record, compiled = dump(folder, tools.straight, run, backend)
            path = folder / record.graphs[0].running_files[0]
            line = statement_lines(path, {"eager": "forward", "inductor": "call"}[backend])[-1]
            with breakpoints((path, line)) as debugger:
                run(compiled)
            assert len(debugger.hits) == 1, (backend, name)


def test_odd_function_names_give_file_names_that_every_file_system_takes(tmp_path):
    torch._dynamo.reset()
    namespace = {}
    long = "f" * 300
    exec(f"def {long}(x):\n    return x + 1\n", namespace)

    def größe(x):
        return x + 2

    odd = [lambda x: x + 3, namespace[long], größe]
    with depyf.prepare_debug(str(tmp_path / "d")):
        for function in odd:
            torch.compile(function, backend="eager")(torch.ones(2))
    names = os.listdir(tmp_path / "d")
    assert "__transformed_code_0_for_lambda.py" in names
    assert "__transformed_code_0_for_größe.py" in names, "found by the name that the user gave it"
    assert all(len(name.encode()) < 200 and not set(name) & set('<>:"/\\|?*') for name in names)
    assert sum(name.startswith("__transformed_code") for name in names) == 3
    tools.assert_all_parse(tmp_path / "d")


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


def test_fx_code_that_belongs_to_no_graph_is_left_out_unless_asked_for(tmp_path):
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


def test_a_second_session_in_the_same_folder_continues_the_first(tmp_path):
    folder = tmp_path / "d"
    dump(folder, tools.straight, lambda f: [f(torch.ones(2, 2), torch.ones(2, 2))])
    text = (folder / "__transformed_code_0_for_straight.py").read_text()
    _, record, _ = dump(folder, tools.straight, lambda f: [f(torch.ones(2, 2), torch.ones(2, 2))])
    assert (folder / "__transformed_code_0_for_straight.py").read_text() == text
    assert [frame.file for frame in record.frames] == [
        f"__transformed_code_{n}_for_straight.py" for n in (0, 1)
    ]


def test_files_of_an_earlier_run_do_not_stay_behind(tmp_path):
    folder = tmp_path / "d"
    dump(folder, tools.toy_example, run_toy)
    timings = json.loads((folder / "timings.json").read_text())
    (folder / "timings.json").write_text(json.dumps({**timings, "process": "another", "run": "another"}))
    (folder / "notes.txt").write_text("mine")
    dump(folder, tools.straight, lambda f: [f(torch.ones(2, 2), torch.ones(2, 2))])
    assert not [path for path in folder.iterdir() if "toy_example" in path.name]
    assert (folder / "notes.txt").read_text() == "mine"


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


def test_what_the_session_did_not_see_and_what_dynamo_left_alone_is_told(tmp_path, capsys):
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
    assert "breaks, compiled version 1 of 2   (compile id 0/0, compiled before anyone looked)" in story
    assert "why the graph broke is not known" in story
    assert "# Dynamo never compiled this: it runs as it is" in story
    assert "does not know how to trace builtin" in story
    line = breaks.__code__.co_firstlineno + 2
    assert f"(resumes at {os.path.basename(__file__)}:{line})" in story
    left_alone = (tmp_path / "d" / "full_code_for_loop_0.py").read_text()
    assert "it runs as it is, eagerly" in left_alone and "for _ in range(2):" in left_alone
    assert "Call to `torch._dynamo.graph_break()`" + ", and then graph break in loop" * NAMES_FIRST_BREAK in left_alone
    tools.assert_all_parse(tmp_path / "d")
    summary = capsys.readouterr().err
    assert "builtin operator `print`" in summary and "2 graph breaks" in summary
    assert "Encountered graph break" not in summary
