"""Guards of repeated layers as rows of the tables of a manifest: the layer's name is put into texts of many rows.

The rows are those that `manifest_tables` writes of single guards.  A layer of which a text is in the tables already is
no block: its guards are added one by one.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from depyf.record.guard_list import LAYER, LayerGuards

_CONDITION, _VALUE, _EXPRESSION = range(3)  # the columns in which each layer has texts of its own

Numbers = Tuple[int, int, int]  # one for each of these columns


class NumberedTest(NamedTuple):
    """A guard of a form: texts that hold the layer's name as they are, and others as the numbers that they have."""

    form: int  # of the condition; -1: it is written as a whole
    text: str  # the value, or the whole condition
    expression: str
    kind: int
    place: int
    flags: int


class LayerRows:
    """The rows of all layers that have the same form."""

    def __init__(self, tests: Sequence[NumberedTest]) -> None:
        self.tests = tests
        self.columns = (
            _Column([test.text for test in tests if test.form < 0]),
            _Column([test.text for test in tests if test.form >= 0]),
            _Column([test.expression for test in tests]),
        )
        self._templates: Dict[int, str] = {}
        self._slots: List[Tuple[int, int]] = []  # column and place in it of each text
        for test in tests:
            column = _CONDITION if test.form < 0 else _VALUE
            self._slots.append((column, self.columns[column].places[test.text]))
            self._slots.append((_EXPRESSION, self.columns[_EXPRESSION].places[test.expression]))

    @classmethod
    def of(cls, tests: Sequence[NumberedTest]) -> Optional[LayerRows]:
        """Return the rows; None unless each text holds the layer's name, on one line."""
        texts = [text for test in tests for text in (test.text, test.expression)]
        return cls(tests) if all(LAYER in text and "\n" not in text for text in texts) else None

    def numbers(self, firsts: Numbers) -> Tuple[int, ...]:
        """Return the numbers of the texts, given those of the first in each column."""
        return tuple([firsts[column] + place for column, place in self._slots])

    def template(self, no_value: int, ends: Any) -> str:
        """Return the rows as text, a line each, with `%d` for those numbers; `ends`: texts for place and flags."""
        known = self._templates.get(no_value)
        if known is None:
            starts = [f"[%d,{no_value},%d," if test.form < 0 else f"[{test.form},%d,%d," for test in self.tests]
            lines = [f"{one}{test.kind}{ends[test.place, test.flags]}]" for one, test in zip(starts, self.tests)]
            known = self._templates[no_value] = "\n".join(lines)
        return known


class Block(NamedTuple):
    """The rows of a layer."""

    layer: LayerGuards
    of_form: LayerRows
    row: int  # number of the first one
    firsts: Numbers  # the number of the first new text of each column

    @property
    def size(self) -> int:
        return len(self.of_form.tests)

    def texts(self) -> List[List[str]]:
        """Return the new texts of each column."""
        names = (self.layer.shown, self.layer.shown, self.layer.expression)
        return [column.of(name) for column, name in zip(self.of_form.columns, names)]

    def has(self, column: int, number: int) -> bool:
        """Return whether a text is one of the layer's."""
        return 0 <= number - self.firsts[column] < len(self.of_form.columns[column].places)

    def rows(self) -> Iterator[Tuple[int, ...]]:
        """Yield the rows."""
        numbers = iter(self.of_form.numbers(self.firsts))
        for (form, _, _, *rest), text, expression in zip(self.of_form.tests, numbers, numbers):
            yield (text, 0, expression, *rest) if form < 0 else (form, text, expression, *rest)

    def row_texts(self, shifts: Numbers, ends: Any) -> List[str]:
        """Return the rows as text, with the columns behind each other in one table."""
        condition, value, expression = self.firsts
        firsts = (condition + shifts[_CONDITION], value + shifts[_VALUE], expression + shifts[_EXPRESSION])
        return (self.of_form.template(shifts[_VALUE], ends) % self.of_form.numbers(firsts)).split("\n")


class _Column:
    """Texts with `LAYER` for the name, each once."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.places: Dict[str, int] = {}
        for text in texts:
            self.places.setdefault(text, len(self.places))
        self._joined = "\n".join(self.places)
        self._coded: Dict[Tuple[int, int], Optional[str]] = {}  # length of a name, and up to its last bracket

    def of(self, name: str) -> List[str]:
        """Return the texts of the layer of that name."""
        return self._joined.replace(LAYER, name).split("\n") if self.places else []

    def coded(self, name: str) -> Optional[List[str]]:
        """Return them front-coded without the first one; None where that depends on more than the name's length."""
        bracket = name.rfind("[")
        key = (len(name), bracket)
        if key not in self._coded:
            self._coded[key] = _without_name(self.of(name), name, bracket)
        coded = self._coded[key]
        end = encode_basestring(name[bracket:])[1:-1]
        return coded.replace(LAYER, end).split("\n") if coded else None


def _without_name(texts: Sequence[str], name: str, bracket: int) -> Optional[str]:
    """Return texts front-coded without the first, `LAYER` for the end of the name; None where others may differ."""
    found: List[str] = []
    for coded, text in list(zip(front_coded(texts), texts))[1:]:
        same = int(coded[: coded.index(",")])
        if same == bracket and text.startswith(name):
            coded = f'{same},"{LAYER}{encode_basestring(text[len(name) :])[1:]}'
        elif same < len(name):
            return None
        found.append(coded)
    return "\n".join(found)


def with_blocks(texts: Iterable[str], column: int, blocks: Sequence[Block]) -> Iterator[str]:
    """Yield the texts of a column front-coded; those of a layer are made from those of another one."""
    listed = list(texts)
    done = 0
    for block in blocks:
        first, count = block.firsts[column], len(block.of_form.columns[column].places)
        name = block.layer.expression if column == _EXPRESSION else block.layer.shown
        coded = block.of_form.columns[column].coded(name) if count > 1 else None
        if coded is not None:
            yield from front_coded(listed[done : first + 1], listed[done - 1] if done else "")
            yield from coded
            done = first + count
    yield from front_coded(listed[done:], listed[done - 1] if done else "")


def front_coded(strings: Iterable[str], before: str = "") -> Iterator[str]:
    """Yield for each string how many characters it shares with the one before, in whole steps, and the rest.

    Guards come in the order of the tree of values: most are a part of the one before, or of what holds that.
    """
    for text in strings:
        same = len(before)
        if not text.startswith(before):
            same = text.rfind("[", 0, same)
            while same > 0 and not before.startswith(text[:same]):
                same = text.rfind("[", 0, same)
            same = max(same, 0)
        yield f"{same},{encode_basestring(text[same:])}"
        before = text
