"""The code that runs is the code on disk: breakpoints in graphs and kernels are hit."""

from __future__ import annotations

import inspect

import capture_tools as tools
import pytest
import torch
from capture_tools import breakpoints, dump, run_toy, same, statement_lines
from torch_probes import AOT_EAGER_INTERPRETS, GUARDS_WEIGHTS, LOGS_PRE_GRAD, needs

import depyf
from depyf.decompiler.bytecode.code_flags import CO_METHOD, CO_NESTED
from depyf.problems import Problems
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.graphs.generated_functions import forwards_in, like_twin
from depyf.torch_hooks.graphs.graph_files import Graphs
from depyf.torch_hooks.graphs.linking import link
from depyf.torch_hooks.graphs.short_names import with_short_names

pytestmark = pytest.mark.usefixtures("own_inductor_cache")


RUNNING_FILE = {"eager": "Captured_Graph.0", "aot_eager": "Forward_graph.0"}


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
        assert_marked_as_interpreted(graph, record.graphs[0])
        return
    assert any(torch.is_tensor(value) and value.shape == (10,) for value in hits[graph.name].values())
    assert {line for name, line, _ in debugger.hits if name == graph.name} == {places[1][1]}


def assert_marked_as_interpreted(path, graph):
    assert path.name not in graph.running_files and not graph.linked_files
    assert "run node by node by Interpreter; this text is not executed" in path.read_text().splitlines()[0]


def test_breakpoints_in_the_backward_graph_are_hit(tmp_path):
    run = lambda compiled: run_toy(compiled, grad=True)  # noqa: E731
    results, record, compiled = dump(tmp_path / "d", tools.toy_example, run, "aot_eager")
    assert same(results, run(tools.toy_example))
    graph = tmp_path / "d" / f"{record.frames[0].graphs[0]}.Backward_graph.0.py"
    if AOT_EAGER_INTERPRETS:
        assert_marked_as_interpreted(graph, record.graphs[0])
        return
    a = torch.ones(10, requires_grad=True)
    out = compiled(a, torch.ones(10)).sum()
    with torch.autograd.set_multithreading_enabled(False):
        with breakpoints((graph, statement_lines(graph)[-1])) as debugger:
            out.backward()
    # autograd runs the backward of CPU graphs in the calling thread
    assert debugger.hits and a.grad is not None


def test_inductor_kernels_are_linked_and_other_stages_are_marked_as_not_running(tmp_path):
    folder = tmp_path / "d"
    run = lambda f: [f(torch.ones(3, 4), torch.ones(3, 4))]  # noqa: E731
    results, record, compiled = dump(folder, tools.straight, run, "inductor")
    assert same(results, run(tools.straight))
    (graph,) = record.graphs
    kernel = f"{graph.name}.kernel_0.py"
    assert graph.running_files == (kernel,)
    stages = {part.stage for part in graph.stages}
    assert stages == {"Captured_Graph", "Forward_graph", "AFTER_POST_GRAD", *["BEFORE_PRE_GRAD"] * LOGS_PRE_GRAD}
    for part in graph.stages:
        first = (folder / part.file).read_text().splitlines()[0]
        assert first.startswith("# ") and "not run" in first and kernel in first
    tools.assert_all_parse(folder)
    with breakpoints((folder / kernel, statement_lines(folder / kernel, "call")[-1])) as debugger:
        assert torch.equal(compiled(torch.ones(3, 4), torch.ones(3, 4)), results[0])
    assert [name for name, _, _ in debugger.hits] == [kernel]


def test_a_backward_that_never_ran_is_not_attributed_to_the_forward_kernel(tmp_path):
    run = lambda f: [f(torch.ones(3, 4, requires_grad=True), torch.ones(3, 4)).detach()]  # noqa: E731
    for backend in ("aot_eager", "inductor"):
        _, record, _ = dump(tmp_path / backend, tools.straight, run, backend)
        (graph,) = record.graphs
        parts = {part.stage: part for part in graph.stages}
        first = (tmp_path / backend / parts["Backward_graph"].file).read_text().splitlines()[0]
        if not parts["Backward_graph"].linked:  # aot_eager compiles the backward at once, Inductor at its first call
            assert first.endswith("Backward_graph: nothing that was made of it has run so far"), first
        assert backend == "aot_eager" or not parts["Backward_graph"].instead
        assert backend == "aot_eager" or parts["Forward_graph"].instead == (graph.kernels[0].file,)


KERNEL = """
def call(args):
    return list(args)

def partition_0(args):
    return list(args)

class Runner:
    def __init__(self, partitions):
        self.partitions = partitions

    def call(self, args):
        return self.partitions[0](args)
"""


def recorded_as_a_cuda_graph(function):
    """Return what Inductor calls in the place of `function`: it records a CUDA graph, and replays that later."""
    from torch._inductor.compile_fx import cudagraphify

    old = {"inputs": []} if "inputs" in inspect.signature(cudagraphify).parameters else {}  # torch 2.4 and older
    return cudagraphify(function, **old, device_index=0, stack_traces=[], is_backward=False, is_inference=True)


