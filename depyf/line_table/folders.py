"""Read the folders that a program left: its own, or those of each of its processes, with their tables."""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass
from typing import Callable, List, Sequence, Tuple

from depyf.errors import UserError
from depyf.line_table.known_lines import known_lines
from depyf.line_table.table import LineTable, build
from depyf.record.records import SessionRecord
from depyf.record.saved_form import from_json

# The second is its name where another program's file has the first.
_MANIFESTS = ("manifest.json", "depyf_manifest.json")
WHICH_FOLDER = "give the folder that `depyf run` or prepare_debug wrote"


@dataclass(frozen=True)
class FolderTable:
    """One folder of files, its record and its table."""

    path: str  # as it was given, with the folder of a process behind it
    record: SessionRecord
    table: LineTable


def read_tables(folder: str) -> Tuple[FolderTable, ...]:
    """Return the tables of a folder that `prepare_debug` was given; UserError where it is none."""
    return tuple([table_of(path, record) for path, record in read_records(folder)])


def folders_of_processes(record: SessionRecord) -> List[str]:
    """Return the names of the folders of all processes of a program."""
    return [one.folder for one in record.processes]


def read_records(
    folder: str, chosen: Callable[[SessionRecord], Sequence[str]] = folders_of_processes
) -> List[Tuple[str, SessionRecord]]:
    """Return the folder and those of the program's processes below it that are `chosen`, each with its record."""
    top = read_record(folder)
    paths = [os.path.join(folder, name) for name in chosen(top) if is_inside(folder, name)]
    return [(folder, top), *[(path, read_record(path)) for path in paths if os.path.isdir(path)]]


def has_manifest(folder: str) -> bool:
    """Return whether there is something by the name of a manifest, whatever it is."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in _MANIFESTS)


def read_file(folder: str, name: str) -> str:
    """Return the text of a file of a folder; empty where it has none, whatever else a record names."""
    return _read_text(os.path.join(folder, name)) if is_inside(folder, name) else ""


def is_inside(folder: str, name: str) -> bool:
    """Return whether a name in a record is that of something in the folder itself, and no link that leads out of it."""
    if name in ("", os.curdir, os.pardir) or os.path.basename(name) != name:
        return False
    top = os.path.realpath(folder)
    return os.path.dirname(os.path.realpath(os.path.join(folder, name))) == top


def table_of(folder: str, record: SessionRecord) -> FolderTable:
    """Return the table of a record whose files are in a folder."""
    return FolderTable(folder, record, _table(folder, record))


def read_record(folder: str) -> SessionRecord:
    """Return the record of a folder, from the first of the two files that is a manifest of depyf's.

    UserError where there is none, or where it cannot be read.
    """
    unread: List[str] = []
    for path in [os.path.join(folder, name) for name in _MANIFESTS]:
        if os.path.lexists(path) and not is_inside(folder, os.path.basename(path)):
            unread.append(f"{path} cannot be read: it is a link that leads out of the folder")
            continue
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe would have no end
            unread.append(f"{path} cannot be read: it is no file")
            continue
        try:
            with open(path, encoding="utf-8") as stream:
                return from_json(stream.read())
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            unread.append(f"{path} cannot be read: {error}")
    if unread:
        raise UserError(unread[0])
    what = "has no manifest.json" if os.path.isdir(folder) else "is no folder"
    hint = f"{WHICH_FOLDER}; after a program was killed, run `finish` on it first"
    raise UserError(f"{folder} {what}: {hint}")


def _table(folder: str, record: SessionRecord) -> LineTable:
    return build(record, lambda name: read_file(folder, name), known_lines(record))


def _read_text(path: str) -> str:
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def source_lines(file: str) -> List[str]:
    """Return the lines of a file of the user's; none where it is not here.

    For a file that the program itself has, or the user named: none that only a record names.
    """
    linecache.checkcache(file)  # it may have changed since this process last read it
    return linecache.getlines(file)
