"""Multi-process programs: one folder per process, and differences between ranks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from capture_tools import assert_all_parse
from repository import ROOT, SUPPORT
from torch_probes import TRACES_COLLECTIVES, has_store, needs

import depyf
import depyf.errors
from depyf.__main__ import main
from depyf.record.saved_form import from_json
from depyf.torch_hooks.disk import process_folders
from depyf.torch_hooks.disk.leftovers import read_leftover
from depyf.torch_hooks.disk.merging import merge_at_exit

PROGRAMS = SUPPORT / "process_programs.py"
FRAMES = 2 if TRACES_COLLECTIVES else 3  # of `two`: a collective that is not traced breaks the graph
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
LAUNCHER = TORCHRUN if has_store() else [sys.executable, SUPPORT / "rank_launcher.py"]


def environment():
    ranks = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
    own = {name: value for name, value in os.environ.items() if name not in ranks}
    own["CUDA_VISIBLE_DEVICES"] = ""  # torch itself cannot compile in a forked child of a process with a GPU
    return {**own, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def start(*command):
    return subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True,
    )  # fmt: skip


def run(*command):
    process = start(*command)
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 0, err
    return out, err


def record_in(folder):
    return from_json((Path(folder) / "manifest.json").read_text())


def names_in(folder):
    return {path.name for path in Path(folder).iterdir() if path.is_file()}


def assert_whole(folder):
    """Assert that the folder holds exactly the files that its manifest lists."""
    assert names_in(folder) == set(record_in(folder).files) | {"manifest.json"}
    assert_all_parse(folder)


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")
class TestRanks:
    def test_four_ranks_write_their_own_folders_and_every_difference_is_reported(self, tmp_path):
        (tmp_path / "rank_7").mkdir()  # a folder of an unknown program must not be removed
        out, err = run(*LAUNCHER, 4, PROGRAMS, "ddp", tmp_path)
        assert len({line.split()[2] for line in out.splitlines() if line.startswith("grad")}) == 1, "DDP still works"
        assert {path.name for path in tmp_path.iterdir()} == {
            "manifest.json", "index.html", "page", "ranks.txt", "summary.txt", "timings.json", "rank_0", "rank_1", "rank_2", "rank_3", "rank_7"
        }  # fmt: skip
        for rank in range(4):
            folder = tmp_path / f"rank_{rank}"
            assert_whole(folder)
            assert record_in(folder).rank == rank and record_in(folder).world_size == 4
            split = [path for path in folder.glob("*.Forward_graph.1.py")]
            assert split, "both halves of the graph that DDP split are there"
        merged = record_in(tmp_path)
        assert [(process.folder, process.rank, process.complete) for process in merged.processes] == [
            (f"rank_{rank}", rank, True) for rank in range(4)
        ]
        by_kind = {}
        for one in merged.differences:
            by_kind.setdefault((one.kind, one.function), one)
        twice = by_kind["versions", "Net.forward"]
        assert [(view.ranks, view.what) for view in twice.views] == [
            ((0, 2, 3), "compiled it once"), ((1,), "compiled it twice")
        ]  # fmt: skip
        assert twice.text.startswith("Rank 1 compiled Net.forward twice; ranks 0, 2 and 3: once. Why, on rank 1:")
        assert "needs x.size(0) == 4, now 6" in twice.text
        broken = by_kind["graph breaks", "shift"]
        assert broken.text.startswith("Rank 2 alone: shift breaks the graph at ") and "print" in broken.text
        assert ("graph", "shift") in by_kind and ("order", "") in by_kind
        comparison = (tmp_path / "ranks.txt").read_text()
        assert all(one.function in comparison and one.place in comparison for one in merged.differences)
        assert all(view.what in comparison for one in merged.differences if one.function for view in one.views)
        assert all(one.text in comparison for one in merged.differences if not one.function)
        assert broken.text in err and err.count("side by side") == 1, "only the last rank prints the comparison"

    def test_two_equal_ranks_end_with_one_manifest_without_differences(self, tmp_path):
        out, err = run(*LAUNCHER, 2, PROGRAMS, "two", tmp_path)
        assert sorted(line for line in out.splitlines() if line.startswith("sum")) == [
            "sum 0 [7.0, 7.0, 7.0]", "sum 1 [7.0, 7.0, 7.0]"
        ]  # fmt: skip
        assert {path.name for path in tmp_path.iterdir()} == {
            "manifest.json", "index.html", "page", "ranks.txt", "summary.txt", "timings.json", "rank_0", "rank_1"
        }  # fmt: skip
        merged = record_in(tmp_path)
        assert [(one.folder, one.rank, one.frames, one.complete) for one in merged.processes] == [
            ("rank_0", 0, FRAMES, True), ("rank_1", 1, FRAMES, True)
        ]  # fmt: skip
        assert merged.differences == () and not merged.problems
        for rank in (0, 1):
            assert_whole(tmp_path / f"rank_{rank}")
            record = record_in(tmp_path / f"rank_{rank}")
            assert not record.problems and all(frame.installed == "replaced" for frame in record.frames)
        assert err.count("All 2 ranks compiled the same.") == 1 and "Traceback" not in err
        run_id = read_leftover(str(tmp_path / "rank_0")).run
        assert merge_at_exit(str(tmp_path), run_id, 0.0) is None, "two ranks that end at once merge only once"
        os.utime(tmp_path / "rank_1" / "manifest.json")
        assert merge_at_exit(str(tmp_path), run_id, 0.0) is not None, "a rank wrote after the merge"

    @needs(TRACES_COLLECTIVES, "collectives in its graphs")
    def test_a_killed_job_that_hung_reports_which_collective_differs(self, tmp_path, capsys):
        process = start(*LAUNCHER, 2, PROGRAMS, "hang", tmp_path)
        try:
            wait_for(lambda: all('"frame":1' in journal(tmp_path / f"rank_{rank}") for rank in (0, 1)), process)
            assert main(["finish", str(tmp_path)]) == 0  # while it hangs
            while_hanging = record_in(tmp_path)
            assert [(one.rank, one.complete) for one in while_hanging.processes] == [(0, False), (1, False)]
            assert (tmp_path / "rank_0" / "depyf_journal.jsonl").exists(), "the folder of a live process is not changed"
        finally:
            kill_all(process, tmp_path)
        capsys.readouterr()
        assert main(["finish", str(tmp_path)]) == 0
        printed = capsys.readouterr().out
        assert "Rank 1 captured other collectives in version 0 of reduced: none; rank 0: all_reduce" in printed
        merged = record_in(tmp_path)
        assert merged.differences[0].kind == "collectives" and merged.differences[0].function == "reduced"
        for rank in (0, 1):
            assert_whole(tmp_path / f"rank_{rank}")
            assert (tmp_path / f"rank_{rank}" / "full_code_for_reduced_0.py").exists()

    def test_a_rank_assigned_inside_the_context_names_the_folder(self, tmp_path):
        _, err = run(sys.executable, PROGRAMS, "spawn", tmp_path)
        merged = record_in(tmp_path)
        assert [(one.folder, one.rank, one.frames) for one in merged.processes] == [
            (".", None, 1), ("rank_0", 0, 1), ("rank_1", 1, 1)
        ]  # fmt: skip
        assert [frame.function for frame in merged.frames] == ["other_0"], "the parent's own record is still there"
        assert merged.differences == () and "All 2 ranks compiled the same." in err
        for rank in (0, 1):
            assert_whole(tmp_path / f"rank_{rank}")
        assert_whole(tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_the_first_rank_prints_its_summary_also_while_another_one_merges_the_folders(tmp_path):
    _, err = run(sys.executable, PROGRAMS, "merged", tmp_path / "dump")
    assert "depyf: 1 frame (1 proved), 1 graph" in err


def test_worker_processes_of_inductor_leave_no_folders_and_do_not_keep_the_program_running(tmp_path):
    out, err = run(sys.executable, PROGRAMS, "workers", tmp_path)
    assert out == "ended\n" and "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["page"], "no worker compiled a frame"
    assert_whole(tmp_path)
    record = record_in(tmp_path)
    assert record.processes == () and not record.problems
    (graph,) = record.graphs
    assert [part.linked for part in graph.kernels] == [True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_what_dataloader_workers_compile_is_in_the_summary_of_the_parent_and_epochs_add_no_folders(tmp_path, capsys):
    _, err = run(sys.executable, PROGRAMS, "epochs", tmp_path)
    folders = [path for path in tmp_path.iterdir() if path.is_dir() and path.name != "page"]
    assert len(folders) < 3, "two workers that end at the same moment may both stay"
    assert err.count("depyf: ") == 1 and "nothing was compiled" not in err and "Traceback" not in err
    assert err.count("graph break at ") == 1 and f"{PROGRAMS}:" in err
    merged = record_in(tmp_path)
    assert sum(1 + process.alike for process in merged.processes) == 6
    assert main(["show", str(tmp_path)]) == 0
    shown, printed = capsys.readouterr().out, err.replace(f" in {tmp_path}", "").replace(f"{tmp_path}{os.sep}", "")
    assert shown == printed or "see summary.txt\n" in printed
    assert_whole(tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_children_have_folders_of_their_own_and_the_parent_keeps_its_own(tmp_path):
    run(sys.executable, PROGRAMS, "fork", tmp_path)
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"page", "process_1", "process_2"}
    parent = record_in(tmp_path)
    assert [frame.function for frame in parent.frames] == ["_first_0", "other_0"]
    assert [(one.folder, one.frames, one.complete, one.alike) for one in parent.processes] == [
        (".", 2, True, 0), ("process_1", 1, True, 1), ("process_2", 1, False, 0)
    ], "the third compiled what the first did"  # fmt: skip
    assert_whole(tmp_path / "process_1")
    assert [frame.function for frame in record_in(tmp_path / "process_1").frames] == ["other_0"]
    assert "depyf_journal.jsonl" in names_in(tmp_path / "process_2"), "os._exit skips all clean-up, like a kill"
    assert main(["finish", str(tmp_path)]) == 0
    assert_whole(tmp_path / "process_2")


def test_a_killed_program_leaves_a_readable_folder_that_no_other_program_wrote_to(tmp_path, capsys):
    process = start(sys.executable, PROGRAMS, "many", tmp_path)
    try:
        assert process.stdout.readline() == "ready\n"
        torch._dynamo.reset()
        with depyf.prepare_debug(tmp_path) as context:  # another program, given the same folder
            torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
        assert context.folder == str(tmp_path / "process_1") and len(context.record.frames) == 1
        assert "full_code_for_lambda_0.py" in names_in(tmp_path / "process_1")
    finally:
        process.kill()
        process.communicate()
    assert_all_parse(tmp_path)
    assert not record_in(tmp_path).complete and len(record_in(tmp_path).frames) == 4, (
        "the manifest is rewritten when the number of frames has quadrupled"
    )
    for line in (tmp_path / "depyf_journal.jsonl").read_text().splitlines():
        json.loads(line)
    capsys.readouterr()
    assert main(["finish", str(tmp_path)]) == 0
    assert "depyf: 10 frames (10 proved), 10 graphs" in capsys.readouterr().out
    record = record_in(tmp_path)
    assert not record.complete and len(record.frames) == 10 and all(frame.guards for frame in record.frames)
    assert {f"full_code_for_function_{number}_0.py" for number in range(5)} <= set(record.files)
    captured = (tmp_path / record.graphs[-1].stages[0].file).read_text()
    assert captured.splitlines()[0].endswith("whether it ran inside the context is not known.")
    assert_whole(tmp_path)
    torch._dynamo.reset()
    (tmp_path / "mine.txt").write_text("mine")
    process_folders.forget_homes()  # as another process would: removes the files of both the killed program and its neighbour
    with depyf.prepare_debug(tmp_path):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert names_in(tmp_path) == set(record_in(tmp_path).files) | {"manifest.json", "mine.txt"}
    assert not [name for name in names_in(tmp_path) if "function_" in name]
    assert not (tmp_path / "process_1").exists()


def test_ranks_of_an_earlier_run_are_removed(tmp_path, monkeypatch, capsys):
    def one_rank(run_name, rank, world_size):
        monkeypatch.setattr(process_folders, "this_run", lambda: run_name)
        monkeypatch.setattr(process_folders, "_TOKEN", f"{run_name} {rank}")
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(world_size))
        process_folders.forget_homes()
        with depyf.prepare_debug(tmp_path) as context:
            pass
        return Path(context.folder)

    torch._dynamo.reset()
    assert [one_rank("first", rank, 3).name for rank in range(3)] == ["rank_0", "rank_1", "rank_2"]
    printed = capsys.readouterr().err
    assert printed.count("side by side") == 1 and "All 3 ranks compiled the same." in printed, "after all ended"
    assert len(record_in(tmp_path).processes) == 3
    (tmp_path / "rank_2" / "mine.txt").write_text("mine")
    time.sleep(0.01)
    assert [one_rank("second", rank, 2).name for rank in range(2)] == ["rank_0", "rank_1"]
    assert [one.folder for one in record_in(tmp_path).processes] == ["rank_0", "rank_1"]
    assert names_in(tmp_path / "rank_2") == {"mine.txt"}
    assert one_rank("third", 0, 1) == tmp_path, "a single process has no rank folders"
    assert {path.name for path in tmp_path.iterdir()} == {
        "manifest.json", "index.html", "page", "summary.txt", "timings.json", "rank_2"
    }  # fmt: skip
    assert record_in(tmp_path).processes == ()


def test_a_program_that_gives_each_rank_its_folder_finds_the_files_in_it(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "12")
    for name, expected in (("rank_1", "."), ("rank_1_dp_0", "."), ("rank_11", "rank_1")):
        with depyf.prepare_debug(tmp_path / name) as context:
            pass
        assert context.folder == os.path.normpath(tmp_path / name / expected)


@pytest.mark.parametrize("place", [".", "rank_0", "process_1"])
def test_files_of_other_programs_are_never_overwritten_or_removed(tmp_path, place):
    (tmp_path / place).mkdir(exist_ok=True)
    theirs = {"manifest.json": '{"files": ["data.bin"]}', "data.bin": "data", "timings.json": "{}", "ranks.txt": "1"}
    for name, text in theirs.items():
        (tmp_path / place / name).write_text(text)
    with depyf.prepare_debug(tmp_path):
        pass
    assert {name: (tmp_path / place / name).read_text() for name in theirs} == theirs


def journal(folder):
    try:
        return (folder / "depyf_journal.jsonl").read_text()
    except OSError:
        return ""


def wait_for(condition, process):
    for _ in range(2400):
        if condition():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    raise AssertionError("the condition was never met")


def kill_all(process, folder):
    """Kill torchrun and its ranks, which run in process sessions of their own."""
    for rank in (0, 1):
        text = journal(folder / f"rank_{rank}")
        if text:
            os.kill(json.loads(text.splitlines()[0])["header"]["pid"], signal.SIGKILL)
    process.kill()
    process.communicate()
