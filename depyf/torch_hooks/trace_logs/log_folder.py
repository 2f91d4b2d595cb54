"""Make a folder of a trace log, or one folder for each rank of several: what `prepare_debug` would have written there.

The folder has the files of the graphs, manifest.json, summary.txt and the page, so all other commands read it, too.
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from dataclasses import replace
from typing import List, Tuple

from depyf.errors import UserError
from depyf.line_table.folders import is_inside
from depyf.page.folder_page import write_folder_page
from depyf.page.page_folder import index_name
from depyf.problems import Problems
from depyf.record.records import SessionRecord
from depyf.record.saved_form import to_json
from depyf.report.closing_summary import render as render_summary
from depyf.torch_hooks.disk.claims import Claim
from depyf.torch_hooks.disk.folder import MANIFEST, SUMMARY, TIMINGS, OutputFolder
from depyf.torch_hooks.disk.leftovers import remove_stale_below
from depyf.torch_hooks.disk.merging import merge
from depyf.torch_hooks.disk.process_folders import Rank, home_at
from depyf.torch_hooks.trace_logs.log_events import LogReader
from depyf.torch_hooks.trace_logs.log_recording import LogRecording, is_read

_RANK = re.compile(r"rank_(\d{1,9})(?!\d)")
_LOG = re.compile(r".*\.log(?:\.gz)?$")
_MOST_LOGS = 10_000


def logs_in(path: str) -> List[str]:
    """Return the logs that a path names: a file, or all in a folder; none for a folder without any."""
    if not os.path.isdir(path):
        return [path]
    names = sorted(name for name in os.listdir(path) if _LOG.fullmatch(name) and is_inside(path, name))
    return [file for file in [os.path.join(path, name) for name in names] if os.path.isfile(file)][:_MOST_LOGS]


def write_log_folder(logs: List[str], folder: str) -> int:
    """Write what logs hold to a folder; return how many of them hold something.

    UserError where none does, where one cannot be read, or where the folder cannot be written.
    """
    run, started = f"trace log {uuid.uuid4().hex}", time.time()
    written = 0
    try:
        os.makedirs(folder, exist_ok=True)
        if len(logs) == 1:
            written = int(_write_one(logs[0], folder, run, None))
        else:
            written = _write_ranks(logs, folder, run)
            if written:
                _merge(folder, run, started)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}; -o names another folder") from error
    if not written:
        what = logs[0] if len(logs) == 1 else f"none of the {len(logs)} logs there"
        raise UserError(f"{what} holds no compilation: give a log that TORCH_TRACE=FOLDER wrote, or such a folder")
    return written


def _write_ranks(logs: List[str], folder: str, run: str) -> int:
    """Write each log to a folder below, by the rank in its name; logs without one, or with that of another, follow."""
    ranks: List[Tuple[str, int | None]] = []
    for path in logs:
        found = _RANK.search(os.path.basename(path))
        rank = int(found.group(1)) if found is not None else _rank_in(path)
        ranks.append((path, None if rank in [one for _, one in ranks] else rank))
    world_size = len({rank for _, rank in ranks if rank is not None})
    written = processes = 0
    for path, rank in ranks:
        below = f"process_{processes + 1}" if rank is None else f"rank_{rank}"
        place = None if rank is None else Rank(rank, world_size)
        if _write_one(path, os.path.join(folder, below), run, place):
            written += 1
            processes += rank is None
    return written


def _rank_in(path: str) -> int | None:
    return next((one.rank for one in LogReader(path).events(is_read)), None)


def _write_one(path: str, folder: str, run: str, rank: Rank | None) -> bool:
    """Write what a log holds to a folder; return whether it holds anything."""
    reader = LogReader(path)
    events = reader.events(is_read)
    first = next((one for one in events if one.event.compile_id), None)
    if first is None:
        return False
    home = home_at(os.path.abspath(folder), run, rank)
    if home is None:
        raise UserError(f"a process writes in {folder} now: -o names another folder")
    problems = Problems()
    target, is_complete = OutputFolder(folder, problems, home=home), False
    try:
        recording = LogRecording(target, problems, reader)
        recording.add(first.event)
        for one in events:
            recording.add(one.event)
        rank_now = rank.rank if rank is not None else first.rank
        record = recording.record(rank_now, None if rank is None else rank.world_size)
        _write_rest(target, record, {**target.identity(), "ended": time.time(), **recording.timings()})
        is_complete = True
    finally:
        target.close(is_complete)
    return True


def _write_rest(folder: OutputFolder, record: SessionRecord, timings: object) -> None:
    folder.write(TIMINGS, json.dumps(timings))
    folder.write(SUMMARY, "")  # so that the list of files has it
    record = replace(record, files=tuple(sorted({*folder.files, index_name(folder.path)})))
    text = render_summary(record, "", kept=folder.kept, whole=True)
    folder.write(SUMMARY, text + "\n")
    record = replace(record, summary=tuple(text.splitlines()))
    write_folder_page(folder.path, record)
    folder.write(MANIFEST, to_json(record))


def _merge(folder: str, run: str, started: float) -> None:
    remove_stale_below(folder, run, started)
    claim = Claim.take(folder)
    if claim is None:
        raise UserError(f"a process writes in {folder} now: -o names another folder")
    try:
        merge(os.path.abspath(folder), run)
    finally:
        claim.release(keep_journal=True)
