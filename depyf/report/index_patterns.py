"""Fold texts that differ in numbers only: one pattern with indices, and the numbers that each index runs through.

    type(self.blocks[0].a) is Linear
    type(self.blocks[1].a) is Linear        ->   type(self.blocks[i].a) is Linear   for i in range(3)
    type(self.blocks[2].a) is Linear

A pattern stands for exactly the texts that it was made of, and is Python where they are.  Numbers that always change
together are one index: `keys[3] == '3'` is `keys[i] == str(i)`.  A number inside of a name, of a float or of a longer
string is part of the text: texts that differ there are not folded.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from dataclasses import dataclass
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from depyf.report.repeated_layers import NO_LAYERS, RepeatedLayers
from depyf.text.number_shapes import number_shapes

Values = Tuple[int, ...]
Numbers = Tuple[int, ...]

_INDICES = "ijklmn"
_IS_BARE, _IS_QUOTED = "bare", "quoted"
_NUMBER = re.compile(r"[0-9]+")
# A whole number, bare or as a string of its own, before and after which nothing belongs to it.
_BARE = re.compile(r"(?<![\w.'\"])(?:0|[1-9][0-9]*)(?![\w.'\"])")
_QUOTED = re.compile(r"(?<!\w)(?P<quote>['\"])(?:0|[1-9][0-9]*)(?P=quote)")
_WORD = re.compile(r"\w+")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


@dataclass(frozen=True)
class Loop:
    """An index and the numbers that it runs through, in ascending order."""

    index: str
    values: Values

    @property
    def clauses(self) -> Tuple[str, ...]:
        """Return the loop as clauses of a comprehension."""
        return (f"for {self.index} in {_over(self.values)}",)

    @property
    def span(self) -> str:
        """Return the numbers for a reader: i = 0..49."""
        return f"{self.index} = {_span(self.values)}"


@dataclass(frozen=True)
class PairLoop:
    """Two indices, of which the second runs through other numbers for each number of the first."""

    outer: str
    inner: str
    values: Tuple[Tuple[int, Values], ...]  # numbers of the first index, each with those of the second
    helper: str  # a name that the text does not have

    @property
    def clauses(self) -> Tuple[str, ...]:
        """Return the loop as clauses of a comprehension."""
        outer, inner = zip(*self.values)
        if all(len(values) == 1 for values in inner):
            pairs = ", ".join([f"({number}, {values[0]})" for number, values in self.values])
            return (f"for {self.outer}, {self.inner} in ({pairs})",)
        if outer == tuple(range(len(outer))) and all(values == tuple(range(len(values))) for values in inner):
            counts = ", ".join([str(len(values)) for values in inner])
            first = f"for {self.outer}, {self.helper} in enumerate(({counts}))"
            return (first, f"for {self.inner} in range({self.helper})")
        pairs = ", ".join([f"({number}, {_over(values)})" for number, values in self.values])
        return (f"for {self.outer}, {self.helper} in ({pairs})", f"for {self.inner} in {self.helper}")

    @property
    def span(self) -> str:
        """Return the numbers for a reader: i, j = 0, 0..1; 2, 0..4."""
        pairs = "; ".join([f"{number}, {_span(values)}" for number, values in self.values])
        return f"{self.outer}, {self.inner} = {pairs}"


AnyLoop = Union[Loop, PairLoop]


def _over(values: Values) -> str:
    first, last = values[0], values[-1]
    if len(values) == 1:
        return f"({first},)"
    if last - first != len(values) - 1:
        return f"({', '.join(map(str, values))})"
    return f"range({first}, {last + 1})" if first else f"range({last + 1})"


def _span(values: Values) -> str:
    is_run = len(values) > 1 and values[-1] - values[0] == len(values) - 1
    return f"{values[0]}..{values[-1]}" if is_run else ", ".join(map(str, values))


class Pattern(NamedTuple):
    """A text with indices, and their loops, outermost first; a text as it is has none."""

    text: str
    loops: Tuple[AnyLoop, ...]
    texts: Sequence[str]  # that it stands for, in their order

    @property
    def in_words(self) -> str:
        """Return the pattern for a list of things: `self.blocks[0..2].a`."""
        text, loops = self.text, []
        for loop in self.loops:
            if isinstance(loop, Loop) and _WORD.findall(text).count(loop.index) == text.count(f"[{loop.index}]") == 1:
                text = text.replace(f"[{loop.index}]", f"[{_span(loop.values)}]")
            else:
                loops.append(loop.span)
        return f"{text} ({', '.join(loops)})" if loops else text


def fold(texts: Sequence[str], layers: RepeatedLayers = NO_LAYERS) -> List[Pattern]:
    """Return patterns that stand for these texts, each of them once, in the order in which the first of each comes.

    A text with a mark stands for those of all its layers.
    """
    groups: Dict[str, List[str]] = {}
    distinct = list(dict.fromkeys(texts))
    for text, shape in zip(distinct, number_shapes(layers.first_of(distinct))):
        groups.setdefault(shape, []).append(text)
    found: List[Pattern] = []
    for members in groups.values():
        pattern = _of_layers(members[0], layers) if len(members) == 1 else None
        found += _folded(layers.each(members)) if pattern is None else [pattern]
    return found


def _of_layers(text: str, layers: RepeatedLayers) -> Optional[Pattern]:
    """Return the pattern of a text with a mark, if it is all that `_folded` has to find: the items of one list."""
    run = layers.run_of(text)
    if run is None or text.count(run.mark) > 1:
        return None
    texts = tuple([text.replace(run.mark, f"{run.list_name}{number}]") for number in run.numbers])
    place = texts[0].index(run.list_name) + len(run.list_name)
    if _kinds(texts[0])[len(_NUMBER.findall(texts[0][:place]))] != _IS_BARE:
        return None
    index = next(_free_indices(texts[0]))
    return Pattern(text.replace(run.mark, f"{run.list_name}{index}]"), (Loop(index, run.numbers),), texts)


def _folded(members: Sequence[str]) -> List[Pattern]:
    """Return the patterns of texts of one shape."""
    if len(members) == 1:
        return [Pattern(members[0], (), (members[0],))]
    columns = list(zip(*map(_NUMBER.findall, members)))
    different = [set(column) for column in columns]
    varying = [place for place, numbers in enumerate(different) if len(numbers) > 1]
    kinds = _kinds(members[0])
    fixed = [place for place in varying if not kinds[place]]
    padded = {number for place in varying for number in different[place] if number[0] == "0" and number != "0"}
    if fixed or padded:
        groups: Dict[Tuple[str, ...], List[str]] = {}
        for text, row in zip(members, zip(*columns)):
            is_padded = any(row[place] in padded for place in varying)
            groups.setdefault((text,) if is_padded else tuple([row[place] for place in fixed]), []).append(text)
        if len(groups) > 1:
            return [pattern for group in groups.values() for pattern in _folded(group)]
    rows = zip(*[map(int, columns[place]) for place in varying])
    return list(_patterns(kinds, varying, dict(zip(rows, members))))


def _kinds(text: str) -> List[str]:
    """Return for each number of the text how it is written: "bare", "quoted", or "" where it is part of a name."""
    kinds = {found.start() + 1: _IS_QUOTED for found in _QUOTED.finditer(text)}
    strings = [found.span() for found in _STRING.finditer(text)]
    for found in _BARE.finditer(text):
        if not any(start < found.start() < end for start, end in strings):
            kinds[found.start()] = _IS_BARE
    return [kinds.get(found.start(), "") for found in _NUMBER.finditer(text)]


def _patterns(kinds: Sequence[str], varying: Sequence[int], texts: Dict[Numbers, str]) -> Iterator[Pattern]:
    """Yield the patterns that stand for all texts, which have the given numbers in the places `varying`."""
    columns = list(zip(*texts))
    leaders: List[int] = []  # columns that run on their own
    follows: Dict[int, Tuple[int, int]] = {}  # column -> the leader that it follows, and its distance
    for column, numbers in enumerate(columns):
        for leader in leaders:
            distances = set(map(operator.sub, numbers, columns[leader]))
            if len(distances) == 1:
                follows[column] = (leader, distances.pop())
                break
        else:
            leaders.append(column)
    reduced = dict(zip(zip(*[columns[leader] for leader in leaders]), texts.values()))
    for product in _products(frozenset(reduced)):
        members = tuple([reduced[row] for row in sorted(product.rows())])
        loops, names = product.loops(_free_indices(members[0]))
        spelled: Dict[int, str] = {}
        for column, place in enumerate(varying):
            leader, distance = follows.get(column, (column, 0))
            name = names.get(leaders.index(leader))
            if name is not None:
                spelled[place] = _spelled(name, distance)
        yield Pattern(_filled(members[0], kinds, spelled), loops, members)


@dataclass(frozen=True)
class _Product:
    """Rows of numbers: all combinations of the numbers of each column, or of two columns together."""

    columns: Tuple[Values, ...]
    pair: Tuple[int, int] = (0, 0)  # columns whose numbers are those of `pairs`
    pairs: FrozenSet[Tuple[int, int]] = frozenset()

    def rows(self) -> Iterator[Numbers]:
        one, other = self.pair
        for row in itertools.product(*self.columns):
            if not self.pairs or (row[one], row[other]) in self.pairs:
                yield row

    def loops(self, free: Iterator[str]) -> Tuple[Tuple[AnyLoop, ...], Dict[int, str]]:
        """Return the loops through the rows, and the index of each column that has one."""
        names = {column: next(free) for column, values in enumerate(self.columns) if len(values) > 1}
        loops: List[AnyLoop] = []
        for column, name in names.items():
            if not self.pairs or column not in self.pair:
                loops.append(Loop(name, self.columns[column]))
            elif column == self.pair[0]:
                inner: Dict[int, List[int]] = {}
                for one, other in sorted(self.pairs):
                    inner.setdefault(one, []).append(other)
                values = tuple([(one, tuple(others)) for one, others in inner.items()])
                loops.append(PairLoop(name, names[self.pair[1]], values, next(free)))
        return tuple(loops), names


def _products(rows: FrozenSet[Numbers]) -> List[_Product]:
    """Return products that have these rows and no other: one where one is enough."""
    columns = [tuple(sorted(set(column))) for column in zip(*rows)]
    size = math.prod(map(len, columns))
    if size == len(rows):
        return [_Product(tuple(columns))]
    for pair in itertools.combinations(range(len(columns)), 2):
        pairs = frozenset([(row[pair[0]], row[pair[1]]) for row in rows])
        if len(pairs) * size == len(rows) * len(columns[pair[0]]) * len(columns[pair[1]]):
            return [_Product(tuple(columns), pair, pairs)]
    return [product for group in _by_first(rows) for product in _products(group)]


def _by_first(rows: FrozenSet[Numbers]) -> List[FrozenSet[Numbers]]:
    """Return the rows in groups whose first numbers go with the same others."""
    others: Dict[int, Set[Numbers]] = {}
    for row in sorted(rows):
        others.setdefault(row[0], set()).add(row[1:])
    alike: Dict[FrozenSet[Numbers], List[int]] = {}
    for number, rest in others.items():
        alike.setdefault(frozenset(rest), []).append(number)
    if len(alike) > 1:
        return [frozenset([(number, *row) for number in numbers for row in rest]) for rest, numbers in alike.items()]
    return [frozenset([row]) for row in sorted(rows)]


def _free_indices(text: str) -> Iterator[str]:
    """Yield names that the text does not have."""
    words = set(_WORD.findall(text))
    names = itertools.chain(_INDICES, (f"i{number}" for number in itertools.count(1)))
    return (name for name in names if name not in words)


def _spelled(index: str, distance: int) -> str:
    return index if not distance else f"{index} + {distance}" if distance > 0 else f"{index} - {-distance}"


def _filled(text: str, kinds: Sequence[str], spelled: Dict[int, str]) -> str:
    """Return the text with expressions in place of some of its numbers."""
    pieces: List[str] = []
    position = 0
    for place, found in enumerate(_NUMBER.finditer(text)):
        if place in spelled:
            margin = kinds[place] == _IS_QUOTED
            before, after = text[position : found.start() - margin], text[found.end() + margin :]
            value = spelled[place]
            if margin:
                value = f"str({value})"
            elif " " in value and not (before[-1:] == "[" and after[:1] == "]") and (after or before[-3:] != "== "):
                value = f"({value})"
            pieces += [before, value]
            position = found.end() + margin
    return "".join(pieces) + text[position:]
