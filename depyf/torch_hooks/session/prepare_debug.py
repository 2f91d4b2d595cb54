"""`prepare_debug`: the context in which everything that torch.compile makes is written down and linked."""

from __future__ import annotations

import atexit
import json
import multiprocessing.util
import os
import sys
import threading
import time
from types import TracebackType
from typing import Any, Dict, Type

from depyf.errors import NestedSessionError, UserError
from depyf.problems import Problems
from depyf.record.records import SessionRecord
from depyf.record.saved_form import RecordFormatError, from_json
from depyf.report import full_code
from depyf.report.manifest import render as render_manifest
from depyf.report.rank_differences import summary as render_merged
from depyf.report.summary import render as render_summary
from depyf.torch_hooks.disk import merging, processes
from depyf.torch_hooks.disk.file_names import file_stem
from depyf.torch_hooks.disk.folder import MANIFEST, TIMINGS, OutputFolder
from depyf.torch_hooks.internals.hook_order import calling_module
from depyf.torch_hooks.session.capture import Capture

# Torch's hooks are global to the process, and so is which context holds them.
_active: prepare_debug | None = None
_last_folder: str | None = None
_active_lock = threading.Lock()


def active() -> prepare_debug | None:
    """The context that is entered now, if any."""
    return _active


def last_folder() -> str | None:
    """The folder of the context that was left last, if any."""
    return _last_folder


class WrongArguments(UserError, TypeError):
    """prepare_debug was called in a way that has no meaning: the message says how to call it."""


class prepare_debug:
    """Write what torch.compile makes inside the context to `dump_src_dir`, linked to the running program.

        with depyf.prepare_debug("./dump"):
            program()

    or with bare calls of `__enter__()` and `__exit__(None, None, None)` on the object.  The older form
    `prepare_debug(function, dump_src_dir)` is accepted; the function is not needed.

    clean_wild_fx_code: fx code that belongs to no graph is not written (else to fx_graph_code_<n>.py).
    log_bytecode: also pickle the bytecode of each frame, before, after, and compiled back.

    Ranks of a distributed job write in rank_<r> below the folder, and other processes that share it in
    process_<n>: no two processes ever write one file.  `folder` says where this one writes.

    Only one such context can be active in a process: entering a second raises NestedSessionError.  A folder
    that cannot be written raises OutputFolderError, a missing torch UserError.  All happen on entering; later
    failures of depyf's own are logged, and never change what the program does.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options = _read_arguments(*args, **kwargs)
        self.dump_src_dir: str = options["dump_src_dir"]
        self.clean_wild_fx_code: bool = options["clean_wild_fx_code"]
        self.log_bytecode: bool = options["log_bytecode"]
        self.record: SessionRecord | None = None  # of the last time the context was left
        self._folder: OutputFolder | None = None
        self._capture: Capture | None = None
        self._process = 0

    @property
    def folder(self) -> str:
        """The folder in which this process writes; the one that was given, before and as long as none is chosen."""
        return os.path.abspath(self.dump_src_dir) if self._folder is None else self._folder.known_path

    def __enter__(self) -> prepare_debug:
        global _active
        _require_torch()
        _leave_inherited()
        with _active_lock:
            if _active is not None:
                raise NestedSessionError(
                    f"depyf.prepare_debug is active already (writing to {_active.dump_src_dir!r}): "
                    "leave that context before entering another."
                )
            folder = OutputFolder(self.dump_src_dir, Problems())
            earlier = _read_earlier(folder.open())
            self._capture = Capture(folder, earlier, self.log_bytecode, not self.clean_wild_fx_code)
            self._folder = folder
            self._process = os.getpid()
            self._capture.start(opened_by=calling_module(1))
            _active = self
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
        capture.stop()
        with _active_lock:
            _active, _last_folder = None, capture.folder.known_path
            self._capture = None
        if self._is_inherited() and capture.is_empty:
            return
        with capture.problems.shield("writing the files at the end of the session"):
            self.record = _write_the_end(capture)
            _last_folder = capture.folder.known_path
            if sys.stderr is not None:
                text = render_summary(self.record, capture.folder.known_path, os.path.exists)
                _tell(text)
        with capture.problems.shield("putting the processes side by side"):
            _merge(capture.folder)

    def _at_exit(self) -> None:
        """The program ends inside the context: write what there is."""
        self.__exit__(None, None, None)

    def _is_inherited(self) -> bool:
        """Whether this is a forked child of the process that entered the context."""
        return os.getpid() != self._process

    def _begin_in_child(self) -> None:
        """Start anew; if that fails, record nothing: the folder is the parent's."""
        capture, self._capture = self._capture, None
        if capture is None:
            return
        with capture.problems.shield("starting a record in a forked child"):
            capture.begin_in_child()
            self._capture, self._folder = capture, capture.folder
        if self._capture is None:
            capture.stop()


