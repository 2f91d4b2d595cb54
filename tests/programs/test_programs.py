"""Programs that use more of torch than one compiled function: their files are complete and filed under the right graph."""

from __future__ import annotations

import capture_tools as tools
import pytest
import torch
import traced_features
from capture_tools import dump, first_line, same, session, stages
from torch_probes import (
    AOT_EAGER_INTERPRETS,
    CACHED_ID,
    COMPILED_AUTOGRAD_HAS_IDS,
    GUARDS_WEIGHTS,
    HAS_REGIONS,
    TORCH,
    needs,
)

import depyf

pytestmark = pytest.mark.usefixtures("own_inductor_cache")


# ---------------------------------------------------------------- operators that hold graphs, transforms, regions


def with_cond(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,))


def with_checkpoint(x):
    from torch.utils.checkpoint import checkpoint

    return checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False) * 2


def with_transforms(x):
    return torch.func.vmap(torch.func.grad(lambda y: y.sin().sum()))(x.unsqueeze(0))


@getattr(torch.compiler, "nested_compile_region", lambda function: function)
def region(x):
    return x.sin() + 1


def with_regions(x):
    return region(region(x))


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].cos()


def with_own_autograd(x):
    return Sine.apply(x) * 2


@pytest.mark.parametrize(
    "function",
    [
        with_cond,
        with_checkpoint,
        with_transforms,
        pytest.param(with_regions, marks=needs(HAS_REGIONS, "nested_compile_region")),
        with_own_autograd,
    ],
    ids=lambda f: f.__name__,
)
def test_graphs_that_contain_graphs_run_from_their_files(tmp_path, function):
    def run(function):
        x = torch.linspace(-1, 1, 4, requires_grad=True)
        out = function(x)
        out.sum().backward()
        return [out.detach(), x.grad]

    try:
        expected = run(function)
    except RuntimeError as error:
        if function is not with_cond:
            raise
        pytest.skip(f"this torch has no gradients of torch.cond: {error}")
    results, record, _ = dump(tmp_path / "d", function, run, "aot_eager")
    assert same(results, expected) and not record.problems
    tools.assert_all_parse(tmp_path / "d")
    (graph,) = record.graphs
    running = [part for part in graph.stages if part.execution in ("ran", "node by node")]
    # Where the transform breaks the graph, what is left of it has no gradients to compute.
    has_backward = function is not with_transforms or traced_features.transforms()
    assert {part.stage for part in running} == {"Forward_graph", *["Backward_graph"] * has_backward}
    for part in running:
        assert part.linked or AOT_EAGER_INTERPRETS and "node by node" in first_line(tmp_path / "d", part)


def test_a_backward_that_is_not_compiled_yet_is_not_reported_as_running(tmp_path):
    x = torch.linspace(-1, 1, 4, requires_grad=True)
    record = session(tmp_path, lambda: torch.compile(lambda x: x.sin() * 2, backend="aot_eager")(x))
    (graph,) = record.graphs
    assert {part.stage: part.runs for part in graph.stages if part.stage in ("Forward_graph", "Backward_graph")} == {
        "Forward_graph": not AOT_EAGER_INTERPRETS,
        "Backward_graph": False,
    }
    (backward,) = [part for part in graph.stages if part.stage == "Backward_graph"]
    assert first_line(tmp_path, backward).endswith("nothing that was made of it has run so far")


@needs(GUARDS_WEIGHTS, "version that several modules of a class share")
def test_modules_compiled_one_by_one_share_a_full_code_file_with_a_version_per_kind_of_input(tmp_path):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x):
            return self.linear(x).relu()

    blocks = [Block() for _ in range(4)]

    def program():
        x = torch.ones(2, 4)
        for block in blocks:
            block.compile(backend="aot_eager")
            x = block(x)

    record = session(tmp_path, program)
    assert len([function for function in record.functions if function.full_code_file]) == 1
    assert 1 <= len(record.frames) < len(blocks)
    assert all(graph.running_files for graph in record.graphs) or AOT_EAGER_INTERPRETS


