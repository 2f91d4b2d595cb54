"""Close a session: complete the recording, write the files that need all of it, and merge those of other processes."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from typing import Any, Dict

from depyf.page import page_data, page_folder, page_text
from depyf.page.compile_times import times_of
from depyf.record.records import SessionRecord
from depyf.report import full_code, program_summary
from depyf.report.closing_summary import render as render_summary
from depyf.report.rank_differences import summary as render_merged
from depyf.report.unchanged_stories import UnchangedStories
from depyf.report.wrapper_notes import file_title
from depyf.torch_hooks.disk import alike_folders, known_manifests, merging
from depyf.torch_hooks.disk.file_names import full_code_template
from depyf.torch_hooks.disk.folder import INDEX, MANIFEST, SUMMARY, TIMINGS, OutputFolder
from depyf.torch_hooks.disk.foreign_files import read_text
from depyf.torch_hooks.disk.process_records import Deadline, TooLong
from depyf.torch_hooks.session import late_pages
from depyf.torch_hooks.session.recording import Recording

LONGEST_MERGE = 4.0  # seconds that the end of a program waits for


def close(recording: Recording) -> SessionRecord:
    """Complete the folder and give it back; return the record, also where it could not be written."""
    folder, is_complete = recording.folder, False
    try:
        complete(recording)
        with recording.problems.shield("writing full_code files"):
            _write_full_code(recording)
        timings = {**folder.identity(), "ended": time.time(), **recording.timings()}
        with recording.problems.shield("writing timings.json"):
            folder.write(TIMINGS, _in_lines(timings))
        if recording.writes_page and late_pages.is_due(folder.known_path, len(recording.frames.records)):
            with recording.problems.shield("writing index.html"):
                _write_page(recording, timings)
        with recording.problems.shield("writing summary.txt"):
            _write_summary(recording)
        record = recording.record()
        with recording.problems.shield("writing manifest.json"):
            folder.write(MANIFEST, known_manifests.write(record, recording.earlier))
            is_complete = True
        return record if is_complete else recording.record()
    finally:
        folder.close(is_complete)


def print_summary(record: SessionRecord, folder: OutputFolder, is_worker: bool) -> None:
    """Print the lines that end a session, once for all processes of the program.

    `is_worker`: another process has the context open from which this one has its own, and names what was compiled here.
    Of ranks, the first one prints.
    """
    if is_worker or record.rank:
        return
    others = merging.other_processes(folder.top, folder.run) if folder.known_path == folder.top else []
    text = program_summary.render(record, folder.known_path, others, os.path.exists, folder.kept)
    _print_on_stderr(text)


# -- the recording


def complete(recording: Recording) -> None:
    """Add what is known only after the program has run: cached versions, graphs without a frame, what was skipped."""
    problems = recording.problems
    if recording.includes_earlier and not recording.is_forked:
        with problems.shield("showing what was compiled before the session"):
            recording.add_earlier()
    _complete_graphs(recording)
    with problems.shield("linking graphs that belong to no frame"):
        recording.orphans.finish()
    with problems.shield("recording functions that were not compiled"):
        recording.skips.finish(recording.frames.records)
    with problems.shield("counting versions that were compiled before the session"):
        recording.functions.count_earlier(recording.frames.records)
    with problems.shield("finding what the program called"):
        recording.functions.count_calls(recording.calls)
    with problems.shield("reading the files of the functions"):
        recording.user_files.add(function.shown_file for function in recording.functions.records)
        recording.user_files.add(function.file for function in recording.functions.records)
    with problems.shield("finishing the graph files"):
        recording.graphs.finish()
    if recording.loose_fx is not None:
        with problems.shield("writing fx code that belongs to no graph"):
            recording.loose_fx.write(recording.folder)


def _complete_graphs(recording: Recording) -> None:
    """Name and write graphs that no frame named; link those of which nothing runs so far."""
    for compilation in recording.compilations.all:
        if compilation.graph is None and compilation.waiting:
            with recording.problems.shield("writing graphs that belong to no frame"):
                compilation.graph = recording.orphans.graph_of(
                    compilation.compile_id,
                    [event for _, event in compilation.waiting],
                    has_frame=compilation.frame is not None,
                    was_announced=compilation.function is not None,
                )
                recording.write_waiting(compilation)
        # torch 2.15 makes the module of an eager backward when it first runs: it is found only now
        graph = compilation.graph
        is_late = recording.has_unplaced_code  # a thread of the backend may have generated what runs
        if graph is not None and (is_late or not graph.running() or graph.has_eager_backward()):
            recording.link(compilation, was_called=True)


# -- the files


def _write_full_code(recording: Recording) -> None:
    """Write the whole story of each function of the user's, one file each."""
    record = recording.record()
    for function in record.functions:
        if full_code.needs_file(record, function):
            template = full_code_template(file_title(record, function))
            recording.functions.set_full_code_file(function.key, template.format(recording.folder.number(template)))
    record = dataclasses.replace(record, functions=recording.functions.records)
    unchanged = UnchangedStories(recording.earlier, record)
    stories = full_code.StoryWriter(record)
    for function in record.functions:
        if function.full_code_file is not None:
            if unchanged.has(function.key) and recording.folder.has(function.full_code_file):
                continue
            with recording.problems.shield(f"writing the full_code file of {function.display_name}"):
                recording.folder.write(function.full_code_file, stories.text_of(function.key))


