"""Functions that Dynamo skips are in the manifest, in the full code file and in the summary, with the reason."""

from __future__ import annotations

import contextlib
import re
import sys
import textwrap
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch_probes import DISABLE_HAS_REASON, EXPLAINS_BREAKS, RECOMPILE_LIMIT, needs  # noqa: E402

import depyf  # noqa: E402
from depyf.problems import Problems  # noqa: E402
from depyf.record.records import SKIP_KINDS
from depyf.record.saved_form import from_json  # noqa: E402
from depyf.torch_hooks.frames import skip_listener  # noqa: E402
from depyf.torch_hooks.frames.compilations import Compilation, Compilations  # noqa: E402
from depyf.torch_hooks.frames.functions import Functions  # noqa: E402
from depyf.torch_hooks.frames.skip_records import read_attempt  # noqa: E402
from depyf.torch_hooks.frames.skips import Skips  # noqa: E402
from depyf.torch_hooks.internals import private_hooks  # noqa: E402


def no_operation(a):
    return a


def break_in_a_loop(a):
    for _ in range(2):
        a = a + 1
        torch._dynamo.graph_break()
    return a


def break_in_a_manager(a):
    with Manager():
        torch._dynamo.graph_break()
        return a + 1


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def generator(a):
    yield a + 1


@torch.compiler.disable(**({"reason": "it writes a log"} if DISABLE_HAS_REASON else {}))
def disabled(a):
    return a * 2


def calls_disabled(a):
    return disabled(a + 1) + 1


@torch._dynamo.disable(recursive=False)
def alone_disabled(a):
    return a * 3


def calls_alone_disabled(a):
    return alone_disabled(a + 1) + 1


def recompiled_too_often(a):
    return a + 1


def wrong(a):
    return a + torch.ones(4)


def inner(a):
    print("inside")
    return a + 1


def outer(a):
    return inner(a.sin()).cos()


def uses_a_library(a):
    torch._dynamo.graph_break()
    return a, re.sub("b", "c", textwrap.dedent("  a"))


def compiled(function, **options):
    return torch.compile(function, backend="eager", **options)


def program():
    three = torch.ones(3)
    compiled(no_operation)(three)
    compiled(break_in_a_loop)(three)
    compiled(break_in_a_manager)(three)
    list(compiled(generator)(three))
    compiled(calls_disabled)(three)
    compiled(calls_alone_disabled)(three)
    with torch._dynamo.config.patch({RECOMPILE_LIMIT: 2}):
        function = compiled(recompiled_too_often, dynamic=False)
        for size in range(2, 6):
            function(torch.ones(size))
    for failing in (wrong, torch.nn.Linear(4, 4)):
        with pytest.raises(RuntimeError):
            compiled(failing)(three)
    compiled(outer)(three)
    compiled(uses_a_library)(three)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("skips") / "d"
    torch._dynamo.reset()
    with depyf.prepare_debug(folder) as context:
        program()
    record = from_json((folder / "manifest.json").read_text())
    assert record == context.record and not record.problems
    by_name = {function.name: function for function in record.functions}
    return SimpleNamespace(folder=folder, record=record, function=by_name.__getitem__)


needs_reasons = pytest.mark.skipif(
    private_hooks.find("skip_reasons") is None, reason=private_hooks.hook("skip_reasons").without
)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("no_operation", "no graph", "no operation on tensors"),
        ("break_in_a_loop", "graph break in a loop", "graph break" if EXPLAINS_BREAKS else "skip function graph_break"),
        ("break_in_a_manager", "graph break", "raph break"),
        pytest.param("generator", "generator", "only functions that use them", marks=needs_reasons),
        pytest.param(
            "disabled",
            "disabled",
            "torch.compiler.disable (reason: it writes a log)",
            marks=needs(DISABLE_HAS_REASON, "report of disabled functions"),
        ),
        pytest.param("alone_disabled", "disabled", "non-recursively disabled", marks=needs_reasons),
        pytest.param("recompiled_too_often", "recompile limit", "recompile_limit is 2; ", marks=needs_reasons),
        ("wrong", "failed", "Attempting to broadcast"),
    ],
)
def test_a_skipped_function_has_its_reason_in_manifest_and_full_code(seen, name, kind, words):
    function = seen.function(name)
    assert kind in SKIP_KINDS
    assert any(skip.kind == kind and words in skip.reason.replace("_", " ") + skip.reason for skip in function.skips), (
        function.skips
    )
    story = (seen.folder / function.full_code_file).read_text()
    assert f"def {name}(" in story
    assert SKIP_KINDS[kind] in story
    compile(story, name, "exec")


def test_a_failed_compilation_is_not_reported_as_running_eagerly(seen):
    story = (seen.folder / seen.function("wrong").full_code_file).read_text()
    assert "it runs as it is" not in story and "the program got the exception" in story


