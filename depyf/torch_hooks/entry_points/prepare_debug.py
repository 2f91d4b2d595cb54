"""`prepare_debug`: the context in which everything that torch.compile generates is written to files and linked."""

from __future__ import annotations

import atexit
import multiprocessing
import multiprocessing.util
import os
import threading
from types import TracebackType
from typing import Any, Type

from depyf.errors import NestedSessionError, UserError
from depyf.problems import Problems
from depyf.record.records import SessionRecord
from depyf.record.saved_form import RecordFormatError
from depyf.torch_hooks.disk import known_manifests, process_folders
from depyf.torch_hooks.disk.claims import is_claimed
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.entry_points.prepare_debug_arguments import read_arguments
from depyf.torch_hooks.graphs.loose_fx import LooseFx
from depyf.torch_hooks.internals.compile_phases import CompilePhases
from depyf.torch_hooks.internals.hook_order import calling_module
from depyf.torch_hooks.session import closing
from depyf.torch_hooks.session.capture import Capture
from depyf.torch_hooks.session.recording import Recording

# Torch's hooks are global to the process, and so is the context that has registered them.
_active: prepare_debug | None = None
_last_folder: str | None = None
_active_lock = threading.Lock()


def active() -> prepare_debug | None:
    """Return the context that is entered now, if any."""
    return _active


def last_folder() -> str | None:
    """Return the folder of the context that was left last, if any."""
    return _last_folder


class prepare_debug:
    """Write what torch.compile generates inside the context to `dump_src_dir`, linked to the running program.

        with depyf.prepare_debug("./dump"):
            program()

    or with bare calls of `__enter__()` and `__exit__(None, None, None)` on the object.  The older form
    `prepare_debug(function, dump_src_dir)` is accepted; the function is ignored.

    clean_wild_fx_code: fx code that belongs to no graph is not written (else to fx_graph_code_<n>.py).
    log_bytecode: also pickle the bytecode of each frame, before, after, and compiled back.
    include_earlier: on leaving, add what was compiled before the context and can still be called, unless an earlier
    context of this process has recorded it (all the same where that is little, or its function is compiled again).
    debug: have debuggers stop in what is compiled at once, without a second run in `depyf.debug()`: breakpoints in your
    own files are carried over when their lines are compiled, a `breakpoint()` in compiled code prompts at its
    statement, and steps of pdb stay out of torch.

    page: on leaving, write index.html, the page of this run, which opens in a browser from disk.
    timeline: also record torch's own timers, so that the page's timeline shows the phases inside each compilation.

    Ranks of a distributed job write in rank_<r> below the folder, and other processes that share it in
    process_<n>: no two processes ever write one file.  `folder` is the one of this process.

    Only one such context can be active in a process: entering a second raises NestedSessionError.  A folder
    that cannot be written raises OutputFolderError, a missing torch UserError.  All happen on entering; later
    failures of depyf's own are logged, and never change what the program does.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        arguments = read_arguments(*args, **kwargs)
        self.dump_src_dir = arguments.dump_src_dir
        self.clean_wild_fx_code = arguments.clean_wild_fx_code
        self.log_bytecode = arguments.log_bytecode
        self.include_earlier = arguments.include_earlier
        self.debug = arguments.debug
        self.page = arguments.page
        self.timeline = arguments.timeline
        self._attendance: Any = None  # to debuggers, where that was asked for
        self.record: SessionRecord | None = None  # of the last time the context was left
        self.gives_way = False  # whether it is left when the program enters another
        self._folder: OutputFolder | None = None
        self._capture: Capture | None = None
        self._process = 0

    @property
    def folder(self) -> str:
        """The folder in which this process writes; while none is chosen, the one that was given."""
        return os.path.abspath(self.dump_src_dir) if self._folder is None else self._folder.known_path

    def numbers(self) -> str:
        """Return how much was compiled so far: "3 frames, 2 graphs, 1 break, 0 recompiles"."""
        return "" if self._capture is None else self._capture.recording.numbers()

    def __repr__(self) -> str:
        return f"prepare_debug({self.dump_src_dir!r})"

    def _repr_html_(self) -> str | None:
        """Return the page of the run, which notebooks show; None while there is none."""
        if self.record is None:
            return None
        from depyf.page.folder_page import embedded_folder_page  # which nobody else pays for

        return embedded_folder_page(self.folder, self.record)

    def __enter__(self) -> prepare_debug:
        global _active
        _require_torch()
        _leave_what_gives_way()
        with _active_lock:
            if _active is not None:
                raise NestedSessionError(
                    f"depyf.prepare_debug is active already (writing to {_active.dump_src_dir!r}): "
                    "leave that context before entering another."
                )
            folder = OutputFolder(self.dump_src_dir, Problems())
            earlier = _read_earlier(folder.open())
            loose_fx = None if self.clean_wild_fx_code else LooseFx()
            recording = Recording(folder, earlier, self.log_bytecode, loose_fx)
            recording.includes_earlier = self.include_earlier
            recording.writes_page = self.page
            recording.phases = CompilePhases() if self.timeline else None
            self._capture = Capture(recording)
            self._folder = folder
            self._process = os.getpid()
            self._capture.start(opened_by=calling_module(1))
            _active = self
        if self.debug:
            from depyf.torch_hooks.entry_points import live_stepping  # which nobody else pays for

            self._attendance = live_stepping.begin(self._capture)
        atexit.register(self._at_exit)
        multiprocessing.util.register_after_fork(self, _end_with_child)
        return self

    def __exit__(
        self,
        exc_type: Type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        exc_traceback: TracebackType | None = None,
    ) -> None:
        global _active, _last_folder
        capture = self._capture
        if capture is None:
            return
        atexit.unregister(self._at_exit)
        attendance, self._attendance = self._attendance, None
        if attendance is not None:
            capture.when_linked = None
            attendance.__exit__(None, None, None)
        capture.stop()
        recording = capture.recording
        folder = recording.folder
        with _active_lock:
            _active, _last_folder = None, folder.known_path
            self._capture = None
        if self._is_inherited() and recording.is_empty:
            return
        with recording.problems.shield("writing the files at the end of the session"):
            capture.end()
            is_below = _is_below_an_open_context(folder)
            self.record = closing.close(recording)
            _last_folder = folder.known_path
            is_worker = self._is_inherited() or (is_below and folder.known_path != folder.top)
            closing.print_summary(self.record, folder, is_worker)
        with recording.problems.shield("merging the folders of the processes"):
            if self._is_inherited():
                closing.leave_out_if_alike(folder)
            closing.merge_processes(folder)

    def _at_exit(self) -> None:
        """Leave the context when the program ends inside it."""
        self.__exit__(None, None, None)

    def _is_inherited(self) -> bool:
        """Return whether this is a forked child of the process that entered the context."""
        return os.getpid() != self._process

    def _begin_in_child(self) -> None:
        """Start a recording of its own in a forked child; if that fails, record nothing: the folder is the parent's."""
        capture, self._capture = self._capture, None
        if capture is None:
            return
        with capture.problems.shield("starting a record in a forked child"):
            capture.begin_in_child()
            self._capture, self._folder = capture, capture.recording.folder
        if self._capture is None:
            capture.stop()


