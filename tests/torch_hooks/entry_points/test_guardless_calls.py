"""TorchCompileWrapperWithCustomDispatcher: compiled code is called without its guards."""

from __future__ import annotations

import gc
import weakref

import pytest

torch = pytest.importorskip("torch")

import depyf  # noqa: E402
from depyf.optimization import TorchCompileWrapperWithCustomDispatcher  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


class Scaled(TorchCompileWrapperWithCustomDispatcher):
    def __init__(self, factor):
        self.factor = factor
        super().__init__(torch.compile(self.forward, backend="eager"))

    def forward(self, x, *, shift=1):
        return x * self.factor + shift

    def __call__(self, x):
        if self.compiled_codes:
            with self.dispatch_to_code(0):
                return self.forward(x)
        return self.compiled_callable(x)


def test_the_compiled_code_is_called_without_its_guards():
    scaled = Scaled(2)
    assert scaled(torch.ones(3)).tolist() == [3, 3, 3]
    (code,) = scaled.compiled_codes
    assert code is not Scaled.forward.__code__ and any(name.startswith("__compiled_fn") for name in code.co_names)
    scaled.factor = 5  # a guard would fail
    assert scaled(torch.ones(3)).tolist() == [3, 3, 3]
    assert scaled.compiled_callable(torch.ones(3)).tolist() == [6, 6, 6]
    assert len(scaled.compiled_codes) == 2
    assert "forward" not in vars(scaled) and Scaled.forward.__code__ is scaled.original_code_object


def test_two_objects_of_a_class_keep_their_versions_apart():
    one, other = Scaled(2), Scaled(3)
    assert one(torch.ones(2)).tolist() == [3, 3] and other(torch.ones(2)).tolist() == [4, 4]
    assert len(one.compiled_codes) == len(other.compiled_codes) == 1
    assert one(torch.ones(2)).tolist() == [3, 3] and other(torch.ones(2)).tolist() == [4, 4]


def test_an_exception_inside_leaves_the_original_in_place():
    scaled = Scaled(2)
    scaled(torch.ones(3))
    with pytest.raises(ZeroDivisionError), scaled.dispatch_to_code(0):
        with scaled.dispatch_to_code(0):
            pass
        assert scaled.forward.__code__ is scaled.compiled_codes[0], "contexts nest"
        raise ZeroDivisionError
    assert scaled.forward.__func__ is Scaled.forward
    with pytest.raises(IndexError):
        scaled.dispatch_to_code(7)


def test_an_unreferenced_wrapper_is_freed_and_its_hook_removed():
    hooks = torch._dynamo.convert_frame._bytecode_hooks
    gc.collect()
    before = len(hooks)
    scaled = Scaled(2)
    scaled(torch.ones(3))
    scaled(torch.ones(3))
    assert len(hooks) == before + 1
    reference = weakref.ref(scaled)
    torch._dynamo.reset()
    del scaled
    gc.collect()
    assert reference() is None and len(hooks) == before


def test_it_works_inside_a_session_and_after_its_code_was_replaced(tmp_path):
    with depyf.prepare_debug(tmp_path) as context:
        scaled = Scaled(2)
        assert scaled(torch.ones(3)).tolist() == [3, 3, 3]
        assert scaled(torch.ones(3)).tolist() == [3, 3, 3]
    assert scaled(torch.ones(3)).tolist() == [3, 3, 3]
    assert list(tmp_path.glob("__transformed_code*for_forward.py")) and not context.record.problems


def test_a_module_may_be_such_a_wrapper_and_forward_must_be_there():
    class Module(torch.nn.Module, TorchCompileWrapperWithCustomDispatcher):
        def __init__(self):
            torch.nn.Module.__init__(self)
            self.linear = torch.nn.Linear(2, 2)
            TorchCompileWrapperWithCustomDispatcher.__init__(self, torch.compile(self.forward, backend="eager"))

        def forward(self, x):
            return self.linear(x)

    module, x = Module(), torch.ones(1, 2)
    expected = module.compiled_callable(x)
    with module.dispatch_to_code(0):
        assert torch.equal(module(x), expected)
    with pytest.raises(NotImplementedError, match="needs a forward method"):
        TorchCompileWrapperWithCustomDispatcher(len).forward()
