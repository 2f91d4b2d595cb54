"""Programs written for depyf 0.20 run as they are: what they import from its inner modules, and how they call it."""

from __future__ import annotations

import gc
import inspect
import weakref

import pytest

torch = pytest.importorskip("torch")

import capture_tools as tools  # noqa: E402

import depyf  # noqa: E402
from depyf.explain import dump_src, enable_debugging, global_variables  # noqa: E402
from depyf.explain.utils import get_current_compiled_fn_name, write_code_to_file_template  # noqa: E402
from depyf.optimization import TorchCompileWrapperWithCustomDispatcher  # noqa: E402
from depyf.record import from_json  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


# ---------------------------------------------------------------- calls that skip the guards


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
    scaled.factor = 5  # a guard would notice
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


def test_the_object_dies_when_nobody_holds_it_and_its_hook_goes():
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


# ---------------------------------------------------------------- depyf.explain


def test_dump_src_tells_the_story_of_what_is_compiled():
    compiled = torch.compile(tools.toy_example, backend="eager")
    tools.run_toy(compiled)
    story = dump_src(compiled)
    compile(story, "story", "exec")
    assert "def __transformed_code_0_for_toy_example(a, b):" in story and "class GraphModule" not in story
    assert dump_src(tools.toy_example.__code__, tools) == story


def test_a_backend_can_ask_for_the_name_of_its_graph_and_write_beside_it(tmp_path):
    seen = []

    def backend(graph_module, inputs):
        name = get_current_compiled_fn_name()
        folder = global_variables.data["dump_src_dir"]
        seen.append((name, write_code_to_file_template(graph_module.code, f"{folder}/{name}.mine_%s.py")))
        return graph_module.forward

    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(tools.straight, backend=backend)(torch.ones(3, 4), torch.ones(4))
    ((name, path),) = seen
    assert [graph.name for graph in from_json((tmp_path / "manifest.json").read_text()).graphs] == [name]
    assert path == str(tmp_path / f"{name}.mine_0.py") and "forward" in (tmp_path / f"{name}.mine_0.py").read_text()


def test_programs_that_put_the_loader_of_kernels_right_find_nothing_to_do(tmp_path):
    from torch._inductor.codecache import PyCodeCache

    parameters = inspect.signature(enable_debugging.patched_load_by_key_path).parameters.values()
    assert any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    with enable_debugging.prepare_debug(str(tmp_path)):
        assert PyCodeCache.load_by_key_path == global_variables.data["unpatched_load_by_key_path"]
        key, path = PyCodeCache.write("value = 1\n")
        assert enable_debugging.patched_load_by_key_path(key, path).value == 1


def test_the_context_is_stored_entered_and_left_by_hand_as_vllm_does(tmp_path):
    context = depyf.prepare_debug(str(tmp_path / "rank_0"))
    context.__enter__()
    assert global_variables.data["is_inside_prepare_debug"]
    torch.compile(tools.Model(), backend="aot_eager")(torch.ones(2, 4), torch.ones(3))
    context.__exit__(None, None, None)
    assert not global_variables.data["is_inside_prepare_debug"]
    assert list((tmp_path / "rank_0").glob("__transformed_code*for_forward.py"))
    assert list((tmp_path / "rank_0").glob("__compiled_fn*Forward_graph*.py"))
    context.__exit__(None, None, None)  # once more does no harm


@pytest.mark.parametrize("arguments", [("folder",), ("function", "folder"), ("function", "folder", False)])
def test_both_forms_of_prepare_debug_are_taken(arguments, tmp_path):
    given = {"folder": str(tmp_path / "d"), "function": tools.straight}
    context = depyf.prepare_debug(*(given.get(argument, argument) for argument in arguments))
    with context:
        torch.compile(tools.straight, backend="eager")(torch.ones(3, 4), torch.ones(4))
    assert (tmp_path / "d" / "full_code_for_straight_0.py").exists()
    assert context.clean_wild_fx_code is (False not in arguments)


def test_temporaries_are_kept_in_frames_where_the_environment_asks_for_them(tmp_path, monkeypatch):
    monkeypatch.setenv("DEPYF_REMOVE_TEMP", "0")
    with depyf.prepare_debug(tmp_path) as context:
        results = tools.run_toy(torch.compile(tools.toy_example, backend="eager"))
    assert tools.same(results, tools.run_toy(tools.toy_example))
    assert {frame.installed for frame in context.record.frames} == {"replaced"}
    assert {frame.rung for frame in context.record.frames} == {"temporaries"}
