"""Guards that raised an exception instead of being false: which of them it was, and what it lacked.

Torch takes an exception in a guard for a version that does not fit, and reports its text alone: `'NoneType' object has
no attribute 'size'`.  The guard is found among those of the version, by the attribute that it asks for.
"""

from __future__ import annotations

import ast
import re
from typing import Iterator, Sequence

from depyf.record.guard_conditions import PythonTest
from depyf.record.records import GuardRecord
from depyf.torch_hooks.guards.frame_values import Variables
from depyf.torch_hooks.guards.mismatches import EXPRESSION, Mismatch, spelled

_NO_ATTRIBUTE = re.compile(r"'(?P<type>\w+)' object has no attribute '(?P<name>\w+)'$")
_VIEWED = "._base"  # of a view: the tensor that it is a view of; else None


def guard_that_raised(error: str, guards: Sequence[GuardRecord], variables: Variables) -> Mismatch | None:
    """Return the guard that raised an exception with this text; None where it is not found among the guards."""
    found = _NO_ATTRIBUTE.search(error)
    for guard in guards if found is not None and found["type"] == "NoneType" else ():
        for owner in _owners(guard, found["name"] if found is not None else ""):
            if variables.describe(owner) == "None":
                return _lacking(owner, guard.test.text)
    return None


def _owners(guard: GuardRecord, name: str) -> Iterator[str]:
    """Yield the values of which a guard asks for this attribute, in the user's spelling."""
    text = guard.test.text if isinstance(guard.test, PythonTest) else ""
    if f".{name}" not in text:
        return
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == name:
            yield ast.get_source_segment(text, node.value) or ""


def _lacking(owner: str, condition: str) -> Mismatch:
    parts = ((owner, "None"),)
    if not owner.endswith(_VIEWED):
        return Mismatch(EXPRESSION, "", "", f"{owner} is None", spelled(condition), parts=parts)
    tensor = owner[: -len(_VIEWED)]
    return Mismatch(EXPRESSION, tensor, "", "it is no view", f"{tensor} to be a view of another tensor", parts=parts)
