"""The summary of a program of several processes: what this one compiled, then what the others did.

    depyf: 0 frames, 0 graphs, 0 graph breaks in dump
      in process_1 to process_8: 1 frame (1 proved), 1 graph, 1 graph break
        graph break at data.py:9: print("sample")
            ...
        open first: dump/process_1/full_code_for_transform_0.py

Processes that did the same are one entry, and what one entry lists is not listed again in the next.
"""

from __future__ import annotations

import os
import re
from typing import Callable, Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple

from depyf.record.records import SessionRecord
from depyf.report import closing_summary
from depyf.report.break_summary import causes_of_breaks
from depyf.report.reader_text import reader_text
from depyf.report.story_order import stories_by_worth

_NUMBERED = re.compile(r"(?P<stem>.*_)(?P<number>\d+)$")


class Process(NamedTuple):
    """Another process of the program."""

    folder: str  # below the folder of the program: process_1
    record: SessionRecord
    alike: int = 0  # processes that compiled the same, and whose folders are gone


def render(
    own: SessionRecord,
    folder: str,
    others: Sequence[Process],
    is_there: Callable[[str], bool] = bool,
    kept: Mapping[str, str] = {},
    whole: bool = False,
) -> str:
    """Return the summary of the program whose first process recorded `own` in `folder`.

    The other arguments are those of `closing_summary.render`.
    """
    compiled = [one for one in others if one.record.frames or one.record.graphs or one.record.skipped]
    listed = closing_summary.blocks_of(own, causes_of_breaks(own), whole) if compiled else []
    lines = [closing_summary.render(own, folder, is_there, kept, whole, is_alone=not compiled)]
    seen = {tuple(block) for kind in listed for block in kind}
    for same in _alike(compiled):
        lines.append(reader_text(_entry(same, folder, is_there, whole, seen), same[0].record.user_files))
    return "\n".join(lines)


def _alike(processes: Sequence[Process]) -> List[List[Process]]:
    """Return the processes in groups that did the same, as far as a summary shows it."""
    groups: Dict[Tuple[object, ...], List[Process]] = {}
    for one in processes:
        causes = causes_of_breaks(one.record)
        blocks = tuple(tuple(block) for kind in closing_summary.blocks_of(one.record, causes) for block in kind)
        groups.setdefault((closing_summary.numbers(one.record, causes), one.record.complete, blocks), []).append(one)
    return list(groups.values())


def _entry(
    same: Sequence[Process], folder: str, is_there: Callable[[str], bool], whole: bool, seen: Set[Tuple[str, ...]]
) -> List[str]:
    first = same[0]
    gone = sum(one.alike for one in same)
    also = (
        f", and {gone} more process{'es' if gone > 1 else ''} like {'them' if len(same) > 1 else 'it'}" if gone else ""
    )
    ended = "" if first.record.complete else " (killed, or still running)"
    causes = causes_of_breaks(first.record)
    numbers = closing_summary.numbers(first.record, causes)
    lines = [f"  in {_names([one.folder for one in same])}{also}: {numbers}{ended}"]
    lines += [f"    {line}" for line in closing_summary.called(first.record)]
    for blocks in closing_summary.blocks_of(first.record, causes, whole):
        new = [block for block in blocks if tuple(block) not in seen]
        seen.update(map(tuple, new))
        lines += [f"    {line}" for line in closing_summary.shown(new, whole)]
    paths = (os.path.join(folder, first.folder, name) for name in stories_by_worth(first.record))
    path = next((path for path in paths if is_there(path)), None)
    return lines if path is None else [*lines, f"    open first: {path}"]


def _names(folders: Sequence[str]) -> str:
    """Spell folders: `process_1 to process_8`."""
    found = [_NUMBERED.match(name) for name in folders]
    stems = {match["stem"] for match in found if match is not None}
    numbers = [int(match["number"]) for match in found if match is not None]
    if len(folders) > 2 and len(stems) == 1 and numbers == list(range(numbers[0], numbers[0] + len(folders))):
        return f"{folders[0]} to {folders[-1]}"
    return ", ".join(folders)
