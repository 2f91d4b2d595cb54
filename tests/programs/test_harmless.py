"""Whatever fails inside depyf, the user's program computes the same as without depyf."""

from __future__ import annotations

import builtins
import gc
import logging
import sys

import capture_tools as tools
import pytest
import torch
from capture_tools import dump, run_toy, same
from torch._dynamo import convert_frame
from torch_probes import HAS_TRACE, TORCH, needs

import depyf
from depyf.errors import NestedSessionError, OutputFolderError, UserError
from depyf.torch_hooks.entry_points import prepare_debug
from depyf.torch_hooks.internals import private_hooks

EXPECTED = run_toy(tools.toy_example)

# Every function that depyf runs inside a hook: an exception there must not reach the program.
FAULTS = [
    "depyf.torch_hooks.frames.transformed_code.Frames.add",
    "depyf.torch_hooks.frames.transformed_code.decompile_or_list",
    "depyf.torch_hooks.frames.decompiled_text.annotated_disassembly",  # reached only by frames that are not proved
    "depyf.torch_hooks.frames.transformed_code.relabel",  # likewise
    "depyf.torch_hooks.frames.transformed_code.resume_parameters",
    "depyf.torch_hooks.frames.transformed_code.dump_code",
    "depyf.torch_hooks.frames.functions.Functions.key_of",
    "depyf.torch_hooks.frames.functions.Functions.add_resume",
    "depyf.torch_hooks.disk.folder.OutputFolder.write",
    "depyf.torch_hooks.disk.folder.OutputFolder.write_bytes",
    pytest.param(
        "depyf.torch_hooks.internals.structured_trace.read_event", marks=needs(HAS_TRACE, "structured trace")
    ),
    "depyf.torch_hooks.internals.structured_trace.attach",
    "depyf.torch_hooks.graphs.custom_stages.attach",
    "depyf.torch_hooks.session.capture.Capture.on_event",
    "depyf.torch_hooks.session.recording.Recording._name_graph",
    "depyf.torch_hooks.session.recording.Recording._current_compile_id",
    "depyf.torch_hooks.session.recording.Recording._complete_frame",
    "depyf.torch_hooks.session.recording.describe_guards",
    "depyf.torch_hooks.session.recording.read_graph_break",
    "depyf.torch_hooks.session.recording.installed_global",
    "depyf.torch_hooks.session.closing.complete",
    "depyf.torch_hooks.graphs.graph_files.Graphs.add",
    "depyf.torch_hooks.graphs.graph_files.Graphs.finish",
    "depyf.torch_hooks.graphs.linking.reachable_code",
    "depyf.torch_hooks.graphs.generated_functions.forward_of",
    "depyf.torch_hooks.graphs.generated_functions.like_twin",
    "depyf.torch_hooks.internals.private_hooks.find",
    "depyf.torch_hooks.session.closing.render_summary",
    "depyf.torch_hooks.session.closing.merging.merge_at_exit",
    "depyf.torch_hooks.session.journal_writer.Journal.save",
    "depyf.torch_hooks.session.journal_writer.Journal.compiling",
    "depyf.torch_hooks.disk.known_manifests.write",
    "depyf.report.full_code.StoryWriter",
    "depyf.report.full_code.StoryWriter.text_of",
    # the stages of the decompiler
    "depyf.decompiler.attempt.stage_order.decode",
    "depyf.decompiler.attempt.stage_order.clean_program",
    "depyf.decompiler.attempt.region_trees.build_graph",
    "depyf.decompiler.attempt.region_trees.clean_graph",
    "depyf.decompiler.clean_graph.assign_regions",
    "depyf.decompiler.clean_graph.undo_copies",
    "depyf.decompiler.attempt.region_trees.fold",
    "depyf.decompiler.attempt.region_trees.structure",
    "depyf.decompiler.attempt.syntax_trees.build_statements",
    "depyf.decompiler.attempt.stage_order.print_source",
    "depyf.decompiler.attempt.stage_order.compile_like",
    "depyf.decompiler.attempt.stage_order.prove",
]
ONLY_WITHOUT_PROOF = {
    "depyf.torch_hooks.frames.decompiled_text.annotated_disassembly",
    "depyf.torch_hooks.frames.transformed_code.relabel",
}


