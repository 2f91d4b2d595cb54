"""Where a guard was asked for: the comment that torch appends to a printed guard.

    L['n'] == 3     # y = x * n  # src/model.py:9 in forward (_dynamo/variables/tensor.py:2606 in evaluate_expr)

A range of sizes has two origins, that of its lower and that of its upper bound, joined by `and`.  The lower one may be
torch itself: it never takes a size of 0 or 1 for one that varies, and adds a note that the line is not to blame.
"""

from __future__ import annotations

import functools
import linecache
import os
import re
import sys
from types import ModuleType
from typing import NamedTuple

from depyf.record.records import Location
from depyf.text.quoted_strings import opens_string

_ORIGIN = re.compile(
    r"  # (?:(?P<code>.*)  # )?(?P<file>[^#]*?):(?P<line>\d+) in (?P<function>[^()]+?)(?P<note> \(.*\))?$",
    re.DOTALL,
)
_RANGE = re.compile(r"(?P<lower>\d+) <= (?P<value>.+) <= (?P<upper>\d+)$")
_OF_SIZES = "0/1 specialization"

# Ambient guards are asked for by this function of torch, for every frame and by no line of the user's.
_AMBIENT = "init_ambient_guards"


class Origin(NamedTuple):
    """Who asked for a guard."""

    location: Location | None = None  # a line of some program, if it was one
    in_torch: bool = False  # whether that is a line of torch's own
    of_sizes: bool = False  # whether it was torch, for the sizes 0 and 1; the line is then the first to use the value


def split_origin(text: str) -> tuple[str, str]:
    """Split a printed guard into its condition and the comment that torch appended to it."""
    cut = end_of_condition(text)
    return text[:cut].strip(), text[cut:]


def end_of_condition(text: str) -> int:
    """Return where the comment begins that torch appended to a guard; the whole length where there is none."""
    cut = text.find("  # ")
    while cut >= 0 and opens_string(text[:cut]) and text.find("  # ", cut + 1) >= 0:
        cut = text.find("  # ", cut + 1)  # the mark was inside a text constant
    return cut if cut >= 0 else len(text)


@functools.lru_cache(maxsize=1024)
def origins_in(comment: str, file: str) -> tuple[Origin, ...]:
    """Return the origins that a comment names, at least one; `file` is that of the frame."""
    cut = comment.find(") and ")
    while cut >= 0:
        lower, upper = comment[: cut + 1], "  # " + comment[cut + len(") and ") :]
        if _ORIGIN.match(lower) is not None and _ORIGIN.match(upper) is not None:
            return _origin(lower, file), _origin(upper, file)
        cut = comment.find(") and ", cut + 1)
    return (_origin(comment, file),)


class Bound(NamedTuple):
    """One condition with its origin."""

    condition: str
    origin: Origin
    least: int | None = None  # where this is the lower bound of a range


def split_range(condition: str, origins: tuple[Origin, ...]) -> list[Bound]:
    """Return the condition with its origin; a range whose bounds have different origins as two conditions."""
    found = _RANGE.match(condition) if len(origins) == 2 and origins[0] != origins[1] else None
    if found is None:
        return [Bound(condition, origins[-1])]
    return [
        Bound(f"{found['lower']} <= {found['value']}", origins[0], int(found["lower"])),
        Bound(f"{found['value']} <= {found['upper']}", origins[1]),
    ]


def _origin(comment: str, file: str) -> Origin:
    found = _ORIGIN.match(comment) or _ORIGIN.search(comment)
    if found is None or found["function"] == _AMBIENT:
        return Origin()
    shortened = found["file"].strip()
    name = _full_name(shortened, file)
    location = Location(name, int(found["line"]), found["function"].strip(), (found["code"] or "").strip())
    return Origin(location, _is_in_torch(shortened), _OF_SIZES in (found["note"] or ""))


def _full_name(shortened: str, file: str) -> str:
    """Return the file that torch means; `shortened` itself where that is not clear.

    Torch cuts the beginning that a name shares with torch's own folder, in the middle of a word if need be
    (`/tmp/model.py` is `mp/model.py`).  Names of files in torch stay short, as Python imports them: they are clear, and
    the same on every machine.
    """
    if _is_in_torch(shortened):
        return f"torch/{shortened}"
    if _may_mean(shortened, file):
        return file
    return _loaded_file(shortened)


@functools.lru_cache(maxsize=1024)
def _loaded_file(shortened: str) -> str:
    """Return the one file of a module, or cell of a notebook, that a name of torch's can mean, else that name."""
    found = {name for name in list(linecache.cache) if _may_mean(shortened, name)}  # where cells have their text
    for module in list(sys.modules.values()):
        # Not by `getattr`: a lazy module would be loaded by it.
        file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
        if isinstance(file, str) and file.endswith(shortened) and _may_mean(shortened, file):
            found.add(file)
    return found.pop() if len(found) == 1 else shortened


def _is_in_torch(shortened: str) -> bool:
    """Return whether the name is that of a file of torch's, without the folder."""
    torch = sys.modules.get("torch")
    if torch is None or os.path.isabs(shortened):
        return False
    return _is_file_below(os.path.dirname(torch.__file__ or ""), shortened)


@functools.lru_cache(maxsize=1024)
def _is_file_below(folder: str, shortened: str) -> bool:
    return os.path.exists(os.path.join(folder, shortened))


def _may_mean(shortened: str, name: str) -> bool:
    return name.endswith(shortened) and os.path.basename(name) == os.path.basename(shortened)
