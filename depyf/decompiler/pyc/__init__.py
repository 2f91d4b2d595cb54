"""Read `.pyc` files that nobody vouches for, of any version: bytes -> a code object, without `marshal`.

`marshal.loads` is documented as unsafe for data that is not trusted. This reader takes no length, count or reference
on trust, runs nothing, and needs memory in proportion to the file. What is wrong with a file is a `DamagedFile`: one
line, with the byte at which it was found.
"""

from __future__ import annotations

import importlib.util
from types import CodeType

from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION, Version, facts_for
from depyf.decompiler.pyc.code_record import CodeRecord
from depyf.decompiler.pyc.damage import DamagedFile, OtherVersion
from depyf.decompiler.pyc.field_orders import FIELD_ORDERS
from depyf.decompiler.pyc.file_header import read_header
from depyf.decompiler.pyc.loading import load
from depyf.decompiler.pyc.object_stream import ObjectStream

__all__ = ["CodeRecord", "DamagedFile", "OtherVersion", "read_code", "read_marshalled", "read_record"]


def read_record(data: bytes) -> CodeRecord:
    """Return the module's code of a `.pyc` file as a record, of any version in FIELD_ORDERS.

    Raises OtherVersion for a file of a version that is not there, DamagedFile for one that is no whole `.pyc` file.
    """
    header = read_header(data)
    if header.version is None or header.version not in FIELD_ORDERS:
        raise OtherVersion(header.made_by)
    return ObjectStream(data, header.size, header.version).read_code()


def read_code(data: bytes) -> CodeType:
    """Return the module's code of a `.pyc` file: a code object, or a record like one if another Python made the file.

    Raises OtherVersion for a version that cannot be decoded, DamagedFile for what is no whole `.pyc` file.
    """
    header = read_header(data)
    is_running = data[:4] == importlib.util.MAGIC_NUMBER
    version = RUNNING_VERSION if is_running else header.version
    if version is None or version not in FIELD_ORDERS or not facts_for(version).supported:
        raise OtherVersion(header.made_by)
    return load(ObjectStream(data, header.size, version).read_code(), is_foreign=not is_running)


def read_marshalled(data: bytes, version: Version) -> CodeType:
    """Return the code that another Python of that version marshalled. Raises DamagedFile."""
    return load(ObjectStream(data, 0, version).read_code(), is_foreign=True)
