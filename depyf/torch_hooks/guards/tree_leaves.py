"""The leaves of torch's guard tree: read from its objects, or from the text that they print.

Torch's objects are read without printing them, which is several times as fast for a model with many layers.  A tree in
an unknown form is printed.  Nothing here imports torch.
"""

from __future__ import annotations

import re
from typing import Any, Callable, NamedTuple, Sequence, Tuple

from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.torch_text import type_from_repr

_MANAGER = re.compile(r"(?:KeyManager: |ValueManager: )?\w*GuardManager: source=")
_LEAF = re.compile(r"(?P<kind>[A-Z][A-Z0-9_]+)(?:: (?P<text>.*))?$", re.DOTALL)
_KIND = re.compile(r"[A-Z][A-Z0-9_]+")
# What a manager needs so that it can be read without printing it.
_QUESTIONS = ("get_source", "get_type_of_guarded_value", "get_leaf_guards", "get_child_managers")


class PrintedGuard(NamedTuple):
    """One guard as torch prints it, with the value that the tree hangs it on."""

    kind: str  # the class of the guard: TENSOR_MATCH, ID_MATCH ...
    text: str  # condition and comment
    source: str  # the value that it tests; empty for the guards of the root
    type_name: str  # dotted name of the type that the value had


# The fields of a PrintedGuard. A model has thousands: those of strings alone, the garbage collector leaves out.
Row = Tuple[str, str, str, str]


def printed_guards(guards: object) -> list[Row]:
    """Return the leaves of a guard tree in the order in which torch prints them.

    `guards` is a guard manager of torch's, the text that one prints, or the function that prints one for an event.
    """
    if callable(guards) and hasattr(guards, "__code__"):
        guards = _manager_behind(guards) or guards()
    root = getattr(guards, "root", None)
    relational = private_hooks.find("relational_guards")
    if isinstance(relational, type) and all(hasattr(root, question) for question in _QUESTIONS):
        tree = _Tree(relational)
        tree.read(root)
        return tree.found
    return _in_text(str(guards))


def _manager_behind(prints: Callable[[], object]) -> object:
    """Return the guard manager that the function of an event would print: `lambda: f"{self.guard_manager}..."`."""
    cells = dict(zip(prints.__code__.co_freevars, getattr(prints, "__closure__", None) or ()))
    owner = cells.get("self")
    return None if owner is None else getattr(owner.cell_contents, "guard_manager", None)


# -- torch's objects


class _Tree:
    """Reads one guard tree; a guard on several values hangs on each of them, and counts where it comes first."""

    def __init__(self, relational: type) -> None:
        self.found: list[Row] = []
        self._relational = relational
        self._seen: set[Any] = set()
        # class of a guard -> its kind, empty where it is none, and whether it is on several values
        self._kinds: dict[type, tuple[str, bool]] = {}
        self._are_dicts: dict[type, bool] = {}  # class of a manager -> whether it has one for each key and value
        self._type_names: dict[Any, str] = {}

    def read(self, root: Any) -> None:
        """Add all leaves; torch prints the root without a value."""
        self._add(root.get_leaf_guards(), "", "")
        self._read_below(root)
        if hasattr(root, "get_epilogue_lambda_guards"):
            self._add(root.get_epilogue_lambda_guards(), "", "")

    def _read_below(self, manager: Any) -> None:
        """Add the leaves of the managers right below one, and of those below them."""
        children = manager.get_child_managers()
        are_dicts = self._are_dicts
        is_dict = are_dicts.get(type(manager))
        if is_dict is None:
            is_dict = are_dicts[type(manager)] = hasattr(manager, "get_key_value_managers")
        if is_dict:
            pairs = sorted(manager.get_key_value_managers().items())
            children = [child for _, pair in pairs for child in pair if child] + children
        for child in children:
            guards = child.get_leaf_guards()
            if guards:
                guarded = child.get_type_of_guarded_value()
                self._add(guards, child.get_source(), self._type_names.get(guarded) or self._type_name(guarded))
            self._read_below(child)

    def _add(self, guards: Sequence[Any], source: str, type_name: str) -> None:
        """Add the guards of one value."""
        found, kinds = self.found, self._kinds
        for guard in guards:
            known = kinds.get(type(guard))
            if known is None:
                name = type(guard).__name__
                known = (name if _is_kind(name) else "", isinstance(guard, self._relational))
                kinds[type(guard)] = known
            kind, is_relational = known
            if not kind:
                continue
            if is_relational:
                if guard in self._seen:
                    continue
                self._seen.add(guard)
            for text in guard.verbose_code_parts():
                found.append((kind, text if "\n" not in text else _without_blank_lines(text), source, type_name))

    def _type_name(self, guarded: Any) -> str:
        known = self._type_names.get(guarded)
        if known is None:
            known = self._type_names[guarded] = type_from_repr(f"{guarded}")
        return known


def _is_kind(name: str) -> bool:
    return _KIND.fullmatch(name) is not None


def _without_blank_lines(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(line for line in rest if line.strip())])


# -- the text that they print


def _in_text(text: str) -> list[Row]:
    """Return the leaves of a printed guard tree."""
    found: list[Row] = []
    # For each depth, the source and type of the manager that the lines below it belong to.
    managers: list[tuple[str, str]] = []
    for depth, line in _logical_lines(text):
        if "GuardManager: source=" in line and _MANAGER.match(line) is not None:
            del managers[depth:]
            managers += [("", "")] * (depth - len(managers))
            managers.append(_manager(line))
            continue
        match = _LEAF.match(line)
        if match is None or match["text"] is None:
            # The root's own line, a pair of dict managers, or a guard on several values printed before.
            continue
        source, type_name = managers[depth - 1] if 0 < depth <= len(managers) else ("", "")
        found.append((match["kind"], match["text"], source, type_name))
    return found


def _manager(line: str) -> tuple[str, str]:
    """Return the value that a manager is for, and its type."""
    rest = line[line.index("source=") + len("source=") :]
    ends = [end for end in (rest.find(", accessed_by="), rest.find(", type=")) if end >= 0]
    return rest[: min(ends, default=len(rest))], type_from_repr(rest.rpartition(", type=")[2])


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Return (depth, text) of each node of the tree; the value of a guard may print on many lines."""
    lines: list[tuple[int, str]] = []
    for line in text.split("\n"):
        start = line.find("+- ")
        if start >= 0 and line[:start] == "| " * (start // 2):
            lines.append((start // 2, line[start + 3 :]))
        elif lines and line.strip() and not line.startswith(("TREE_GUARD_MANAGER", "Guard latency")):
            depth, first = lines[-1]
            lines[-1] = depth, f"{first}\n{line}"
    return lines
