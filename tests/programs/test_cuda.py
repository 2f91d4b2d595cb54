"""Triton kernels, CUDA graphs, autotuning, flex attention. Skipped without a GPU."""

from __future__ import annotations

import os

import capture_tools as tools
import pytest
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None


@pytest.fixture(scope="module", autouse=True)
def own_inductor_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield


def close(one, other):
    return len(one) == len(other) and all(
        torch.allclose(a.float(), b.float(), atol=2e-2, rtol=2e-2) for a, b in zip(one, other)
    )


def dump_twice(folder, function, run, **options):
    """Run with a cold and with a warm cache, check what holds for every program, return both records."""
    torch.manual_seed(0)
    expected = run(function)
    records = []
    for name in ("cold", "warm"):
        torch.manual_seed(0)
        with tools.KernelsByCompileId() as kernels:
            results, record, _ = tools.dump(folder / name, function, run, "inductor", **options)
        assert close(results, expected), name
        assert not record.problems, record.problems
        tools.assert_all_parse(folder / name)
        assert record.frames and record.graphs
        left = [frame for frame in record.frames if frame.installed != "replaced"]
        assert not left, "\n".join(frame.divergence + frame.source for frame in left)
        for graph in record.graphs:
            assert {part.stage for part in graph.stages} >= {"Captured_Graph", "Forward_graph", "AFTER_POST_GRAD"}
            assert graph.kernels and all(part.runs or part.instead for part in graph.kernels), graph
            assert all(part.linked or part.instead for part in graph.kernels), graph
            for part in graph.kernels:
                text = (folder / name / part.file).read_text()
                assert any(made in text for made in kernels.texts[graph.compile_id])
        records.append(record)
    for before, after, cold, warm in zip(
        records[0].graphs, records[1].graphs, tools.stage_files(records[0]), tools.stage_files(records[1])
    ):
        assert warm == [file for file in cold if file.split(".")[0] not in after.skipped], (before, after)
    assert len(records[0].graphs) == len(records[1].graphs)
    return records


def text_of(folder, part):
    return (folder / "cold" / part.file).read_text()


def listing(folder):
    return sorted(os.listdir(folder / "cold"))


def test_triton_kernels_forward_and_backward_are_files_of_their_graph_and_linked(tmp_path):
    def run(function):
        a = torch.linspace(-1, 1, 1000, device="cuda", requires_grad=True)
        out = function(a, torch.ones(1000, device="cuda"))
        out.sum().backward()
        return [out.detach().clone(), a.grad.clone()]

    cold, _ = dump_twice(tmp_path, tools.toy_example, run)
    for graph in cold.graphs:
        assert [part.made_for for part in graph.kernels] == ["forward", "backward"]
        assert all("triton" in text_of(tmp_path, part) and part.linked for part in graph.kernels)
        assert {part.stage for part in graph.stages} >= {"Joint_graph", "Backward_graph"}


def test_a_breakpoint_in_the_code_that_launches_triton_kernels_is_hit(tmp_path):
    run = lambda f: [f(torch.ones(3, 4, device="cuda"), torch.ones(3, 4, device="cuda"))]  # noqa: E731
    _, record, compiled = tools.dump(tmp_path / "d", tools.straight, run, "inductor")
    kernel = tmp_path / "d" / record.graphs[0].kernels[0].file
    with tools.breakpoints((kernel, tools.statement_lines(kernel, "call")[-1])) as debugger:
        run(compiled)
    assert [name for name, _, _ in debugger.hits] == [kernel.name]


def test_cuda_graphs_of_reduce_overhead_keep_results_files_and_links(tmp_path):
    def run(function):
        results = []
        for step in range(5):
            torch.compiler.cudagraph_mark_step_begin()
            a = torch.full((64,), float(step + 1), device="cuda", requires_grad=True)
            out = function(a, torch.ones(64, device="cuda"))
            out.sum().backward()
            results += [out.detach().clone(), a.grad.clone()]
        return results

    cold, _ = dump_twice(tmp_path, tools.toy_example, run, mode="reduce-overhead")
    assert all(len(graph.kernels) == 2 for graph in cold.graphs)


def test_a_second_session_captures_what_is_compiled_after_cuda_graphs_were_recorded(tmp_path):
    run = lambda f: [f(torch.ones(8, device="cuda"), torch.ones(8, device="cuda")).clone() for _ in range(4)]  # noqa: E731
    for name in ("one", "two"):
        results, record, _ = tools.dump(tmp_path / name, tools.straight, run, "inductor", mode="reduce-overhead")
        assert close(results, run(tools.straight)) and not record.problems
        assert all(part.linked for graph in record.graphs for part in graph.kernels)


