"""`compare` names the node that a backend computes otherwise than eager code, and is silent about rounding."""

from __future__ import annotations

import inspect
import operator
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from support.backend_bugs import edited, edited_backward, scale_constant, swap  # noqa: E402

import depyf  # noqa: E402

aten = torch.ops.aten


def waves(x, w):
    y = torch.sin(x) @ w
    z = torch.tanh(y)
    return (z * w).sum()


def broken(x, w):
    y = torch.exp(-x)
    torch._dynamo.graph_break()
    z = torch.cos(y * w)
    return z.mean() * 3


def stepwise(x, w):
    for _ in range(3):
        x = torch.sigmoid(x @ w)
    return x.sum()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x):
        return x + F.gelu(self.linear(self.norm(x)))


def tensors(dtype=torch.float32):
    torch.manual_seed(1)
    return [torch.randn(4, 4, dtype=dtype, requires_grad=True) for _ in range(2)]


FORWARD = {
    "another_function": (waves, swap(torch.tanh, torch.sigmoid), "z = torch.tanh(y)"),
    "first_node": (waves, swap(torch.sin, torch.cos), "y = torch.sin(x) @ w"),
    "operator": (waves, swap(operator.mul, operator.add), "return (z * w).sum()"),
    "behind_a_break": (broken, swap(torch.cos, torch.sin), "z = torch.cos(y * w)"),
    "constant": (broken, scale_constant(operator.mul, 1.001), "return z.mean() * 3"),
    "in_a_loop": (stepwise, swap(torch.sigmoid, torch.tanh), "x = torch.sigmoid(x @ w)"),
}
BACKWARD = {
    "gradient_of_the_first": (waves, swap(aten.cos.default, aten.sin.default), "y = torch.sin(x) @ w"),
    "gradient_of_tanh": (waves, swap(aten.tanh_backward.default, aten.sigmoid_backward.default), "z = torch.tanh(y)"),
    "gradient_behind_a_break": (broken, swap(aten.sin.default, aten.cos.default), "z = torch.cos(y * w)"),
    "gradient_in_a_loop": (stepwise, swap(aten.sigmoid_backward.default, aten.tanh_backward.default), "x = torch.sigmoid(x @ w)"),
}


@pytest.mark.parametrize("name", FORWARD)
def test_the_node_that_a_backend_changed_is_named(name):
    function, change, code = FORWARD[name]
    found = depyf.compare.using(backend=edited(change))(function, *tensors()).difference
    assert (found.direction, found.user.code) == ("forward", code)
    assert found.values.closer == "eager"


@pytest.mark.parametrize("name", BACKWARD)
def test_the_node_whose_gradient_a_backend_changed_is_named(name):
    function, change, code = BACKWARD[name]
    found = depyf.compare.using(backend=edited_backward(change))(function, *tensors()).difference
    assert (found.direction, found.user.code) == ("backward", code)


SOUND = {
    "waves": lambda: (waves, *tensors()),
    "broken": lambda: (broken, *tensors()),
    "loop": lambda: (stepwise, *tensors()),
    "module": lambda: (Block(), torch.randn(2, 4)),
    "half": lambda: (waves, *tensors(torch.float16)),
    "bfloat": lambda: (stepwise, *tensors(torch.bfloat16)),
    "dropout": lambda: (lambda x, w: F.dropout(x @ w, 0.5).sum(), *tensors()),
    "in_place": lambda: (lambda x, w: x.clone().mul_(w).add_(1), *tensors()),
    "integers": lambda: (lambda i: i * 2 + 1, torch.arange(4)),
    "softmax": lambda: (lambda x, w: F.softmax(x @ w, -1), *tensors()),
}


IN_KERNELS = ["half", "bfloat", "dropout", "module"]


@pytest.mark.parametrize(
    ("name", "backend"), [*((name, "aot_eager") for name in SOUND), *((name, "inductor") for name in IN_KERNELS)]
)
def test_rounding_is_no_difference(name, backend):
    comparison = depyf.compare.using(backend=backend)(*SOUND[name]())
    assert comparison, str(comparison)
    assert comparison.graphs >= 1


def test_a_compiled_function_is_compared_with_its_own_backend():
    compiled = torch.compile(waves, backend=edited(swap(torch.tanh, torch.sigmoid)))
    assert depyf.compare(compiled, *tensors()).difference.user.code == "z = torch.tanh(y)"
    assert not depyf.compare(torch.compile(Block(), backend=edited(swap(F.gelu, F.silu))), torch.randn(2, 4))


