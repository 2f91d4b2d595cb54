"""Forked children: one that compiles, one that does not, one that is gone at once; then `finish`."""

import multiprocessing
import os
import subprocess
import sys

import torch

import depyf


def first(x):
    return x + 1


def other(x):
    return x - 1


def compile_other():
    torch.compile(other, backend="eager")(torch.ones(3))


with depyf.prepare_debug("dump"):
    torch.compile(first, backend="eager")(torch.ones(3))
    forking = multiprocessing.get_context("fork")
    for target, arguments in ((compile_other, ()), (len, ((),))):
        child = forking.Process(target=target, args=arguments)
        child.start()
        child.join()
        print("exit code", child.exitcode)
    pid = os.fork()
    if pid == 0:
        compile_other()
        os._exit(0)
    os.waitpid(pid, 0)
    compile_other()
sys.stdout.flush()
print("finish:", subprocess.run([sys.executable, "-m", "depyf", "finish", "dump"]).returncode)
