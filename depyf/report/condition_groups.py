"""Lay out conditions of guards: values that must fit the same conditions stand together, repeated layers in loops.

A condition is a value and a form, in which `VALUE` stands for the value: `type(VALUE) is dict`.  Values with the same
forms become one condition over all of them, after those that differ in numbers only became patterns
(`index_patterns`).  Where the number is part of the form (`self.layers[3].index == 3`), whole conditions are folded.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from depyf.record.guard_conditions import VALUE
from depyf.report.guarded_values import PATH, Forms
from depyf.report.index_patterns import AnyLoop, Pattern, fold
from depyf.report.repeated_layers import NO_LAYERS, RepeatedLayers
from depyf.text import python_source

Written = Tuple[List[str], List[str], List[str]]

_WORTH_A_LOOP = 3  # conditions that a loop saves; of fewer each is written
_MARGINS = 2  # lines that a loop takes besides its text
_WORD = re.compile(r"\w+")


def condition_lines(
    conditions: Sequence[Tuple[str, Forms]], indent: str, is_first: bool, layers: RepeatedLayers = NO_LAYERS
) -> List[str]:
    """Return the conditions, joined by `and`, on lines; `is_first`: nothing stands before them."""
    layout = _Layout(conditions, layers)
    lines = python_source.filled(layout.alone, indent, first=is_first)
    for texts, clauses, rows in map(_with_item, layout.loops()):
        head = f"{indent}{'' if is_first and not lines else 'and '}all("
        over = [f"({', '.join(rows)}{',' if len(rows) == 1 else ''})"] if rows else []
        whole = f"{head}{' and '.join(texts)} {' '.join([*clauses, *over])})"
        if len(whole) <= python_source.WIDTH:
            lines.append(whole)
            continue
        lines += [head, *python_source.filled(texts, indent + "    ", first=True)]
        lines += _clause_lines(clauses, rows, indent + "    ")
        lines.append(f"{indent})")
    return lines


_REPEATED = re.compile(r"(?<!\w)[A-Za-z_](?:\w|\.(?=[A-Za-z_])|\['\w+'\]|\[\d+\]|\[[i-n]\])*\[[i-n]\]")


def _with_item(loop: Written) -> Written:
    """Give the layer that most of the conditions are about a name, where that makes them shorter."""
    texts, clauses, rows = loop
    counts = Counter([one for text in (*texts, *rows) for one in _REPEATED.findall(text)])
    if not counts or not clauses[0].startswith("for "):
        return loop
    item, count = counts.most_common(1)[0]
    name = _free_name("item", [*texts, *rows])
    binding = f"for {name} in [{item}]"
    if count * (len(item) - len(name)) < 2 * len(binding):
        return loop
    texts, rows = ([text.replace(item, name) for text in one] for one in (texts, rows))
    place = len(clauses) - 1 if rows else len(clauses)
    return texts, [*clauses[:place], binding, *clauses[place:]], rows


def _clause_lines(clauses: Sequence[str], rows: Sequence[str], indent: str) -> List[str]:
    """Return the clauses on one line if they fit, else each on its own; the last one runs through the rows, if any."""
    joined = [indent + " ".join(clauses)]
    if len(joined[0]) + len(" (") > python_source.WIDTH:
        joined = [line for clause in clauses for line in python_source.broken(clause, indent)]
    return [*joined[:-1], *_over(joined[-1], rows)] if rows else joined


def _over(clause: str, rows: Sequence[str]) -> List[str]:
    """Return a clause that ends with these rows, in brackets."""
    whole = f"{clause} ({', '.join(rows)}{',' if len(rows) == 1 else ''})"
    if len(whole) <= python_source.WIDTH:
        return [whole]
    indent = clause[: len(clause) - len(clause.lstrip(" "))]
    lines = [indent + "   "]
    for row in rows:
        if len(lines[-1]) + len(row) + 2 > python_source.WIDTH and lines[-1].strip():
            lines.append(indent + "   ")
        lines[-1] += f" {row},"
    broken = [part for line in lines for part in python_source.broken(line.strip(), indent + "    ")]
    return [f"{clause} (", *broken, f"{indent})"]


Loops = Tuple[AnyLoop, ...]


class _Layout:
    """Which conditions stand alone, and which in loops over numbers, values or strings."""

    def __init__(self, conditions: Sequence[Tuple[str, Forms]], layers: RepeatedLayers) -> None:
        self._layers = layers
        self.alone: List[str] = []
        self._patterns: Dict[Loops, List[Pattern]] = {}  # conditions that repeat with other numbers
        self._values: List[Tuple[Forms, Loops, List[str]]] = []  # conditions of several values
        self._sized: Dict[Tuple[Forms, Loops], List[Tuple[Pattern, str, str]]] = {}  # tensors with sizes and strides
        self._names: Dict[Tuple[str, str], List[str]] = {}  # what stands around a name in quotes -> the names
        self._modules: List[Tuple[str, str]] = []  # modules and their names
        self._place(conditions)
        self._unroll()
        self._gather_names()

    def _place(self, conditions: Sequence[Tuple[str, Forms]]) -> None:
        by_value: Dict[str, Forms] = {}
        single: List[str] = []
        for value, forms in conditions:
            if value:
                by_value[value] = by_value.get(value, ()) + forms
            else:
                single += forms
        by_forms: Dict[Forms, List[str]] = {}
        for value, found in by_value.items():
            by_forms.setdefault(found, []).append(value)
        for forms, values in by_forms.items():
            sizes = _sizes(forms)
            if sizes is not None:
                for pattern in fold(values, self._layers):
                    self._sized.setdefault((forms[:-2], pattern.loops), []).append((pattern, *sizes))
            elif self._layers.count(values) == 1 or any(map(_WITH_INTEGER.search, forms)):
                single += [form.replace(VALUE, value) for value in values for form in forms]
            else:
                self._place_values(forms, fold(values, self._layers))
        self._place_tensors()
        for pattern in fold(single, self._layers):
            self._patterns.setdefault(pattern.loops, []).append(pattern)

    def _place_values(self, forms: Forms, patterns: Sequence[Pattern]) -> None:
        by_loops: Dict[Loops, List[Pattern]] = {}
        for pattern in patterns:
            by_loops.setdefault(pattern.loops, []).append(pattern)
        for loops, found in by_loops.items():
            if len(found) > 1 and _is_shorter(forms, [pattern.text for pattern in found]):
                self._values.append((forms, loops, [pattern.text for pattern in found]))
            else:
                same = self._patterns.setdefault(loops, [])
                same += [_with_form(pattern, form) for pattern in found for form in forms]

    def _place_tensors(self) -> None:
        """Leave those in the table that differ in their sizes; the others are values like any."""
        for (head, loops), rows in list(self._sized.items()):
            if len(rows) == 1 or len({row[1:] for row in rows}) == 1:
                _, size, stride = rows[0]
                forms = (*head, f"{VALUE}{_SIZE}{size}", f"{VALUE}{_STRIDE}{stride}")
                self._place_values(forms, [pattern for pattern, _, _ in rows])
                del self._sized[head, loops]

    def _unroll(self) -> None:
        """Write conditions alone whose loop would not save enough."""
        for loops, patterns in list(self._patterns.items()):
            if sum(len(pattern.texts) - 1 for pattern in patterns) < _WORTH_A_LOOP:
                self.alone += [text for pattern in self._patterns.pop(loops) for text in pattern.texts]

    def _gather_names(self) -> None:
        """Gather conditions that stand alone and differ in a name in quotes only."""
        alone: List[str] = []
        for text in self.alone:
            found = _NAMED.match(text)
            module = _MODULE.match(text)
            if module is not None:
                self._modules.append((module["value"], module["name"]))
            elif found is None:
                alone.append(text)
            else:
                key = (found["before"] or "", found["after"] or found["end"])
                self._names.setdefault(key, []).append(found["name"] or found["last"])
        for (before, after), names in list(self._names.items()):
            if len(names) <= _WORTH_A_LOOP:
                alone += [f"{before}'{name}'{after}" for name in self._names.pop((before, after))]
        if len(self._modules) <= _WORTH_A_LOOP:
            alone += [f"{value} is sys.modules[{name}]" for value, name in self._modules]
            self._modules = []
        self.alone = alone

    def loops(self) -> Iterator[Tuple[List[str], List[str], List[str]]]:
        """Yield the conditions of each loop, its clauses, and what the last one runs through where that is a list."""
        for loops, patterns in self._patterns.items():
            yield [pattern.text for pattern in patterns], _clauses(loops), []
        for (before, after), names in self._names.items():
            name = _free_name("name", [before, after])
            yield [f"{before}{name}{after}"], [f"for {name} in"], [f"'{one}'" for one in names]
        if self._modules:
            rows = [f"({value}, {name})" for value, name in self._modules]
            value, name = (_free_name(word, rows) for word in ("value", "name"))
            yield [f"{value} is sys.modules[{name}]"], [f"for {value}, {name} in"], rows
        for forms, loops, values in self._values:
            name = _free_name("value", values)
            yield [form.replace(VALUE, name) for form in forms], [*_clauses(loops), f"for {name} in"], values
        for (head, loops), sized in self._sized.items():
            values = [pattern.text for pattern, _, _ in sized]
            name, size, stride = (_free_name(word, values) for word in ("value", "size", "stride"))
            texts = [form.replace(VALUE, name) for form in head]
            texts += [f"{name}{_SIZE}{size}", f"{name}{_STRIDE}{stride}"]
            listed = [f"({pattern.text}, {one}, {other})" for pattern, one, other in sized]
            yield texts, [*_clauses(loops), f"for {name}, {size}, {stride} in"], listed


_WITH_INTEGER = re.compile(rf"{VALUE} == \d+$")  # the number may be that of the layer
_SIZE, _STRIDE = ".size() == ", ".stride() == "
_MODULE = re.compile(rf"(?P<value>{PATH}) is sys\.modules\[(?P<name>'[\w.]+')\]$")
_NAMED = re.compile(
    r"'(?P<name>\w+)'(?P<after> (?:not )?in .*)$|(?P<before>(?:not )?hasattr\(.*, )'(?P<last>\w+)'(?P<end>\))$"
)


def _sizes(forms: Forms) -> Optional[Tuple[str, str]]:
    """Return the size and the stride that the last two forms ask a tensor for, if they do."""
    if len(forms) < 2:
        return None
    size, stride = forms[-2:]
    if not size.startswith(VALUE + _SIZE) or not stride.startswith(VALUE + _STRIDE):
        return None
    return size[len(VALUE + _SIZE) :], stride[len(VALUE + _STRIDE) :]


def _is_shorter(forms: Forms, values: Sequence[str]) -> bool:
    """Return whether one condition over all values takes fewer lines than one for each."""
    form, value = sum([len(form) + 6 for form in forms]), sum([len(value) + 2 for value in values])
    each = form * len(values) + value * len(forms)
    return (form + value) / python_source.WIDTH + _MARGINS < each / python_source.WIDTH


class _Spelled(Sequence[str]):
    """Conditions of values, put together when somebody wants to read them."""

    def __init__(self, form: str, values: Sequence[str]) -> None:
        self._form = form
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        return [self._form.replace(VALUE, value) for value in self._values][index]


def _with_form(pattern: Pattern, form: str) -> Pattern:
    return Pattern(form.replace(VALUE, pattern.text), pattern.loops, _Spelled(form, pattern.texts))


def _clauses(loops: Sequence[AnyLoop]) -> List[str]:
    return [clause for loop in loops for clause in loop.clauses]


def _free_name(name: str, values: Sequence[str]) -> str:
    """Return a name that is in none of the values."""
    words = set(_WORD.findall(" ".join(values)))
    while name in words:
        name += "_"
    return name
