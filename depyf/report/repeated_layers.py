"""Guards of a version in which those of repeated layers come once, with a mark for the names of all of them.

The mark is a name, so that the guards are spelled and grouped like any others.  Before texts are folded, each layer's
name is put in its place: what is folded is the same as if the guards had come one by one, in time for the layout alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from depyf.record.guard_conditions import GuardTest, NoDimensionMarks, SameBody, SameObject, with_subject
from depyf.record.guard_list import LAYER, GuardList, LayerForm, LayerGuards
from depyf.record.records import GuardRecord
from depyf.report.guarded_values import value_and_forms

_MARK = re.compile(rf"\b{LAYER}\w*")
_NUMBER = re.compile(r"\[\d+\]")


class Run(NamedTuple):
    """Layers that are items of one list."""

    mark: str
    list_name: str  # with the bracket: `self.blocks[`
    numbers: Tuple[int, ...]  # in ascending order


class RepeatedLayers:
    """The names of the layers that each mark stands for."""

    def __init__(self, names: Mapping[str, Sequence[str]] = {}) -> None:
        self._names = names
        self._runs: Dict[str, Optional[Run]] = {}

    def each(self, texts: Sequence[str]) -> Sequence[str]:
        """Return the texts, in place of one with a mark those of all its layers."""
        if not self._names:
            return texts
        found: List[str] = []
        for text in texts:
            mark = self._mark_in(text)
            found += [text.replace(mark, name) for name in self._names[mark]] if mark else [text]
        return found

    def first_of(self, texts: Sequence[str]) -> Sequence[str]:
        """Return the texts, in place of one with a mark that of its first layer."""
        if not self._names:
            return texts
        marks = map(self._mark_in, texts)
        return [text.replace(mark, self._names[mark][0]) if mark else text for text, mark in zip(texts, marks)]

    def count(self, texts: Sequence[str]) -> int:
        """Return how many texts there are with each layer on its own."""
        if not self._names:
            return len(texts)
        return sum([len(self._names[mark]) if mark else 1 for mark in map(self._mark_in, texts)])

    def run_of(self, text: str) -> Optional[Run]:
        """Return the layers that a mark in the text stands for, where they are several items of one list."""
        mark = self._mark_in(text) if self._names else ""
        if mark and mark not in self._runs:
            self._runs[mark] = _run(mark, self._names[mark])
        return self._runs[mark] if mark else None

    def _mark_in(self, text: str) -> str:
        found = _MARK.search(text) if LAYER in text else None
        return found[0] if found is not None and found[0] in self._names else ""


def _run(mark: str, names: Sequence[str]) -> Optional[Run]:
    lists = {name[: name.rindex("[") + 1] for name in names}
    if len(lists) > 1 or len(names) < 2:
        return None
    (list_name,) = lists
    return Run(mark, list_name, tuple(sorted([int(name[len(list_name) : -1]) for name in names])))


NO_LAYERS = RepeatedLayers()


def with_layers_once(guards: Sequence[GuardRecord]) -> Tuple[Sequence[GuardRecord], RepeatedLayers]:
    """Return the guards with those of layers that are alike once; where that is not possible, as they are."""
    if not isinstance(guards, GuardList) or not _is_alike_in_layers(guards):
        return guards, NO_LAYERS
    marks: Dict[Tuple[LayerForm, str], str] = {}  # a form, and what the layers are items of -> mark
    names: Dict[str, List[str]] = {}
    found: List[GuardRecord] = []
    for piece in guards.pieces:
        if not isinstance(piece, LayerGuards):
            found.append(piece)
            continue
        key = (piece.form, _NUMBER.sub("[]", piece.shown))
        mark = marks.get(key)
        if mark is None:
            mark = marks[key] = LAYER + "_" * len(marks)
            found += _marked(piece.form, mark)
        names.setdefault(mark, []).append(piece.shown)
    return found, RepeatedLayers(names)


def _marked(form: LayerForm, mark: str) -> Iterator[GuardRecord]:
    for one in form.records:
        if mark == LAYER:
            yield one
        else:
            yield replace(one, test=with_subject(one.test, LAYER, mark))


def _is_alike_in_layers(guards: GuardList) -> bool:
    """Return whether the guards of layers are spelled alike in all of them: in Python, or as an entry of a list."""
    forms = {piece.form for piece in guards.pieces if isinstance(piece, LayerGuards)}
    return all(_is_alike(one.test) for form in forms for one in form.records) and not any(
        LAYER in piece.test.text for piece in guards.pieces if isinstance(piece, GuardRecord)
    )


def _is_alike(test: GuardTest) -> bool:
    if isinstance(test, (SameObject, SameBody, NoDimensionMarks)):
        return True
    value, forms = value_and_forms(test)
    return test.has_parts and not (value and any(LAYER in form for form in forms))
