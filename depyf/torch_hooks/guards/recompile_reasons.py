"""The reasons in a `recompile_reasons` event of torch: its text is read here, once.

A function that was compiled for n = 0, 1, 2 ... has one reason for each earlier version, every time it is compiled
again.  Listed one by one they would fill a file with the square of the number of versions, so reasons that differ only
in the version and in the value that it was compiled for become one.  `failed_guards` makes records of them, `in_words`
the lines that keep torch's words.
"""

from __future__ import annotations

import json
import re
from typing import Dict, List, NamedTuple, Sequence, Tuple

from depyf.record.records import Location
from depyf.record.stack_text import read_stack
from depyf.text.lines import shortened
from depyf.torch_hooks.guards.condition_cache import tests_of
from depyf.torch_hooks.guards.guard_kinds import METADATA_GUARD, Leaf
from depyf.torch_hooks.guards.origins import split_origin
from depyf.torch_hooks.internals.stable_names import stable_text
from depyf.torch_hooks.internals.torch_text import is_expression, scrub

_EQUAL_SIZES = re.compile(r"# (duck sizing added .+)$")
_STACK = "\nUser stack trace:"
_ADVICE = ". Guard failed on "  # a parameter, or an attribute of a module: the sentence names an option of torch's
# The value that a version was compiled for, in the forms in which torch prints it; an object is printed as its id.
_EXPECTED = re.compile(
    r" [=!]= (?:-?\d[\w.]*|'[^'\\\n]*'|True|False|None)(?=\s|$)"
    r"| expected [^\s,]+(?=, actual)"
    r"|, (?:\d+\)|\.\.\.\)|type=<[^<>]*>)"
)
# How the text of a guard begins that torch prints as in its guard tree -> torch's name for that kind of guard.
_KINDS = (
    ("___check_type_id(", "TYPE_MATCH"),
    ("___check_obj_id(", "ID_MATCH"),
    ("check_tensor(", "TENSOR_MATCH"),
    ("___dict_contains(", "DICT_CONTAINS"),
    ("not ___dict_contains(", "DICT_CONTAINS"),
    ("___set_contains(", "SET_CONTAINS"),
    ("not ___set_contains(", "SET_CONTAINS"),
    ("___dict_version(", "DICT_VERSION"),
    ("___check_metadata_", METADATA_GUARD),
    ("___check_global_state(", "GLOBAL_STATE"),
    ("___check_torch_function_mode_stack(", "TORCH_FUNCTION_MODE_STACK"),
)
_MOST_RUNS = 6
_MOST_VALUES = 4


class Cause(NamedTuple):
    """Why one version does not fit."""

    condition: str  # what failed, in torch's words, the same in every run
    comment: str  # torch's comment on where the guard comes from
    calls: Tuple[Location, ...] = ()  # that led to that line, outermost first; the last one is the line
    advice: str = ""  # torch's, on how to avoid the recompile


class Reason(NamedTuple):
    """Why versions do not fit that all fail in the same way."""

    version: str  # compile id of the newest one; empty where torch named none
    cause: Cause
    others: str = ""  # the other versions: "0/0 to 0/57"
    some: Tuple[Cause, ...] = ()  # of the oldest of those, and of the newest ones
    versions: Tuple[str, ...] = ()  # the compile ids of these, the oldest first
    every: Tuple[str, ...] = ()  # the compile ids of all, that of `version` included, newest first


def read_reasons(payload: str) -> Tuple[Reason, ...]:
    """Read the payload of a `recompile_reasons` event: its reasons, newest version first, equal ones together.

    The payload is one text or a JSON list of them, one for each version that did not fit: `0/1: L['n'] == 3`.
    """
    try:
        value = json.loads(payload)
    except ValueError:
        value = payload
    groups: Dict[str, List[Tuple[str, str, str]]] = {}
    for reason in value if isinstance(value, list) else [value]:
        printed, _, stack = str(reason).partition(_STACK)
        version, text = _split(printed.strip())
        condition, _, origin = text.partition("  # ")
        groups.setdefault(_EXPECTED.sub("", condition.rstrip()) + origin, []).append((version, text, stack))
    return tuple(map(_together, groups.values()))


def _split(text: str) -> Tuple[str, str]:
    """Split `0/1: the rest` into the compile id and the rest; no id where torch named none."""
    version, separator, rest = text.partition(": ")
    return (version, rest) if separator and "/" in version and " " not in version else ("", text)


def _together(group: List[Tuple[str, str, str]]) -> Reason:
    (version, text, stack), *others = group
    some = others if len(others) <= _MOST_VALUES + 1 else [*others[:_MOST_VALUES], others[-1]]
    return Reason(
        version,
        _cause(text, stack),
        runs([name for name, _, _ in others]),
        tuple([_cause(other) for _, other, _ in reversed(some)]),
        tuple([name for name, _, _ in reversed(some)]),
        tuple([name for name, _, _ in group]),
    )


def _cause(text: str, stack: str = "") -> Cause:
    whole, comment = split_origin(text)
    condition, _, advice = whole.partition(_ADVICE)
    of_sizes = _EQUAL_SIZES.search(comment)
    advice = of_sizes[1] if of_sizes is not None else (_ADVICE + advice)[2:] if advice else ""
    return Cause(stable_text(condition), comment, read_stack(stack) if stack else (), advice)


def runs(versions: Sequence[str]) -> str:
    """Compile ids, newest first, in few words, oldest first: `0/0 to 0/57, 0/60`."""
    found: List[List[str]] = []  # those that follow each other
    expected = ""
    for version in reversed(versions):
        if version and version == expected:
            found[-1].append(version)
        else:
            found.append([version])
        function, _, number = version.rpartition("/")
        expected = f"{function}/{int(number) + 1}" if number.isdecimal() else ""
    texts = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in found]
    if len(texts) > _MOST_RUNS:
        texts[_MOST_RUNS - 2 :] = [f"{texts[_MOST_RUNS - 2]} ... {texts[-1]} ({len(versions)} versions)"]
    return ", ".join(texts)


def kind_of(condition: str) -> str:
    """Return torch's name for the kind of guard whose text begins like this; empty for a plain expression."""
    return next((kind for start, kind in _KINDS if condition.startswith(start)), "")


# ---------------------------------------------------------------- in words


def in_words(reasons: Sequence[Reason]) -> Tuple[str, ...]:
    """Return one line for each reason, the same in every run."""
    return tuple(dict.fromkeys(map(_line, reasons)))


def _line(reason: Reason) -> str:
    """Write `0/0: this failed: type(o) is A` for a guard that failed; keep other words of torch's."""
    version = reason.version + ": " * bool(reason.version)
    likewise = f" (likewise {reason.others})" if reason.others else ""
    condition = reason.cause.condition
    kind = kind_of(condition)
    if not kind and not is_expression(condition):
        return version + shortened(scrub(condition)) + likewise
    failed = " and ".join(test.text for test in tests_of(Leaf(kind, condition)))
    return f"{version}this failed: {shortened(failed)}{likewise}"
