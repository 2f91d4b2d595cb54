"""Many contexts that share a folder: the page of all of them is there at the end, and is not made for each of them."""

import subprocess
import sys

PROGRAM = """
import sys
import torch
import depyf
from depyf.torch_hooks.session import late_pages

late_pages._SMALL = 2
folder, tests = sys.argv[1], int(sys.argv[2])
for number in range(tests):
    space = {}
    exec(compile(f"def test_{number}(x):\\n    return x + {number}\\n", f"<test {number}>", "exec"), space)
    torch._dynamo.reset()  # torch 2.6 compiles the call of such a function, one code for all: its limit would be reached
    with depyf.prepare_debug(folder, include_earlier=False):
        torch.compile(space[f"test_{number}"], backend="eager")(torch.ones(2))
    with open(folder + "/index.html", encoding="utf-8") as stream:
        print(f"test_{number}" in stream.read())
"""


def run_contexts(folder, tests):
    command = [sys.executable, "-c", PROGRAM, str(folder), str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [line == "True" for line in done.stdout.split()]


def test_the_page_shows_every_context_of_a_folder_when_the_program_has_ended(tmp_path):
    has_shown = run_contexts(tmp_path / "all", 13)
    assert has_shown[:3] == [True] * 3  # small pages are made at once
    assert not has_shown[-1]  # a large one is not made for each context
    page = (tmp_path / "all" / "index.html").read_text(encoding="utf-8")
    assert all(f"test_{number}" in page for number in range(13))
    assert len(list((tmp_path / "all" / "page").glob("function_*.js"))) == 13


def test_a_folder_that_was_removed_meanwhile_is_left_alone(tmp_path):
    program = PROGRAM + "import shutil\nshutil.rmtree(folder)\n"
    command = [sys.executable, "-c", program, str(tmp_path / "all"), "9"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert done.stdout.endswith("False\n") and not (tmp_path / "all").exists()