@needs_reasons
def test_only_what_dynamo_began_to_compile_has_a_compile_id(seen):
    began = {name: [bool(skip.compile_id) for skip in seen.function(name).skips] for name in ("no_operation", "wrong")}
    assert began == {"no_operation": [True], "wrong": [True]}
    assert all(skip.compile_id for skip in seen.function("recompiled_too_often").skips)
    assert not any(frame.skip.compile_id for frame in seen.record.skipped_frames if frame.skip.kind == "skip list")


def test_a_skipped_frame_does_not_get_the_id_of_a_run_of_compiled_autograd():
    compilations = Compilations()
    skips = Skips(Functions(Problems()), compilations)
    skips.add("frame is in the Dynamo skipfiles list", textwrap.dedent.__code__, True, compilations.of("!0"))
    (frame,) = skips.records
    assert frame.skip.compile_id == ""


@needs_reasons
def test_past_the_recompile_limit_the_dispatcher_shows_that_nothing_more_is_compiled(seen):
    function = seen.function("recompiled_too_often")
    story = (seen.folder / function.full_code_file).read_text()
    assert len(seen.record.frames_of(function.key)) == 2
    assert "Dynamo has reached its limit and compiles no more" in story and "Dynamo compiles one more" not in story
    assert "needs a.size(0) == 3, now 4" in function.skips[0].reason


@needs_reasons
def test_the_recompile_limit_stands_at_the_top_of_the_story_with_the_call_that_met_it_and_what_torch_advises(seen):
    function = seen.function("recompiled_too_often")
    top = (seen.folder / function.full_code_file).read_text().partition("# Read it from top to bottom")[0]
    assert (
        f"recompiled_too_often: {SKIP_KINDS['recompile limit']}\n# (torch._dynamo.config.{RECOMPILE_LIMIT} is 2)" in top
    )
    assert "test_skips.py:" in top and "function(torch.ones(size))" in top
    assert "needs a.size(0) == 3, now 4; " in top and "hint: " in top
    summary = (seen.folder / "summary.txt").read_text()
    assert "compiled 2 times, torch's limit: recompiled_too_often (" in summary
    after = summary.partition("not always compiled: recompiled_too_often (")[2].partition("story: ")[0]
    assert "in the call at " in after and "needs a.size(0) == 3, now 4; " in after and "hint: " in after


def test_a_break_has_its_reason_the_calls_that_led_there_and_the_hints_of_torch(seen):
    (frame,) = seen.record.frames_of(seen.function("outer").key)
    (found,) = frame.graph_breaks
    assert [call.function for call in found.stack][-2:] == ["outer", "inner"]
    assert found.location.function == "inner" and found.location.code == 'print("inside")'
    assert any("reorderable_logging_functions" in hint for hint in found.hints) or not EXPLAINS_BREAKS
    assert not any("site-packages/torch/" in call.file for call in found.stack)
    story = (seen.folder / seen.function("outer").full_code_file).read_text()
    way = " ".join(story.replace("\n#", " ").split())
    assert "by way of test_skips.py:" in way
    if not EXPLAINS_BREAKS:
        return
    assert 'print("inside")' not in way.partition("by way of")[2].partition(" hint: ")[0]  # it stands above
    assert "hint: If you are attempting to call a logging function" in story


@needs_reasons
def test_skipped_functions_of_libraries_are_listed_without_a_full_code_file(seen):
    names = {frame.name: frame for frame in seen.record.skipped_frames}
    assert names["dedent"].file == textwrap.__file__ and names["sub"].skip.kind == "skip list"
    assert not any("torch/_dynamo/" in frame.file for frame in seen.record.skipped_frames)
    assert "dedent" not in {function.name for function in seen.record.functions}


def test_the_summary_names_skipped_functions_that_the_user_could_get_compiled(tmp_path, capsys):
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        compiled(break_in_a_loop)(torch.ones(2))
        compiled(calls_disabled)(torch.ones(2))
    error = capsys.readouterr().err
    place = f"{__file__}:{break_in_a_loop.__code__.co_firstlineno}"
    assert f"not compiled: break_in_a_loop ({place}): a graph break inside a loop" in error
    assert "1 function more left to Python" in error or not DISABLE_HAS_REASON
    assert "open first: " in error and "full_code_for_calls_disabled_0.py" in error


def test_a_compilation_that_ctrl_c_interrupted_is_in_the_record_and_in_the_summary(tmp_path, capsys):
    def interrupted(graph, inputs):
        raise KeyboardInterrupt

    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path) as context, pytest.raises(KeyboardInterrupt):
        torch.compile(outer, backend=interrupted)(torch.ones(2))
    skips = {function.name: function.skips for function in context.record.functions}
    assert [skip.kind for skip in skips["outer"]] == ["interrupted"]
    place = f"{__file__}:{outer.__code__.co_firstlineno}"
    assert f"not compiled: outer ({place}): compiling it was interrupted" in capsys.readouterr().err


