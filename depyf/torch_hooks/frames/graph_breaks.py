"""Torch's explanation of a graph break or of a failed compilation, as a short record.

It comes as a text of many lines with object ids, pasted stacks and the inner workings of Dynamo in them.
What leaves this module is the same in every run.
"""

from __future__ import annotations

import re
from typing import Iterator, List, Sequence, Tuple

from depyf.record.records import AND_THEN, GraphBreak, Location
from depyf.text.lines import shortened
from depyf.torch_hooks.frames.traced_calls import NO_CALLS, TracedCalls
from depyf.torch_hooks.internals.code_owners import is_in_torch
from depyf.torch_hooks.internals.stable_names import stable_text
from depyf.torch_hooks.internals.torch_text import scrub

_BREAK_AT = re.compile(r"^Graph break in user code at (?P<file>.+):(?P<line>\d+)$", re.MULTILINE)
_BREAK_REASON = re.compile(r"^(?:Graph Break Reason|Reason): (?P<reason>.+)$", re.MULTILINE)
_STACK_ENTRY = re.compile(
    r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)\n(?:    (?P<code>.+)\n)?', re.MULTILINE
)
_ANNOUNCEMENT = "WON'T CONVERT "
_END_OF_EXPLANATION = "\nUser code traceback:"
_END_OF_STACK = "\nTraceback (most recent call last):"
_HINT = re.compile(r"^  Hint: (?P<hint>.+(?:\n    .+)*)$", re.MULTILINE)
_MOST_CALLS = 20  # of the stack of a graph break, innermost ones
# What broke the graph, then why: the lines before that are about what Dynamo was doing.
# Inside a higher-order operator torch names that one between the two, once for each it is inside of.
_CAUSE = re.compile(
    r"^(?:Graph Break Reason: |Reason: )?(?P<what>\S.*)\n(?:  Higher Order Operator: .+\n)*"
    r"  Explanation:(?P<why>.*)$",  # torch leaves it empty where the heading is all there is
    re.MULTILINE,
)
_RAISED = re.compile(  # of the cause before it
    r"(?:\n(?:  Hint: .*|    .*|\s*))*\n  Developer debug context: raised exception "
    r"(?:ExceptionVariable\(<class '(?P<type>[^']+)'>\)|(?P<exception>.+))"  # torch 2.8 prints what Dynamo makes of it
)
_STACK_FOLLOWS = re.compile(r" at\s*$")  # "Backend compiler failed with a fake tensor exception at", before torch 2.7
_ITEM = "  - "
_FEW_WORDS = 3  # of a heading: so few mean little without the explanation
_END_OF_SENTENCE = re.compile(r"(?<!e\.g\.)(?<=\.)\s|(?<=\.`)\s")
_OPERATOR = re.compile(r"^  Higher Order Operator: (?P<name>.+)$", re.MULTILINE)


def read_graph_break(text: str, traced: TracedCalls = NO_CALLS) -> GraphBreak:
    """Read the graph break that torch explains in `text`.

    `traced` calls led to it, where they are known better than torch prints them.
    """
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
    causes = tuple(_shortened(_causes(explanation)))
    is_known = _lead_to(traced.calls, location)
    return GraphBreak(
        causes,
        location,
        explanation,
        hints_in(explanation),
        traced.calls if is_known else _user_stack(text),
        _operators(explanation),
        traced.own if is_known else None,
        traced.raised_at,
    )


def is_announcement(text: str) -> bool:
    """Return whether a text announces a break that has a text of its own: a backend failed, and torch warns of that."""
    return text.startswith(_ANNOUNCEMENT)


def _lead_to(calls: Sequence[Location], location: Location | None) -> bool:
    """Return whether the calls end at the line of the break, or at the line that called torch, which broke inside."""
    if location is None or not calls:
        return False
    return is_in_torch(location.file) or (calls[-1].file, calls[-1].line) == (location.file, location.line)


def reason_in(explanation: str) -> str:
    """Return the cause in torch's explanation of a graph break or a failure, on one line; empty for no text."""
    causes = _causes(scrub(stable_text(explanation.strip()))) if explanation.strip() else []
    return shortened(AND_THEN.join(causes))


