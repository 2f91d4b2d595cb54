"""Functions compiled before the session can still be shown: `depyf.inspect`, and the end of `prepare_debug`."""

from __future__ import annotations

import ast
import functools
import linecache
import os

import pytest

torch = pytest.importorskip("torch")

import capture_tools as tools  # noqa: E402
from torch_probes import (  # noqa: E402
    AOT_EAGER_INTERPRETS,
    CACHED_ID,
    EXPLAINS_BREAKS,
    GUARDS_HAVE_STACKS,
    HAS_GUARD_TREES,
    needs,
)

import depyf  # noqa: E402
from depyf.errors import UserError  # noqa: E402
from depyf.record.compile_ids import is_unknown  # noqa: E402
from depyf.record.records import SessionRecord  # noqa: E402


def scaled(x, factor):
    return x * factor


def never_compiled(x):
    return x


class Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        x = self.linear(x)
        torch._dynamo.graph_break()
        return x.relu()


class Callable:
    def __call__(self, x):
        return x + 1


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def compiled_toy(backend="eager", grad=False):
    compiled = torch.compile(tools.toy_example, backend=backend)
    tools.run_toy(compiled, grad=grad)
    return compiled


def names(inspection):
    return [function.name for function in inspection.functions]


def test_versions_guards_graphs_and_resume_functions_are_found_without_a_session():
    inspection = depyf.inspect(compiled_toy())
    assert isinstance(inspection, SessionRecord) and not inspection.problems
    assert names(inspection)[0] == "toy_example" and len(inspection.functions) == 3
    entry, *resumed = inspection.frames
    assert entry.compile_id == CACHED_ID and entry.grade.startswith("PROVED") and entry.installed == "untouched"
    assert {call.function for call in entry.resumes} == {function.key for function in inspection.functions[1:]}
    assert len(resumed) == 2 and all(frame.from_cache for frame in inspection.frames)
    conditions = [guard.condition for guard in entry.guards]
    tensors = "a.size() == (10,)" if HAS_GUARD_TREES else "a, b: tensors with the properties that they had"
    assert any(tensors in condition for condition in conditions)
    assert inspection.function(entry.function).source.startswith("def toy_example")
    for graph in inspection.graphs:
        assert "Captured_Graph" in [part.stage for part in graph.stages]
        assert graph.running_files and graph.running_files[0] in inspection.texts


