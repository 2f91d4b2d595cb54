"""The text of records is what Python's json would write, guards included: other tools read it."""

from __future__ import annotations

import json

import pytest

from depyf.record.guard_conditions import InWords, PythonTest, SameObject, TypeTest
from depyf.record.json_text import JsonText
from depyf.record.records import FrameRecord, GuardRecord, Location

ODD = 'a "quoted" \\ back\nslash \x00 \u2028 é 😀 %s {0}'
PLACE = Location("a.py", 3, "f", ODD)
GUARDS = (
    GuardRecord(PythonTest(ODD), ODD, "LAMBDA_GUARD", PLACE, of_sizes=True),
    GuardRecord(TypeTest("x", "int"), "L['x']", "TYPE_MATCH", PLACE),
    GuardRecord(SameObject("torch.abs"), "", "ID_MATCH", Location("b.py", 4), from_torch=True),
    GuardRecord(InWords("words"), "", "", None),
)


def frame(guards=(), source=""):
    return FrameRecord("0/0", "f", 0, "f.py", source, "replaced", "PROVED", guards=guards)


def as_json_writes_it(text, separators):
    return json.dumps(json.loads(text), ensure_ascii=False, separators=separators)


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
@pytest.mark.parametrize(
    "value",
    [
        frame(),
        frame(GUARDS),
        (frame(GUARDS[:1]), frame(), frame(GUARDS[1:])),
        {"frame": 3, "value": frame(GUARDS, source='{"guards":[]} "guards": [] ' + ODD)},
        (PLACE, None, 1, ODD),
    ],
)
def test_the_text_of_records_is_what_json_writes(value, separators):
    text = JsonText(*separators).of_whole(value)
    assert as_json_writes_it(text, separators) == text


def test_each_guard_has_its_own_text_and_place():
    texts = JsonText(",", ":").of_guards(GUARDS)
    assert all(as_json_writes_it(text, (",", ":")) == text for text in texts)
    saved = [json.loads(text) for text in texts]
    assert [one["condition"] for one in saved] == [guard.condition for guard in GUARDS]
    assert [one["location"] and one["location"]["line"] for one in saved] == [3, 3, 4, None]
    assert [(one["is_python"], one["from_torch"], one["of_sizes"]) for one in saved] == [
        (True, False, True),
        (True, False, False),
        (False, True, False),
        (False, False, False),
    ]
    assert json.loads(JsonText(",", ":").of_whole(frame(GUARDS)))["guards"] == saved
