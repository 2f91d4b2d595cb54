"""`debug(stop_on_nan=True)` names the line that made the first NaN or Inf, and is silent where nothing did."""

from __future__ import annotations

import importlib.util
import sys

import pytest
import support.odd_nan_programs as odd
from support.nan_programs import CLEAN, HEAD, PLANTED

torch = pytest.importorskip("torch")

from torch_probes import LEAVES_TRANSFORMS, RUNS_UNDER_MODES, needs  # noqa: E402

import depyf  # noqa: E402
from depyf.torch_hooks.graphs.graph_globals import graph_globals  # noqa: E402
from depyf.torch_hooks.graphs.reachability import reachable_code  # noqa: E402

needs_compiled_code = needs(RUNS_UNDER_MODES, "compiled code under a dispatch mode")

# Fused kernels hide what happens inside: the graph is run once more, operator by operator.
FUSED = [
    "beside_an_infinite_input","log_of_zero", "square_root_in_backward", "three_modules_deep", "dynamic_shapes"]


def prepared(name, text, folder, backend):
    """Compile the program with harmless values; return its path and the function to call."""
    path = folder / f"numbers_{name}.py"
    path.write_text(HEAD + text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    torch._dynamo.reset()
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
        with depyf.prepare_debug(folder / "dump", include_earlier=False):
            step = module.main(lambda function, **options: torch.compile(function, backend=backend, **options))
            step(False)
    finally:
        del sys.modules[path.stem]
    return path, step


def report_of(step, bad):
    """Call the function under watch; return the report, None without one."""
    try:
        with depyf.debug(pause=False, stop_on_nan=True):
            step(bad)
    except depyf.NumericError as error:
        assert str(error) == str(error.report), "torch adds its own words where it interprets a graph"
        return error.report
    return None


def planted_line(name):
    """Return the text of the line that makes the first NaN."""
    return next(line.strip() for line in PLANTED[name].splitlines() if line.endswith("# planted"))


def cases():
    for backend in ("eager", "aot_eager"):
        yield from ((name, backend) for name in PLANTED)
    yield from ((name, "inductor") for name in FUSED)


@pytest.mark.parametrize(("name", "backend"), list(cases()))
def test_the_line_that_made_the_first_nan_is_named(name, backend, tmp_path):
    names_the_planted_line(name, PLANTED[name], backend, tmp_path)


# AOTAutograd gives all of a gradient transform the line that calls it.
ODD_FUSED = ["compiled_optimizer", "checkpointed_backward", "gradient_transform_in_backward", "index_put", "inside_vmap"]


@needs_compiled_code
@pytest.mark.parametrize(
    ("name", "backend"), [*((name, "eager") for name in odd.PLANTED), *((name, "inductor") for name in ODD_FUSED)]
)
def test_the_line_is_named_in_transforms_hooks_checkpoints_and_optimizers(name, backend, tmp_path):
    if "torch.func" in odd.PLANTED[name] and backend == "eager" and not LEAVES_TRANSFORMS:
        pytest.skip("this torch fails by itself where an error leaves a transform")
    names_the_planted_line(name, odd.PLANTED[name], backend, tmp_path)


def names_the_planted_line(name, text, backend, folder):
    path, step = prepared(name, text, folder, backend)
    report = report_of(step, bad=True)
    lines = (HEAD + text).splitlines()
    planted = [number for number, line in enumerate(lines, 1) if line.endswith("# planted")]
    assert (report.user.file, [report.user.line]) == (str(path), planted), str(report)
    assert report.direction == ("backward" if "backward" in name else "forward")
    assert not report.only_compiled
    assert all(not summary.nans and not summary.infinities for summary in report.inputs)


CLEAN_CASES = [(name, backend) for name in [*CLEAN, *odd.CLEAN] for backend in ("eager", "aot_eager")]
CLEAN_CASES += [(name, "inductor") for name in CLEAN if name.startswith("infini")]  # what a kernel returns is odd


@pytest.mark.parametrize(("name", "backend"), CLEAN_CASES)
def test_a_program_without_a_nan_of_its_own_is_left_alone(name, backend, tmp_path):
    _, step = prepared(name, {**CLEAN, **odd.CLEAN}[name], tmp_path, backend)
    assert report_of(step, bad=True) is None


def test_values_are_the_same_under_watch(tmp_path):
    _, step = prepared("dropout", CLEAN["training"], tmp_path, "aot_eager")
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    with depyf.debug(pause=False, stop_on_nan=True):
        assert torch.equal(torch.rand(3), expected)


def test_the_graphs_are_called_as_before_when_the_watch_is_over(tmp_path):
    _, step = prepared("log_of_zero", PLANTED["log_of_zero"], tmp_path, "eager")
    assert report_of(step, bad=True) is not None
    assert torch.isinf(step(True))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_autograd_and_autocast_are_as_before_after_the_error(tmp_path, backend):
    _, step = prepared("without_gradients", PLANTED["without_gradients"], tmp_path, backend)
    assert report_of(step, bad=True) is not None
    takes_device = hasattr(torch, "get_autocast_dtype")  # torch 2.4
    is_autocast = torch.is_autocast_enabled("cpu") if takes_device else torch.is_autocast_cpu_enabled()
    assert torch.is_grad_enabled() and not is_autocast


@needs_compiled_code
@pytest.mark.parametrize(
    "backend", [pytest.param("eager", marks=needs(LEAVES_TRANSFORMS, "way out of a transform by an error")), "inductor"]
)
def test_an_error_inside_a_gradient_transform_leaves_no_transform_open(tmp_path, backend):
    name = "gradient_transform_in_backward"
    _, step = prepared(name, odd.PLANTED[name], tmp_path, backend)
    assert report_of(step, bad=True) is not None
    assert not torch._C._functorch.get_interpreter_stack()
    with torch.autograd.graph.save_on_cpu():  # refused inside of transforms
        torch.ones(2, requires_grad=True).sin()


@needs_compiled_code
def test_what_a_graph_holds_is_changed_once_though_it_runs_again_for_the_report(tmp_path):
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    torch._dynamo.reset()
    compiled = torch.compile(lambda: optimizer.step(), backend="inductor")
    weight.grad = torch.ones(2)
    with depyf.prepare_debug(tmp_path / "dump", include_earlier=False):
        compiled()
    weight.grad = torch.tensor([3e38, 1.0])
    with torch.no_grad():
        weight[0] = -3e38
    assert report_of(lambda bad: compiled(), bad=True) is not None
    assert weight.tolist() == [-float("inf"), -1.0]


class OneByOne(torch.fx.Interpreter):
    pass


def interpreted(module, inputs):
    return lambda *args: OneByOne(module).run(*args)


def wrong_at_the_end(module, inputs):
    return lambda *args: tuple(output * float("nan") for output in module.forward(*args))


@pytest.mark.parametrize("name", ["log_of_zero", "square_root_in_backward", "inside_a_resume_function"])
def test_a_backend_that_interprets_the_graph_is_watched(name, tmp_path):
    path, step = prepared(name, PLANTED[name], tmp_path, interpreted)
    report = report_of(step, bad=True)
    assert (report.user.file, report.user.code) == (str(path), planted_line(name))


@needs_compiled_code
def test_a_nan_that_only_the_compiled_program_shows_is_reported_as_one(tmp_path):
    text = "def main(compile):\n    c = compile(lambda x: x.sin())\n    return lambda bad: c(torch.ones(3))\n"
    _, step = prepared("wrong_backend", text, tmp_path, wrong_at_the_end)
    report = report_of(step, bad=True)
    assert report.only_compiled
    assert "in compiled code alone" in str(report)


def test_a_warm_cache_names_the_line_too(tmp_path):
    name = "zero_by_zero"
    prepared(name, PLANTED[name], tmp_path, "inductor")
    path, step = prepared(name, PLANTED[name], tmp_path, "inductor")
    report = report_of(step, bad=True)
    assert (report.user.file, report.user.code) == (str(path), planted_line(name))


def line_without_files(function, backend):
    """Return the line at which a NaN is reported for zeros, of a function that was compiled outside of any context."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend)
    compiled(torch.ones(2))
    with pytest.raises(depyf.NumericError) as raised, depyf.debug(pause=False, stop_on_nan=True):
        compiled(torch.zeros(2))
    return raised.value.report.user.code


def test_without_files_the_line_is_found_in_the_graph(tmp_path):
    def f(x):
        y = x * 2
        return torch.log(y)

    assert line_without_files(f, "eager") == "return torch.log(y)"


@needs_compiled_code
def test_without_files_the_line_behind_an_operation_between_kernels_is_found(tmp_path):
    def f(x):
        z = torch.complex(x, x)
        return torch.view_as_real(1 / z) * 2

    assert line_without_files(f, "inductor") == "return torch.view_as_real(1 / z) * 2"


@pytest.fixture(scope="module")
def padded_attention():
    """Register an operator that pads its second output, as attention on a GPU does."""
    library = pytest.importorskip("torch.library")
    if not hasattr(library, "custom_op"):
        pytest.skip("this torch has no custom_op")

    schema = "(Tensor x) -> (Tensor, Tensor)"  # torch 2.6 does not infer it from annotations that are strings

    @library.custom_op("depyf_tests::padded_attention_forward", mutates_args=(), schema=schema)
    def operator(x):
        return torch.log(x), torch.full((4,), float("inf"))

    operator.register_fake(lambda x: (torch.empty_like(x), x.new_empty(4)))
    return operator


@pytest.mark.parametrize("bad", [False, True])
def test_the_padding_of_attention_is_no_number_of_the_program(bad, padded_attention):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: padded_attention(x)[0] + 1, backend="eager")
    compiled(torch.ones(2))
    report = report_of(lambda bad: compiled(torch.zeros(2) if bad else torch.ones(2)), bad)
    assert (report is not None) is bad
    assert report is None or "attention" in report.operator


@needs_compiled_code
def test_a_kernel_that_alone_makes_the_nan_is_named(tmp_path):
    text = (
        "def f(x, w):\n    y = torch.sin(x) @ w\n    return torch.cos(y) * w\n"
        "def main(compile):\n    c = compile(f)\n    return lambda bad: c(torch.ones(4, 4), torch.ones(4, 4))\n"
    )
    _, step = prepared("wrong_kernel", text, tmp_path, "inductor")
    name, module = next(kernels_of("cos", tmp_path / "dump"))

    def wrong(*buffers, real=module[name]):
        real(*buffers)
        buffers[-1].fill_(float("nan"))

    module[name] = wrong
    report = report_of(step, bad=True)
    assert report.only_compiled
    assert report.kernel.code.startswith(name)
    assert report.kernel.file.startswith(str(tmp_path / "dump"))


def kernels_of(operation, folder):
    """Yield the names of the C++ kernels that implement an operation, and the globals of their modules.

    Only wrappers that are linked to a file of the folder: those of earlier tests may live on.
    """
    for called in graph_globals():
        for function in reachable_code(called.entry).functions:
            if not function.__code__.co_filename.startswith(str(folder)):
                continue
            for name in list(function.__globals__):
                if name.startswith("cpp_fused") and operation in name:
                    yield name, function.__globals__