def _write_summary(recording: Recording) -> None:
    """Write the whole summary to a file; the record keeps it, too."""
    folder = recording.folder
    folder.write(SUMMARY, "")  # so that the list of files has it
    text = render_summary(recording.record(), "", kept=folder.kept, whole=True)
    folder.write(SUMMARY, text + "\n")
    recording.summary = tuple(text.splitlines())


def _write_page(recording: Recording, timings: Dict[str, Any]) -> None:
    """Write the page of this process, which is made of the files that are there by now."""
    folder = recording.folder
    data = page_data.page_data(recording.record(), lambda name: read_text(folder.of(name)))
    try:
        above = "" if folder.known_path == folder.top else page_folder.ABOVE
        files = page_text.page_files(data, times_of(timings), page_folder.side_name(folder.path), above)
        page_folder.write_parts(folder.path, files)
    except OSError as error:
        raise recording.problems.cannot_write(error.filename or folder.known_path, error) from error
    folder.write(INDEX, files[page_folder.INDEX])


def _in_lines(values: Dict[str, Any]) -> str:
    """Return JSON with a line for each value, and for each that a list holds."""
    fields = []
    for key, value in values.items():
        items = ",\n  ".join(map(json.dumps, value)) if isinstance(value, list) else ""
        fields.append(f" {json.dumps(key)}: " + (f"[\n  {items}\n ]" if items else json.dumps(value)))
    return "{\n" + ",\n".join(fields) + "\n}\n"


# -- other processes


def leave_out_if_alike(folder: OutputFolder) -> None:
    """Remove the folder of a worker if another worker of the run compiled the very same: each epoch has new workers."""
    if folder.known_path != folder.top:
        alike_folders.remove_if_alike(folder.known_path, folder.run)


def merge_processes(folder: OutputFolder) -> None:
    """Merge the folders of all processes of the run, if this is the last one to leave, and print how ranks differ."""
    try:
        merged = merging.merge_at_exit(folder.top, folder.run, folder.started, Deadline.after(LONGEST_MERGE))
    except TooLong:
        _print_on_stderr(f"depyf: the processes are not compared yet, it would take long: depyf report {folder.top}")
        return
    except OSError as error:
        raise folder.problems.cannot_write(folder.top, error) from error
    ranks = {process.rank for process in merged.processes} - {None} if merged is not None else set()
    world = None if folder.rank is None else folder.rank.world_size
    if merged is None or not ranks or (world is not None and len(ranks) < world):
        return  # a rank that is not there may still come, or never enters: `if rank == 0` is how some programs do it
    _print_on_stderr(render_merged(merged.processes, merged.differences, folder.top, merged.files))


def _print_on_stderr(text: str) -> None:
    """Print a text with whatever characters it has; nothing where there is no stderr."""
    if sys.stderr is not None:
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr, flush=True)