def test_a_training_step_leaves_everything_as_it_was():
    model, data = Block(), torch.randn(2, 4)
    optimizer = torch.optim.Adam(model.parameters())

    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    before = [tensor.detach().clone() for tensor in model.parameters()]
    state = torch.get_rng_state()
    comparison = depyf.compare.using(backend="aot_eager")(step, data)
    assert comparison, str(comparison)
    assert all(map(torch.equal, before, model.parameters()))
    assert all(tensor.grad is None for tensor in model.parameters())
    assert not optimizer.state
    assert torch.equal(state, torch.get_rng_state())


def test_a_saved_difference_shows_itself_in_a_program_of_its_own(tmp_path):
    backend = edited(swap(torch.tanh, torch.sigmoid))
    script = depyf.compare.using(backend=backend)(waves, *tensors()).save(tmp_path)
    text = (tmp_path / "difference.py").read_text().replace("backend = None  # backend", "backend = wrong  # backend")
    wrong = "def wrong(module, inputs):\n    return lambda *args: [one + 1 for one in module.forward(*args)]\n"
    (tmp_path / "difference.py").write_text(text.replace("backend = ", wrong + "backend = ", 1))
    done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, text=True, check=True)
    assert "output 0: torch.float32 (), greatest difference 1.0" in done.stdout


def test_a_script_with_a_backend_of_the_programs_own_names_what_to_put_in(tmp_path):
    script = depyf.compare.using(backend=edited(swap(torch.tanh, torch.sigmoid)))(waves, *tensors()).save(tmp_path)
    done = subprocess.run([sys.executable, script], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr == "difference.py: give `backend` the program's own backend, backend\n"
    assert "also reads" not in (tmp_path / "difference.py").read_text()


def writes(x):
    y = x.clone()
    y.add_(1)
    return y.sum()


def without_copies(module, inputs):
    """Leave out copies, so that what is written is the argument."""
    for node in list(module.graph.nodes):
        if node.target == "clone":
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
    module.recompile()
    return module


def test_a_saved_script_shows_an_argument_that_only_compiled_code_writes(tmp_path):
    found = depyf.compare.using(backend=without_copies)(writes, torch.ones(4))
    script = found.save(tmp_path)
    text = (tmp_path / "difference.py").read_text().replace("backend = None  #", "backend = without_copies  #")
    own = inspect.getsource(without_copies) + "\n\n"
    (tmp_path / "difference.py").write_text(text.replace("backend = ", own + "backend = ", 1))
    done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, text=True, check=True)
    assert "argument, afterwards 0: torch.float32 (4,), greatest difference 1.0" in done.stdout


def in_double(module, inputs):
    return lambda *args: [one.double() for one in module.forward(*args)]


def test_another_type_is_named_instead_of_numbers_that_differ():
    found = depyf.compare.using(backend=in_double)(lambda x: torch.sin(x), torch.ones(4))
    assert "float64[4] in the place of float32[4]" in str(found) and "inf" not in str(found)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: depyf.compare(), r"compare\(\): expected a function or module, and then its arguments"),
        (lambda: depyf.compare(waves(*tensors())), r"compare\(Tensor, ...\): expected a function or module"),
        (lambda: depyf.compare(waves, *tensors(), backend="eager"), r"use compare.using\(backend=...\)\(function\)"),
        (lambda: depyf.compare.using(backend="inductr")(waves, *tensors()), r"no backend 'inductr'; .*inductor"),
    ],
)
def test_a_call_that_cannot_work_is_answered_with_the_one_that_can(call, answer):
    with pytest.raises(depyf.errors.UserError, match=answer):
        call()


def test_another_default_device_makes_no_difference():
    torch.set_default_device("meta")
    try:
        comparison = depyf.compare.using(backend="aot_eager")(waves, *[torch.ones(2, 2, device="cpu", requires_grad=True)] * 2)
    finally:
        torch.set_default_device(None)
    assert comparison, str(comparison)


def test_nothing_to_save_is_an_error_that_a_user_understands(tmp_path):
    with pytest.raises(depyf.errors.UserError, match="nothing differs"):
        depyf.compare.using(backend="eager")(waves, *tensors()).save(tmp_path)


def test_a_function_without_a_graph_is_not_called_the_same():
    comparison = depyf.compare.using(backend="eager")(lambda: 3)
    assert not comparison
    assert "nothing was compared" in str(comparison)


def test_what_was_compiled_for_a_comparison_does_not_stay_in_the_caches():
    from depyf.torch_hooks.frames.cache_entries import running_codes

    def own(x):
        return x + 1

    assert depyf.compare.using(backend="eager")(own, torch.ones(2))
    assert own.__code__ not in [code for code, _ in running_codes()]
