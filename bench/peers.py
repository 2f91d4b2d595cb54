"""Compare decompilers on the same functions: this one, depyf 0.20, decompyle3, uncompyle6, pycdc, where installed.

    python bench/peers.py [--sample 300] [--seed S] [--old PYTHON] [--show K]

Takes top-level functions of the running interpreter's standard library, by a seed, each as a module of its own. Every
tool gets the compiled module (a `.pyc` file) or the function's code, as it prefers. Its text counts as

    compiles     the running Python accepts it
    same code    and the function in it has the very instructions, constants and names of the original

which needs nobody's prover. A tool that raises, prints nothing, or takes longer than 20 s a function has no text.
`--old` names an interpreter of the same version in whose environment depyf 0.20 is installed; the others are
commands, found beside the running interpreter or on PATH. Prints a table in Markdown, with the versions and the date.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import dis
import hashlib
import importlib.util
import json
import marshal
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from types import CodeType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SKIPPED = {"site-packages", "__pycache__", "test", "tests", "idlelib", "lib2to3", "turtledemo"}
SECONDS = 20
TRACING = ("decompyle3",)  # commands whose text has to be read from a file
COMMANDS = ("decompyle3", "uncompyle6", "pycdc")  # each is given the path of a `.pyc` file
OLD = """
import contextlib, io, json, marshal, signal, sys
import depyf
def late(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, late)
texts = []
for line in sys.stdin:
    code = marshal.loads(bytes.fromhex(line))
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            texts.append(depyf.decompile(code))
    except BaseException:
        texts.append("")
    signal.alarm(0)
print(json.dumps([depyf.__version__, texts]))
"""


class Sample(NamedTuple):
    """One function: where it is from, the module that holds it alone, and its own code."""

    place: str
    module: CodeType
    code: CodeType


class Outcome(NamedTuple):
    """What a tool made of the sample: its version, and a text for each function; empty where there is none."""

    version: str
    texts: List[str]


def function_in(module: CodeType, name: str) -> Optional[CodeType]:
    """Return the code of a function that a module defines."""
    return next((one for one in module.co_consts if isinstance(one, CodeType) and one.co_name == name), None)


def functions(root: str) -> Iterator[Sample]:
    """Yield the top-level functions of a source tree, without their decorators."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for file in sorted(name for name in files if name.endswith(".py")):
            path = os.path.join(folder, file)
            try:
                with open(path, encoding="utf-8") as stream:
                    tree = ast.parse(stream.read())
            except (SyntaxError, ValueError):
                continue
            for node in tree.body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    node.decorator_list = []
                    module = compile(ast.Module([node], []), file, "exec", dont_inherit=True)
                    code = function_in(module, node.name)
                    if code is not None:
                        yield Sample(f"{os.path.relpath(path, root)}:{node.lineno}", module, code)


def chosen(found: List[Sample], count: int, seed: str) -> List[Sample]:
    """Return `count` of them, the same for a seed."""
    return sorted(found, key=lambda one: hashlib.sha256((seed + one.place).encode()).digest())[:count]


def shape(code: CodeType) -> Tuple[Any, ...]:
    """Return what must be the same in two codes: instructions, arguments, and the codes inside; not the lines."""
    ops = [one for one in dis.get_instructions(code) if one.opname not in ("CACHE", "EXTENDED_ARG", "NOP")]
    at = {one.offset: index for index, one in enumerate(ops)}
    jumps = {*dis.hasjrel, *dis.hasjabs}
    listed = []
    for one in ops:
        if isinstance(one.argval, CodeType):
            argument: Any = shape(one.argval)
        elif one.opcode in jumps:
            argument = at.get(one.argval, one.argval)
        else:
            argument = (type(one.argval).__name__, repr(one.argval))
        listed.append((one.opname, argument))
    head = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return (*head, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], tuple(listed))