def hooks_in_place():
    trace = logging.getLogger("torch.__trace")
    ours = [handler for handler in trace.handlers if type(handler).__module__.startswith("depyf")]
    return len(convert_frame._bytecode_hooks), ours, prepare_debug.active()


@pytest.fixture(scope="module", autouse=True)
def nothing_of_earlier_tests_is_left():
    """Collect dispatchers of earlier tests now, because that removes their hooks."""
    gc.collect()


@pytest.fixture(autouse=True)
def hooks_are_gone_afterwards(nothing_of_earlier_tests_is_left):
    before = hooks_in_place()
    yield
    assert hooks_in_place() == before


@pytest.mark.parametrize("place", FAULTS)
def test_a_fault_inside_depyf_does_not_change_what_the_program_computes(place, tmp_path, monkeypatch, caplog):
    calls = []

    def fail(*args, **kwargs):
        calls.append(place)
        raise RuntimeError("injected")

    monkeypatch.setattr(place, fail)
    if place in ONLY_WITHOUT_PROOF:
        monkeypatch.setitem(sys.modules, "depyf.decompiler.pipeline", None)
    torch._dynamo.reset()
    with caplog.at_level(logging.ERROR, "depyf"):
        with depyf.prepare_debug(str(tmp_path / "d"), log_bytecode=True):
            results = run_toy(torch.compile(tools.toy_example, backend="eager"))
    assert same(results, EXPECTED)
    assert calls, "the fault was never reached"
    messages = [record.getMessage() for record in caplog.records if "injected" in record.getMessage()]
    assert messages and "Please report" in messages[0] and "torch" in messages[0]
    assert len(messages) == len({message.split(";")[0] for message in messages}), "each failure is reported once"
    if place.startswith("depyf.decompiler."):
        assert len(messages) == 1
        record = tools.from_json((tmp_path / "d" / "manifest.json").read_text())
        assert [line for line in record.problems if "decompiling a frame (RuntimeError in" in line]
        for frame in record.frames:  # a later rung of the ladder may do without the stage
            if frame.grade == "UNPROVED":
                assert frame.installed == "relabelled"
                for name in (frame.file, "full_code_for_toy_example_0.py"):
                    assert "injected" in (tmp_path / "d" / name).read_text(), "the reason is in the file"
        tools.assert_all_parse(tmp_path / "d")


def test_without_a_decompiler_frames_are_listed_linked_and_run(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "depyf.decompiler.pipeline", None)
    results, record, compiled = dump(tmp_path / "d", tools.toy_example, run_toy)
    assert same(results, EXPECTED)
    assert {(frame.installed, frame.grade) for frame in record.frames} == {("relabelled", "UNPROVED")}
    frame = tmp_path / "d" / record.frames[0].file
    tools.assert_all_parse(tmp_path / "d")
    with tools.breakpoints((frame, tools.statement_lines(frame)[-1])) as debugger:
        compiled(torch.ones(10), torch.ones(10))
    assert [values["a"].shape for _, _, values in debugger.hits] == [(10,)]