def test_max_autotune_leaves_one_kernel_module_per_graph_and_lists_candidates_separately(tmp_path):
    def matmul(a, b):
        return (a @ b).relu()

    run = lambda f: [f(torch.ones(256, 256, device="cuda"), torch.ones(256, 256, device="cuda"))]  # noqa: E731
    cold, warm = dump_twice(tmp_path, matmul, run, mode="max-autotune-no-cudagraphs")
    for record in (cold, warm):
        (graph,) = record.graphs
        assert len(graph.kernels) == 1 and graph.running_files == (graph.kernels[0].file,)
    kernels = [name for name in listing(tmp_path) if ".kernel_" in name]
    assert kernels == [cold.graphs[0].kernels[0].file]
    if hasattr(torch._inductor.select_algorithm, "get_algorithm_selector_cache"):
        tried = next(part for part in cold.graphs[0].candidates if part.stage == "autotuning")
        assert "choices for mm" in text_of(tmp_path, tried) and "(the fastest)" in text_of(tmp_path, tried)


def test_choices_that_autotuning_tries_as_graphs_of_their_own_are_candidates_not_kernels(tmp_path):
    def long_sum(a, b):
        return a @ b

    def run(function):
        a = torch.ones(32, 32768, device="cuda", dtype=torch.float16) / 256
        b = torch.ones(32768, 32, device="cuda", dtype=torch.float16) / 256
        return [function(a, b)]

    with torch._inductor.config.patch(max_autotune_gemm_backends="TRITON"):
        cold, _ = dump_twice(tmp_path, long_sum, run, mode="max-autotune-no-cudagraphs")
    (graph,) = cold.graphs
    assert len(graph.kernels) == 1
    candidates = [part for part in graph.candidates if part.stage == "candidate"]
    assert candidates
    for part in candidates:
        assert not part.runs and not part.linked
        assert "autotuning tried it" in text_of(tmp_path, part).splitlines()[0]


def test_flex_attention_with_a_score_mod_and_its_backward(tmp_path):
    from torch.nn.attention.flex_attention import flex_attention

    def attend(q, k, v):
        def bias(score, batch, head, q_index, k_index):
            return score + (q_index - k_index) * 0.01

        return flex_attention(q, k, v, score_mod=bias)

    def run(function):
        q, k, v = (torch.randn(1, 2, 128, 64, device="cuda", requires_grad=True) for _ in range(3))
        out = function(q, k, v)
        out.sum().backward()
        return [out.detach(), q.grad, k.grad, v.grad]

    torch._dynamo.reset()
    cold, _ = dump_twice(tmp_path, attend, run)
    (graph,) = cold.graphs
    captured = next(part for part in graph.stages if part.stage == "Captured_Graph")
    assert "flex_attention" in text_of(tmp_path, captured)
    assert [part.made_for for part in graph.kernels] == ["forward", "backward"]
    assert "triton" in text_of(tmp_path, graph.kernels[0])


def test_flex_attention_with_a_block_mask(tmp_path):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 128, 128, device="cuda")

    def causal(q, k, v):
        return flex_attention(q, k, v, block_mask=mask)

    run = lambda f: [f(*(torch.randn(1, 2, 128, 64, device="cuda") for _ in range(3)))]  # noqa: E731
    dump_twice(tmp_path, causal, run)


if triton is not None:

    @triton.jit
    def add_kernel(x, y, out, size, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < size
        total = tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask)
        tl.store(out + offsets, total, mask=mask)


def test_triton_kernels_of_the_user_are_in_the_graph_and_in_the_kernel_file(tmp_path):
    def add(x, y):
        out = torch.empty_like(x)
        add_kernel[(triton.cdiv(x.numel(), 128),)](x, y, out, x.numel(), BLOCK=128)
        return out * 2

    run = lambda f: [f(torch.ones(300, device="cuda"), torch.ones(300, device="cuda"))]  # noqa: E731
    cold, _ = dump_twice(tmp_path, add, run)
    (graph,) = cold.graphs
    captured = next(part for part in graph.stages if part.stage == "Captured_Graph")
    assert "triton_kernel_wrapper" in text_of(tmp_path, captured)
    assert "def add_kernel(" in text_of(tmp_path, graph.kernels[0])
