"""Complete the folder of a process that was killed: `python -m depyf finish FOLDER`.

The files of a killed process are whole, and its journal lists what they are.  From that the stories of its functions
(`full_code_for_*`) and its manifest are written, as far as they are known: the manifest keeps `"complete": false`.
Then the folders of all processes are merged.  Folders of processes that still run are read, and not changed: that is
how to inspect a job that hangs.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
from dataclasses import dataclass
from typing import Container, List, Tuple

from depyf.errors import UserError
from depyf.page.folder_page import write_folder_page
from depyf.page.page_folder import index_name
from depyf.record.records import FunctionRecord, SessionRecord
from depyf.record.saved_form import to_json
from depyf.report import full_code
from depyf.report.closing_summary import render as render_summary
from depyf.report.rank_differences import summary as render_merged
from depyf.report.wrapper_notes import file_title
from depyf.torch_hooks.disk.claims import Claim, has_foreign_journal, is_claimed
from depyf.torch_hooks.disk.file_names import full_code_template, same_file
from depyf.torch_hooks.disk.foreign_files import DRAFT, MANIFEST, SUMMARY, TIMINGS, log_kept, name_to_write
from depyf.torch_hooks.disk.leftovers import Leftover, folders_below, read_leftover, remove, write_file
from depyf.torch_hooks.disk.merging import merge
from depyf.torch_hooks.graphs import first_lines


@dataclass(frozen=True)
class Finished:
    """The folders that were found, and what was done with them."""

    completed: Tuple[Tuple[str, SessionRecord], ...]  # folders of killed processes, with their records
    running: Tuple[str, ...]  # folders of processes that still run
    merged: SessionRecord | None  # of all processes, where there are several

    def text(self, top: str) -> str:
        """Return the report for a terminal."""
        lines = [render_summary(record, folder) for folder, record in self.completed]
        lines += [f"depyf: a process still writes in {folder}; its folder is left as it is" for folder in self.running]
        if self.merged is not None and any(process.rank is not None for process in self.merged.processes):
            lines.append(render_merged(self.merged.processes, self.merged.differences, top, self.merged.files))
        return "\n".join(lines or [f"depyf: nothing to finish in {top}"]) + "\n"


def finish(folder: str) -> Finished:
    """Complete what killed processes left in a folder and below it.  UserError when no process ever wrote there."""
    top = os.path.abspath(folder)
    leftovers = [_without_text(left) for left in map(read_leftover, [top, *folders_below(top)]) if left.exists]
    if not leftovers:
        raise UserError(f"{folder!r} is no folder that depyf.prepare_debug wrote to")
    running = tuple(left.folder for left in leftovers if is_claimed(left.folder))
    completed = []
    for left in leftovers:
        if left.journal and left.folder not in running:
            completed.append((left.folder, _complete(left)))
    newest = max(leftovers, key=lambda left: left.started)
    return Finished(tuple(completed), running, _merge(top, newest.run) if top not in running else None)


def _without_text(left: Leftover) -> Leftover:
    """Return what is kept of a folder while others are read: of a process that has ended, not the manifest."""
    return left if left.journal else dataclasses.replace(left, manifest="")


def _merge(top: str, run: str) -> SessionRecord | None:
    claim = None if has_foreign_journal(top) else Claim.take(top)
    if claim is None:
        return None
    try:
        return merge(top, run)
    finally:
        claim.release(keep_journal=True)


def _complete(left: Leftover) -> SessionRecord:
    """Write the stories and the manifest of a killed process, and remove its journal."""
    claim = Claim.take(left.folder)
    if claim is None:  # another process completes it now
        return left.record()
    is_done = False
    try:
        remove(os.path.join(left.folder, DRAFT))
        record = _with_stories(left, _existing(left))
        _complete_first_lines(left, record)
        timings = name_to_write(left.folder, TIMINGS, record.files)
        manifest = name_to_write(left.folder, MANIFEST, ())
        log_kept(left.folder, TIMINGS, timings)
        log_kept(left.folder, MANIFEST, manifest)
        write_file(left.folder, timings, json.dumps(left.identity, indent=1) + "\n")
        record = _with_summary(left, dataclasses.replace(record, files=tuple(sorted({*record.files, timings}))))
        record = dataclasses.replace(record, files=tuple(sorted({*record.files, index_name(left.folder)})))
        write_folder_page(left.folder, record)
        write_file(left.folder, manifest, to_json(record))
        is_done = True
        return record
    finally:
        claim.release(keep_journal=not is_done)


def _with_summary(left: Leftover, record: SessionRecord) -> SessionRecord:
    """Write the summary; return the record with it."""
    name = name_to_write(left.folder, SUMMARY, record.files)
    log_kept(left.folder, SUMMARY, name)
    record = dataclasses.replace(record, files=tuple(sorted({*record.files, name})))
    text = render_summary(record, "", whole=True)
    write_file(left.folder, name, text + "\n")
    return dataclasses.replace(record, summary=tuple(text.splitlines()))


def _complete_first_lines(left: Leftover, record: SessionRecord) -> None:
    """Write whether a graph runs to the first lines of its files, where that was not known before."""
    for part in (part for graph in record.graphs for part in graph.stages):
        try:
            with open(os.path.join(left.folder, part.file), encoding="utf-8") as stream:
                first, _, rest = stream.read().partition("\n")
        except OSError:
            continue
        completed = first_lines.completed(first, part)
        if completed is not None:
            write_file(left.folder, part.file, f"{completed}\n{rest}")


def _existing(left: Leftover) -> SessionRecord:
    """Return the record without files that were announced in the journal but never written."""
    record = left.record()
    files = [name for name in record.files if os.path.exists(os.path.join(left.folder, name))]
    return dataclasses.replace(record, files=tuple(files))


def _is_taken(folder: str, names: Container[str], name: str) -> bool:
    return same_file(name) in names or os.path.lexists(os.path.join(folder, name))


def _with_stories(left: Leftover, record: SessionRecord) -> SessionRecord:
    names = set(map(same_file, record.files))
    functions: List[FunctionRecord] = []
    for function in record.functions:
        if full_code.needs_file(record, function):
            numbered = map(full_code_template(file_title(record, function)).format, itertools.count())
            is_taken = functools.partial(_is_taken, left.folder, names)
            name = next(itertools.filterfalse(is_taken, numbered))
            function = dataclasses.replace(function, full_code_file=name)
            names.add(same_file(name))
        functions.append(function)
    record = dataclasses.replace(record, functions=tuple(functions))
    with_story = [function for function in functions if function.full_code_file is not None]
    stories = full_code.StoryWriter(record)
    for function in with_story:
        write_file(left.folder, str(function.full_code_file), stories.text_of(function.key))
    files = {*record.files, *(str(function.full_code_file) for function in with_story)}
    return dataclasses.replace(record, files=tuple(sorted(files)))
