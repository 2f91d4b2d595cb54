"""Only proved text is installed in the running program, and only if Dynamo accepts it."""

from __future__ import annotations

import sys
import types

import capture_tools as tools
import pytest
import torch

ONES = (torch.ones(2, 2), torch.ones(2, 2))


def run_with(monkeypatch, folder, grade, parameters="a, b", with_code=True):
    """Compile `straight` with a fake decompiler that returns a fixed text which calls the frame's graph."""

    def decompile_frame(code, *, reference=None, filename="<depyf>", renames=None, hints=None, generator=None):
        plain = [(name, name) for name in code.co_names]  # before 2.9 names have no random part
        real, graph = next(item for item in (*renames.items(), *plain) if item[1].startswith("__compiled_fn"))
        source = f"def straight({parameters}):\n    marker = 'seen'\n    return {graph}(a, b)[0]\n"
        namespace = {}
        exec(compile(source, filename, "exec"), namespace)
        made = namespace["straight"].__code__
        made = made.replace(co_names=tuple(real if name == graph else name for name in made.co_names))
        return types.SimpleNamespace(
            source=source,
            code=made if with_code else None,
            rung="idioms",
            lines=((0, 2),),
            origins=(),
            bugs=(),
            verdict=types.SimpleNamespace(
                grade=types.SimpleNamespace(name=grade),
                assumptions=(types.SimpleNamespace(value="the sky is blue"),),
                divergence="offset 4 and offset 6" if grade == "REFUTED" else None,
                reason="no stage was tried" if grade == "UNPROVED" else "",
            ),
        )

    module = types.ModuleType("depyf.decompiler.pipeline")
    module.decompile_frame = decompile_frame
    monkeypatch.setitem(sys.modules, "depyf.decompiler.pipeline", module)
    return tools.dump(folder, tools.straight, lambda f: [f(*ONES)])


@pytest.mark.parametrize("grade", ["PROVED", "PROVED_UNDER"])
def test_proved_text_is_what_runs_and_what_the_debugger_shows(tmp_path, monkeypatch, grade):
    results, record, compiled = run_with(monkeypatch, tmp_path / "d", grade)
    assert tools.same(results, [tools.straight(*ONES)])
    (frame,) = record.frames
    assert (frame.installed, frame.grade, frame.rung) == ("replaced", grade, "idioms")
    assert frame.assumptions == ("the sky is blue",)
    path = tmp_path / "d" / frame.file
    with tools.breakpoints((path, 3)) as debugger:
        compiled(*ONES)
    assert [values["marker"] for _, _, values in debugger.hits] == ["seen"]
    assert "the sky is blue" in path.read_text()


@pytest.mark.parametrize("grade", ["UNPROVED", "REFUTED"])
def test_text_that_is_not_proved_is_neither_run_nor_shown(tmp_path, monkeypatch, grade):
    results, record, _ = run_with(monkeypatch, tmp_path / "d", grade)
    assert tools.same(results, [tools.straight(*ONES)])
    (frame,) = record.frames
    assert (frame.installed, frame.grade, frame.rung) == ("relabelled", grade, "disassembly")
    assert "marker" not in (tmp_path / "d" / frame.file).read_text()
    why = "offset 4 and offset 6" if grade == "REFUTED" else "no stage was tried"
    assert frame.divergence == why and why in (tmp_path / "d" / frame.file).read_text()


def test_a_proof_without_code_installs_nothing(tmp_path, monkeypatch):
    results, record, _ = run_with(monkeypatch, tmp_path / "d", "PROVED", with_code=False)
    assert tools.same(results, [tools.straight(*ONES)])
    assert record.frames[0].installed == "relabelled" and record.frames[0].grade == "UNPROVED"


def test_code_with_other_parameters_is_not_installed(tmp_path, monkeypatch):
    results, record, _ = run_with(monkeypatch, tmp_path / "d", "PROVED", parameters="b, a")
    assert tools.same(results, [tools.straight(*ONES)])
    assert record.frames[0].installed == "relabelled"


def test_a_function_that_sets_the_default_device_is_replaced(tmp_path):
    """Dynamo of some versions lists the variable that keeps the stack of modes twice among the locals."""

    def moved(x):
        torch.set_default_device("cpu")
        return x + 1

    try:
        results, record, _ = tools.dump(tmp_path / "d", moved, lambda f: [f(ONES[0])])
    finally:
        torch.set_default_device(None)
    assert tools.same(results, [ONES[0] + 1])
    assert [frame.installed for frame in record.frames] == ["replaced"] * len(record.frames)