def test_an_exception_of_the_program_passes_unchanged_and_the_files_stay(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(tools.straight, backend="eager")
    problem = KeyError("mine")
    with pytest.raises(KeyError) as caught:
        with depyf.prepare_debug(str(tmp_path / "d")):
            compiled(torch.ones(2, 2), torch.ones(2, 2))
            raise problem
    assert caught.value is problem
    names = {path.name for path in (tmp_path / "d").iterdir()}
    assert {"__transformed_code_0_for_straight.py", "full_code_for_straight_0.py", "manifest.json"} <= names


def test_a_graph_that_the_backend_refuses_is_still_on_disk(tmp_path):
    def backend(graph_module, example_inputs):
        raise ValueError("no thanks")

    torch._dynamo.reset()
    with pytest.raises(Exception, match="no thanks"):
        with depyf.prepare_debug(str(tmp_path / "d")) as context:
            torch.compile(tools.straight, backend=backend)(torch.ones(2, 2), torch.ones(2, 2))
    (graph,) = context.record.graphs
    assert [part.stage for part in graph.stages] == ["Captured_Graph"]
    assert "relu" in (tmp_path / "d" / graph.stages[0].file).read_text()


@pytest.mark.parametrize("make", ["a file", "below a file"])
def test_a_folder_that_cannot_be_written_is_a_clear_error_before_anything_runs(tmp_path, make):
    (tmp_path / "taken").write_text("")
    target = tmp_path / "taken" if make == "a file" else tmp_path / "taken" / "below"
    context = depyf.prepare_debug(str(target))
    with pytest.raises(OutputFolderError, match="cannot write") as caught:
        context.__enter__()
    assert isinstance(caught.value, UserError) and isinstance(caught.value, OSError)
    assert str(target) in str(caught.value)
    context.__exit__(None, None, None)  # harmless


def test_nested_contexts_are_refused_and_the_outer_one_continues(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path / "outer")) as outer:
        with pytest.raises(NestedSessionError, match="outer"):
            depyf.prepare_debug(str(tmp_path / "inner")).__enter__()
        torch.compile(tools.straight, backend="eager")(torch.ones(2, 2), torch.ones(2, 2))
    assert len(outer.record.frames) == 1 and not (tmp_path / "inner").exists()


def test_bare_enter_and_exit_work_as_a_with_statement_does(tmp_path):
    torch._dynamo.reset()
    context = depyf.prepare_debug(str(tmp_path / "d"), False, True)
    context.__enter__()
    torch.compile(tools.straight, backend="eager")(torch.ones(2, 2), torch.ones(2, 2))
    context.__exit__(None, None, None)
    context.__exit__(None, None, None)
    assert (tmp_path / "d" / "__transformed_code_0_for_straight.py.original_bytecode").exists()
    assert len(context.record.frames) == 1


def test_wrong_arguments_give_an_error_that_names_prepare_debug():
    with pytest.raises(TypeError, match=r"prepare_debug\(dump_src_dir"):
        depyf.prepare_debug()
    with pytest.raises(TypeError, match="prepare_debug"):
        depyf.prepare_debug(3.5)


@pytest.mark.parametrize("arguments", [("",), ("a\0b",), ("one", "two", "three"), (), (3.5,)])
def test_meaningless_arguments_are_user_errors(arguments):
    with pytest.raises(UserError, match=r"prepare_debug\(dump_src_dir"):
        depyf.prepare_debug(*arguments)


def test_without_torch_prepare_debug_reports_that_torch_is_missing(tmp_path, monkeypatch):
    def import_without_torch(name, *args):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return original(name, *args)

    original = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", import_without_torch)
    with pytest.raises(UserError, match="torch is not installed"):
        depyf.prepare_debug(str(tmp_path / "d")).__enter__()


def test_other_bytecode_hooks_before_and_after_still_take_effect(tmp_path):
    seen = []
    before = convert_frame.register_bytecode_hook(lambda code, new: seen.append(new.co_filename))

    def rename(code, new):
        seen.append(new.co_filename)
        return new.replace(co_name="renamed")

    torch._dynamo.reset()
    context = depyf.prepare_debug(str(tmp_path / "d"))
    context.__enter__()
    after = convert_frame.register_bytecode_hook(rename)
    try:
        results = run_toy(torch.compile(tools.toy_example, backend="eager"))
    finally:
        context.__exit__(None, None, None)
        before.remove()
        after.remove()
    assert same(results, EXPECTED) and len(context.record.graphs) == 3
    assert seen[0] == tools.__file__ and seen[1].startswith(str(tmp_path))
    assert all(graph.running_files for graph in context.record.graphs), "graphs are linked all the same"


