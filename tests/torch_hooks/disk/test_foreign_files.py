"""Files in the folder that depyf did not write stay as they are, whatever their names; depyf's own take others."""

from __future__ import annotations

import json
import os
import re
import stat
import sys

import capture_tools as tools
import pytest
import torch
from capture_tools import run_toy

import depyf
from depyf.__main__ import main
from depyf.explain.utils import get_current_compiled_fn_name
from depyf.record.saved_form import from_json
from depyf.torch_hooks.disk import process_folders

KINDS = ["file", "folder", "link", "dangling link", "pipe"]


def put(path, kind):
    """Make something of the user's at a path."""
    if kind == "file":
        path.write_text("mine\n")
    elif kind == "folder":
        path.mkdir()
        (path / "inside.txt").write_text("mine\n")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        target = path.parent.parent / "target.txt"
        if kind == "link":
            target.write_text("mine\n")
        path.symlink_to(target)


def state(path):
    """Return what there is at a path, for a comparison."""
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return os.readlink(path), os.path.exists(path) and open(path).read()
    if stat.S_ISDIR(mode):
        return sorted(os.listdir(path))
    return path.read_text() if stat.S_ISREG(mode) else mode


def program(folder, **options):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder), **options) as context:
        run_toy(torch.compile(tools.toy_example, backend="aot_eager"))
    return context.record


def names_of_a_run(folder, **options):
    program(folder, **options)
    return sorted(os.listdir(folder))


def with_next_graphs(names):
    """Return the names, those of graphs with the numbers that Dynamo will give next: it counts on in a process."""
    newest = int(get_current_compiled_fn_name().rpartition("_")[2])
    graphs = {re.sub(r"(?<=__compiled_fn_)\d+", "{}", name) for name in names if "__compiled_fn_" in name}
    assert graphs
    others = {name for name in names if "__compiled_fn_" not in name}
    return sorted(others | {graph.format(newest + step) for graph in graphs for step in range(12)})


@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_has_a_name_of_ours_stays_and_ours_are_called_otherwise(kind, tmp_path, capsys):
    names = with_next_graphs([*names_of_a_run(tmp_path / "first", log_bytecode=True), ".depyf-draft"])
    assert {"manifest.json", "timings.json", "full_code_for_toy_example_0.py"} < set(names) and len(names) > 10
    folder = tmp_path / "second"
    folder.mkdir()
    for name in names:
        put(folder / name, kind)
    before = {name: state(folder / name) for name in names}
    capsys.readouterr()
    record = program(folder, log_bytecode=True)
    assert {name: state(folder / name) for name in names} == before
    own = set(os.listdir(folder)) - set(names) - {"depyf_page"}
    assert (folder / "depyf_index.html").is_file() and (folder / "depyf_page" / "times.js").is_file()
    assert own == {*record.files, "depyf_manifest.json"} and "depyf_timings.json" in own
    assert from_json((folder / "depyf_manifest.json").read_text()) == record
    printed = capsys.readouterr().err
    assert printed.count("not depyf's, and left as they are:") == 1
    assert "open first: " + str(folder / "full_code_for_toy_example_1.py") in printed
    assert "manifest.json (depyf's is depyf_manifest.json)" in printed or "more" in printed
    assert main(["lines", str(folder)]) == 0, "it reads the manifest under its other name"


def test_names_in_the_folder_are_those_that_the_files_have(tmp_path):
    folder = tmp_path / "d"
    folder.mkdir()
    mine = [
        "__transformed_code_0_for_toy_example.py",
        "__compiled_fn_1.Captured_Graph.0.py",
        "full_code_for_toy_example_0.py",
    ]
    for name in mine:
        put(folder / name, "file")
    torch._dynamo.reset()
    compiled = torch.compile(tools.toy_example, backend="eager")
    with depyf.prepare_debug(str(folder)) as context:
        run_toy(compiled)
    record = context.record
    assert [frame.file for frame in record.frames][0] == "__transformed_code_1_for_toy_example.py"
    story = (folder / "full_code_for_toy_example_1.py").read_text()
    named = {frame.file for frame in record.frames} | {part.file for graph in record.graphs for part in graph.stages}
    assert named.isdisjoint(mine) and all((folder / name).exists() for name in named)
    assert all(name not in story for name in mine)
    assert "__transformed_code_1_for_toy_example" in story
    running = {frame.f_code.co_filename for frame in frames_of(compiled)}
    assert str(folder / "__transformed_code_1_for_toy_example.py") in running
    assert running.isdisjoint(str(folder / name) for name in mine)


def frames_of(compiled):
    seen = []

    def trace(frame, event, argument):
        seen.append(frame)

    sys.settrace(trace)
    try:
        run_toy(compiled)
    finally:
        sys.settrace(None)
    return seen


