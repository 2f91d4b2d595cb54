"""The header of a `.pyc` file: the magic number of the Python that made it, and what it was made from (PEP 552)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional, Tuple

from depyf.decompiler.bytecode.python_facts import Version
from depyf.decompiler.pyc.damage import DamagedFile

SIZE = 16  # magic number, flags, then time and size of the source or a hash of it
KNOWN_FLAGS = 0b11  # by hash instead of time; whether the hash is to be checked
END_OF_MAGIC = b"\r\n"

# Version -> the first magic number of its development, and that of its releases (None: not released when this was
# written). From Lib/importlib/_bootstrap_external.py of 3.13 and Include/internal/pycore_magic_number.h of later ones.
MAGIC_NUMBERS: Dict[Version, Tuple[int, Optional[int]]] = {
    (3, 5): (3320, 3351),
    (3, 6): (3360, 3379),
    (3, 7): (3390, 3394),
    (3, 8): (3400, 3413),
    (3, 9): (3420, 3425),
    (3, 10): (3430, 3439),
    (3, 11): (3450, 3495),
    (3, 12): (3500, 3531),
    (3, 13): (3550, 3571),
    (3, 14): (3600, 3627),
    (3, 15): (3650, 3666),
}
AFTER_THE_LAST = 3700  # each version has a block of 50 from 3.11 on
PYTHON_2_7 = range(62161, 62212)


@dataclass(frozen=True)
class Header:
    """The header of one file."""

    version: Optional[Version]  # None: a development version, or one before 3.5
    made_by: str  # the same for a message
    size: int


def read_header(data: bytes) -> Header:
    """Return the header of a `.pyc` file. Raises DamagedFile if there is none."""
    if len(data) < 4:
        raise DamagedFile(len(data), "the file ends inside its magic number")
    if data[2:4] != END_OF_MAGIC:
        raise DamagedFile(0, f"no .pyc file begins with {data[:4].hex(' ')}")
    number = int.from_bytes(data[:2], "little")
    version, made_by = _maker(number)
    if version is None:
        return Header(None, made_by, SIZE)
    if len(data) < SIZE:
        raise DamagedFile(len(data), f"the file ends inside its header of {SIZE} bytes")
    flags = int.from_bytes(data[4:8], "little")
    if flags & ~KNOWN_FLAGS:
        raise DamagedFile(4, f"the header has flags that no Python sets: {flags:#x}")
    return Header(version, made_by, SIZE)


def magic_number(version: Version) -> bytes:
    """Return the first bytes of every file that a release of that version makes."""
    number = MAGIC_NUMBERS[version][1] if version in MAGIC_NUMBERS else None
    return b"" if number is None else number.to_bytes(2, "little") + END_OF_MAGIC


def _maker(number: int) -> Tuple[Optional[Version], str]:
    """Return the version of a magic number, None unless it is the one of the releases; and the maker in words."""
    if number in PYTHON_2_7:
        return None, "Python 2.7"
    begun = [version for version, (first, _) in MAGIC_NUMBERS.items() if first <= number < AFTER_THE_LAST]
    if not begun:
        return None, f"a Python that depyf has no name for (magic number {number})"
    version = max(begun)
    name = f"Python {version[0]}.{version[1]}"
    if MAGIC_NUMBERS[version][1] == number:
        return version, name
    return None, f"a development version of {name} (magic number {number})"