@needs(not AOT_EAGER_INTERPRETS, "call of the graphs of aot_eager")
def test_a_compiled_function_inside_another_keeps_its_own_graph_and_backend(tmp_path):
    inner = torch.compile(lambda x: x.sin(), backend="aot_eager")

    @torch.compiler.disable
    def between(x):
        return inner(x)

    def outer(x):
        return between(x + 1) * 2

    record = session(tmp_path, lambda: torch.compile(outer, backend="eager")(torch.ones(3)))
    files = {graph.compile_id: graph.running_files[0].split(".")[1] for graph in record.graphs}
    inside = next(frame for frame in record.frames if "lambda" in frame.function)
    assert files.pop(inside.compile_id) == "Forward_graph"
    assert set(files.values()) == {"Captured_Graph"} and len(files) == 2


# ---------------------------------------------------------------- graphs that no frame calls


def test_an_exported_graph_is_not_filed_under_a_compiled_one_with_the_same_id(tmp_path):
    class Exported(torch.nn.Module):
        def forward(self, x):
            return x.cos() * 3

    def program():
        torch.compile(lambda x: x.sin(), backend="eager")(torch.ones(2))
        torch.export.export(Exported(), (torch.ones(2),), strict=True)

    record = session(tmp_path, program)
    compiled, exported, *lowered = record.graphs  # torch 2.4 and older log what an export is lowered to, too
    assert all(graph.without_frame and stages(graph) == ["Forward_graph"] for graph in lowered)
    assert stages(compiled) == stages(exported) == ["Captured_Graph"]
    if TORCH >= (2, 13):  # torch 2.9 gives the export a number of its own
        assert compiled.compile_id == exported.compile_id
    assert not compiled.without_frame
    assert "sin" in (tmp_path / compiled.stages[0].file).read_text()
    assert "cos" in (tmp_path / exported.stages[0].file).read_text()
    if len(record.frames) == 1:  # torch 2.9 also generates a frame for an export
        assert exported.name == "__compiled_fn_exported_0"
        assert first_line(tmp_path, exported.stages[0]).endswith("no frame calls it: torch.export captured it")


def test_the_graph_given_to_a_failing_backend_is_on_disk(tmp_path, capsys):
    def backend(graph_module, example_inputs):
        raise RuntimeError("not today")

    def program():
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
            torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))

    record = session(tmp_path, program)
    (graph,) = record.graphs
    assert graph.name == "__compiled_fn_failed_0" and stages(graph) == ["Captured_Graph"]
    assert "no frame calls it: the compilation failed" in first_line(tmp_path, graph.stages[0])
    assert "nothing was compiled" not in capsys.readouterr().err
    assert graph.stages[0].file in next(tmp_path.glob("full_code_for_lambda_*.py")).read_text()


def test_graphs_compiled_without_dynamo_have_files_and_are_linked(tmp_path):
    if not hasattr(torch._inductor, "standalone_compile"):
        pytest.skip("this torch has no standalone_compile")
    results = []

    def program():
        for factor in (2, 3):
            module = torch.fx.symbolic_trace(lambda x, factor=factor: (x.sin() * factor,))
            artifact = torch._inductor.standalone_compile(
                module, [torch.ones(3)], dynamic_shapes="from_example_inputs"
            )
            results.append(artifact(torch.ones(3))[0])

    record = session(tmp_path, program)
    assert same(results, [torch.ones(3).sin() * factor for factor in (2, 3)])
    assert [graph.name for graph in record.graphs] == ["__compiled_fn_standalone_0", "__compiled_fn_standalone_1"]
    for graph in record.graphs:
        assert "Forward_graph" in stages(graph) and len(graph.kernels) == 1
        assert graph.kernels[0].linked and graph.without_frame == "it was compiled without Dynamo"


