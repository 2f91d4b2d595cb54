"""Programs that use more of torch than a compiled function: what they leave in the folder is complete and filed right."""

from __future__ import annotations

import json

import capture_tools as tools
import pytest
import torch
from capture_tools import dump, same
from torch_probes import AOT_EAGER_INTERPRETS, TORCH

import depyf
from depyf.record import from_json


@pytest.fixture(scope="module", autouse=True)
def own_inductor_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


def session(folder, program):
    """Run `program` in a context; returns the record, after the checks that hold for every program."""
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)):
        program()
    record = from_json((folder / "manifest.json").read_text())
    assert not record.problems, record.problems
    tools.assert_all_parse(folder)
    assert [frame.file for frame in record.frames if frame.installed != "replaced"] == []
    return record


def stages(graph):
    return [part.stage for part in graph.stages]


def first_line(folder, part):
    return (folder / part.file).read_text().splitlines()[0]


# ---------------------------------------------------------------- operators that hold graphs, transforms, regions


def with_cond(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,))


def with_checkpoint(x):
    from torch.utils.checkpoint import checkpoint

    return checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False) * 2


def with_transforms(x):
    return torch.func.vmap(torch.func.grad(lambda y: y.sin().sum()))(x.unsqueeze(0))


@torch.compiler.nested_compile_region
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
    "function", [with_cond, with_checkpoint, with_transforms, with_regions, with_own_autograd], ids=lambda f: f.__name__
)
def test_graphs_with_graphs_inside_run_from_their_files(tmp_path, function):
    def run(function):
        x = torch.linspace(-1, 1, 4, requires_grad=True)
        out = function(x)
        out.sum().backward()
        return [out.detach(), x.grad]

    expected = run(function)
    results, record, _ = dump(tmp_path / "d", function, run, "aot_eager")
    assert same(results, expected) and not record.problems
    tools.assert_all_parse(tmp_path / "d")
    (graph,) = record.graphs
    running = [part for part in graph.stages if part.runs]
    assert {part.stage for part in running} == {"Forward_graph", "Backward_graph"}
    for part in running:
        assert part.linked or AOT_EAGER_INTERPRETS and "node by node" in first_line(tmp_path / "d", part)


def test_a_backward_that_only_waits_to_be_compiled_is_not_said_to_run(tmp_path):
    x = torch.linspace(-1, 1, 4, requires_grad=True)
    record = session(tmp_path, lambda: torch.compile(lambda x: x.sin() * 2, backend="aot_eager")(x))
    (graph,) = record.graphs
    assert {part.stage: part.runs for part in graph.stages if part.stage in ("Forward_graph", "Backward_graph")} == {
        "Forward_graph": True,
        "Backward_graph": False,
    }
    (backward,) = [part for part in graph.stages if part.stage == "Backward_graph"]
    assert first_line(tmp_path, backward).endswith("nothing that was made of it has run so far")


def test_modules_compiled_one_by_one_share_a_story_with_a_version_for_each_kind_of_input(tmp_path):
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
    assert all(graph.running_files for graph in record.graphs)


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
    compiled, exported = record.graphs
    assert stages(compiled) == stages(exported) == ["Captured_Graph"]
    if TORCH >= (2, 13):  # torch 2.9 gives the export a number of its own
        assert compiled.compile_id == exported.compile_id
    assert not compiled.without_frame
    assert "sin" in (tmp_path / compiled.stages[0].file).read_text()
    assert "cos" in (tmp_path / exported.stages[0].file).read_text()
    if len(record.frames) == 1:  # torch 2.9 makes a frame for what it exports, too
        assert exported.name == "__compiled_fn_exported_0"
        assert first_line(tmp_path, exported.stages[0]).endswith("no frame calls it: torch.export captured it")


def test_what_a_failing_backend_was_given_is_on_disk(tmp_path, capsys):
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


def test_what_is_compiled_without_dynamo_has_files_and_is_linked(tmp_path):
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


def test_a_backward_compiled_in_the_session_joins_its_forward_compiled_before(tmp_path):
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


def test_compiled_autograd_shows_what_it_handed_to_dynamo_beside_what_dynamo_made_of_it(tmp_path):
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
    assert backward.running_files == (f"{backward.name}.Forward_graph.0.py",)
    stories = [path.read_text() for path in sorted(tmp_path.glob("full_code_for_*.py"))]
    assert sum("from:   compiled autograd: the original is a backward" in story for story in stories) == 1


# ---------------------------------------------------------------- what autotuning tried


class Choice:
    def __init__(self, name, description):
        self.name, self.description = name, description


def test_what_autotuning_tried_is_a_list_apart_from_the_kernels_and_the_times_are_in_timings(tmp_path):
    select_algorithm = pytest.importorskip("torch._inductor.select_algorithm")
    if not hasattr(select_algorithm, "get_algorithm_selector_cache"):
        pytest.skip("this torch has no place to register for it")
    savers = select_algorithm.get_algorithm_selector_cache().feedback_saver_fns
    before = list(savers)
    small, big, broken = Choice("mm_0", "BLOCK_M=16"), Choice("mm_1", "BLOCK_M=64"), Choice("mm_2", "")

    def backend(graph_module, example_inputs):
        assert select_algorithm.get_algorithm_selector_cache().feedback_saver_fns is savers  # as Inductor does,
        for saver in savers:  # of torch 2.13 and of older ones
            saver({small: 0.5, big: 0.25, broken: float("inf")}, "mm", [], [small, big, broken], None, {})
            saver({}, "bmm", [], [], None)
            saver(None, None, None, [object()])
        return graph_module.forward

    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)) as context:
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    assert list(savers) == before
    (graph,) = context.record.graphs
    assert context.record.problems == ("listing what autotuning tried: AttributeError",)
    first, second = graph.candidates
    assert not graph.kernels and first.stage == "autotuning" and not first.runs
    assert (tmp_path / first.file).read_text().splitlines()[1:] == [
        "# Inductor had 3 choices for mm. How long each took is in timings.json.",
        "# What runs is in the kernel files; a slower choice may be taken where it can be fused with its neighbours.",
        "#",
        "# mm_0",
        "#     BLOCK_M=16",
        "# mm_1   (the fastest)",
        "#     BLOCK_M=64",
        "# mm_2   (could not be timed)",
    ]
    times = json.loads((tmp_path / "timings.json").read_text())["compilations"][0]["autotuning"]
    assert times[0] == {"operation": "mm", "milliseconds": {"mm_0": 0.5, "mm_1": 0.25}}
    story = next(tmp_path.glob("full_code_for_lambda_*.py")).read_text()
    assert f"{first.file}   (what autotuning tried)" in story


