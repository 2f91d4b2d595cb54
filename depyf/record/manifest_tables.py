"""The tables of a manifest: strings, source lines and guards that many records share, each stored once.

    "strings"     n, text, n, text ...: the first n characters of the string before it, and then the text
    "locations"   [file, line, function, code]: files, functions and code are numbers of strings
    "guards"      [form, value, expression, kind, location, flags], as numbers of strings and of a location (-1: none)
    "texts"       prose of torch's and of proofs, in the order in which it came
    "user_files"  [file, digest], and a label where the file has one
    "lines"       of the source of functions and of transformed code, in the order in which they came

The condition of a guard is its form with the value in place of each `?`, or the form as it is where the value is
empty.  Flags are a sum: 1 the condition is Python, 2 torch asked for it, 4 it is about sizes 0 and 1.  A row that ends
before the location has none, and flags 1; one that ends before the flags has 3.

Frames have their guards as `[first, count]` of rows of that table, and a source its lines likewise; the calls that led
to the nodes of graphs, and those of functions, are rows of `locations`.

Schema 3 had `[n, text]` for a string and `<value>` for `?`, and every source in place.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

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
from depyf.record.records import GuardRecord, Location, UserFile
from depyf.record.schema_1 import read_test

SHOWN_VALUE = "?"
SHOWN_IN_SCHEMA_3 = "<value>"
NO_LOCATION = -1
ROWS_ON_A_LINE = 8  # of numbers, and of strings that begin with part of another: nobody reads them one by one
SHORT_LINE = 12  # a line of source that a span of its own would be longer than

Row = Tuple[int, ...]
Span = Tuple[int, int]


class TableWriter:
    """Gathers what records share; each `add` returns what stands for it in the manifest."""

    def __init__(self) -> None:
        # strings in the order in which they came; of guards, those that begin like the ones before them are apart
        self._strings: Dict[str, int] = {}
        self._values: Dict[str, int] = {"": 0}  # row 0 stands for no value
        self._expressions: Dict[str, int] = {}
        self._forms: Dict[str, int] = {}  # with `VALUE` for the value -> number of the string; -1 where it has the mark
        self._locations: Dict[Row, int] = {}
        self._guards: Dict[Row, int] = {}
        self._texts: Dict[str, int] = {}
        self._lines: List[str] = []
        self._line_rows: Dict[str, int] = {}  # a line -> the first row that it has
        self._known: Dict[int, Tuple[int, Location]] = {}  # id of a location, which is that of many guards -> its row

    def add_guards(self, guards: Sequence[GuardRecord]) -> List[Span]:
        """Return the rows of the guards, as spans."""
        rows, strings, expressions = self._guards, self._strings, self._expressions
        first = after = -1  # the span that grows
        spans: List[Span] = []
        for guard in guards:
            test = guard.test
            form, value = self._form_and_value(test)
            place = NO_LOCATION if guard.location is None else self.add_location(guard.location)
            row = (
                form,
                value,
                expressions.setdefault(guard.expression, len(expressions)),
                strings.setdefault(guard.kind, len(strings)),
                place,
                test.is_python + 2 * guard.from_torch + 4 * guard.of_sizes,
            )
            number = rows.setdefault(row, len(rows))
            if number != after:
                if first >= 0:
                    spans.append((first, after - first))
                first = number
            after = number + 1
        if first >= 0:
            spans.append((first, after - first))
        return spans

    def _form_and_value(self, test: GuardTest) -> Tuple[int, int]:
        """Return the numbers of the condition with `SHOWN_VALUE` for its value, and of the value.

        Where it has none, or where the mark would be ambiguous, those of the whole condition and of an empty value.
        """
        spell = _FORMS.get(type(test))
        if spell is not None:
            form = spell(test)
            number = self._forms.get(form)
            if number is None:
                number = -1 if SHOWN_VALUE in form else self._string(form.replace(VALUE, SHOWN_VALUE))
                self._forms[form] = number
            if number >= 0:
                subject: str = test.subject  # type: ignore[union-attr]
                value = self._values.get(subject)
                if value is None and SHOWN_VALUE not in subject and VALUE not in subject:
                    value = self._values[subject] = len(self._values)
                if value:
                    return number, value
        return self._string(test.text), 0

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

    def add_lines(self, text: str) -> Union[str, List[Span]]:
        """Return the rows of the lines of a source, as spans; the text itself where its last line has no end."""
        if not text.endswith("\n"):
            return text
        lines, known = self._lines, self._line_rows
        spans: List[Span] = []
        after = -1  # the row after the last one
        for line in text[:-1].split("\n"):
            if 0 <= after < len(lines) and lines[after] == line:
                row = after
            else:
                row = known.get(line, -1) if len(line) > SHORT_LINE else -1
                if row < 0:
                    row = len(lines)
                    lines.append(line)
                    known.setdefault(line, row)
            if row == after:
                spans[-1] = (spans[-1][0], spans[-1][1] + 1)
            else:
                spans.append((row, 1))
            after = row + 1
        return spans

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def texts(self, files: Sequence[UserFile] = ()) -> Dict[str, List[str]]:
        """Return the text of each table, line by line; `files` are those of the program."""
        numbers = [self._string(one.file) for one in files]
        # the values of guards stand behind the other strings, their expressions behind these
        values = len(self._strings)
        expressions = values + len(self._values)
        strings = [f"0,{encode_basestring(text)}" for text in self._strings]
        strings += _front_coded(self._values)
        strings += _front_coded(self._expressions)
        locations = [f"[{file},{line},{function},{code}]" for file, line, function, code in self._locations]
        ends = _Ends()
        guards = [
            f"[{form},{values + value},{expressions + expression},{kind}{ends[at, flags]}]"
            for form, value, expression, kind, at, flags in self._guards
        ]
        texts = [[encode_basestring(text) for text in (one.digest, one.label) if text] for one in files]
        return {
            "user_files": [f"[{','.join([str(number), *more])}]" for number, more in zip(numbers, texts)],
            "strings": _several_on_a_line(strings),
            "locations": _several_on_a_line(locations),
            "guards": _several_on_a_line(guards),
            "texts": list(map(encode_basestring, self._texts)),
            "lines": list(map(encode_basestring, self._lines)),
        }


class _Ends(Dict[Tuple[int, int], str]):
    """The ends of the rows of guards: location and flags, without what is left out."""

    def __missing__(self, end: Tuple[int, int]) -> str:
        place, flags = end
        text = f",{place},{flags}" if flags != _flags_without(place) else f",{place}" * (place != NO_LOCATION)
        self[end] = text
        return text


def _flags_without(place: int) -> int:
    """Return the flags of a row that has none: most lines that ask for guards are torch's own."""
    return 1 if place == NO_LOCATION else 3


