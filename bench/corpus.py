"""Decompile recorded (original, transformed) pairs of code objects and count the outcomes.

    python bench/corpus.py FOLDER_OF_MARSHAL_FILES [--show N] [--which TEXT] [--originals]

A folder holds `*.marshal` files, each a marshalled list of pairs, as a Dynamo bytecode hook can record them.
The last lines count what is hard to read: statements without effect (a bare name or constant, `x = x`), walruses,
temporaries with generated names; and the grades by rung of the ladder.
"""

from __future__ import annotations

import argparse
import ast
import collections
import glob
import marshal
import os
import re
import sys
import time
from types import CodeType
from typing import Dict, List, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from depyf.decompiler.pipeline import decompile_frame
from depyf.decompiler.printer.parsed_trees import text_of
from depyf.torch_hooks.internals.generated_code import DYNAMO


def load(folder: str) -> List[Tuple[CodeType, CodeType]]:
    """Return all distinct pairs, the smallest first."""
    pairs: Dict[bytes, Tuple[CodeType, CodeType]] = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.marshal"))):
        with open(path, "rb") as file:
            for pair in marshal.load(file):
                key = re.sub(rb"_[0-9a-f]{8}_[0-9a-f]{4}_[0-9a-f_]*", b"", marshal.dumps(pair))
                pairs.setdefault(key, pair)
    return sorted(pairs.values(), key=lambda pair: len(pair[1].co_code))


GENERATED = re.compile(r"(?:tmp|__temp|value|items)_?\d*$")


def reading(text: str, marks: collections.Counter[str]) -> None:
    """Count what is hard to read in a text."""
    tree = ast.parse(text)
    docstrings = {
        id(node.body[0])
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node, False)
    }
    marks["lines"] += text.count("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Name, ast.Constant)):
            marks["without effect: a bare value"] += id(node) not in docstrings
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            marks["without effect: x = x"] += text_of(node.targets[0]) == text_of(node.value)
            if isinstance(node.targets[0], ast.Name):
                marks["assignments"] += 1
                marks["assignments to generated names"] += bool(GENERATED.match(node.targets[0].id))
        elif isinstance(node, ast.NamedExpr):
            marks["walruses"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="folder of *.marshal files")
    parser.add_argument("--show", type=int, default=0, help="print this many failures in full")
    parser.add_argument("--which", default="", help="print only failures whose message contains this")
    parser.add_argument("--originals", action="store_true", help="decompile the originals, not Dynamo's code")
    options = parser.parse_args()
    grades: collections.Counter[str] = collections.Counter()
    marks: collections.Counter[str] = collections.Counter()
    reasons: Dict[str, List[str]] = {}
    shown = 0
    pairs = load(options.folder)
    begin = time.perf_counter()
    for original, transformed in pairs:
        if options.originals:
            result = decompile_frame(original)
        else:
            result = decompile_frame(transformed, reference=original, generator=DYNAMO)
        grades[f"{result.verdict.grade.name} ({result.rung})"] += 1
        if result.proved:
            reading(result.source, marks)
            continue
        why = re.sub(r"_[0-9a-f]{8}_[0-9a-f_]{20,}|0x[0-9a-f]+", "", str(result.verdict).split("; statements:")[0])
        why = re.sub(r"\d+", "N", re.sub(r"<code object .*", "<code>", why))[:150]
        reasons.setdefault(why, []).append(f"{transformed.co_name} ({len(transformed.co_code)} bytes)")
        if shown < options.show and options.which in str(result.verdict):
            shown += 1
            print("=" * 80, "\n", result.verdict, "\n", result.source)
    seconds = time.perf_counter() - begin
    for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):5}  {why}   e.g. {names[0]}")
    proved = sum(count for name, count in grades.items() if name.startswith("PROVED"))
    print("reading:", ", ".join(f"{name} {count}" for name, count in sorted(marks.items())))
    print(f"{proved} of {len(pairs)} proved, {seconds:.1f} s, {dict(grades)}")


if __name__ == "__main__":
    main()
