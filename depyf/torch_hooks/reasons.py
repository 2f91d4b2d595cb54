"""Torch's own words on why it compiled again and where a graph broke, as records that a person can read.

Both come as texts of many lines with object ids, pasted stacks and the inner workings of Dynamo in them.  What
leaves this module is short and the same in every run.
"""

from __future__ import annotations

import re
from typing import List, Tuple

from depyf.record import GraphBreak, Location
from depyf.torch_hooks.alike import Alike, alike
from depyf.torch_hooks.guard_forms import conditions_of
from depyf.torch_hooks.guard_origins import split_origin
from depyf.torch_hooks.guard_text import Leaf
from depyf.torch_hooks.names import is_in_torch, stable_text
from depyf.torch_hooks.printed import is_expression, scrub

LONGEST = 300

# ---------------------------------------------------------------- recompilations

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


def shortened(text: str) -> str:
    """`text` on one line, cut where it is too long to read."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " ..."


# ---------------------------------------------------------------- graph breaks

_BREAK_AT = re.compile(r"^Graph break in user code at (?P<file>.+):(?P<line>\d+)$", re.MULTILINE)
_BREAK_REASON = re.compile(r"^(?:Graph Break Reason|Reason): (?P<reason>.+)$", re.MULTILINE)
_STACK_ENTRY = re.compile(
    r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)\n(?:    (?P<code>.+)\n)?', re.MULTILINE
)
_END_OF_EXPLANATION = "\nUser code traceback:"
_END_OF_STACK = "\nTraceback (most recent call last):"
_HINT = re.compile(r"^  Hint: (?P<hint>.+(?:\n    .+)*)$", re.MULTILINE)
_MOST_CALLS = 20  # of the stack of a graph break, innermost ones
# What broke the graph, then why: the lines before that tell what Dynamo was doing meanwhile.
_CAUSE = re.compile(r"^(?:Graph Break Reason: |Reason: )?(?P<what>\S.*)\n  Explanation: (?P<why>.+)$", re.MULTILINE)


def read_graph_break(text: str) -> GraphBreak:
    """The graph break that torch explains in `text`."""
    text = stable_text(text)
    place = _BREAK_AT.search(text)
    location = None
    if place is not None:
        location = Location(place.group("file"), int(place.group("line")))
        for entry in _STACK_ENTRY.finditer(text):
            if (entry.group("file"), int(entry.group("line"))) == (location.file, location.line):
                code = (entry.group("code") or "").strip()
                location = Location(location.file, location.line, entry.group("function"), code)
    explanation = scrub(text.split(_END_OF_EXPLANATION)[0].strip())
    return GraphBreak(
        shortened(_reason(explanation)), location, explanation, hints_in(explanation), _user_stack(text)
    )


def reason_in(explanation: str) -> str:
    """The cause that torch's explanation of a graph break or a failure names, on one line; empty for no text."""
    return shortened(_reason(scrub(stable_text(explanation.strip())))) if explanation.strip() else ""


def failure_reason(explanation: str) -> str:
    """The same with torch's words on it, for a failure, whose heading alone says little."""
    text = scrub(stable_text(explanation.strip()))
    causes = [f"{cause['what'].strip()}: {cause['why'].strip()}" for cause in _CAUSE.finditer(text)]
    return shortened(", and then ".join(causes)) if causes else reason_in(text)


def hints_in(explanation: str) -> Tuple[str, ...]:
    """What torch advises in its explanation, each piece of advice once."""
    hints = [" ".join(match["hint"].split()) for match in _HINT.finditer(scrub(explanation))]
    return tuple(dict.fromkeys(hints))


def _user_stack(text: str) -> Tuple[Location, ...]:
    """The calls that led to a graph break, innermost last, without torch's own."""
    _, _, rest = text.partition(_END_OF_EXPLANATION)
    calls = [
        Location(entry["file"], int(entry["line"]), entry["function"], (entry["code"] or "").strip())
        for entry in _STACK_ENTRY.finditer(rest.partition(_END_OF_STACK)[0])
        if not is_in_torch(entry["file"])
    ]
    return tuple(calls[-_MOST_CALLS:])


def _reason(explanation: str) -> str:
    causes: List[str] = []
    for cause in _CAUSE.finditer(explanation):
        what, why = cause["what"].strip(), cause["why"].strip()
        # A general heading needs the sentence that names the thing; one with the thing in it does not.
        is_general = "`" not in what and "`" in why and "e.g." not in why
        causes.append(f"{what}: {why}" if is_general else what)
    if causes:
        *first, last = dict.fromkeys(causes)
        return ", and then ".join([*(cause.rstrip(".") for cause in first), last])
    reason = _BREAK_REASON.search(explanation)
    if reason is not None:
        return reason.group("reason").strip()
    lines = explanation.splitlines() or ["unknown"]
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]  # "backend='mine' raised:", then what
