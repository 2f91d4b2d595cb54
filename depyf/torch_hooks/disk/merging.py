"""Merge the folders of many processes: write the merged manifest.json and ranks.txt to the folder that was given.

The last process to leave does it: each checks whether another process of its run still claims a folder, after it
released its own.  So the work is done once, and no process waits, not even for one that was killed.  Should the last
one be killed, `python -m depyf finish FOLDER` does the same (see `entry_points.killed_processes`).
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import time
from typing import Dict, List, Tuple

from depyf.page.page_folder import index_name
from depyf.record.records import ProcessRecord, SessionRecord
from depyf.record.saved_form import from_json, to_json
from depyf.report import closing_summary, program_summary
from depyf.report import rank_differences as report
from depyf.report.break_summary import distinct_breaks
from depyf.report.program_summary import Process
from depyf.torch_hooks.disk.claims import Claim, has_foreign_journal, is_claimed
from depyf.torch_hooks.disk.foreign_files import (
    INDEX,
    MANIFEST,
    RANKS,
    SUMMARY,
    TIMINGS,
    log_kept,
    name_to_write,
    names_for,
    read_manifest,
)
from depyf.torch_hooks.disk.leftovers import folders_below, read_leftover, remove_stale_below, write_file
from depyf.torch_hooks.disk.process_records import NEVER, Deadline, Member, by_rank, member_of, members_below

_MOST_ROUNDS = 5


def merge_at_exit(top: str, run: str, started: float, deadline: Deadline = NEVER) -> SessionRecord | None:
    """Merge, if this process is the last of its run to leave and not the only one; return the merged record.

    TooLong, and nothing is merged, where that is not done by the deadline.
    """
    merged = None
    for _ in range(_MOST_ROUNDS):
        if is_claimed(top) or any(is_claimed(path) and read_leftover(path).run == run for path in folders_below(top)):
            return merged  # the last process to leave will merge
        seen = _state(top)
        if not folders_below(top):
            return None
        claim = None if has_foreign_journal(top) else Claim.take(top)
        if claim is None:
            return merged
        try:
            if merged is None and _is_merged(top, run, deadline):
                return None  # two left at once, and the other one has merged both
            remove_stale_below(top, run, started, deadline.check)
            merged = merge(top, run, deadline)
        finally:
            claim.release(keep_journal=True)
        if _state(top) == seen or merged is None:
            break
    return merged


def _is_merged(top: str, run: str, deadline: Deadline) -> bool:
    """Return whether the manifest at the top already has every process of the run as complete."""
    manifest, name = read_manifest(top)
    try:
        written = os.stat(os.path.join(top, name)).st_mtime
        processes = from_json(manifest).processes
    except (OSError, ValueError):
        return False
    ends = {os.path.relpath(path, top).replace(os.sep, "/"): time for path, time in _state(top)}
    is_complete = {process.folder: process.complete for process in processes if process.folder != "."}
    for path in folders_below(top):
        deadline.check()
        left = read_leftover(path)
        name = os.path.relpath(path, top).replace(os.sep, "/")
        is_member = left.exists and left.run == run
        if is_member and not (is_complete.get(name, False) and ends.get(name, written + 1) <= written):
            return False
    return True


def merge(top: str, run: str, deadline: Deadline = NEVER) -> SessionRecord | None:
    """Write the merged manifest for the processes of a run; None when there are none below `top`."""
    own = read_leftover(top)
    below = list(members_below(top, run, deadline))
    if not below:
        return None
    own_record = own.record() if own.run == run else SessionRecord()
    others = [Process(one.name, one.record, one.alike) for one in below]
    is_member = bool(own_record.frames or own_record.skipped)
    members = [dataclasses.replace(member_of(top, own), name="."), *below] if is_member else below
    records, texts, world_size = by_rank(members)
    differences = report.compare(records, texts, world_size)
    deadline.check()
    ranks, timings, summary = (name_to_write(top, name, own.file_names()) for name in (RANKS, TIMINGS, SUMMARY))
    manifest = name_to_write(top, MANIFEST, ())
    has_page = any(name in one.record.files for one in members for name in names_for(INDEX))
    index = [index_name(top)] if has_page else []
    merged = dataclasses.replace(
        own_record,
        versions=members[0].record.versions,
        files=tuple(sorted({*own_record.files, timings, summary, *([ranks] if records else []), *index})),
        processes=tuple(map(_process, members)),
        differences=differences,
    )
    told = _summary(own_record, others, merged, records)
    merged = dataclasses.replace(merged, summary=tuple(told.splitlines()))
    log_kept(top, SUMMARY, summary)
    write_file(top, summary, told + "\n")
    if records:
        log_kept(top, RANKS, ranks)
        write_file(top, ranks, report.render(merged.processes, differences))
    if own.run != run or not own.identity:
        identity = {"run": run, "started": min(one.started for one in below), "ended": time.time()}
        log_kept(top, TIMINGS, timings)
        write_file(top, timings, json.dumps(identity, indent=1) + "\n")
    if has_page:
        from depyf.page.folder_page import write_folder_page  # only here: it has many modules

        write_folder_page(top, merged)
    log_kept(top, MANIFEST, manifest)
    write_file(top, manifest, to_json(merged))
    return merged


def other_processes(top: str, run: str) -> List[Process]:
    """Return what the other processes of a run have recorded below the folder given, also those that still run."""
    return [Process(one.name, one.record, one.alike) for one in members_below(top, run)]


def _summary(
    own: SessionRecord,
    others: List[Process],
    merged: SessionRecord,
    ranks: Dict[int, SessionRecord],
) -> str:
    """Return the summary of the program; that of a distributed job is what its first rank did, and how they differ."""
    if not ranks:
        return program_summary.render(own, "", others, whole=True)
    first = next((one for one in others if one.record.rank == min(ranks)), None)
    lines = [] if first is None else [closing_summary.render(first.record, first.folder, whole=True)]
    return "\n".join([*lines, report.summary(merged.processes, merged.differences, ".", merged.files)])


def _process(member: Member) -> ProcessRecord:
    record = member.record
    return ProcessRecord(
        folder=member.name,
        rank=record.rank,
        complete=record.complete,
        functions=len(record.functions),
        frames=len(record.frames),
        graphs=len(record.graphs),
        graph_breaks=len(distinct_breaks(record)),
        problems=len(record.problem_lines),
        compiling=record.compiling,
        alike=member.alike,
    )


def _state(top: str) -> List[Tuple[str, float]]:
    """Return the times of the manifests below, which change when a process writes its last files."""
    found = []
    for path, name in itertools.product(folders_below(top), names_for(MANIFEST)):
        try:
            found.append((path, os.stat(os.path.join(path, name)).st_mtime))
        except OSError:
            continue
    return found
