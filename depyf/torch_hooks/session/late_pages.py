"""Pages that are made when the program ends, because making each of them at once would take too long.

Contexts that share a folder, as those of a test suite may, share its page, which shows all that they have compiled. A
context that adds little to a large page leaves it as it is: otherwise leaving a context would take time for everything
that was compiled before it, and a long run of tests time that grows with the square of their number. The page is made
again once the folder has grown by a quarter, and when the program ends.
"""

from __future__ import annotations

import atexit
import os
from typing import Dict

_SMALL = 48  # frames of which a page is made at once

_shown: Dict[str, int] = {}  # folder -> frames that its page shows
_late: Dict[str, int] = {}  # folder whose page shows less than it holds -> the process that is to make it


def is_due(folder: str, frames: int) -> bool:
    """Return whether the page of a folder is to be made now; if not, it is made when the program ends."""
    shown = _shown.get(folder)
    if shown is not None and frames > _SMALL and shown <= frames < shown * 5 // 4:
        if not _late:
            atexit.register(_make_all)
        _late[folder] = os.getpid()
        return False
    _shown[folder] = frames
    if _late.pop(folder, None) is not None and not _late:
        atexit.unregister(_make_all)
    return True


def _make_all() -> None:
    """Make the pages that are late, of folders that are still there."""
    from depyf.errors import UserError
    from depyf.page.folder_page import make_page_again

    for folder, process in _late.items():
        if process != os.getpid():  # inherited by a forked child
            continue
        try:
            make_page_again(folder)
        except (OSError, UserError):
            continue  # removed since, or taken by someone else: `depyf report` would name what is wrong
