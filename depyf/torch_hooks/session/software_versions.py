"""The versions of depyf, Python and torch that made a record."""

from __future__ import annotations

import functools
import platform
import sys

from depyf.record.records import Versions
from depyf.version import __version__


@functools.lru_cache(maxsize=1)
def versions() -> Versions:
    """Return the versions that this process runs; that of torch is empty where torch is not imported."""
    torch = str(getattr(sys.modules.get("torch"), "__version__", ""))
    return Versions(__version__, platform.python_version(), torch)
