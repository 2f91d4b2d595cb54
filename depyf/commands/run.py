"""`depyf run`: run a program under `prepare_debug`, without a change to it.

The context is entered when the program has imported the part of torch that compiles, and left when the process ends, so
that threads which the program leaves behind are seen too.  A context that the program enters itself takes its place.
Whatever goes wrong in depyf is one line on stderr, and the program runs on.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import List

from depyf.commands import live_line, main_module
from depyf.commands.torch_arrival import when_torch_compiles
from depyf.errors import UserError
from depyf.page.page_folder import index_name


def run(
    program: List[str],
    is_module: bool,
    folder: str,
    provenance: bool,
    opens_page: bool = False,
    timeline: bool = False,
) -> int:
    """Run the program: a script or the name of a module, then its arguments; return 0 if it ends by itself."""
    folder = os.path.abspath(folder)  # the program may change its folder
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}; -o names another folder") from error
    if provenance:
        os.environ["INDUCTOR_PROVENANCE"] = "1"  # for the processes that the program starts, too
    watch = _Watch(folder, opens_page, timeline)
    atexit.register(watch.end)
    when_torch_compiles(watch.begin)
    try:
        (main_module.run_module if is_module else main_module.run_script)(program[0], program[1:])
    except UserError:  # there is no program: its error is all there is to print
        atexit.unregister(watch.end)
        raise
    return 0


class _Watch:
    """The context around the program, once there is something to see."""

    def __init__(self, folder: str, opens_page: bool, timeline: bool) -> None:
        self._folder = folder
        self._timeline = timeline
        self._opens_page = opens_page
        self._process = os.getpid()
        self._is_begun = False

    def begin(self) -> None:
        """Enter the context."""
        self._is_begun = True
        try:
            from depyf.torch_hooks.entry_points.prepare_debug import prepare_debug

            context = prepare_debug(self._folder, timeline=self._timeline)
            context.gives_way = True
            context.__enter__()
            live_line.attach(sys.stderr, context.numbers)
        except Exception as error:
            _print(f"nothing is recorded: {type(error).__name__}: {error}")

    def end(self) -> None:
        """Open the page; print a line where there was nothing to see."""
        if os.getpid() != self._process:
            return
        if self._is_begun and self._opens_page and os.environ.get("RANK", "0") == "0":
            self._open()
        if not self._is_begun:
            _print("the program compiled nothing: it did not import torch._dynamo, which torch.compile does")

    def _open(self) -> None:
        from depyf.commands.page_report import open_page

        path = os.path.join(self._folder, index_name(self._folder))
        if os.path.isfile(path):
            open_page(path)
        else:
            _print(f"there is no page in {self._folder}: `depyf report` makes it")


def _print(text: str) -> None:
    try:
        sys.stderr.write(f"depyf: {text}\n")
    except (AttributeError, OSError, ValueError):  # the program has closed it
        pass