def judged(sample: Sample, text: str) -> Tuple[bool, bool]:
    """Return whether a text compiles, and whether it is the same code."""
    if not text.strip():
        return False, False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(text, "<text>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False, False
    code = function_in(module, sample.code.co_name)
    return True, code is not None and shape(code) == shape(sample.code)


# -- the tools


def this_one(samples: List[Sample]) -> Outcome:
    """Return the texts of this project."""
    import depyf

    texts = []
    for sample in samples:
        try:
            texts.append(depyf.decompile(sample.code))
        except Exception:
            texts.append("")
    return Outcome(depyf.__version__, texts)


def old_depyf(python: str, samples: List[Sample]) -> Outcome:
    """Return the texts of the depyf that another interpreter has installed."""
    given = "".join(marshal.dumps(sample.code).hex() + "\n" for sample in samples)
    done = subprocess.run(
        [python, "-I", "-c", OLD.replace("SECONDS", str(SECONDS))],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{python} cannot import depyf, or it stopped")
    return Outcome(*json.loads(done.stdout.splitlines()[-1]))


def command(path: str, samples: List[Sample]) -> Outcome:
    """Return the texts of a command that reads `.pyc` files."""
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        for number, sample in enumerate(samples):
            file = os.path.join(folder, f"module_{number}.pyc")
            with open(file, "wb") as stream:
                stream.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(sample.module))
            try:
                texts.append(printed(path, file))
            except subprocess.TimeoutExpired:
                texts.append("")
    return Outcome(version_of(path), texts)


def printed(path: str, file: str) -> str:
    """Return the text that a command has for a `.pyc` file; decompyle3 prints a trace of its parser around it."""
    if os.path.basename(path) not in TRACING:
        done = subprocess.run([path, file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS)
        return done.stdout.decode("utf-8", "replace")
    folder, name = os.path.split(file)
    nowhere = subprocess.DEVNULL
    subprocess.run([path, "-o", folder, file], stdout=nowhere, stderr=nowhere, timeout=SECONDS)
    written = os.path.join(folder, os.path.splitext(name)[0] + ".py")
    if not os.path.exists(written):
        return ""
    with open(written, encoding="utf-8", errors="replace") as stream:
        return stream.read()


def version_of(path: str) -> str:
    """Return what a command prints as its version."""
    try:
        done = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    words = done.stdout.decode("utf-8", "replace").split()
    return next((word for word in words if word[:1].isdigit()), "unknown")


def tools(options: argparse.Namespace) -> Dict[str, Callable[[List[Sample]], Outcome]]:
    """Return the tools that are there."""
    found: Dict[str, Callable[[List[Sample]], Outcome]] = {"this project": this_one}
    if options.old:
        found["depyf 0.20"] = lambda samples: old_depyf(options.old, samples)
    where = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    for name in COMMANDS:
        path = shutil.which(name, path=where)
        if path is not None:
            found[name] = lambda samples, path=path: command(path, samples)
    return found


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300, help="functions to take")
    parser.add_argument("--seed", default="0", help="which ones")
    parser.add_argument("--old", help="an interpreter with depyf 0.20, of this Python's version")
    parser.add_argument("--show", type=int, default=0, help="print the places of so many functions that a tool lost")
    options = parser.parse_args()
    samples = chosen(list(functions(sysconfig.get_paths()["stdlib"])), options.sample, options.seed)
    version, today = platform.python_version(), datetime.date.today()
    print(f"{len(samples)} functions of CPython {version}, seed {options.seed}, {today}\n")
    print("| tool | version | compiles | same code |\n|---|---|---|---|")
    for name, run in tools(options).items():
        outcome = run(samples)
        verdicts = [judged(sample, text) for sample, text in zip(samples, outcome.texts)]
        shares = [100 * sum(column) / len(verdicts) for column in zip(*verdicts)]
        print(f"| {name} | {outcome.version} | {shares[0]:.1f} % | {shares[1]:.1f} % |", flush=True)
        lost = [sample.place for sample, verdict in zip(samples, verdicts) if not verdict[1]]
        for place in lost[: options.show]:
            print(f"  <!-- {name}: {place} -->")


if __name__ == "__main__":
    main()
