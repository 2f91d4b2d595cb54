"""The bench of damaged files notices what it is there to find, or a crash would be counted as a line."""

from __future__ import annotations

import subprocess
import sys

import pytest
from repository import ROOT

PROGRAM = """
import os, sys, tempfile
sys.path.insert(0, "bench")
import damaged_pyc

def proved(arguments): print("text"); return 0
def one_line(arguments): print("wrong", file=sys.stderr); return 2
def two_lines(arguments): print("wrong\\nand more", file=sys.stderr); return 2
def silent(arguments): return 2
def warned(arguments): print("wrong", file=sys.stderr); return 0
def raises(arguments): raise KeyError("of depyf")
def crashes(arguments): os.abort()
def hangs(arguments):
    while True: pass
def executes(arguments): exec(compile("x = 1", "sample/x.py", "exec")); return 0
def takes_all_memory(arguments): return len(bytes(2 << 30))

damaged_pyc.command_line = globals()[sys.argv[1]]
with tempfile.TemporaryDirectory() as folder:
    print(damaged_pyc.tried("unused.pyc", folder, 1).kind)
"""


@pytest.mark.parametrize(
    "does, kind",
    [("proved", "proved"), ("one_line", "one line"), ("two_lines", "other output"), ("silent", "other output"),
     ("warned", "other output"), ("raises", "traceback"), ("crashes", "crash"), ("hangs", "hang"), ("executes", "executed"),
     ("takes_all_memory", "traceback")],
)  # fmt: skip
def test_an_outcome_is_recognised(does: str, kind: str) -> None:
    command = [sys.executable, "-c", PROGRAM, does]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == f"{kind}\n", done.stderr


def test_a_file_is_the_same_for_its_seed_and_number() -> None:
    program = (
        "import sys; sys.path.insert(0, 'bench'); import damaged_pyc as d, hashlib\n"
        "code = compile('def f(a): return a', 'f.py', 'exec')\n"
        "import marshal\n"
        "samples = [d.Sample('f', d.HEADER + marshal.dumps(code), tuple(d._codes(code)))] * 3\n"
        "files = [d.damaged('7', number, samples, samples)[1] for number in range(200)]\n"
        "print(len(set(files)), hashlib.sha256(b''.join(files)).hexdigest())"
    )
    command = [sys.executable, "-c", program]
    first, second = (subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout for _ in "ab")
    assert first == second and int(first.split()[0]) > 150
