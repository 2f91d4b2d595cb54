"""Torch's own words on why it compiled again, as short lines that are the same in every run."""

from __future__ import annotations

from typing import Tuple

from depyf.text.lines import shortened
from depyf.torch_hooks.guards.condition_cache import conditions_of
from depyf.torch_hooks.guards.conditions import Leaf
from depyf.torch_hooks.guards.grouped_reasons import Alike, alike
from depyf.torch_hooks.guards.origins import split_origin
from depyf.torch_hooks.internals.stable_names import stable_text
from depyf.torch_hooks.internals.torch_text import is_expression, scrub

# How a guard that failed begins -> torch's name for that kind of guard.
_KINDS = (
    ("___check_type_id(", "TYPE_MATCH"),
    ("___check_obj_id(", "ID_MATCH"),
    ("check_tensor(", "TENSOR_MATCH"),
    ("___dict_contains(", "DICT_CONTAINS"),
    ("not ___dict_contains(", "DICT_CONTAINS"),
    ("___set_contains(", "SET_CONTAINS"),
    ("not ___set_contains(", "SET_CONTAINS"),
    ("___dict_version(", "DICT_VERSION"),
)


def read_recompile_reasons(payload: str) -> Tuple[str, ...]:
    """The reasons in the payload of a `recompile_reasons` event, as lines for a reader; those alike are one."""
    return tuple(dict.fromkeys(_recompile_reason(reason) for reason in alike(payload)))


def _recompile_reason(reason: Alike) -> str:
    """`0/0: this failed: type(o) is A` for a guard that failed; other words of torch's as they are."""
    version = reason.version + ": " * bool(reason.version)
    likewise = f" (likewise {reason.others})" if reason.others else ""
    condition, _ = split_origin(stable_text(reason.text))
    kind = next((kind for start, kind in _KINDS if condition.startswith(start)), "")
    if not kind and not is_expression(condition):
        return version + shortened(scrub(condition)) + likewise
    failed = " and ".join(one.text for one in conditions_of(Leaf(kind, condition)))
    return f"{version}this failed: {shortened(failed)}{likewise}"
