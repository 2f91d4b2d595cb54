"""Decide whose code a file holds: torch's own, a library's, or the user's."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from typing import FrozenSet, Tuple

from depyf.text.short_paths import is_recognised
from depyf.torch_hooks.internals import private_hooks

_DEPYF = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def import_folders() -> Tuple[str, ...]:
    """Return the folder of the program, then those that Python imports from and that have no usual name."""
    main = os.path.abspath(getattr(sys.modules.get("__main__"), "__file__", None) or "<none>")
    program = os.getcwd() if is_outside_program(main) else os.path.dirname(main)
    templates = private_hooks.find_loaded("template_folder")  # has another name in every run
    others = [os.path.abspath(folder) for folder in sys.path if isinstance(folder, str) and folder != templates]
    kept = [folder for folder in others if not folder.endswith(_WITHOUT_SOURCE) and not is_recognised(folder)]
    return tuple(dict.fromkeys([program, *kept]))


_WITHOUT_SOURCE = (".zip", "lib-dynload", ".__path_hook__")  # the last is no folder: a package installed with `-e`


def is_in_torch(file: str, *folders: str) -> bool:
    """Return whether `file` is the full path of a file of torch's own, below those folders of it."""
    torch = sys.modules.get("torch")
    return torch is not None and file.startswith(os.path.join(os.path.dirname(torch.__file__ or ""), *folders, ""))


def is_outside_program(file: str) -> bool:
    """Return whether the file is of this Python or of a package installed for it, or is no file (`<string>`)."""
    places = sysconfig.get_paths()
    folders = package_folders().union(places[name] for name in ("stdlib", "platstdlib") if name in places)
    folders |= {_DEPYF}  # which may be a checkout
    return file.startswith("<") or any(file.startswith(os.path.join(folder, "")) for folder in folders)


def package_folders() -> FrozenSet[str]:
    """Return the folders that packages are installed in: those of pip, and those of the system (Debian has its own)."""
    places = sysconfig.get_paths()
    return frozenset([*(places[name] for name in ("purelib", "platlib") if name in places), *site.getsitepackages()])