def test_files_that_appear_while_the_context_is_open_stay(tmp_path, capsys):
    mine = ["manifest.json", "timings.json", "__transformed_code_1_for_straight.py", "full_code_for_straight_0.py"]
    torch._dynamo.reset()
    compiled = torch.compile(tools.straight, backend="eager", dynamic=False)
    with depyf.prepare_debug(str(tmp_path)) as context:
        compiled(torch.ones(2, 2), torch.ones(2, 2))
        assert (tmp_path / "manifest.json").exists(), "it is written early, for a process that is killed"
        (tmp_path / "manifest.json").unlink()
        for name in mine:
            put(tmp_path / name, "file")
        compiled(torch.ones(3, 3), torch.ones(3, 3))
    assert {(tmp_path / name).read_text() for name in mine} == {"mine\n"}
    frames = [f"__transformed_code_{number}_for_straight.py" for number in (0, 2)]
    assert [frame.file for frame in context.record.frames] == frames
    assert from_json((tmp_path / "depyf_manifest.json").read_text()) == context.record
    assert "full_code_for_straight_0.py (depyf's is full_code_for_straight_1.py)" in capsys.readouterr().err


def names_without_numbers(folder):
    """Return the names in a folder; the numbers of graphs are Dynamo's, and differ."""
    return sorted(re.sub(r"(?<=__compiled_fn_)\d+", "", name) for name in os.listdir(folder))


def as_another_process(monkeypatch):
    monkeypatch.setattr(process_folders, "_TOKEN", "another")
    monkeypatch.setattr(process_folders, "this_run", lambda: "another run")
    process_folders.forget_homes()


def test_the_next_run_replaces_its_own_files_and_still_not_those_of_the_user(tmp_path, monkeypatch, capsys):
    for name in ("manifest.json", "timings.json", "full_code_for_toy_example_0.py", ".depyf-draft"):
        put(tmp_path / name, "file")
    program(tmp_path)
    names = names_without_numbers(tmp_path)
    as_another_process(monkeypatch)
    program(tmp_path)
    assert names_without_numbers(tmp_path) == names
    assert (tmp_path / "timings.json").read_text() == "mine\n" == (tmp_path / ".depyf-draft").read_text()
    assert "another" in json.loads((tmp_path / "depyf_timings.json").read_text())["process"]
    for name in ("manifest.json", "timings.json"):
        (tmp_path / name).unlink()
    monkeypatch.setattr(process_folders, "_TOKEN", "a third")
    monkeypatch.setattr(process_folders, "this_run", lambda: "a third run")
    process_folders.forget_homes()
    program(tmp_path)
    assert {"manifest.json", "timings.json"} < set(os.listdir(tmp_path))
    assert not [name for name in os.listdir(tmp_path) if name.startswith("depyf_")]


def test_a_later_context_of_this_process_continues_beside_the_files_of_the_user(tmp_path):
    for name in ("manifest.json", "timings.json"):
        put(tmp_path / name, "file")
    first = program(tmp_path)
    second = program(tmp_path)
    assert len(second.frames) > len(first.frames) and set(first.files) < set(second.files)
    assert {(tmp_path / name).read_text() for name in ("manifest.json", "timings.json")} == {"mine\n"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_journal_of_another_program_is_left_alone(kind, tmp_path, caplog):
    put(tmp_path / "depyf_journal.jsonl", kind)
    before = state(tmp_path / "depyf_journal.jsonl")
    with depyf.prepare_debug(str(tmp_path)) as context:
        pass
    assert state(tmp_path / "depyf_journal.jsonl") == before
    assert context.folder == str(tmp_path / "process_1")
    assert "depyf_journal.jsonl as it is" in caplog.text


def test_a_file_with_the_name_of_a_rank_or_process_folder_is_left_alone(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in ("rank_0", "process_1", "ranks.txt", "manifest.json"):
        put(tmp_path / name, "file")
    with depyf.prepare_debug(str(tmp_path)) as context:
        pass
    assert context.folder == str(tmp_path / "process_2")
    assert {(tmp_path / name).read_text() for name in ("rank_0", "process_1", "ranks.txt", "manifest.json")} == {
        "mine\n"
    }
    merged = from_json((tmp_path / "depyf_manifest.json").read_text())
    assert "depyf_ranks.txt" in merged.files and (tmp_path / "depyf_ranks.txt").exists()
    assert "ranks.txt as it is" in caplog.text


def test_two_foreign_manifests_leave_no_name_and_are_a_clear_error(tmp_path):
    for name in ("manifest.json", "depyf_manifest.json"):
        put(tmp_path / name, "file")
    with pytest.raises(depyf.errors.OutputFolderError, match="are not depyf's"):
        with depyf.prepare_debug(str(tmp_path)):
            pass


def test_finish_leaves_files_of_the_user_in_the_folder_of_a_killed_process(tmp_path, capsys):
    torch._dynamo.reset()
    context = depyf.prepare_debug(str(tmp_path))
    context.__enter__()
    try:
        torch.compile(tools.straight, backend="eager")(torch.ones(2, 2), torch.ones(2, 2))
        left = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    finally:
        context.__exit__(None, None, None)
    folder = tmp_path / "killed"
    folder.mkdir()
    for name, content in left.items():
        (folder / name).write_bytes(content)
    for name in ("timings.json", "full_code_for_straight_0.py"):
        put(folder / name, "file")
    assert main(["finish", str(folder)]) == 0
    assert {(folder / name).read_text() for name in ("timings.json", "full_code_for_straight_0.py")} == {"mine\n"}
    record = from_json((folder / "manifest.json").read_text())
    assert {"depyf_timings.json", "full_code_for_straight_1.py"} <= set(record.files)