def failure_reason(explanation: str) -> str:
    """Return the same with torch's explanation, for a failure, whose heading alone means little."""
    text = scrub(stable_text(explanation.strip()))
    found = [(cause["what"].strip(), cause["why"].strip()) for cause in _CAUSE.finditer(text)]
    causes = [f"{what}: {why}" if why else what for what, why in found]
    return shortened(AND_THEN.join(causes)) if causes else reason_in(text)


def hints_in(explanation: str) -> Tuple[str, ...]:
    """Return what torch advises in its explanation, each piece of advice once."""
    hints = [" ".join(match["hint"].split()) for match in _HINT.finditer(scrub(explanation))]
    return tuple(dict.fromkeys(hints))


def _user_stack(text: str) -> Tuple[Location, ...]:
    """Return the calls that led to a graph break, innermost last, without torch's own."""
    _, _, rest = text.partition(_END_OF_EXPLANATION)
    calls = [
        Location(entry["file"], int(entry["line"]), entry["function"], (entry["code"] or "").strip())
        for entry in _STACK_ENTRY.finditer(rest.partition(_END_OF_STACK)[0])
        if not is_in_torch(entry["file"])
    ]
    return tuple(calls[-_MOST_CALLS:])


def _causes(explanation: str) -> List[str]:
    """Return what broke the graph, then what failed because of that."""
    causes: List[str] = []
    for cause in _CAUSE.finditer(explanation):
        what, why = cause["what"].strip(), cause["why"].strip()
        # A general heading needs the sentence that names the thing; one with the thing in it does not.
        named = [sentence for sentence in _END_OF_SENTENCE.split(why) if "`" in sentence and "e.g." not in sentence]
        if "e.g." not in why:
            named = [why] if named else []
        raised = _RAISED.match(explanation, cause.end())
        if raised is not None:
            named = [raised["type"] or raised["exception"]]
        elif not named and why and len(what.split()) <= _FEW_WORDS and "e.g." not in why:
            named = _END_OF_SENTENCE.split(why)[:1]
        causes.append(f"{what}: {named[0]}" if named and "`" not in what else what)
    if causes:
        *first, last = dict.fromkeys(causes)
        return [*(cause.rstrip(".") for cause in first), last]
    reason = _BREAK_REASON.search(explanation)
    if reason is not None:
        heading = reason.group("reason").strip()
        below = _below(explanation[reason.end() :]) if heading.endswith(":") else ""
        return [below or heading]
    lines = explanation.splitlines() or ["unknown"]
    listed = next((line[len(_ITEM) :] for line in lines if line.startswith(_ITEM)), "")
    if listed:  # "Constraints violated! For more information ...", then each of them
        return [listed]
    if lines[0].endswith(":"):  # "backend='mine' raised:", then what
        return [" ".join(lines[:2])]
    return [_STACK_FOLLOWS.sub("", lines[0])]


def _below(rest: str) -> str:
    """Return the reason below the heading "Encountered graph break when ...:"; empty where there is none."""
    lines = [line for line in rest.split("\n") if line.strip()]
    if not lines or lines[0].startswith(" "):
        return ""
    sentences = [one for one in _END_OF_SENTENCE.split(lines[0]) if not one.startswith("Consider ")]
    return sentences[0].rstrip(".") if sentences else ""


def _operators(explanation: str) -> Tuple[str, ...]:
    """Return the higher-order operators inside of which the graph broke, innermost first."""
    return tuple(dict.fromkeys(found["name"].strip() for found in _OPERATOR.finditer(explanation)))


def _shortened(causes: Sequence[str]) -> Iterator[str]:
    """Return the causes, each on one line, cut where they are too long to read together."""
    *first, last = (" ".join(cause.split()) for cause in causes)
    rest = shortened(AND_THEN.join([*first, last]))
    for cause in first:
        if not rest.startswith(cause + AND_THEN):
            break  # cut inside of it
        yield cause
        rest = rest[len(cause + AND_THEN) :]
    yield rest
