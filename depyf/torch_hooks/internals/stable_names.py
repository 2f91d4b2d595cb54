"""Dynamo's names and texts without the random ids and addresses that differ from run to run."""

from __future__ import annotations

import inspect
import re
from types import CodeType
from typing import Dict, Iterator, Tuple

from depyf.text import resume_names
from depyf.torch_hooks.internals import private_hooks

# unique_id(..., with_uuid=True) of Dynamo: __compiled_fn_1_d8065403_e292_4aa4_9a4e_2a1b0f6a9c7d
_WITH_UUID = re.compile(r"(?P<name>[A-Za-z_]\w*?_\d+)_[0-9a-f]{8}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{12}\b")
_UUID_END = re.compile(r"_[0-9a-f]{4}_[0-9a-f]{12}\b")  # a quick test: most of the names that torch prints have none
_UUID = re.compile(r"(?<=\d)_[0-9a-f]{8}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{12}\b")
# install_global_by_id of Dynamo: <prefix>_<id of the object>_c<compile id>
_WITH_OBJECT_ID = re.compile(r"(?P<prefix>[A-Za-z_]\w*?)_\d{9,}_c.+")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_VARYING_LINE = re.compile(r"^\s*# graph id:.*\n?", re.MULTILINE)

GRAPH_NAME = re.compile(r"__compiled_fn_\d+$")
RESUME_NAME = re.compile(r"__resume_at_(?P<offset>\d+)_\d+(?:_[0-9a-f_]{36})?$")  # torch 2.8 appends a random id


class _ResumeFunctions:
    """What the names of resume functions begin with: torch 2.2 has a shorter form, which elsewhere is a user's name."""

    def match(self, name: str) -> re.Match[str] | None:
        """Return the match of the beginning of a resume function's name; None for any other name."""
        found = _BEGINNING.match(name)
        return None if found is not None and found[0] == "resume_in_" and not _has_short_names() else found


def resumed_name(name: str) -> str:
    """Return the name of the function that a resume function is the rest of; any other name as it is."""
    return resume_names.continued(name) if RESUME_FUNCTION.match(name) else name


def _has_short_names() -> bool:
    is_loaded = private_hooks.find_loaded("resume_code_cache") is not None
    return is_loaded and private_hooks.find_loaded("resume_prefix") is None


RESUME_FUNCTION = _ResumeFunctions()
_BEGINNING = re.compile(resume_names.BEGINNING)


def without_random_id(text: str) -> str:
    """Return `text` without the random ids that Dynamo appends to names."""
    return _UUID.sub("", text) if _UUID_END.search(text) is not None else text


def stable_text(text: str) -> str:
    """Return `text` without what differs from run to run: random ids, addresses, ids of graphs."""
    text = without_random_id(text)
    if "0x" in text:
        text = _ADDRESS.sub("0x...", text)
    return _VARYING_LINE.sub("", text) if "# graph id:" in text else text


def all_names(code: CodeType) -> Iterator[str]:
    """Yield the global and attribute names that `code` and the code inside it mention."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from all_names(constant)


def parameter_names(code: CodeType) -> Tuple[str, ...]:
    """Return the names of the parameters, `*args` and `**kwargs` included."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


class Renames:
    """The stable names that the text gives to Dynamo's generated globals, the same throughout a session."""

    def __init__(self) -> None:
        self._shown: Dict[str, str] = {}
        self._used: Dict[str, str] = {}  # shown name -> real name
        self._last: Tuple[CodeType | None, Dict[str, str]] = None, {}

    def of(self, code: CodeType) -> Dict[str, str]:
        """Return {real name: name to show} for each name in `code` that varies from run to run."""
        if self._last[0] is not code:
            names = list(dict.fromkeys(all_names(code)))
            plain = {*names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
            shown = {name: self._show(name, plain) for name in names}
            self._last = code, {name: other for name, other in shown.items() if other != name}
        return self._last[1]

    def _show(self, name: str, taken: set[str]) -> str:
        if name in self._shown:
            return self._shown[name]
        uuid = _WITH_UUID.fullmatch(name)
        by_id = _WITH_OBJECT_ID.fullmatch(name)
        if uuid is None and by_id is None:
            return name
        base = uuid.group("name") if uuid else by_id.group("prefix") + "_0" if by_id else name
        shown, number = base, 0
        while shown in taken or self._used.get(shown, name) != name:
            number += 1
            shown = f"{base}_{number}" if uuid else f"{base[:-2]}_{number}"
        self._shown[name], self._used[shown] = shown, name
        return shown
