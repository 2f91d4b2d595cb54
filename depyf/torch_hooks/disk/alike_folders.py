"""Folders of workers that compiled the very same: one is kept, and the others are counted.

A program that starts its workers anew for each epoch would otherwise leave a folder for every worker of every epoch.
The record of a process holds only what is the same in two runs, so two workers that did the same have the same
manifest, apart from the paths of their folders.
"""

from __future__ import annotations

import json
import os

from depyf.torch_hooks.disk.claims import Claim
from depyf.torch_hooks.disk.foreign_files import TIMINGS, names_for
from depyf.torch_hooks.disk.leftovers import Leftover, folders_below, read_leftover, remove_files, write_file


def remove_if_alike(folder: str, run: str) -> bool:
    """Remove what this process wrote, if an ended one of its run left the same beside it.

    The process has released its folder; it is claimed again meanwhile, so that no other one is removed for it.
    """
    claim = _claim(folder)
    if claim is None:
        return False
    own, is_removed = read_leftover(folder), False
    try:
        beside = [read_leftover(path) for path in folders_below(os.path.dirname(folder)) if path != folder]
        alike = [other for other in beside if other.run == run and _are_alike(own, other)]
        is_removed = any(_count(other, 1 + own.alike) for other in alike)
        if is_removed:
            remove_files(own)
        return is_removed
    finally:
        claim.release(keep_journal=bool(own.journal))
        if is_removed:
            _remove_folder(folder)


def _claim(folder: str) -> Claim | None:
    try:
        return Claim.take(folder)
    except OSError:  # it is gone
        return None


def _remove_folder(folder: str) -> None:
    try:
        os.rmdir(folder)  # fails when there is anything else in it
    except OSError:
        pass


def _are_alike(one: Leftover, other: Leftover) -> bool:
    if one.journal or other.journal or not one.manifest or not other.manifest:
        return False  # not complete
    return one.manifest.replace(one.folder, "") == other.manifest.replace(other.folder, "")


def _count(kept: Leftover, processes: int) -> bool:
    """Add to the number of processes that a folder stands for; False if another process is at it, or removed it."""
    claim = _claim(kept.folder)
    if claim is None:
        return False
    try:
        left = read_leftover(kept.folder)
        name = next((name for name in names_for(TIMINGS) if name in left.file_names()), "")
        with open(os.path.join(kept.folder, name), encoding="utf-8") as stream:
            timings = json.load(stream)
        timings["alike"] = left.alike + processes
        write_file(kept.folder, name, json.dumps(timings, indent=1) + "\n")
        return True
    except (OSError, ValueError):
        return False
    finally:
        claim.release()
