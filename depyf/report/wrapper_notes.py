"""What stands around a function that Dynamo compiled through its decorators: lines of a heading, and titles."""

from __future__ import annotations

import os
import textwrap

from depyf.record.records import FunctionRecord, Location, SessionRecord
from depyf.report.story_order import root_of
from depyf.text import resume_names

_WIDTH = 96
_COMPREHENSIONS = {
    "<listcomp>": "list comprehension",
    "<setcomp>": "set comprehension",
    "<dictcomp>": "dict comprehension",
    "<genexpr>": "generator expression",
}
_OF_TORCH = os.path.join("torch", "_dynamo", "external_utils.py")  # functions of torch's that only call what they hold


def wrapper_lines(function: FunctionRecord, is_compiled: bool = True) -> list[str]:
    """Return the decorators around the original that Dynamo compiled, or met, with it; none for a function without."""
    own = _own(function)
    lines = []
    if is_generated(function):
        lines.append("Python generated it for this dataclass.")
    if function.hook_of:
        note = f"It is {hook_note(function)}: torch runs it when they are called."
        lines += textwrap.wrap(note, _WIDTH, break_long_words=False, break_on_hyphens=False)
    if own:
        names = ", ".join(f"{one.function} ({one.file}:{one.line})" for one in own)
        what = "its decorator" if len(own) == 1 else "its decorators, outermost first"
        lines += textwrap.wrap(
            f"{'Dynamo compiled it' if is_compiled else 'Dynamo met it'} with {what}: {names}",
            _WIDTH,
            break_long_words=False,
            break_on_hyphens=False,
        )
    if len(own) < len(function.decorators):
        lines.append("Dynamo does not compile it on its own: torch put a function around it that only calls it.")
    return lines


def is_generated(function: FunctionRecord) -> bool:
    """Return whether this is a method that Python generated for the class that is shown as the original."""
    return function.original is not None and not function.decorators


def shows_wrapper(function: FunctionRecord) -> bool:
    """Return whether the code that was compiled is shown beside the original."""
    return is_generated(function) or (bool(function.decorators) and not _is_of_torch(function.decorators[0]))


def title_apart(session: SessionRecord, function: FunctionRecord) -> str:
    """Return the title of a function; that of a decorator is named so where the function inside has a story, too."""
    title = spoken_title(function)
    if not _has_namesake(session, function):
        return title
    own = _own(function)
    return f"the decorator {own[0].function} of {title}" if own else f"the call of {title}, which torch wraps"


def file_title(session: SessionRecord, function: FunctionRecord) -> str:
    """Return what the story of a function is called: that of a decorator, where the function inside has one, too."""
    if not _has_namesake(session, function):
        return function.display_name
    own = _own(function)
    return f"{own[0].function if own else 'call'}_of_{function.display_name}"


def _has_namesake(session: SessionRecord, function: FunctionRecord) -> bool:
    """Return whether this is a decorator of a function that Dynamo met on its own, too."""
    named = (function.display_name, function.shown_line)  # the path may be short already
    return bool(function.decorators) and any(
        (one.display_name, one.shown_line) == named and one.key != function.key for one in session.functions
    )


def title_inside(function: FunctionRecord) -> str:
    """Return what to call the code of a function that a line is in: of a wrapper, the decorator."""
    own = _own(function)
    return f"the decorator {own[0].function} of {spoken_title(function)}" if own else spoken_title(function)


def hook_note(function: FunctionRecord) -> str:
    """Return the modules that a function is a hook of, in words; empty for one that is none."""
    if not function.hook_of:
        return ""
    rest = function.hooked_modules - len(function.hook_of)
    more = f" and {rest} more module{'s' * (rest > 1)}" if rest > 0 else ""
    return f"a hook of {', '.join(function.hook_of)}{more}"


def spoken_title(function: FunctionRecord) -> str:
    """Return the title of a function in words: a comprehension has no name of its own."""
    holder, _, last = function.display_name.rpartition(".")
    kind = _COMPREHENSIONS.get(function.name)
    return f"the {kind} in {holder}" if kind and holder and f"<{last}>" == function.name else function.display_name


def _own(function: FunctionRecord) -> list[Location]:
    return [one for one in function.decorators if not _is_of_torch(one)]


def _is_of_torch(decorator: Location) -> bool:
    return decorator.file.endswith(_OF_TORCH)


def title_of(record: SessionRecord, function: FunctionRecord) -> str:
    """Return what a person calls the function; a resume function is the rest of another."""
    root = root_of(record, function.key)
    if root is None or root is function:
        return title_apart(record, function)
    found = resume_names.read(function.name)
    # The name that torch 2.2 gives it has no line, but its code begins there.
    line = None if found is None else found.line or function.first_line
    return f"the rest of {root.display_name} after {'a graph break' if line is None else f'line {line}'}"
