"""Judge how long the files of a session are: lines of stories, the longest line, bytes of the manifest.

    python bench/length.py [--programs blocks,generate,maxvit] [--keep FOLDER] [--tree CHECKOUT]

Each program of `bench/length_programs` runs in a process of its own; `generate` needs transformers, `maxvit` timm.
`story` is the number of lines of the longest story, which must be at most `bar`; `longest line` is that of any story,
transformed code or graph file, users' own source aside, and must be at most 120. `--tree` judges another checkout: the
manifest must be under a quarter of what 1.0's first schema took.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BARS = {"blocks": 1200, "generate": 900, "maxvit": 4000}
LIMIT = 120


def run_program(name: str, folder: str) -> None:
    """Run one program under prepare_debug, in this process."""
    import importlib

    import torch

    import depyf

    sys.path.insert(0, str(HERE / "length_programs"))
    torch.manual_seed(0)
    program = importlib.import_module(name)
    with depyf.prepare_debug(folder):
        program.run()


def judge(name: str, folder: Path) -> bool:
    """Print the figures of one folder; return whether they are within the bars."""
    stories = sorted(folder.glob("full_code_for_*.py"), key=lambda path: -len(path.read_text().splitlines()))
    lines = len(stories[0].read_text().splitlines()) if stories else 0
    files = [*stories, *folder.glob("__transformed_code_*.py"), *folder.glob("__compiled_fn_*.py")]
    longest = max([(len(line), path.name) for path in files for line in path.read_text().splitlines()], default=(0, ""))
    manifest = (folder / "manifest.json").stat().st_size
    print(
        f"{name:10} story {lines:6} (bar {BARS[name]})   longest line {longest[0]:6} ({longest[1]})   "
        f"manifest {manifest:9} bytes   files {sum(path.stat().st_size for path in folder.iterdir()):9} bytes"
    )
    return 0 < lines <= BARS[name] and longest[0] <= LIMIT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(BARS))
    parser.add_argument("--keep", type=Path, help="where the folders are left")
    parser.add_argument("--tree", type=Path, default=HERE.parent, help="the checkout that is judged")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_program(*arguments.child)
        return 0
    top = arguments.keep or Path(tempfile.mkdtemp())
    is_good = True
    for name in arguments.programs.split(","):
        folder = (top / name).resolve()
        paths = [str(arguments.tree.resolve()), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, str(Path(__file__).resolve()), "--child", name, str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            print(f"{name:10} failed: {done.stderr.strip().splitlines()[-1:]}")
            is_good = False
        else:
            is_good = judge(name, folder) and is_good
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
