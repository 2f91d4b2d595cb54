"""The output folder: file names, later sessions, files of earlier runs."""

from __future__ import annotations

import json
import os

import capture_tools as tools
import torch
from capture_tools import dump, run_toy

import depyf


def test_odd_function_names_give_file_names_that_are_valid_on_every_file_system(tmp_path):
    torch._dynamo.reset()
    namespace = {}
    long = "f" * 300
    exec(f"def {long}(x):\n    return x + 1\n", namespace)

    def größe(x):
        return x + 2

    odd = [lambda x: x + 3, namespace[long], größe]
    with depyf.prepare_debug(str(tmp_path / "d")):
        for function in odd:
            torch.compile(function, backend="eager")(torch.ones(2))
    names = os.listdir(tmp_path / "d")
    assert "__transformed_code_0_for_lambda.py" in names
    assert "__transformed_code_0_for_größe.py" in names, "the user finds it by its name"
    assert all(len(name.encode()) < 200 and not set(name) & set('<>:"/\\|?*') for name in names)
    assert sum(name.startswith("__transformed_code") for name in names) == 3
    tools.assert_all_parse(tmp_path / "d")


def test_a_second_session_in_the_same_folder_continues_the_first(tmp_path):
    folder = tmp_path / "d"
    dump(folder, tools.straight, lambda f: [f(torch.ones(2, 2), torch.ones(2, 2))])
    text = (folder / "__transformed_code_0_for_straight.py").read_text()
    _, record, _ = dump(folder, tools.straight, lambda f: [f(torch.ones(2, 2), torch.ones(2, 2))])
    assert (folder / "__transformed_code_0_for_straight.py").read_text() == text
    assert [frame.file for frame in record.frames] == [f"__transformed_code_{n}_for_straight.py" for n in (0, 1)]


def test_files_of_an_earlier_run_are_removed(tmp_path):
    folder = tmp_path / "d"
    dump(folder, tools.toy_example, run_toy)
    timings = json.loads((folder / "timings.json").read_text())
    (folder / "timings.json").write_text(json.dumps({**timings, "process": "another", "run": "another"}))
    (folder / "notes.txt").write_text("mine")
    dump(folder, tools.straight, lambda f: [f(torch.ones(2, 2), torch.ones(2, 2))])
    assert not [path for path in folder.iterdir() if "toy_example" in path.name]
    assert (folder / "notes.txt").read_text() == "mine"