def _after_fork_in_child() -> None:
    """A forked child has the hooks of its parent, and locks that some thread of the parent may have held."""
    global _active_lock
    _active_lock = threading.Lock()
    processes.forget_homes()
    if _active is not None:
        _active._begin_in_child()


def _end_with_child(context: prepare_debug) -> None:
    """In a child of multiprocessing, which runs no atexit functions: have them run in its own way."""
    multiprocessing.util.Finalize(None, context._at_exit, exitpriority=0)


def _leave_inherited() -> None:
    """A forked child that enters a context of its own has left the one of its parent."""
    if _active is not None and _active._is_inherited():
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


def _read_arguments(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """The options, of both the present and the older form of the call."""

    def present(dump_src_dir: Any, clean_wild_fx_code: bool = True, log_bytecode: bool = False) -> dict[str, Any]:
        return {
            "dump_src_dir": dump_src_dir,
            "clean_wild_fx_code": clean_wild_fx_code,
            "log_bytecode": log_bytecode,
        }

    kwargs.pop("func", None)
    kwargs.pop("function", None)
    if args and callable(args[0]) and not isinstance(args[0], (str, os.PathLike)):
        args = args[1:]
    form = "expected prepare_debug(dump_src_dir, clean_wild_fx_code=True, log_bytecode=False)"
    try:
        options = present(*args, **kwargs)
        options["dump_src_dir"] = os.fsdecode(options["dump_src_dir"])
    except TypeError as error:
        what = str(error).replace("_read_arguments.<locals>.present", "prepare_debug")
        raise WrongArguments(f"{what}; {form}") from None
    for name in ("clean_wild_fx_code", "log_bytecode"):
        if not isinstance(options[name], int):  # bool is one
            raise WrongArguments(f"{name} must be True or False, not {options[name]!r}; {form}")
        options[name] = bool(options[name])
    if not options["dump_src_dir"] or "\0" in options["dump_src_dir"]:
        raise WrongArguments(f"{options['dump_src_dir']!r} cannot be the name of a folder; {form}")
    return options


def _read_earlier(manifest: str) -> SessionRecord:
    """The record of an earlier session of this process in the same folder, which this one continues."""
    if manifest:
        try:
            return from_json(manifest)
        except (RecordFormatError, ValueError):
            pass
    return SessionRecord()


def _in_lines(values: Dict[str, Any]) -> str:
    """JSON with a line for each value, and for each that a list holds."""
    fields = []
    for key, value in values.items():
        items = ",\n  ".join(map(json.dumps, value)) if isinstance(value, list) else ""
        fields.append(f" {json.dumps(key)}: " + (f"[\n  {items}\n ]" if items else json.dumps(value)))
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _write_the_end(capture: Capture) -> SessionRecord:
    """Complete the folder and give it back; returns the record, also where it could not be written."""
    folder, is_complete = capture.folder, False
    try:
        record = capture.finish()
        with capture.problems.shield("writing full_code files"):
            record = _write_full_code(capture, record)
        with capture.problems.shield("writing timings.json"):
            timings = {**folder.identity(), "ended": time.time(), **capture.timings()}
            folder.write(TIMINGS, _in_lines(timings))
        record = capture.record()
        with capture.problems.shield("writing manifest.json"):
            folder.write(MANIFEST, render_manifest(record))
            is_complete = True
        return capture.record()
    finally:
        folder.close(is_complete)


def _merge(folder: OutputFolder) -> None:
    """Where several processes wrote, the last one to leave says where they differ."""
    try:
        merged = merging.merge_at_exit(folder.top, folder.run, folder.started)
    except OSError as error:
        raise folder.problems.cannot_write(folder.top, error) from error
    ranks = {process.rank for process in merged.processes} - {None} if merged is not None else set()
    world = None if folder.rank is None else folder.rank.world_size
    if merged is None or not ranks or (world is not None and len(ranks) < world):
        return  # a rank that is not there may still come, or never enters: `if rank == 0` is how some programs do it
    if sys.stderr is not None:
        text = render_merged(merged.processes, merged.differences, folder.top)
        _tell(text)


def _tell(text: str) -> None:
    """Print on stderr, whatever characters it has."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr, flush=True)


def _write_full_code(capture: Capture, record: SessionRecord) -> SessionRecord:
    """The whole story of each function of the user's, one file each."""
    for function in record.functions:
        is_told = bool(record.frames_of(function.key) or function.skips)
        if function.resume_of is None and function.full_code_file is None and is_told:
            stem = "full_code_for_" + file_stem(function.name) + "_{}.py"
            capture.set_full_code_file(function.key, stem.format(capture.folder.number(stem)))
    record = capture.record()
    for function in record.functions:
        if function.full_code_file is not None:
            with capture.problems.shield(f"telling the story of {function.name}"):
                capture.folder.write(function.full_code_file, full_code.render(record, function.key))
    return record