def test_only_functions_that_a_cuda_graph_is_recorded_from_are_left_out_of_its_replay(tmp_path):
    folder = OutputFolder(str(tmp_path / "d"), Problems())
    folder.open()
    graphs = Graphs(folder, folder.problems)
    entries = []
    for number in range(2):
        names = {"__file__": f"/nowhere/{number}.py", "__name__": "kernels"}
        exec(compile(KERNEL, names["__file__"], "exec"), names)
        entries.append(names)
    whole, parts = (graphs.new(f"__compiled_fn_{number}", f"{number}/0") for number in range(2))
    for graph, names in zip((whole, parts), entries):
        graphs.add_kernel(graph, names["__file__"], KERNEL)
    link(graphs, whole, recorded_as_a_cuda_graph(entries[0]["call"]))
    link(graphs, parts, entries[1]["Runner"]([recorded_as_a_cuda_graph(entries[1]["partition_0"])]).call)
    entries[0]["call"]([1])
    entries[1]["Runner"]([entries[1]["partition_0"]]).call([1])
    graphs.finish()
    (one,), (other,) = (graph.record().kernels for graph in (whole, parts))
    assert one.runs and one.execution == "while a CUDA graph was recorded" and one.recorded_functions == ("call",)
    assert other.runs and other.execution == "ran" and other.recorded_functions == ("partition_0",)


@needs(not AOT_EAGER_INTERPRETS, "aot_eager that calls the forward of its graphs")
def test_observing_a_graph_has_no_code_generated_that_torch_would_not_generate(tmp_path, monkeypatch):
    from torch.fx import graph_module

    def count():
        made = []
        original = graph_module._forward_from_src
        with monkeypatch.context() as patch:
            patch.setattr(graph_module, "_forward_from_src", lambda *args: made.append(1) or original(*args))
            torch._dynamo.reset()
            compiled = torch.compile(tools.straight, backend="aot_eager")
            compiled(torch.ones(3, 4, requires_grad=True), torch.ones(3, 4)).sum().backward()
        return len(made)

    expected = count()
    with depyf.prepare_debug(str(tmp_path / "d")):
        assert count() == expected


def test_two_functions_that_share_one_kernel_module_name_the_linked_file(tmp_path):
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


def test_a_later_session_in_another_folder_takes_over_the_links(tmp_path):
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


def test_a_graph_that_is_interpreted_is_marked_as_without_breakpoints(tmp_path):
    torch = pytest.importorskip("torch")
    import capture_tools as tools

    def backend(graph_module, example_inputs):
        def run(*args):
            return torch.fx.Interpreter(graph_module).run(*args)

        return run

    results, record, _ = tools.dump(tmp_path / "d", tools.toy_example, tools.run_toy, backend)
    assert tools.same(results, tools.run_toy(tools.toy_example))
    for graph in record.graphs:
        (part,) = graph.stages
        assert part.execution == "node by node" and not part.runs and not part.linked
        first = (tmp_path / "d" / part.file).read_text().splitlines()[0]
        assert first.endswith("Captured_Graph: run node by node by Interpreter; this text is not executed.")


def test_first_lines_that_a_killed_process_would_leave_name_the_graph_that_a_call_runs(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path / "d")):
        torch.compile(tools.straight, backend="aot_eager")(torch.ones(3, 4), torch.ones(3, 4))
        (path,) = (tmp_path / "d").glob("*.Forward_graph.0.py")
        first = path.read_text().splitlines()[0]
    if "run node by node" not in first or not AOT_EAGER_INTERPRETS:
        assert first.endswith("may be what a call runs; whether it ran inside the context is not known.")


class _Deep(torch.nn.Module):
    """A model whose parameter has a way that no line has room for."""

    def __init__(self, depth):
        super().__init__()
        self.inner_part_of_the_model = torch.nn.Linear(4, 4) if depth == 0 else _Deep(depth - 1)

    def forward(self, x):
        return self.inner_part_of_the_model(x)


@needs(GUARDS_WEIGHTS, "weights among the inputs of its graphs")
def test_a_backend_that_passes_inputs_by_name_gets_them_though_the_file_shortens_their_names(tmp_path):
    model = _Deep(4)
    x = torch.ones(2, 4)

    def by_name(gm, inputs):
        names = [node.target for node in gm.graph.nodes if node.op == "placeholder"]
        return lambda *args: gm.forward(**dict(zip(names, args)))

    with depyf.prepare_debug(str(tmp_path / "d"), include_earlier=False):
        compiled = torch.compile(model, backend=by_name)
        results = [compiled(x), compiled(x)]
    assert all(torch.equal(result, model(x)) for result in [*results, compiled(x)])
    (graph,) = (tmp_path / "d").glob("__compiled_fn_*.Captured_Graph.0.py")
    assert max(map(len, graph.read_text().splitlines())) <= 120
    with breakpoints((graph, statement_lines(graph)[-1])) as debugger:
        compiled(x)
    assert debugger.hits
    assert max(len(name) for name in debugger.hits[0][2] if name.startswith("l_")) <= 100


def test_a_graph_that_torch_logs_as_a_method_is_the_function_that_runs():
    """CPython 3.14 flags functions of a class body, and joins instructions only where they are on one line."""
    running, logged = forwards_in(
        "def forward(self, x):\n    return x\nclass M:\n  def forward(self, x):\n    x = x\n    return x", "f.py"
    )
    logged = logged.replace(co_flags=running.co_flags | CO_METHOD)
    assert running.co_code != logged.co_code
    found = like_twin(running, [logged])
    assert found is not None and found[1].co_flags == running.co_flags
    assert like_twin(running, [logged.replace(co_flags=logged.co_flags | CO_NESTED)]) is None


def test_an_attribute_of_a_graph_keeps_its_name_however_long():
    """Torch 2.2 calls modules of the graph by such names, which a file cannot change."""
    name = "self__" + "inner_part_of_the_model_" * 5
    text = f"def forward(self, L_{name}):\n    l_{name} = self.L_{name}(L_{name})\n    return l_{name}"
    (running,), (logged,) = forwards_in(text, "f.py"), forwards_in(with_short_names(text), "f.py")
    assert f"self.L_{name}(" in with_short_names(text) and f"l_{name} =" not in with_short_names(text)
    assert like_twin(running, [logged]) is not None
