"""Judge the table of lines on ten programs: does every call in a captured graph lead to the right line, and back?

    python bench/lines.py [--programs gpt,loop] [--keep FOLDER]

The truth comes from Python, not from torch.compile: the program runs eagerly under a TorchFunctionMode that records
each call of torch with the lines on the interpreter's stack. Then it is compiled under prepare_debug: with the eager
backend, with Inductor and provenance tracking on a cold cache, on a warm one, and on a warm one after all lines have
moved.

`wrong` must be 0: answers that name another line than the one that made the call. `calls` are the calls in captured
graphs, `back` those that the answer about their line names, `nodes` those of later stages with a line of the truth,
`kernels` those that name their lines.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Tuple

HERE = Path(__file__).resolve().parent
PROGRAMS = "training,breaks,dynamic_shapes,gpt,hugging_face,two_graphs,resume,nested,loop,sequential"
PHASES = {"eager": ("eager", 0), "cold": ("inductor", 0), "warm": ("inductor", 0), "moved": ("inductor", 3)}
# Operations that have two names: operators on the left, and what the mode or the graph calls them.
NAMES = {"truediv": "div", "invert": "bitwise_not", "usub": "neg", "matmult": "matmul", "mult": "mul", "pow": "pow"}

# Nodes that are no operations on tensors, which a mode does not see; torch has no stack for the first.
NOT_JUDGED = ("set_grad_enabled", "log_api_usage_once")

Calls = Tuple[Tuple[str, int], ...]  # (file, line), outermost first


def normal(name: str) -> str:
    """Return one name for an operation, however it is written."""
    name = name.strip("_").lower()
    name = name[1:] if name in ("radd", "rmul", "rsub", "rtruediv", "rmatmul", "iadd", "imul", "isub") else name
    return NAMES.get(name, name)


# ---------------------------------------------------------------- the truth


def truth_of(program: Any) -> Set[Tuple[str, Calls]]:
    """Run the program eagerly; return each operation on tensors with the lines that called it."""
    import torch

    torch_files = os.path.dirname(torch.__file__)
    found: Set[Tuple[str, Calls]] = set()

    class Recorder(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            frame, calls = sys._getframe(1), []
            while frame is not None and frame.f_code is not entry.__code__:
                if not frame.f_code.co_filename.startswith(torch_files):
                    calls.append((frame.f_code.co_filename, frame.f_lineno))
                frame = frame.f_back
            found.add((normal(getattr(func, "__name__", str(func))), tuple(reversed(calls))))
            return func(*args, **(kwargs or {}))

    def entry(thing: Any, args: Any, kwargs: Any) -> Any:
        torch.compiler.is_compiling = torch.compiler.is_dynamo_compiling = lambda: True  # some models ask, and branch
        with Recorder():
            return thing(*args, **kwargs)

    program.run(lambda thing: lambda *args, **kwargs: entry(thing, args, kwargs))
    return found


# ---------------------------------------------------------------- the answers


def calls_in(text: str) -> Iterator[Tuple[int, str]]:
    """Yield (line, operation) of each call in the text of a captured graph."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                value = getattr(statement, "value", None)
                name = operation_of(statement.op if isinstance(statement, ast.AugAssign) else value)
                if name and isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                    yield statement.lineno, name


def operation_of(node: Any) -> str:
    """Return the name of an operation; empty for what is no call."""
    if isinstance(node, ast.Call):
        return normal(node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""))
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return normal(type(node.op).__name__)
    if isinstance(node, ast.operator):
        return normal(type(node).__name__)
    if isinstance(node, ast.Compare):
        return normal(type(node.ops[0]).__name__)
    return "getitem" if isinstance(node, ast.Subscript) else ""


