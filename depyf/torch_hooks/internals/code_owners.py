"""Decide whose code a file holds: torch's own, a library's, or the user's."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
from typing import FrozenSet, List, Tuple

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
    return file.startswith(("<", *_outside_folders(_system_folders(), tuple(sys.path))))


def package_folders() -> FrozenSet[str]:
    """Return the folders that packages are installed in: those of pip, and those of the system (Debian has its own)."""
    return frozenset([*_paths("purelib", "platlib"), *_system_folders()])


def _system_folders() -> Tuple[str, ...]:
    return tuple(getattr(site, "getsitepackages", tuple)())  # an old virtualenv has its own module `site`


@functools.lru_cache(maxsize=None)  # asked for every frame of a stack, and Python works its paths out anew each time
def _outside_folders(system: Tuple[str, ...], searched: Tuple[str, ...]) -> Tuple[str, ...]:
    folders = [*_paths("stdlib", "platstdlib", "purelib", "platlib"), *system, _DEPYF]  # which may be a checkout
    # Of another environment, which a .pth file or PYTHONPATH names.
    folders += [path for path in searched if os.path.basename(path) in ("site-packages", "dist-packages")]
    return tuple([os.path.join(folder, "") for folder in dict.fromkeys(folders)])


def _paths(*names: str) -> List[str]:
    places = sysconfig.get_paths()
    return [places[name] for name in names if name in places]
