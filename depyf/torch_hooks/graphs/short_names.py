"""Shorten the names of a graph's inputs that no line has room for.

Dynamo names an input after the way to it, `L_self_modules_stages_modules_0_modules_blocks_modules_...`: in deep models
such a name alone is longer than a line. Where it is, the way stands without `modules`, `parameters` and `buffers`, in
the file and among the local variables of the running code, so that a debugger finds them under the names that the file
shows. The parameters of the running code keep their names: a backend may read the signature, or pass inputs by name.
"""

from __future__ import annotations

import re
from types import CodeType
from typing import Dict

from depyf.torch_hooks.internals.stable_names import parameter_names

LONGEST = 100  # characters; such a name, indented and with an equals sign behind it, fits a line
_LONG = re.compile(rf"(?<!\.)\b[Ll]_\w{{{LONGEST - 1},}}\b")  # not an attribute: those are looked up when it runs
# Patterns that begin with two fixed characters: searching for them is several times as fast.
_MAY_BE_LONG = (re.compile(rf"L_\w{{{LONGEST - 1}}}"), re.compile(rf"l_\w{{{LONGEST - 1}}}"))
_STEPS = re.compile(r"_(?:modules|parameters|buffers)(?=_)")


def with_short_names(text: str) -> str:
    """Return the text of a graph with short names for its inputs; as it is where two would become the same."""
    words = max(map(len, text.split()), default=0)  # no word is shorter than a name in it
    if words <= LONGEST or not any(pattern.search(text) for pattern in _MAY_BE_LONG):
        return text
    long = dict.fromkeys(_LONG.findall(text))
    if not long:
        return text
    short = {name: _shortened(name, number) for number, name in enumerate(long)}
    if len(set(short.values())) < len(short) or any(f"{name}" in text for name in short.values()):
        return text
    return _LONG.sub(lambda found: short[found[0]], text)


def _shortened(name: str, number: int) -> str:
    text = _STEPS.sub("", name)
    return text if len(text) <= LONGEST else f"{text[:60]}__{number}__{text[-30:]}"


def named_like(code: CodeType, twin: CodeType) -> CodeType | None:
    """Return `code` with the short names of `twin` in place of the long ones; None where they differ in others."""
    if len(code.co_varnames) != len(twin.co_varnames):
        return None
    renamed: Dict[str, str] = {}
    for own, other in zip(code.co_varnames, twin.co_varnames):
        if own != other and _LONG.fullmatch(own) is None:
            return None
        renamed[own] = other
    return code.replace(co_varnames=tuple(renamed.values())) if len(set(renamed.values())) == len(renamed) else None


def with_parameters_of(original: CodeType, code: CodeType) -> CodeType:
    """Return `code` with the names that the parameters of `original` have; as it is where a local has such a name."""
    own = parameter_names(original)
    now, rest = code.co_varnames[: len(own)], code.co_varnames[len(own) :]
    return code if now == own or set(own) & set(rest) else code.replace(co_varnames=own + rest)
