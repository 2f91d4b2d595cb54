"""The manifest holds what many records share once, as tables that a few lines of any language can read."""

from __future__ import annotations

import dataclasses
import json

import pytest

from depyf.record.guard_conditions import (
    InWords,
    NoDimensionMarks,
    PythonTest,
    SameBody,
    SameObject,
    TensorProperties,
    TensorTest,
    TypeTest,
    ValueTest,
)
from depyf.record.records import (
    FrameRecord,
    GraphRecord,
    GuardRecord,
    KernelSource,
    Location,
    NodeSource,
    SessionRecord,
    StageRecord,
)
from depyf.record.saved_form import RecordFormatError, from_json, to_json

FLOATS = TensorProperties("torch.Tensor", "torch.float32", "cpu", True, (16,), (1,))
ODD = 'a "quoted" \\ back\nslash \u2028 \u00e9 %s {0} <value> \0'
SUBJECTS = ["self.w", "a", "any", "<value>", "<", "", ODD, "x[0].y"]


def every_test(value):
    return [
        PythonTest(f"{value} is None"),
        PythonTest("<value> == 1"),
        InWords(ODD),
        TypeTest(value, "int"),
        ValueTest(value, "int", f"{value} == 3"),
        ValueTest(value, "str", f"{value} == '{value}'"),
        TensorTest(value, FLOATS),
        NoDimensionMarks(value, ("dynamic", "static")),
        SameObject(value),
        SameBody(value),
    ]


def guards_of(place):
    return tuple(
        GuardRecord(test, f"L['{subject}']", "KIND", place, from_torch=number % 2 == 0, of_sizes=number % 3 == 0)
        for subject in SUBJECTS
        for number, test in enumerate(every_test(subject))
    )


def frame(number, guards):
    return FrameRecord(f"0/{number}", "f", number, "f.py", "", "replaced", "PROVED", guards=guards)


PLACE, OTHER = Location("a.py", 3, "f", ODD), Location("a.py", 4)
SOURCES = (NodeSource((PLACE, OTHER), ("add", "mul")), NodeSource((OTHER,), ("sub",)))
KERNEL = StageRecord("kernel", 0, "k.py", sources=(KernelSource("k:1", ("add",), ((PLACE, OTHER), (OTHER,))),))
RECORD = SessionRecord(
    frames=(frame(0, guards_of(PLACE)), frame(1, (*guards_of(PLACE), *guards_of(None))), frame(2, ())),
    graphs=(GraphRecord("__compiled_fn_1", "0/0", kernels=(KERNEL,), sources=SOURCES),),
)


def conditions(record):
    return [[(guard.condition, guard.is_python, guard.location) for guard in one.guards] for one in record.frames]


def test_no_guard_and_no_line_is_lost():
    loaded = from_json(to_json(RECORD))
    assert conditions(loaded) == conditions(RECORD) and loaded.graphs == RECORD.graphs
    assert [guard.expression for guard in loaded.frames[1].guards] == [g.expression for g in RECORD.frames[1].guards]
    assert from_json(to_json(loaded)) == loaded


def test_the_tables_can_be_read_as_they_are_described():
    data = json.loads(to_json(RECORD))
    strings, before = [], ""
    for same, rest in data["strings"]:
        before = before[:same] + rest
        strings.append(before)
    found = []
    for first, count in data["frames"][0]["guards"]:
        for form, value, *_ in data["guards"][first : first + count]:
            text = strings[form]
            found.append(text.replace("<value>", strings[value]) if strings[value] else text)
    assert found == [guard.condition for guard in RECORD.frames[0].guards]
    file, line, _, code = data["locations"][data["graphs"][0]["sources"][0]["calls"][0]]
    assert (strings[file], line, strings[code]) == ("a.py", 3, ODD)


def test_guards_that_versions_share_are_stored_once():
    one = len(to_json(dataclasses.replace(RECORD, frames=RECORD.frames[:1])))
    shared = frame(1, RECORD.frames[0].guards)
    assert len(to_json(dataclasses.replace(RECORD, frames=(RECORD.frames[0], shared)))) - one < 600


def test_a_manifest_of_schema_2_is_read():
    data = json.loads(to_json(RECORD, compact=True))
    assert data["schema"] == 2 and data["frames"][0]["guards"][0]["condition"] == "self.w is None"
    assert conditions(from_json(json.dumps(data))) == conditions(RECORD)


@pytest.mark.parametrize("change", [{"guards": [[99, 0, 0, 0, 0, 0]]}, {"strings": [[0]]}, {"locations": 3}])
def test_a_table_that_is_damaged_is_refused(change):
    with pytest.raises(RecordFormatError, match="a table of the manifest is incomplete"):
        from_json(json.dumps({**json.loads(to_json(RECORD)), **change}))