def judge(folder: str, truth: Set[Tuple[str, Calls]], with_kernels: bool) -> Dict[str, Any]:
    """Compare the answers about a folder with the truth."""
    import torch

    from depyf.line_table import folders, questions

    torch_files = os.path.dirname(torch.__file__)
    tables = folders.read_tables(folder)
    record = tables[0].record
    operations = {name for name, _ in truth}
    lines = {place for _, calls in truth for place in calls}
    wrong: List[str] = []
    counts = {"calls": 0, "back": 0, "nodes": 0, "kernels": 0, "not judged": 0}

    def user_calls(row: Any) -> Calls:
        return tuple((one.file, one.line) for one in row.calls if not one.file.startswith(torch_files))

    def answers(place: str) -> List[Any]:
        try:
            return [row for found in questions.ask(place, tables).found for row in found.rows]
        except questions.NoAnswer as error:
            wrong.append(f"{place}: {error}")
            return []

    for part in [part for graph in record.graphs for part in graph.stages if part.stage == "Captured_Graph"]:
        for line, name in calls_in((Path(folder) / part.file).read_text()):
            if name in NOT_JUDGED:
                counts["not judged"] += 1
                continue
            counts["calls"] += 1
            rows = answers(f"{part.file}:{line}")
            for calls in {user_calls(row) for row in rows}:
                known = {other for one, other in truth if one == name} if name in operations else None
                if not calls or (calls not in known if known is not None else calls[-1] not in lines):
                    wrong.append(f"{part.file}:{line} {name}: {calls}")
                back = [all((row.file, row.line) != (part.file, line) for row in answers(f"{f}:{n}")) for f, n in calls]
                counts["back"] += bool(calls) and not any(back)
    for row in tables[0].table.rows:
        is_later = row.stage not in ("Captured_Graph", "kernel", "transformed code") and row.source is not None
        if is_later and not normal(row.name).startswith(NOT_JUDGED):
            counts["nodes"] += 1
            if user_calls(row)[-1] not in lines:
                wrong.append(f"{row.file}:{row.line} {row.name}: {user_calls(row)}")
    kernels = {(row.file, row.name) for row in tables[0].table.rows if row.stage == "kernel"} if with_kernels else ()
    for file, name in kernels:
        rows = [row for row in tables[0].table.rows if (row.file, row.name) == (file, name) and row.source is not None]
        places = {user_calls(row)[-1] for row in rows}
        named = {op for op in ("sin", "cosh", "atan", "sigmoid") if op in name.split("_")}
        missing = [op for op in named if not places & {calls[-1] for one, calls in truth if one == op}]
        if not places or not places <= lines or missing:
            wrong.append(f"{file} {name}: {places}, without {missing}")
        counts["kernels"] += bool(places)
    return {**counts, "wrong": wrong}


# ---------------------------------------------------------------- processes


def load(folder: str, name: str) -> Any:
    """Return the program, a module of the folder."""
    sys.path.insert(0, folder)
    return __import__(name)


def child(phase: str, folder: str, name: str) -> int:
    """Run one phase of a program; the truth is handed on in a file."""
    import torch

    torch.manual_seed(0)
    program = load(folder, name)
    if phase == "truth":
        truth = [[operation, calls] for operation, calls in truth_of(program)]
        Path(folder, "truth.json").write_text(json.dumps(truth))
        return 0
    import depyf

    backend, above = PHASES[phase]
    dump = os.path.join(folder, phase)
    with depyf.prepare_debug(dump):
        program.run(lambda thing: torch.compile(thing, backend=backend))
    saved = json.loads(Path(folder, "truth.json").read_text())
    truth = {(operation, tuple((f, n + above * f.startswith(folder)) for f, n in calls)) for operation, calls in saved}
    print("ROW " + json.dumps(judge(dump, truth, with_kernels=backend == "inductor")))
    return 0


def phases_of(name: str, folder: str) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Run all phases of a program, each in its own process."""
    environment = {
        **os.environ,
        "INDUCTOR_PROVENANCE": "1",
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(os.path.dirname(folder), "cache"),  # with the headers, compiled once
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for phase in ("truth", *PHASES):
        for path in (HERE / "line_programs").glob("*.py"):
            Path(folder, path.name).write_text("\n" * (PHASES[phase][1] if phase in PHASES else 0) + path.read_text())
        command = [sys.executable, __file__, "--child", phase, "--folder", folder, "--programs", name]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1800, check=False)
        rows = [line[4:] for line in done.stdout.splitlines() if line.startswith("ROW ")]
        if done.returncode or (phase != "truth" and not rows):
            yield phase, {"wrong": [done.stderr[-800:]]}
        elif rows:
            yield phase, json.loads(rows[-1])


def main() -> int:
    """Print a line for each program and phase; return 1 if one answer is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--programs", default=PROGRAMS)
    parser.add_argument("--show", type=int, default=5, help="how many wrong answers to print")
    parser.add_argument("--keep", help="folder for the programs and what they leave")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.folder, options.programs)
    failures, top = 0, os.path.abspath(options.keep or tempfile.mkdtemp())
    for name in options.programs.split(","):
        folder = os.path.join(top, name)
        os.makedirs(folder, exist_ok=True)
        for phase, row in phases_of(name, folder):
            wrong = row.pop("wrong")
            failures += len(wrong)
            print(f"{name:15} {phase:6} {' '.join(f'{k} {v}' for k, v in row.items())} wrong {len(wrong)}", flush=True)
            for line in wrong[: options.show]:
                print("    " + line)
    if not options.keep:
        shutil.rmtree(top, ignore_errors=True)
    print(f"{failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
