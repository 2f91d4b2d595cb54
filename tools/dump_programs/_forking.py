"""Import torch; then, for each line of stdin, fork, run a program in the child, and print its exit status.

A line is the folder in which the program runs, its file and its arguments, with tabs between them.  The program runs at
the top level of this file: torch records the calls that lead to a graph break, and they are part of what is compared.
"""

import os
import sys
import traceback
from types import ModuleType

sys.path.remove(os.path.dirname(os.path.abspath(__file__)))


assert not any(name.split(".")[0] == "depyf" for name in sys.modules)
for line in iter(sys.stdin.readline, ""):
    folder, *command = line.rstrip("\n").split("\t")
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.chdir(folder)
    for descriptor, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, "stdout", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (2, "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(name, flags)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = open(0)
    sys.argv = command
    sys.path.insert(0, os.path.dirname(command[0]))
    sys.modules["__main__"] = program = ModuleType("__main__")
    program.__file__ = command[0]
    try:
        with open(command[0], "rb") as file:
            text = file.read()
        exec(compile(text, command[0], "exec"), program.__dict__)
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    break