def _several_on_a_line(rows: Sequence[str]) -> List[str]:
    return [",".join(rows[first : first + ROWS_ON_A_LINE]) for first in range(0, len(rows), ROWS_ON_A_LINE)]


def _form_of_marks(test: NoDimensionMarks) -> str:
    return test.text.replace(f"hasattr({test.subject}, ", f"hasattr({VALUE}, ", 1)


def _form_of_identity(test: Union[SameObject, SameBody]) -> str:
    return VALUE + test.text[len(test.subject) :]


# class of a test -> its condition with `VALUE` for the value; other tests have no value of their own
_FORMS: Dict[type, Callable[[Any], str]] = {
    TensorTest: lambda test: test.expected.form,
    TypeTest: lambda test: test.form,
    ValueTest: lambda test: " and ".join(test.forms),
    NoDimensionMarks: _form_of_marks,
    SameObject: _form_of_identity,
    SameBody: _form_of_identity,
}


def _front_coded(strings: Iterable[str]) -> Iterator[str]:
    """Yield for each string how many characters it shares with the one before, in whole steps, and the rest.

    Guards come in the order of the tree of values: most are a part of the one before, or of what holds that.
    """
    before = ""
    for text in strings:
        same = len(before)
        if not text.startswith(before):
            same = text.rfind("[", 0, same)
            while same > 0 and not before.startswith(text[:same]):
                same = text.rfind("[", 0, same)
            same = max(same, 0)
        yield f"{same},{encode_basestring(text[same:])}"
        before = text


class TableReader:
    """The tables of a manifest; their rows become records when they are asked for, each once."""

    def __init__(self, tables: Dict[str, Any]) -> None:
        self._strings: List[str] = []
        before = ""
        strings = tables["strings"]
        is_earlier = tables["schema"] <= 3
        self._mark = SHOWN_IN_SCHEMA_3 if is_earlier else SHOWN_VALUE
        if not is_earlier and len(strings) % 2:
            raise IndexError("a string without its text")
        for same, rest in strings if is_earlier else zip(strings[::2], strings[1::2]):
            before = before[:same] + rest
            self._strings.append(before)
        string = self._strings.__getitem__
        self._locations = [
            Location(string(row[0]), row[1], string(row[2]), string(row[3])) for row in tables["locations"]
        ]
        self._texts = tables.get("texts", ())
        self._lines = tables.get("lines", ())
        self._rows = tables["guards"]
        self._guards: Dict[int, GuardRecord] = {}

    def location(self, number: Any) -> Any:
        """Return the location of a row; what is no number as it is."""
        return self._locations[number] if isinstance(number, int) else number

    def text(self, number: Any) -> Any:
        """Return the text of a row; what is no number as it is."""
        return self._texts[number] if isinstance(number, int) else number

    def lines(self, spans: Any) -> Any:
        """Return the source that has these rows of lines; what are no rows as it is."""
        if not isinstance(spans, list):
            return spans
        if any(not 0 <= first < first + count <= len(self._lines) for first, count in spans):
            raise IndexError("a source has lines that are not there")
        return "".join(["\n".join(self._lines[first : first + count]) + "\n" for first, count in spans])

    def user_files(self, rows: Sequence[Any]) -> List[Any]:
        """Return the files of the program; what are no rows as they are."""
        return [UserFile(self._strings[row[0]], *row[1:]) if isinstance(row, list) else row for row in rows]

    def guards(self, spans: Sequence[Sequence[int]]) -> Tuple[GuardRecord, ...]:
        """Return the guards of spans of rows."""
        return tuple([self._guard(number) for first, count in spans for number in range(first, first + count)])

    def _guard(self, number: int) -> GuardRecord:
        guard = self._guards.get(number)
        if guard is None:
            row = self._rows[number]
            form, value, expression, kind = row[:4]
            place = row[4] if len(row) > 4 else NO_LOCATION
            flags = row[5] if len(row) > 5 else _flags_without(place)
            text, subject = self._strings[form], self._strings[value]
            condition = text.replace(self._mark, subject) if subject else text
            test = read_test(condition, bool(flags & 1), self._strings[kind])
            location: Optional[Location] = None if place == NO_LOCATION else self._locations[place]
            guard = self._guards[number] = GuardRecord(
                test, self._strings[expression], self._strings[kind], location, bool(flags & 2), bool(flags & 4)
            )
        return guard
