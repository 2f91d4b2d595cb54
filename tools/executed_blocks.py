"""Run the blocks of the docs that show output, and compare what they print with what stands there.

    python tools/executed_blocks.py [--update] [PAGE ...]

A page is a Markdown file. Its blocks run in the order of the page, in one empty folder of the page's own. The words
after the language of a fence decide what is done with the block:

    ```python file=toy.py          write the block to this file, in place of what is there
    ```console                     run each line after `$ ` by bash; the lines below it are what the command prints
    ```python show=dump/x.py       the block is the text of this file, which an earlier command wrote
    ```python part=dump/x.py       the block is a run of lines that stand in this file, one after the other
    ```console                     with lines that start with `(Pdb) `: run the command in a terminal, type these lines
    ```console recorded            not run: the line before the block has the date, the versions and the command
    ```python                      not run, and shows no output; Python must be able to parse it

A shown line that is only `...` stands for any number of lines. In a `show=` or `part=` file name `*` stands for any
text. What differs from machine to machine is replaced on both sides before they are compared, and written in the
replaced form by `--update`: the page's folder is `/home/ada/<page>`, times are `0.0 s`, and
lines of depyf's own files are 1.

`--update` writes what was printed into the page, where it differs; a block with `...` is left as it is and reported.
Exit status: 0 if every block prints what is shown, 1 otherwise.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import difflib
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 900  # of one command: a machine that others use may compile kernels for minutes
PROMPT = "(Pdb) "
FENCE = re.compile(r"^```(\w*)([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, the words after it, its text, and where the text is in the page."""

    language: str
    words: Tuple[str, ...]
    text: str
    start: int

    def value(self, key: str) -> Optional[str]:
        """Return the value of a word `key=value`."""
        return next((word[len(key) + 1 :] for word in self.words if word.startswith(key + "=")), None)


@dataclasses.dataclass(frozen=True)
class Difference:
    """A block whose output is not what the page shows, or that cannot be run; `found` replaces its text."""

    block: Block
    message: str
    found: Optional[str] = None


def blocks_of(page: str) -> List[Block]:
    """Return the fenced blocks of a page, in order."""
    return [Block(m[1], tuple(m[2].split()), m[3], m.start(3)) for m in FENCE.finditer(page)]


def is_run(page: str) -> bool:
    """Return whether a page has blocks that are run."""
    return any(block.value("file") or block.value("show") or block.value("part") for block in blocks_of(page))


