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

import bisect
from json.encoder import encode_basestring
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

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
from depyf.record.guard_list import GuardList, LayerForm, LayerGuards
from depyf.record.layer_rows import Block, LayerRows, NumberedTest, with_blocks
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
        self._in_order: List[Union[Row, Block]] = []  # the rows of guards; those of a layer are one block
        self._blocks: List[Block] = []
        self._starts: Tuple[List[int], List[int]] = ([], [])  # of the blocks: their first conditions, and values
        self._spread = 0  # number of blocks whose rows are in `_guards`, too
        self._layers: Dict[Tuple[LayerForm, str, str], Block] = {}
        self._layer_rows: Dict[LayerForm, Optional[LayerRows]] = {}
        self._count = 0  # of rows of guards
        self._texts: Dict[str, int] = {}
        self._lines: List[str] = []
        self._line_rows: Dict[str, int] = {}  # a line -> the first row that it has
        self._known: Dict[int, Tuple[int, Location]] = {}  # id of a location, which is that of many guards -> its row

    def add_guards(self, guards: Sequence[GuardRecord]) -> List[Span]:
        """Return the rows of the guards, as spans."""
        spans: List[Span] = []
        for piece in guards.pieces if isinstance(guards, GuardList) else guards:
            if isinstance(piece, LayerGuards):
                self._add_layer(piece, spans)
            else:
                _grow(spans, self._add(piece), 1)
        return spans

    def _add(self, guard: GuardRecord) -> int:
        """Return the row of a guard."""
        test = guard.test
        form, value = self._form_and_value(test)
        place = NO_LOCATION if guard.location is None else self.add_location(guard.location)
        expression = self._expressions.setdefault(guard.expression, len(self._expressions))
        row = (form, value, expression, self._string(guard.kind), place, _flags(guard))
        number = self._guards.get(row)
        if number is None and self._has_in_block(form, value):
            for block in self._blocks[self._spread :]:
                self._guards.update(zip(block.rows(), range(block.row, block.row + block.size)))
            self._spread = len(self._blocks)
            number = self._guards.get(row)
        if number is None:
            number = self._guards[row] = self._count
            self._in_order.append(row)
            self._count += 1
        return number

    def _has_in_block(self, form: int, value: int) -> bool:
        """Return whether a guard with that condition may be one of a layer."""
        column, number = (1, value) if value else (0, form)
        place = bisect.bisect_right(self._starts[column], number)
        return place > 0 and self._blocks[place - 1].has(column, number)

    def _add_layer(self, layer: LayerGuards, spans: List[Span]) -> None:
        """Add the rows of the guards of a layer to the spans."""
        key = (layer.form, layer.shown, layer.expression)
        known = self._layers.get(key)
        if known is not None:
            _grow(spans, known.row, known.size)
            return
        rows = self._layer_rows.get(layer.form)
        columns = (self._strings, self._values, self._expressions)
        firsts = (len(self._strings), len(self._values), len(self._expressions))
        block = Block(layer, rows, self._count, firsts) if rows is not None else None
        texts = block.texts() if block is not None else ()
        if block is None or not all(column.keys().isdisjoint(new) for column, new in zip(columns, texts)):
            for guard in layer.records:
                _grow(spans, self._add(guard), 1)
            if layer.form not in self._layer_rows:
                self._layer_rows[layer.form] = self._rows_of_form(layer.form)
            return
        for column, new in zip(columns, texts):
            column.update(zip(new, range(len(column), len(column) + len(new))))
        self._blocks.append(block)
        for starts, first in zip(self._starts, block.firsts):
            starts.append(first)
        self._in_order.append(block)
        self._layers[key] = block
        _grow(spans, self._count, block.size)
        self._count += block.size

    def _rows_of_form(self, form: LayerForm) -> Optional[LayerRows]:
        """Return the rows of layers like one that was added guard by guard; None where they are not alike."""
        tests: List[NumberedTest] = []
        for guard in form.records:
            spelled, subject = _spelled(guard.test) or ("", "")
            number: Optional[int] = self._forms.get(spelled) if spelled and not _is_ambiguous(subject) else -1
            if number is None:
                return None
            text = guard.test.text if number < 0 else subject
            place = NO_LOCATION if guard.location is None else self.add_location(guard.location)
            tests.append(NumberedTest(number, text, guard.expression, self._string(guard.kind), place, _flags(guard)))
        return LayerRows.of(tests)

    def _form_and_value(self, test: GuardTest) -> Tuple[int, int]:
        """Return the numbers of the condition with `SHOWN_VALUE` for its value, and of the value.

        Where it has none, or where the mark would be ambiguous, those of the whole condition and of an empty value.
        """
        spelled = _spelled(test)
        if spelled is not None:
            form, subject = spelled
            number = self._forms.get(form)
            if number is None:
                number = -1 if SHOWN_VALUE in form else self._string(form.replace(VALUE, SHOWN_VALUE))
                self._forms[form] = number
            if number >= 0:
                value = self._values.get(subject)
                if value is None and not _is_ambiguous(subject):
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
        strings += with_blocks(self._values, 1, self._blocks)
        strings += with_blocks(self._expressions, 2, self._blocks)
        locations = [f"[{file},{line},{function},{code}]" for file, line, function, code in self._locations]
        ends = _Ends()
        guards: List[str] = []
        for row in self._in_order:
            if isinstance(row, Block):
                guards += row.row_texts((0, values, expressions), ends)
            else:
                form, value, expression, kind, at, flags = row
                guards.append(f"[{form},{values + value},{expressions + expression},{kind}{ends[at, flags]}]")
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


def _spelled(test: GuardTest) -> Optional[Tuple[str, str]]:
    """Return the condition of a test with `VALUE` for its value, and the value; None where it has none of its own."""
    spell = _FORMS.get(type(test))
    return None if spell is None else (spell(test), test.subject)  # type: ignore[union-attr]


def _is_ambiguous(subject: str) -> bool:
    return SHOWN_VALUE in subject or VALUE in subject


def _flags(guard: GuardRecord) -> int:
    return guard.test.is_python + 2 * guard.from_torch + 4 * guard.of_sizes


def _grow(spans: List[Span], first: int, count: int) -> None:
    """Add rows to spans of which the last one may end before them."""
    if spans and sum(spans[-1]) == first:
        spans[-1] = (spans[-1][0], spans[-1][1] + count)
    else:
        spans.append((first, count))


# class of a test -> its condition with `VALUE` for the value; other tests have no value of their own
_FORMS: Dict[type, Callable[[Any], str]] = {
    TensorTest: lambda test: test.expected.form,
    TypeTest: lambda test: test.form,
    ValueTest: lambda test: " and ".join(test.forms),
    NoDimensionMarks: _form_of_marks,
    SameObject: _form_of_identity,
    SameBody: _form_of_identity,
}


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