def _after_fork_in_child() -> None:
    """Replace what a forked child inherited: locks that a thread of the parent may hold, its folders, its recording."""
    global _active_lock
    _active_lock = threading.Lock()
    process_folders.forget_homes()
    if _active is not None:
        _active._begin_in_child()


def _end_with_child(context: prepare_debug) -> None:
    """Leave the context at the end of a child of multiprocessing, which runs no atexit functions."""
    multiprocessing.util.Finalize(None, context._at_exit, exitpriority=0)


def _is_below_an_open_context(folder: OutputFolder) -> bool:
    """Return whether this is a child of multiprocessing, and a process has the folder given open: this one, or another.

    To be asked before this process gives up its own folder: as soon as no rank has its own open, a rank that merges the
    folders claims the one given, too.
    """
    return multiprocessing.parent_process() is not None and is_claimed(folder.top)


def _leave_what_gives_way() -> None:
    """Leave the parent's context in a forked child that enters one of its own, and one that is to be replaced."""
    if _active is not None and (_active.gives_way or _active._is_inherited()):
        _active.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        what = "torch is not installed" if getattr(error, "name", None) == "torch" else f"torch: {error}"
        raise UserError(
            f"{what}; depyf.prepare_debug shows what torch.compile does and needs it (depyf.decompile works without)."
        ) from error


def _read_earlier(manifest: str) -> SessionRecord:
    """Return the record of an earlier session of this process in the same folder; an empty one without any."""
    if manifest:
        try:
            return known_manifests.read(manifest)
        except (RecordFormatError, ValueError):
            pass
    return SessionRecord()