def test_the_repr_is_an_overview_and_the_text_the_full_code():
    inspection = depyf.inspect(compiled_toy())
    overview = repr(inspection).splitlines()
    assert (
        overview[0] == f"toy_example ({tools.__file__}:{tools.toy_example.__code__.co_firstlineno}): 1 compiled version"
    )
    assert f"{CACHED_ID}: calls __compiled_fn_" in overview[1]
    assert "a: float32 (10,), b: float32 (10,)" in repr(inspection) or not HAS_GUARD_TREES
    assert len(overview) < 16 and all(len(line) <= 100 for line in overview[1:3])
    story = str(inspection)
    compile(story, "story", "exec")
    defined = {node.name for node in ast.walk(ast.parse(story)) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert {
        "toy_example",
        "__guard_0_for_toy_example",
        "__transformed_code_0_for_toy_example",
        "GraphModule",
    } <= defined
    assert "torch.abs(l_a_)" in story and "to see the reasons and step through the code" in story


@pytest.mark.parametrize(
    "target",
    [
        lambda compiled: scaled,
        lambda compiled: scaled.__code__,
        lambda compiled: compiled,
        lambda compiled: functools.partial(compiled, factor=2),
        lambda compiled: functools.partial(scaled, factor=2),
    ],
    ids=["function", "code", "compiled", "partial of compiled", "partial"],
)
def test_every_form_of_a_compiled_function_is_accepted(target):
    compiled = torch.compile(scaled, backend="eager")
    compiled(torch.ones(3), 2)
    inspection = depyf.inspect(target(compiled))
    assert names(inspection) == ["scaled"] and len(inspection.frames) == 1
    assert "factor == 2" in repr(inspection)


def test_modules_methods_and_callable_objects_are_accepted():
    optimized = torch.compile(Half(), backend="eager")
    optimized(torch.ones(2, 3))
    in_place = Half()
    in_place.compile(backend="eager")
    in_place(torch.ones(4, 3))
    called = Callable()
    torch.compile(called, backend="eager")(torch.ones(2))
    for target in (optimized, optimized._orig_mod, in_place, in_place.forward, Half.forward):
        found = names(depyf.inspect(target))
        assert found[0] == "forward" and "resume_in_forward" in found[1], target
    assert names(depyf.inspect(called)) == ["__call__"]
    assert names(depyf.inspect(torch.nn.Sequential(torch.nn.ReLU(), Half())))[:1] == ["forward"], "submodules too"


def test_without_a_target_every_live_compiled_function_is_shown():
    assert repr(depyf.inspect()) == str(depyf.inspect()) == "nothing that torch.compile made lives in this process"
    compiled_toy()
    torch.compile(scaled, backend="eager")(torch.ones(3), 2)
    assert {"toy_example", "scaled"} <= set(names(depyf.inspect()))


def test_a_function_that_was_never_compiled_is_reported_as_such():
    inspection = depyf.inspect(never_compiled)
    assert repr(inspection).endswith(": no compiled version") and not inspection.frames
    assert "Dynamo compiled no version of it." in str(inspection) and "return x" in str(inspection)


@pytest.mark.parametrize("target", [3, None, len, torch.add, int])
def test_an_object_without_python_code_is_a_user_error(target):
    with pytest.raises(UserError, match="give it a function"):
        depyf.inspect(target)


def test_inspecting_compiles_links_and_changes_nothing():
    compiled = compiled_toy()
    before = [entry.code for entry in torch._dynamo.eval_frame._debug_get_cache_entry_list(tools.toy_example.__code__)]
    first, second = depyf.inspect(compiled), depyf.inspect(compiled)
    assert first == second and str(first) == str(second)
    after = [entry.code for entry in torch._dynamo.eval_frame._debug_get_cache_entry_list(tools.toy_example.__code__)]
    assert [id(code) for code in before] == [id(code) for code in after]
    assert not os.path.exists("inspect")


def test_a_later_context_shows_what_was_compiled_before_it(tmp_path, capsys):
    compiled = compiled_toy("aot_eager", grad=True)
    with depyf.prepare_debug(tmp_path) as context:
        compiled(torch.ones(7), torch.ones(7))
    record = context.record
    assert not record.problems
    entry = record.frames_of("toy_example_0")
    assert [frame.from_cache for frame in entry] == [True, False], "oldest first"
    for frame in record.frames:
        written, source = (tmp_path / frame.file).read_text().splitlines(), frame.source.splitlines()
        assert written[0].startswith(source[0]) and written[1 : len(source)] == source[1:]  # the first may have a title
    story = (tmp_path / "full_code_for_toy_example_0.py").read_text()
    assert "compiled before anyone looked" in story and "(torch kept no text of Joint_graph)" in story
    assert "versions compiled before this session" not in story
    compile(story, "story", "exec")
    assert "3 compiled before" in capsys.readouterr().err
    trained = [graph for graph in record.graphs if graph.lost]
    assert trained and all(graph.lost == ("Joint_graph",) for graph in trained)
    for graph in record.graphs:
        running = [part for part in graph.stages if part.execution]
        assert running and all(part.linked or AOT_EAGER_INTERPRETS for part in running), graph
        assert {part.execution for part in running} <= {"not called" if graph in trained else "ran", "node by node"}
    if AOT_EAGER_INTERPRETS:
        return
    forward = tmp_path / next(part.file for part in trained[0].stages if part.stage == "Forward_graph")
    last = tools.statement_lines(forward, "forward")[-1]
    with tools.breakpoints((forward, last)) as debugger:
        tools.run_toy(compiled, grad=True)
    assert debugger.hits, "graphs compiled earlier are linked"


@needs(GUARDS_HAVE_STACKS, "line for a guard that was asked for before any context")
def test_the_path_of_a_notebook_cell_is_whole_when_another_cell_calls_it(monkeypatch):
    names = {"__name__": "__main__", "torch": torch}
    texts = {
        "/tmp/ipykernel_4711/111.py": "K = 3\ndef helper(x):\n    return x * K\n",
        "/tmp/ipykernel_4711/222.py": "def caller(x):\n    return helper(x) + 1\n",
    }
    for name, text in texts.items():
        monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(True), name))
        exec(compile(text, name, "exec"), names)
    torch._dynamo.reset()
    compiled = torch.compile(names["caller"], backend="eager")
    compiled(torch.ones(2))
    assert "# /tmp/ipykernel_4711/111.py:3: return x * K" in str(depyf.inspect(compiled))


