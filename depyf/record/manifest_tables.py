"""The tables of a manifest: strings, source lines and guards that many records share, each stored once.

    "strings"     [n, text]: the first n characters of the string before it, and then the text; the strings are sorted
    "locations"   [file, line, function, code]: files, functions and code are numbers of strings
    "guards"      [form, value, expression, kind, location, flags], as numbers of strings and of a location (-1: none)
    "texts"       prose of torch's and of proofs, in the order in which it came

The condition of a guard is its form with the value in place of each `<value>`, or the form as it is where the value is
empty.  Flags are a sum: 1 the condition is Python, 2 torch asked for it, 4 it is about sizes 0 and 1.  Frames have
their guards as `[first, count]` of rows of that table; the calls that led to the nodes of graphs, and those of
functions, are rows of `locations`.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from depyf.record.guard_conditions import (
    VALUE,
    GuardTest,
    NoDimensionMarks,
    SameBody,
    SameObject,
    TensorTest,
    TypeTest,
    ValueTest,
)
from depyf.record.records import GuardRecord, Location
from depyf.record.schema_1 import read_test

SHOWN_VALUE = "<value>"
NO_LOCATION = -1

Row = Tuple[int, ...]
Span = Tuple[int, int]


class TableWriter:
    """Gathers what records share; each `add` returns what stands for it in the manifest."""

    def __init__(self) -> None:
        self._strings: Dict[str, int] = {}  # in the order in which they came
        self._locations: Dict[Row, int] = {}
        self._guards: Dict[Row, int] = {}
        self._texts: Dict[str, int] = {}
        self._known: Dict[int, Tuple[int, Location]] = {}  # id of a location, which is that of many guards -> its row

    def add_guards(self, guards: Sequence[GuardRecord]) -> List[Span]:
        """Return the rows of the guards, as spans."""
        spans: List[Span] = []
        rows, string = self._guards, self._string
        for guard in guards:
            test = guard.test
            form, value = _form_and_value(test)
            flags = test.is_python + 2 * guard.from_torch + 4 * guard.of_sizes
            place = NO_LOCATION if guard.location is None else self.add_location(guard.location)
            row = (string(form), string(value), string(guard.expression), string(guard.kind), place, flags)
            number = rows.setdefault(row, len(rows))
            if spans and number == spans[-1][0] + spans[-1][1]:
                spans[-1] = (spans[-1][0], spans[-1][1] + 1)
            else:
                spans.append((number, 1))
        return spans

    def add_location(self, location: Location) -> int:
        """Return the row of a location."""
        known = self._known.get(id(location))
        if known is None:
            string = self._string
            row = (string(location.file), location.line, string(location.function), string(location.code))
            known = self._known[id(location)] = (self._locations.setdefault(row, len(self._locations)), location)
        return known[0]

    def add_text(self, text: str) -> int:
        """Return the row of a text that other records may have, too."""
        return self._texts.setdefault(text, len(self._texts))

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def texts(self) -> Dict[str, List[str]]:
        """Return the rows of each table as JSON, the strings sorted."""
        ordered = sorted(self._strings)
        place = [0] * len(ordered)
        for number, text in enumerate(ordered):
            place[self._strings[text]] = number
        return {
            "strings": [f"[{same},{encode_basestring(rest)}]" for same, rest in _front_coded(ordered)],
            "locations": [f"[{place[row[0]]},{row[1]},{place[row[2]]},{place[row[3]]}]" for row in self._locations],
            "guards": [
                f"[{place[row[0]]},{place[row[1]]},{place[row[2]]},{place[row[3]]},{row[4]},{row[5]}]"
                for row in self._guards
            ],
            "texts": list(map(encode_basestring, self._texts)),
        }


def _form_and_value(test: GuardTest) -> Tuple[str, str]:
    """Return the condition with `SHOWN_VALUE` for its value, and the value; the condition alone where it has none."""
    if isinstance(test, TensorTest):
        form = test.expected.form
    elif isinstance(test, TypeTest):
        form = test.form
    elif isinstance(test, ValueTest):
        form = " and ".join(test.forms)
    elif isinstance(test, NoDimensionMarks):
        form = test.text.replace(f"hasattr({test.subject}, ", f"hasattr({VALUE}, ", 1)
    elif isinstance(test, (SameObject, SameBody)):
        form = VALUE + test.text[len(test.subject) :]
    else:
        return test.text, ""
    value = test.subject
    if not value or "<" in value or VALUE in value or SHOWN_VALUE in form:  # the mark would be ambiguous
        return test.text, ""
    return form.replace(VALUE, SHOWN_VALUE), value


def _front_coded(strings: Sequence[str]) -> Iterator[Tuple[int, str]]:
    """Yield for each string how many characters it shares with the one before, and the rest."""
    before = ""
    for text in strings:
        same = len(before) if text.startswith(before) else _common(before, text)
        yield same, text[same:]
        before = text


def _common(one: str, other: str) -> int:
    """Return how many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if other.startswith(one[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


class TableReader:
    """The tables of a manifest; their rows become records when they are asked for, each once."""

    def __init__(self, tables: Dict[str, Any]) -> None:
        self._strings: List[str] = []
        before = ""
        for same, rest in tables["strings"]:
            before = before[:same] + rest
            self._strings.append(before)
        string = self._strings.__getitem__
        self._locations = [
            Location(string(row[0]), row[1], string(row[2]), string(row[3])) for row in tables["locations"]
        ]
        self._texts = tables.get("texts", ())
        self._rows = tables["guards"]
        self._guards: Dict[int, GuardRecord] = {}

    def location(self, number: Any) -> Any:
        """Return the location of a row; what is no number as it is."""
        return self._locations[number] if isinstance(number, int) else number

    def text(self, number: Any) -> Any:
        """Return the text of a row; what is no number as it is."""
        return self._texts[number] if isinstance(number, int) else number

    def guards(self, spans: Sequence[Sequence[int]]) -> Tuple[GuardRecord, ...]:
        """Return the guards of spans of rows."""
        return tuple([self._guard(number) for first, count in spans for number in range(first, first + count)])

    def _guard(self, number: int) -> GuardRecord:
        guard = self._guards.get(number)
        if guard is None:
            form, value, expression, kind, place, flags = self._rows[number]
            text, subject = self._strings[form], self._strings[value]
            condition = text.replace(SHOWN_VALUE, subject) if subject else text
            test = read_test(condition, bool(flags & 1), self._strings[kind])
            location: Optional[Location] = None if place == NO_LOCATION else self._locations[place]
            guard = self._guards[number] = GuardRecord(
                test, self._strings[expression], self._strings[kind], location, bool(flags & 2), bool(flags & 4)
            )
        return guard
