"""`python -m depyf`: every command, and its answers to targets that are not there."""

import os
import py_compile
import subprocess
import sys

SOURCE = '''"""doc"""
import os as o


class C(o.PathLike):
    x: int = 1

    def f(self):
        return [k for k in range(3)]
'''


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", "depyf", *arguments], capture_output=True, text=True)
    print(f"$ python -m depyf {' '.join(arguments)}\n{done.stdout}{done.stderr}-> {done.returncode}")


with open("sample.py", "w") as file:
    file.write(SOURCE)
py_compile.compile("sample.py", "sample.pyc", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
with open("stale.pyc", "wb") as file:
    file.write(b"\0" * 32)
os.makedirs("empty")
for arguments in (
    "--help",
    "decompile --help",
    "coverage --help",
    "finish --help",
    "coverage",
    "decompile sample.py",
    "decompile sample.pyc",
    "decompile sample.py:C.f",
    "decompile json.decoder:JSONDecoder.decode",
    "decompile --strict textwrap",
    "decompile no_such_module",
    "decompile nowhere.py",
    "decompile json:nothing",
    "decompile math",
    "decompile stale.pyc",
    "decompile sample.py:nothing",
    "finish empty",
    "finish nowhere",
    "unknown",
    "",
):
    run(*arguments.split())
os.remove("sample.pyc")