@needs_reasons
def test_what_an_import_runs_is_not_listed_as_skipped(tmp_path):
    def imports_in_a_loop(a):
        for _ in range(2):
            a = a + 1
            torch._dynamo.graph_break()
            import colorsys  # noqa: F401
        return a

    sys.modules.pop("colorsys", None)
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path) as context:
        compiled(imports_in_a_loop)(torch.ones(2))
    assert not [one for one in context.record.skipped_frames if "importlib" in one.file]


@pytest.mark.untraced
def test_without_the_hook_skips_are_read_from_the_trace(tmp_path, monkeypatch):
    real = private_hooks.find
    monkeypatch.setattr(private_hooks, "find", lambda name: None if name == "skip_reasons" else real(name))
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path) as context:
        compiled(no_operation)(torch.ones(2))
        compiled(break_in_a_loop)(torch.ones(2))
        list(compiled(generator)(torch.ones(2)))
        with torch._dynamo.config.patch({RECOMPILE_LIMIT: 1}):
            function = compiled(recompiled_too_often, dynamic=False)
            for size in range(2, 5):
                function(torch.ones(size))
    assert not context.record.problems
    kinds = {function.name: [skip.kind for skip in function.skips] for function in context.record.functions}
    assert kinds == {
        "no_operation": ["no graph"],
        "break_in_a_loop": ["graph break in a loop"],
        **({"generator": ["generator"]} if "generator" in kinds else {}),  # 2.8 compiles nothing of it
        "recompiled_too_often": ["recompile limit"],
    }


def test_without_the_hook_dynamos_log_has_the_reason(tmp_path, monkeypatch):
    class Log:
        def debug(self, message, *values, **options):
            written.append(message % values)

    written, reasons, log = [], [], Log()
    real = private_hooks.find
    found = {"skip_reasons": None, "frame_logger": log}
    monkeypatch.setattr(private_hooks, "find", lambda name: found.get(name) if name in found else real(name))
    detach = skip_listener.attach_to_log(reasons.append)
    error = RuntimeError("in a generator")
    log.debug("Skipping frame %s %s", error, "f")
    log.debug("something else %s", error)
    assert reasons == [error] and written == ["Skipping frame in a generator f", "something else in a generator"]
    detach()
    log.debug("Skipping frame %s %s", error, "f")
    assert reasons == [error]


def test_a_reason_of_dynamos_log_is_not_taken_for_a_function_without_operations():
    for reason, kind in [
        ("", "no graph"),
        ("because no content in function call", "no graph"),
        ("Skipping frame because there is a graph break in a for/while loop", "graph break in a loop"),
        ("torch.compile cannot be run in context: vmap", "other"),
    ]:
        assert read_attempt(Compilation("0/0", skip_reason=reason), raised=False).kind == kind


def test_the_limit_on_recompiles_is_named_with_its_value_where_torch_prints_none():
    attempt = Compilation("0/1", failure=("Unsupported", f"{RECOMPILE_LIMIT} reached"))
    limit = getattr(torch._dynamo.config, RECOMPILE_LIMIT)
    assert read_attempt(attempt, raised=False).detail == f"torch._dynamo.config.{RECOMPILE_LIMIT} is {limit}"


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_graph_break_reaches_the_program_only_if_it_asked_for_one_graph(fullgraph, tmp_path, monkeypatch, capsys):
    real = private_hooks.find
    monkeypatch.setattr(private_hooks, "find", lambda name: None if name == "skip_reasons" else real(name))
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path), contextlib.suppress(Exception):
        compiled(outer, fullgraph=fullgraph)(torch.ones(3))
    assert ("the program got the exception" in capsys.readouterr().err) == fullgraph


def test_the_hooked_function_of_torch_is_restored(tmp_path):
    before = private_hooks.find("skip_reasons")
    with depyf.prepare_debug(tmp_path):
        pass
    assert private_hooks.find("skip_reasons") is before


def test_a_callback_during_the_call_of_a_compiled_function_is_not_mistaken_for_it():
    import weakref

    from depyf.torch_hooks.frames.skip_listener import is_entry

    wrapper = {"__name__": "torch._dynamo.eval_frame"}
    exec("def compile_wrapper(fn, ask):\n    return ask(sys._getframe())\nimport sys\n", wrapper)
    function = test_a_callback_during_the_call_of_a_compiled_function_is_not_mistaken_for_it
    for code, expected in ((function.__code__, True), (weakref.WeakKeyDictionary.copy.__code__, False)):
        assert wrapper["compile_wrapper"](function, lambda frame, code=code: is_entry(code, frame)) is expected
    module = torch.nn.ReLU()
    called = type(module).__call__.__code__
    assert wrapper["compile_wrapper"](module, lambda frame: is_entry(called, frame))
    assert not is_entry(function.__code__, None)
