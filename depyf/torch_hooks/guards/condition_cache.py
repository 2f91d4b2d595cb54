"""A leaf of torch's guard tree in words, each form of words found once.

A model with many layers has the same few guards on the values of each layer.  `conditions` finds the words for one of
them, with a name that stands for the value; here that name is put in.
"""

from __future__ import annotations

import functools
import re

from depyf.torch_hooks.guards.conditions import MAY_VARY, Condition, Leaf, spoken, type_test
from depyf.torch_hooks.guards.source_names import readable

_VALUE = "LOOKED_AT"  # stands for the value that a guard looks at
_PLAIN = r"[LG](?:\['[^'\\\n]*'\]|\[\d+\]|\.[^\W\d]\w*)+"
_PLAIN_SOURCE = re.compile(rf"(?:{_PLAIN}|list\(dict\.keys\({_PLAIN}\)\)\[\d+\])$")
_PLAIN_VALUE = re.compile(r" == ('[^'\\\n]*'|0|[1-9]\d*)$")
_BOUND_TO_ONE_VALUE = ("ID_MATCH", "NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "LAMBDA_GUARD")


def conditions_of(leaf: Leaf) -> tuple[Condition, ...]:
    """The conditions that `leaf` stands for, most telling first; never empty, never raises for odd text."""
    shown = "" if leaf.kind in _BOUND_TO_ONE_VALUE else _shown_source(leaf.source)
    if shown:
        before, found, after = leaf.text.partition(leaf.source)
        # a value of its own, not a part of another one
        is_whole = found and (not before or before[-1] in "( ") and (not after or after[0] in ",) ")
        if is_whole and leaf.kind == "EQUALS_MATCH" and not before and leaf.type_name and _PLAIN_VALUE.match(after):
            # each has its own value
            return (Condition(f"{type_test(shown, leaf.type_name)} and {shown}{after}", True),)
        if is_whole and leaf.source not in after and _VALUE not in leaf.text:
            conditions = _worded(leaf.kind, before + _VALUE + after, leaf.type_name)
            return tuple([Condition(text.replace(_VALUE, shown), python) for text, python in conditions])
    if leaf.kind == "ID_MATCH" and "module" in leaf.type_name + leaf.text:
        return spoken(leaf)  # which module that is shows in what is loaded now
    return _worded_before(leaf)


_LAST_STEP = re.compile(r".*(?=\.(?:_modules|_parameters|_buffers)\[)", re.DOTALL)


@functools.lru_cache(maxsize=4096)
def _shown_source(source: str) -> str:
    """How a value is shown, if it can stand for `_VALUE` in any condition; else empty."""
    if _PLAIN_SOURCE.match(source) is None:
        return ""
    step = _LAST_STEP.match(source)
    if step is None:
        shown = readable(source)
    else:  # few modules have many parts, of few names
        holder = _shown_source(step[0])
        shown = holder and holder + readable(source[step.end() :])
    return "" if MAY_VARY.search(shown) is not None or _VALUE in shown else shown


@functools.lru_cache(maxsize=1024)
def _worded(kind: str, text: str, type_name: str) -> tuple[Condition, ...]:
    return spoken(Leaf(kind, text, _VALUE, type_name))


@functools.lru_cache(maxsize=1024)
def _worded_before(leaf: Leaf) -> tuple[Condition, ...]:
    """Every frame has the guards on torch's own state."""
    return spoken(leaf)
