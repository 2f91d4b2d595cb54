"""Compile ids, Dynamo's name for one compilation of one frame, as torch prints them.

0/1       frame 0, compiled for the second time
!2/0/1    the same inside run 2 of compiled autograd
!2        that run itself, before Dynamo has compiled anything of it
?/3       made up by depyf: torch gave no id for a frame or a graph
"""

from __future__ import annotations

from typing import Any, Mapping, Tuple

_AUTOGRAD = "!"
_UNKNOWN = "?"


def from_metadata(metadata: Mapping[str, Any]) -> str:
    """Return the id in the metadata of an event of the structured trace, as `CompileId.__str__` of torch prints it."""
    parts = [str(metadata[key]) for key in ("frame_id", "frame_compile_id") if metadata.get(key) is not None]
    autograd = metadata.get("compiled_autograd_id")
    if autograd is not None:
        parts.insert(0, f"{_AUTOGRAD}{autograd}")
    return "/".join(parts)


def unknown(number: object = _UNKNOWN) -> str:
    """Return an id for what torch gave none to."""
    return f"{_UNKNOWN}/{number}"


def is_unknown(compile_id: str) -> bool:
    """Return whether depyf made up the id."""
    return compile_id.startswith(_UNKNOWN)


def is_of_autograd(compile_id: str) -> bool:
    """Return whether compiled autograd traced what Dynamo compiled."""
    return compile_id.startswith(_AUTOGRAD)


def autograd_run(compile_id: str) -> str:
    """Return the id of the run of compiled autograd that a compilation belongs to; another id has no such run."""
    return compile_id.split("/")[0]


def frame_of(compile_id: str) -> str:
    """Return the id without the number of the version: equal for all versions of one function."""
    return compile_id.rpartition("/")[0]


def sort_key(compile_id: str) -> Tuple[int, ...]:
    """Return a key that sorts "!1/0/10" after "!1/0/9"."""
    return tuple(int(part) if part.isdigit() else -1 for part in compile_id.lstrip(_AUTOGRAD).split("/"))