@needs(CACHED_ID != "?/0", "compile id of a cached version")
def test_a_backward_compiled_in_the_session_is_filed_with_its_earlier_forward(tmp_path):
    torch._dynamo.reset()
    x = torch.ones(3, 4, requires_grad=True)
    out = torch.compile(tools.straight, backend="inductor")(x, torch.ones(3, 4))
    with depyf.prepare_debug(str(tmp_path)) as context:
        out.sum().backward()
    assert not context.record.problems
    (graph,) = context.record.graphs
    assert [part.made_for for part in graph.kernels] == ["forward", "backward"] and not graph.without_frame
    (post_grad,) = [part for part in graph.stages if part.stage == "AFTER_POST_GRAD"]
    assert post_grad.made_for == "backward" and post_grad.instead == (graph.kernels[1].file,)


@needs(COMPILED_AUTOGRAD_HAS_IDS, "compile id of compiled autograd")
def test_compiled_autograd_has_its_own_graph_beside_the_one_that_dynamo_captured(tmp_path):
    linear = torch.nn.Linear(4, 4)
    x = torch.ones(2, 4, requires_grad=True)

    def program():
        compiled = torch.compile(linear, backend="aot_eager")
        with torch._dynamo.compiled_autograd._enable(lambda module: torch.compile(module, backend="aot_eager")):
            compiled(x).sum().backward()

    record = session(tmp_path, program)
    forward, backward = record.graphs
    assert "Compiled_Autograd_graph" not in stages(forward)
    assert backward.compile_id.startswith("!") and stages(backward)[:2] == ["Compiled_Autograd_graph", "Captured_Graph"]
    (running,) = [part for part in backward.stages if part.stage == "Forward_graph"]
    assert running.execution == ("node by node" if AOT_EAGER_INTERPRETS else "ran")
    assert backward.running_files == (() if AOT_EAGER_INTERPRETS else (running.file,))
    stories = [path.read_text() for path in sorted(tmp_path.glob("full_code_for_*.py"))]
    assert sum("from:   compiled autograd: the original is a backward" in story for story in stories) == 1


# ---------------------------------------------------------------- what Dynamo makes for itself


def test_the_resume_function_of_a_closure_is_in_the_full_code_of_the_closure(tmp_path):
    def made(scale):
        def shares(x):
            y = x * scale
            torch._dynamo.graph_break()
            return y + scale

        return shares

    torch._dynamo.reset()
    function = torch.compile(made(torch.ones(2)), backend="eager")
    with depyf.prepare_debug(tmp_path / "d") as context:
        function(torch.ones(2))
    (whole,) = [one for one in context.record.functions if one.full_code_file is not None]
    (rest,) = [one for one in context.record.functions if one.resume_of is not None]
    assert (whole.name, rest.resume_of) == ("shares", whole.key)
    story = (tmp_path / "d" / whole.full_code_file).read_text()
    assert "What is left of shares after a graph break." in story and story.count("compiled version 1 of 1") == 2
    from_inspect = depyf.inspect(function)
    assert [one.resume_of is not None for one in from_inspect.functions] == [False, True]


@needs(hasattr(torch, "get_device_module"), "function that returns a module and is traced")
def test_a_frame_that_returns_an_imported_module_is_replaced(tmp_path):
    def with_module(x):
        return torch.get_device_module(), x + 1

    results = []
    session(tmp_path, lambda: results.append(torch.compile(with_module, backend="eager")(torch.ones(3))))
    assert results[0][0] is torch.get_device_module()
    assert torch.equal(results[0][1], torch.full((3,), 2.0))


def test_closures_resume_correctly_after_a_break_in_the_inner_function(tmp_path):
    """Resume functions share cells with other frames; torch 2.11 generates such frames only with nested_graph_breaks."""

    def outer(x):
        total = x + 1

        def inner(y):
            nonlocal total
            total += y
            torch._dynamo.graph_break()
            return total * 2

        return inner(x), total

    def entry(x):
        return outer(x)

    results = []
    switches = {"nested_graph_breaks": True} if hasattr(torch._dynamo.config, "nested_graph_breaks") else {}
    with torch._dynamo.config.patch(**switches):
        session(tmp_path, lambda: results.append(torch.compile(entry, backend="eager")(torch.ones(2))))
    assert [value.tolist() for value in results[0]] == [[6.0, 6.0], [3.0, 3.0]]
