"""Full disk, deleted folder, concurrent threads: at most one warning, and right results."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import capture_tools as tools
import pytest
import torch
from capture_tools import dump, run_toy, same
from torch_probes import TRACES_IN_THREADS, resume_name

import depyf
import depyf.explain.global_variables
from depyf.record.saved_form import from_json

EXPECTED = run_toy(tools.toy_example)


def warnings_of_ours(caplog):
    return [record for record in caplog.records if record.name == "depyf"]


def run_until_it_breaks(folder, breaks):
    """Compile one function, call `breaks`, compile another, and check the results of both."""
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)) as context:
        first = torch.compile(tools.straight, backend="eager")(torch.ones(2, 2), torch.ones(2, 2))
        breaks()
        results = run_toy(torch.compile(tools.toy_example, backend="eager"))
    assert first.tolist() == [6, 6] and same(results, EXPECTED)
    return context


def assert_one_warning(caplog, context, reason):
    (warning,) = warnings_of_ours(caplog)
    assert warning.levelno == logging.WARNING and reason in warning.getMessage()
    assert "Your program runs on" in warning.getMessage() and "report" not in warning.getMessage()
    assert context.record.lost_files is not None and context.record.lost_files.why == reason
    assert context.record.problem_lines[-1].endswith("could not be written: " + reason)


def test_a_folder_that_vanishes_is_one_warning_and_the_program_continues(tmp_path, caplog, capsys):
    context = run_until_it_breaks(tmp_path / "d", lambda: shutil.rmtree(tmp_path / "d"))
    assert_one_warning(caplog, context, os.strerror(errno.ENOENT))
    assert not (tmp_path / "d").exists(), "a folder that the user removed is not made again"
    assert "could not be written" in capsys.readouterr().err


def test_a_full_disk_is_one_warning_and_leaves_no_partial_file(tmp_path, caplog):
    folder = tmp_path / "d"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a small file system cannot be mounted here")
    try:
        context = run_until_it_breaks(folder, lambda: fill(folder))
        assert_one_warning(caplog, context, os.strerror(errno.ENOSPC))
        os.remove(folder / "filling")
        tools.assert_all_parse(folder)
        names = {path.name for path in folder.iterdir()}
        assert "__transformed_code_0_for_straight.py" in names and ".depyf-draft" not in names
        assert len(from_json((folder / "manifest.json").read_text()).frames) == 1, "the manifest of the first frame"
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder):
    with open(folder / "filling", "wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"x" * 4096)
        except OSError:
            pass


def test_a_disk_that_is_full_when_ranks_are_compared_is_one_warning(tmp_path, caplog, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("depyf.torch_hooks.disk.merging.merge", full)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with depyf.prepare_debug(str(tmp_path / "d")) as context:
        assert depyf.explain.global_variables.data["dump_src_dir"] == str(tmp_path / "d" / "rank_0") == context.folder
    (warning,) = warnings_of_ours(caplog)
    assert warning.levelno == logging.WARNING and os.strerror(errno.ENOSPC) in warning.getMessage()


def test_a_limit_on_the_size_of_files_is_one_warning_and_the_program_continues(tmp_path):
    resource = pytest.importorskip("resource")
    assert resource
    program = f"""
import resource, signal, torch, depyf
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def f(x):
    x = x + 1
    print("at the break")
    return x * 2
with depyf.prepare_debug({str(tmp_path / "d")!r}):
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    print(torch.compile(f, backend="eager")(torch.ones(2)).tolist())
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert done.returncode == 0 and done.stdout == "at the break\n[4.0, 4.0]\n", done.stderr
    assert done.stderr.count("depyf cannot write") == 1 and "Traceback" not in done.stderr
    assert not [path for path in (tmp_path / "d").iterdir() if path.suffix == ".py"]


def test_threads_that_compile_at_once_lose_no_frame(tmp_path):
    torch._dynamo.reset()
    text = "".join(
        f"def thread_{number}(x):\n    x = x + {number}\n    torch._dynamo.graph_break()\n    return x * {number}\n"
        for number in range(8)
    )
    module = tools.module_from(tmp_path / "threads.py", "import torch\n" + text)
    begin = threading.Barrier(4)
    backend = "aot_eager" if TRACES_IN_THREADS else "eager"  # which traces nothing again

    def work(first):
        begin.wait()
        functions = [getattr(module, f"thread_{number}") for number in (first, first + 4)]
        return [torch.compile(function, backend=backend)(torch.ones(2))[0].item() for function in functions]

    with depyf.prepare_debug(str(tmp_path / "d")):
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(work, range(4)))
    assert results == [[(1 + number) * number for number in (first, first + 4)] for first in range(4)]
    record = from_json((tmp_path / "d" / "manifest.json").read_text())
    assert record.problems == () and len(record.frames) == 16 and len({one.compile_id for one in record.frames}) == 16
    tools.assert_all_parse(tmp_path / "d")
    for number in range(8):
        entry, rest = [f for f in record.frames if f"thread_{number}" in record.function(f.function).name]
        assert (entry.file, rest.file) == (
            f"__transformed_code_0_for_thread_{number}.py",
            f"__transformed_code_0_for_{resume_name(f'thread_{number}', 4 + 4 * number)}.py",
        )
        for frame, operation in ((entry, f"+ {number}"), (rest, f"* {number}")):
            (name,) = frame.graphs
            graph = record.graph(name)
            captured = next(part.file for part in graph.stages if part.stage == "Captured_Graph")
            assert graph.compile_id == frame.compile_id and operation in (tmp_path / "d" / captured).read_text()
        assert (tmp_path / "d" / f"full_code_for_thread_{number}_0.py").exists()


def test_a_second_context_in_the_same_folder_adds_to_the_full_code_of_a_function(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(tools.toy_example, backend="eager")
    for size in (10, 11):
        with depyf.prepare_debug(str(tmp_path / "d")) as context:
            compiled(torch.ones(size), torch.ones(size))
    stories = sorted(path.name for path in (tmp_path / "d").glob("full_code_for_*"))
    assert stories == ["full_code_for_toy_example_0.py"]
    assert len(context.record.frames_of("toy_example_0")) == 2
    text = (tmp_path / "d" / stories[0]).read_text()
    assert "__transformed_code_0_for_toy_example" in text and "__transformed_code_1_for_toy_example" in text
    assert len(context.record.functions) == 3, "toy_example and its two resume functions"


def test_an_earlier_folder_of_this_process_continues_without_files_that_the_user_removed(tmp_path):
    dump(tmp_path / "d", tools.straight, lambda f: [f(torch.ones(2, 2), torch.ones(2, 2))])
    shutil.rmtree(tmp_path / "d")
    _, record, _ = dump(tmp_path / "d", tools.straight, lambda f: [f(torch.ones(3, 3), torch.ones(3, 3))])
    assert [frame.file for frame in record.frames] == ["__transformed_code_0_for_straight.py"]