def matches(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Return whether the lines are equal, with `...` for any number of them."""
    if "..." not in [line.strip() for line in shown]:
        return list(shown) == list(printed)
    pattern = "".join(r"(?:[^\n]*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def contains(text: Sequence[str], part: Sequence[str]) -> bool:
    """Return whether lines stand in a text one after the other, with `...` for any number of them."""
    return matches(["...", *part, "..."], text)


class Page:
    """The run of one page: its folder, and what of its output is replaced before it is compared."""

    def __init__(self, name: str, folder: Path, environment: Dict[str, str]) -> None:
        self.name = name
        self.folder = folder
        self.environment = environment

    def plain(self, text: str) -> str:
        """Replace what differs from machine to machine."""
        paths = sysconfig.get_paths()
        site = os.path.dirname(os.path.dirname(paths["purelib"]))
        for path, name in (
            (str(self.folder), f"/home/ada/{self.name}"),
            (site, "/home/ada/venv/lib"),
            (str(ROOT), "/home/ada/depyf"),
            (os.path.dirname(paths["stdlib"]), "/usr/lib"),
        ):
            text = text.replace(path, name)
        text = re.sub(r"(?<=/home/ada/depyf/)(\S+\.py)\(\d+\)", r"\1(1)", text)
        text = re.sub(r"\b\d+(?:\.\d+)? ?s\b(?!\w)", "0.0 s", text)
        text = re.sub(r"\b(\d{2,}) (?=cores?\b|threads?\b)", "2 ", text)
        text = re.sub(r"(?<=get_num_threads\(\) == )\d+", "1", text)
        return "\n".join(line.rstrip() for line in text.split("\n"))

    def run(self, command: str) -> str:
        """Run a command by bash; return what it prints to either stream, and its exit status if that is not 0."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )
        text = done.stdout.decode(errors="replace")
        return text + (f"(exit status {done.returncode})\n" if done.returncode else "")

    def type(self, command: str, lines: Sequence[str]) -> str:
        """Run a command in a terminal and type one of the lines at each prompt; return what the terminal shows."""
        ours, theirs = pty.openpty()
        environment = {**self.environment, "TERM": "dumb", "COLUMNS": "300"}
        child = subprocess.Popen(
            ["bash", "-c", command], cwd=self.folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        text, answered, left, end = "", 0, list(lines), time.monotonic() + SECONDS
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    read = os.read(ours, 65536)
                except OSError:  # the other side is closed
                    break
                text += read.decode(errors="replace")
            elif child.poll() is not None:
                break
            if text.endswith(PROMPT) and text.count(PROMPT) > answered:
                answered = text.count(PROMPT)
                os.write(ours, ((left.pop(0) if left else "q") + "\n").encode())
        if child.poll() is None:
            child.kill()
        child.wait()
        os.close(ours)
        return text.replace("\r\n", "\n")

    def check(self, block: Block) -> Optional[Difference]:
        """Run or compare one block."""
        if "recorded" in block.words:
            return None
        name = block.value("file")
        if name is not None:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            return None
        if block.language == "console":
            return self._console(block)
        if block.value("show") or block.value("part"):
            return self._file(block)
        if block.language == "python":
            try:
                ast.parse(block.text)
            except SyntaxError as error:
                return Difference(block, f"Python cannot parse it: {error}")
        return None

    def _console(self, block: Block) -> Optional[Difference]:
        lines: List[str] = []
        same = True
        if not block.text.startswith("$ "):
            return Difference(block, "does not begin with a command: `$ ` and what is run")
        for command, shown in commands_of(block.text):
            typed = [line[len(PROMPT) :] for line in shown if line.startswith(PROMPT)]
            text = self.type(command, typed) if typed else self.run(command)
            printed = self.plain(text).rstrip("\n").split("\n")
            printed = [] if printed == [""] else printed
            same = same and matches(shown, printed)
            lines += ["$ " + line for line in command.split("\n")] + (
                list(shown) if matches(shown, printed) else printed
            )
        return None if same else Difference(block, "prints something else", "\n".join(lines) + "\n")

    def _file(self, block: Block) -> Optional[Difference]:
        name = block.value("show") or block.value("part") or ""
        found = sorted(self.folder.glob(name))
        if len(found) != 1:
            return Difference(block, f"{name} is {len(found)} files")
        text = self.plain(found[0].read_text(encoding="utf-8"))
        shown = block.text.rstrip("\n").split("\n")
        whole = block.value("show") is not None
        if not whole and not block.text.strip():
            return Difference(block, f"empty; {name} has:\n{text}")
        if (matches if whole else contains)(
            *((shown, text.rstrip("\n").split("\n")) if whole else (text.split("\n"), shown))
        ):
            return None
        if whole:
            return Difference(block, f"{name} has another text", text.rstrip("\n") + "\n")
        return Difference(block, f"not in {name}, which has:\n{text}")


def commands_of(text: str) -> Iterator[Tuple[str, List[str]]]:
    """Yield each command of a console block, and the lines that are shown below it."""
    command: Optional[str] = None
    shown: List[str] = []
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            if command is not None:
                yield command, shown
            command, shown = line[2:], []
        else:
            shown.append(line)
    if command is not None:
        yield command, shown


def environment_of(folder: Path) -> Dict[str, str]:
    """Return the environment of a page's commands: this Python and this checkout, caches of its own, one thread."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("TORCH", "PYTEST", "DEPYF", "PYTHON"))
    }
    bin_folder = os.path.dirname(sys.executable)
    return {
        **kept,
        "PATH": bin_folder + os.pathsep + os.environ.get("PATH", ""),
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "100",
        "TORCHINDUCTOR_CACHE_DIR": str(folder / ".cache"),
    }


def run_page(path: Path) -> List[Difference]:
    """Run the blocks of a page; return those that are not as shown."""
    folder = Path(tempfile.mkdtemp(dir="/tmp" if os.path.isdir("/tmp") else None)) / path.stem
    folder.mkdir()
    try:
        page = Page(path.stem, folder, environment_of(folder))
        checked = (page.check(block) for block in blocks_of(path.read_text(encoding="utf-8")))
        return [difference for difference in checked if difference is not None]
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def updated(page: str, differences: Sequence[Difference]) -> str:
    """Return the page with what was found in place of what it shows; blocks with `...` stay."""
    for difference in reversed(differences):
        block = difference.block
        if difference.found is not None and "..." not in [line.strip() for line in block.text.split("\n")]:
            page = page[: block.start] + difference.found + page[block.start + len(block.text) :]
    return page


def report(path: Path, difference: Difference) -> str:
    """Return a message for one block that is not as shown, with the lines that differ."""
    line = path.read_text(encoding="utf-8")[: difference.block.start].count("\n")
    text = f"{path}:{line}: {difference.message}"
    if difference.found is not None:
        shown, found = (part.splitlines() for part in (difference.block.text, difference.found))
        text += "\n" + "\n".join(difflib.unified_diff(shown, found, "shown", "found", lineterm="", n=1))
    return text


def pages() -> List[Path]:
    """Return the pages of the docs that have blocks that are run."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    return [path for path in found if is_run(path.read_text(encoding="utf-8"))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, help="Markdown files (without any: all that have blocks to run)")
    parser.add_argument("--update", action="store_true", help="write what is found into the pages")
    options = parser.parse_args()
    failed = 0
    for path in options.pages or pages():
        differences = run_page(path)
        failed += len(differences)
        for difference in differences:
            print(report(path, difference))
        if options.update and differences:
            path.write_text(updated(path.read_text(encoding="utf-8"), differences), encoding="utf-8")
        print(f"{path}: {len(differences)} blocks differ" if differences else f"{path}: as shown", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