# ---------------------------------------------------------------- split graphs


def test_what_holds_the_pieces_of_a_split_graph_together_is_linked_and_the_graph_before_is_not(tmp_path):
    from torch.fx.passes.split_module import split_module

    def backend(graph_module, example_inputs):
        from torch._dynamo.utils import lazy_format_graph_code

        sines = 0

        def piece_of(node):
            nonlocal sines
            sines += "sin" in str(node.target)
            return sines

        lazy_format_graph_code("before split", graph_module)
        split = split_module(graph_module, None, piece_of)
        lazy_format_graph_code("after split", split)
        return split.forward

    record = session(tmp_path, lambda: torch.compile(lambda x: (x * 2).sin().sin() + 3, backend=backend)(torch.ones(3)))
    (graph,) = record.graphs
    assert {part.stage: part.linked for part in graph.stages} == {
        "Captured_Graph": False,
        "before split": False,
        "after split": True,
    }
    assert "not run by this backend; what runs is" in first_line(tmp_path, graph.stages[1])


def test_a_backend_that_is_imported_in_one_session_announces_its_stages_in_the_next(tmp_path, monkeypatch):
    (tmp_path / "lazily_imported_backend.py").write_text(
        "from torch._dynamo.utils import lazy_format_graph_code\n"
        "def backend(graph_module, example_inputs):\n"
        "    lazy_format_graph_code('my stage', graph_module)\n"
        "    return graph_module.forward\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def program():
        import lazily_imported_backend

        torch.compile(lambda x: x + 1, backend=lazily_imported_backend.backend)(torch.ones(2))

    original = torch._dynamo.utils.lazy_format_graph_code
    for name in ("one", "two"):
        (graph,) = session(tmp_path / name, program).graphs
        assert "my stage" in stages(graph), name
    import lazily_imported_backend

    assert lazily_imported_backend.lazy_format_graph_code is original


def test_the_pieces_of_a_graph_that_ddp_splits_are_told_apart_and_all_linked(tmp_path):
    import torch.distributed as dist

    if not dist.is_available() or dist.is_initialized():
        pytest.skip("needs a process group of its own")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(400, 400) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).relu()
            return x

    def program():
        parallel = torch.nn.parallel.DistributedDataParallel(Net(), bucket_cap_mb=1.01)
        torch.compile(parallel, backend="inductor")(torch.ones(2, 400)).sum().backward()

    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        record = session(tmp_path, program)
    finally:
        dist.destroy_process_group()
    (graph,) = record.graphs
    assert {"DDP_split_graph", "DDP_split_piece"} <= set(stages(graph))
    pieces = {part.piece for part in graph.stages if part.stage == "Forward_graph"}
    assert pieces == {0, 1}
    kernels = [(part.piece, part.made_for) for part in graph.kernels]
    assert kernels == [(0, "forward"), (1, "forward"), (1, "backward"), (0, "backward")]
    post_grad = [(part.piece, part.made_for) for part in graph.stages if part.stage == "AFTER_POST_GRAD"]
    assert post_grad == kernels
    assert all(part.linked for part in graph.kernels)
    made_of = {(part.stage, part.piece): part.instead for part in graph.stages if part.stage != "AFTER_POST_GRAD"}
    assert made_of["Backward_graph", 1] == (f"{graph.name}.kernel_2.py",)
    assert made_of["DDP_split_piece", 0] == tuple(f"{graph.name}.kernel_{number}.py" for number in (0, 3))
    assert len(made_of["Captured_Graph", None]) == 4
    forward = next(part for part in graph.stages if part.stage == "Forward_graph" and part.piece == 1)
    assert first_line(tmp_path, forward).startswith(f"# {graph.name}, Forward_graph of piece 1: ")
    story = next(tmp_path.glob("full_code_for_forward_*.py")).read_text()
    assert f"{graph.name}.kernel_2.py   (piece 1, backward, runs)" in story


def test_the_rest_of_a_function_that_shares_variables_is_told_with_it(tmp_path):
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
    torch_tells = depyf.inspect(function)
    assert [one.resume_of is not None for one in torch_tells.functions] == [False, True]


# ---------------------------------------------------------------- what Dynamo writes for itself


def test_a_module_that_dynamo_imports_where_it_returns_it_leaves_the_frame_replaced(tmp_path):
    def with_module(x):
        return torch.get_device_module(), x + 1

    results = []
    session(tmp_path, lambda: results.append(torch.compile(with_module, backend="eager")(torch.ones(3))))
    assert results[0][0] is torch.get_device_module()
    assert torch.equal(results[0][1], torch.full((3,), 2.0))


def test_functions_that_share_variables_go_on_after_a_break_inside_the_inner_one(tmp_path):
    """Torch makes the rest of each function over the cells of the others; 2.11 has such frames only with a switch on."""

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