def test_the_summary_is_short_and_names_the_file_to_open(tmp_path, capsys):
    dump(tmp_path / "d", tools.toy_example, run_toy)
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[0].startswith("depyf: 3 frames (") and "3 graphs, 1 graph break" in lines[0]
    line = tools.toy_example.__code__.co_firstlineno + 2
    assert "called: toy_example" in lines[1] and f"{tools.__file__}:{line}" in lines[2]
    assert len(lines) < 11 and lines[-2].strip() == f"open first: {tmp_path / 'd' / 'full_code_for_toy_example_0.py'}"
    assert lines[-1].strip() == f"page: {tmp_path / 'd' / 'index.html'}"


def test_a_graph_break_that_leaves_a_function_uncompiled_is_in_the_summary(tmp_path, capsys):
    def loop(x):
        for _ in range(2):
            x = x + 1
            torch._dynamo.graph_break()
        return x

    dump(tmp_path / "d", loop, lambda f: [f(torch.ones(2))])
    error = capsys.readouterr().err
    assert "0 frames" in error and f"graph break at {__file__}:{loop.__code__.co_firstlineno + 3}" in error


def test_a_session_that_compiled_nothing_is_reported_plainly(tmp_path, capsys):
    torch._dynamo.reset()  # what tests before it in this process compiled
    with depyf.prepare_debug(str(tmp_path / "d")):
        pass
    assert "nothing was compiled" in capsys.readouterr().err
    assert (tmp_path / "d" / "manifest.json").exists()


def version(text):
    return tuple(int(number) for number in text.split("."))


def test_a_torch_without_a_private_hook_loses_only_what_the_table_lists(tmp_path, monkeypatch):
    find = private_hooks.find
    for row in private_hooks.HOOKS:
        first, to, last, *_ = row.holds_for.split()
        if TORCH < version(first) or (to == "to" and TORCH[:2] > version(last)):
            continue  # this torch does not have it yet, or no longer
        assert find(row.name) is not None, f"{row.name} is gone from this torch"
        assert row.purpose and row.holds_for and row.without
        monkeypatch.setattr(
            private_hooks, "find", lambda name, gone=row.name: None if name == gone else find(name)
        )
        results, _, _ = dump(tmp_path / row.name, tools.toy_example, run_toy)
        assert same(results, EXPECTED)


def training_step(x, weight):
    loss = (x @ weight).sin().sum()
    loss.backward()
    return loss.detach() * 2


@pytest.mark.untraced
def test_a_training_step_compiled_as_a_whole_does_not_compile_frames_of_depyf(tmp_path):
    """The backward is compiled while Dynamo traces every called frame, so it could trace depyf's own."""

    def run(function):
        weight = torch.ones(3, 2, requires_grad=True)
        return [function(torch.ones(2, 3), weight), weight.grad]

    met: dict[str, list[str]] = {"without": [], "with": []}
    hook = convert_frame.register_bytecode_hook(lambda code, new_code: met[now].append(code.co_name))
    now = "without"
    torch._dynamo.reset()
    try:
        expected = run(torch.compile(training_step, backend="aot_eager"))
        now = "with"
        results, record, _ = dump(tmp_path / "d", training_step, run, "aot_eager")
    finally:
        hook.remove()
    assert same(results, expected)
    assert met["with"] == met["without"] and met["with"][0] == "training_step"
    assert [path.name for path in (tmp_path / "d").glob("full_code_for_*")] == ["full_code_for_training_step_0.py"]
    assert not any("torch_hooks" in one.file for one in record.skipped_frames)


def test_a_program_that_reads_its_local_names_finds_the_same_ones_as_without_depyf(tmp_path):
    def by_builtin(x):
        y = x + 1
        return sorted(locals()), len(dir()), y

    def by_frame(x):
        y = x + 1
        return sorted(sys._getframe().f_locals), y

    def run():
        torch._dynamo.reset()
        return [torch.compile(function, backend="eager")(torch.ones(2))[:-1] for function in (by_builtin, by_frame)]

    expected = run()
    with depyf.prepare_debug(str(tmp_path / "d")):
        assert run() == expected
