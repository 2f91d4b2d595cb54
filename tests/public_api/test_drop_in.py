"""Programs written for depyf 0.20 run unchanged: imports from its inner modules and call forms."""

from __future__ import annotations

import inspect

import pytest

torch = pytest.importorskip("torch")

import capture_tools as tools  # noqa: E402

import depyf  # noqa: E402
from depyf.explain import dump_src, enable_debugging, global_variables  # noqa: E402
from depyf.explain.utils import get_current_compiled_fn_name, write_code_to_file_template  # noqa: E402
from depyf.record.saved_form import from_json  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


# ---------------------------------------------------------------- depyf.explain


def test_dump_src_returns_the_full_code_of_what_is_compiled():
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


def test_programs_that_patch_the_kernel_loader_find_nothing_to_patch(tmp_path):
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
def test_both_call_forms_of_prepare_debug_work(arguments, tmp_path):
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
    rungs = {frame.rung for frame in context.record.frames}
    assert "temporaries" in rungs and "idioms" not in rungs