def test_why_a_graph_broke_and_was_compiled_again_is_known_after_a_context_recorded_it(tmp_path):
    def broken(x, n):
        x = x + n
        torch._dynamo.graph_break()
        return x

    torch._dynamo.reset()
    compiled = torch.compile(broken, backend="eager", dynamic=False)
    with depyf.prepare_debug(tmp_path):
        compiled(torch.ones(2), 3)
        compiled(torch.ones(2), 4)
    text = str(depyf.inspect(compiled))
    assert "Call to `torch._dynamo.graph_break()`" in text or not EXPLAINS_BREAKS
    assert "why:    0/0 needs n == 3" in text
    assert "why the graph broke is not known" not in text


def test_a_later_context_without_any_compilation_inside_is_not_empty(tmp_path):
    compiled = compiled_toy()
    with depyf.prepare_debug(tmp_path / "first") as first:
        tools.run_toy(compiled)
    assert [frame.from_cache for frame in first.record.frames] == [True] * 3
    with depyf.prepare_debug(tmp_path / "second") as second:
        compiled(torch.ones(3), torch.ones(3))
    again = [frame for frame in second.record.frames if frame.compile_id == "0/0" or is_unknown(frame.compile_id)]
    assert again[0].linked_to == "" and len(second.record.frames) == 5


def test_code_linked_by_an_earlier_context_is_shown_with_its_file(tmp_path):
    with depyf.prepare_debug(tmp_path / "first") as first:
        compiled_toy()
    with depyf.prepare_debug(tmp_path / "second") as second:
        pass
    assert [frame.source for frame in second.record.frames] == [frame.source for frame in first.record.frames]
    assert second.record.frames[0].linked_to == str(tmp_path / "first" / first.record.frames[0].file)
    assert "linked there earlier" in (tmp_path / "second" / "full_code_for_toy_example_0.py").read_text()


def test_kernels_are_read_from_inductors_cache_and_missing_stages_are_named(tmp_path):
    compiled = torch.compile(tools.straight, backend="inductor")
    compiled(torch.ones(3, 4), torch.ones(4))
    (graph,) = depyf.inspect(compiled).graphs
    assert graph.lost == ("Forward_graph", "BEFORE_PRE_GRAD", "AFTER_POST_GRAD")
    assert "def call(" in depyf.inspect(compiled).texts[graph.kernels[0].file]
    with depyf.prepare_debug(tmp_path) as context:
        pass
    (graph,) = context.record.graphs
    assert graph.kernels[0].linked and graph.kernels[0].execution == "not called"
    assert not context.record.problems


def test_a_graph_that_an_interpreter_runs_is_not_shown_as_what_a_call_runs():
    compiled = torch.compile(scaled, backend=lambda module, inputs: torch.fx.Interpreter(module).run)
    compiled(torch.ones(3), 2)
    text = str(depyf.inspect(compiled))
    assert "Captured_Graph: run node by node by Interpreter; this text is not executed." in text
