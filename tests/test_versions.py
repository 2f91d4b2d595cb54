"""What other versions of torch print, name or run differently is understood as well."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from depyf.decompiler import decompile_frame
from depyf.torch_hooks.guard_forms import conditions_of
from depyf.torch_hooks.guard_text import Leaf

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        (Leaf("TYPE_MATCH", "___check_type_id(L['n'], 94300)", "L['n']", "int"), "type(n) is int"),
        (
            Leaf("TYPE_MATCH", "___check_type_id(L['n'], 94300)"),
            "the type of n is still the one it was when this was compiled",
        ),
        (
            Leaf("ID_MATCH", f"___check_obj_id(G['sys'], {id(sys)})", "G['sys']", "module"),
            "sys is sys.modules['sys']",
        ),
        (
            Leaf("GLOBAL_STATE", "___check_global_state()"),
            "torch's global switches are as they were: grad mode, autocast, default dtype, threads",
        ),
    ],
)
def test_guards_that_torch_2_9_prints_without_types_and_values_can_be_read(leaf, expected):
    assert [condition.text for condition in conditions_of(leaf)] == [expected]


def test_the_post_grad_graph_has_one_name_whatever_torch_calls_it():
    pytest.importorskip("torch")
    from depyf.torch_hooks.trace import read_event

    for name in ("after_post_grad_graph", "inductor_post_grad_graph"):
        event = read_event({"artifact": {"name": name}, "frame_id": 0, "frame_compile_id": 0}, "graph")
        assert event is not None and event.kind == "inductor_post_grad_graph"


def test_a_graph_that_is_interpreted_is_not_said_to_have_breakpoints(tmp_path):
    torch = pytest.importorskip("torch")
    import capture_tools as tools

    def backend(graph_module, example_inputs):
        def run(*args):
            return torch.fx.Interpreter(graph_module).run(*args)

        return run

    results, record, _ = tools.dump(tmp_path / "d", tools.toy_example, tools.run_toy, backend)
    assert tools.same(results, tools.run_toy(tools.toy_example))
    for graph in record.graphs:
        assert graph.running_files == (f"{graph.name}.Captured_Graph.0.py",) and graph.linked_files == ()
        first = (tmp_path / "d" / graph.running_files[0]).read_text().splitlines()[0]
        assert first.endswith("node by node in an interpreter: breakpoints here are not hit.")


def test_a_frame_whose_inner_function_is_a_closure_over_an_unused_variable_is_a_file_that_compiles():
    def make(variable):
        def frame(x):
            def rest(y):
                nonlocal variable
                return y * 2

            return rest(x)

        return frame

    frame = make(1)
    result = decompile_frame(frame.__code__)
    assert result.proved and result.code.co_freevars == frame.__code__.co_freevars
    compile(result.source, "frame", "exec", dont_inherit=True)


def test_what_torch_2_15_does_before_a_graph_has_names_that_tell():
    def original(x):
        return x + 1

    def made(x):
        tmp_3 = __import_torch_dot_autograd_dot_profiler._is_profiler_enabled  # noqa: F821
        tmp_2 = __import_torch_dot__dynamo_dot_utils  # noqa: F821
        tmp_1 = None
        if tmp_3:
            tmp_1 = tmp_2.record_pregraph_bytecode_enter()
        x.check()
        if tmp_1 is not None:
            tmp_2.record_pregraph_bytecode_exit(tmp_1)
        return __compiled_fn_1(x)  # noqa: F821

    result = decompile_frame(made.__code__, reference=original.__code__)
    assert result.proved and "tmp_" not in result.source
    assert "pregraph_timer = dynamo_utils.record_pregraph_bytecode_enter()" in result.source


@pytest.mark.parametrize("wanted", ["{0}.{1}", "{0}.{1}.{2}"])
def test_the_pair_command_finds_an_interpreter_by_version(tmp_path, wanted):
    wanted = wanted.format(*sys.version_info)
    interpreter = tmp_path / "versions" / ".".join(map(str, sys.version_info[:3])) / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to(sys.executable)
    (tmp_path / "versions" / f"{sys.version_info[0]}.{sys.version_info[1]}0.0" / "bin").mkdir(parents=True)
    program = f"import pair; print(pair.find_interpreter({wanted!r}))"
    environment = {"PYENV_ROOT": str(tmp_path), "PYTHONPATH": str(ROOT / "tools"), "PATH": ""}
    found = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert found.stdout.strip() == str(interpreter)
