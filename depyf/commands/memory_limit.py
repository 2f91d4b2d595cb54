"""A limit on memory for commands that read what others may have written: a folder, a log."""

from __future__ import annotations

import contextlib
from typing import Iterator

LIMIT = 900 << 20  # bytes, besides what the process has when it begins: less than a gigabyte in all


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """Have allocations beyond the limit fail with MemoryError inside the context, where the system can do that."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
        before = resource.getrlimit(resource.RLIMIT_AS)
        wanted = used + LIMIT
        if before[0] == resource.RLIM_INFINITY or wanted < before[0]:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, before[1]))
    except (ImportError, OSError, ValueError):  # no such limit here
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
