"""A program that is killed while it compiles and one that is killed later; then `python -m depyf finish`."""

import json
import os
import signal
import subprocess
import sys

PROGRAM = """
import os, signal, sys
import torch
import depyf

def function_0(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2

def function_1(x, n):
    return x.sin() * n

def function_2(x):
    return x.cos()

def killing(graph_module, example_inputs):
    os.kill(os.getpid(), signal.SIGKILL)

with depyf.prepare_debug(sys.argv[1]):
    torch.compile(function_0, backend="aot_eager")(torch.ones(3))
    for n in range(3):
        torch.compile(function_1, backend="eager")(torch.ones(3), n)
    if sys.argv[2] == "compiling":
        torch.compile(function_2, backend=killing)(torch.ones(3))
    killing(None, None)
"""


def keep_journal(folder, name):
    """A copy of the journal; of its first line, which names the process, only the keys."""
    with open(f"{folder}/depyf_journal.jsonl") as file:
        header, *lines = file.read().splitlines()
    with open(name, "w") as file:
        file.write("\n".join([str(sorted(json.loads(header)["header"])), *lines]))


with open("program.py", "w") as file:
    file.write(PROGRAM)
for when in ("compiling", "idle"):
    folder = f"dump/{when}"
    done = subprocess.run([sys.executable, "program.py", folder, when])
    print(when, "killed:", done.returncode == -signal.SIGKILL, sorted(os.listdir(folder)), flush=True)
    keep_journal(folder, f"journal_{when}.txt")
    done = subprocess.run([sys.executable, "-m", "depyf", "finish", folder])
    print("finish:", done.returncode, flush=True)
    done = subprocess.run([sys.executable, "-m", "depyf", "finish", folder])
    print("finish, once more:", done.returncode, flush=True)
