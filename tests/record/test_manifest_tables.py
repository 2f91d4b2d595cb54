"""The manifest holds what many records share once, as tables that a few lines of any language can read."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

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
    FailedGuard,
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    GraphRecord,
    GuardRecord,
    KernelSource,
    Location,
    NodeSource,
    OriginalFunction,
    SessionRecord,
    SkippedFrame,
    SkipRecord,
    StageRecord,
    UserFile,
)
from depyf.record.saved_form import RecordFormatError, from_json, to_json

FLOATS = TensorProperties("torch.Tensor", "torch.float32", "cpu", True, (16,), (1,))
ODD = 'a "quoted" \\ back\nslash \u2028 \u00e9 %s {0} ? \0'
SUBJECTS = ["self.w", "a", "any", "<value>", "?", "", ODD, "x[0].y"]


def every_test(value):
    return [
        PythonTest(f"{value} is None"),
        PythonTest("d['?'] == 1"),
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
    for same, rest in zip(data["strings"][::2], data["strings"][1::2]):
        before = before[:same] + rest
        strings.append(before)
    found = []
    for first, count in data["frames"][0]["guards"]:
        for form, value, *_ in data["guards"][first : first + count]:
            text = strings[form]
            found.append(text.replace("?", strings[value]) if strings[value] else text)
    assert found == [guard.condition for guard in RECORD.frames[0].guards]
    file, line, _, code = data["locations"][data["graphs"][0]["sources"][0]["calls"][0]]
    assert (strings[file], line, strings[code]) == ("a.py", 3, ODD)


def test_guards_that_versions_share_are_stored_once():
    one = len(to_json(dataclasses.replace(RECORD, frames=RECORD.frames[:1])))
    shared = frame(1, RECORD.frames[0].guards)
    assert len(to_json(dataclasses.replace(RECORD, frames=(RECORD.frames[0], shared)))) - one < 600


WHY = (FailedGuard("0/0", "n == 1", stack=(PLACE, OTHER)),)
BREAK = GraphBreak(("print",), PLACE, explanation=ODD, stack=(PLACE, OTHER), own_call=0, raised_at=OTHER)
SKIP = SkipRecord("recompile limit", "8", "0/8", (BREAK,), ("a hint",), PLACE, (OTHER,), WHY, PLACE)
TOLD = SessionRecord(
    functions=(
        FunctionRecord(
            "f_0", "f", "f", "a.py", 1, "", "missing", skips=(SKIP,), called_at=(OTHER,), decorators=(PLACE,)
        ),
    ),
    frames=tuple(
        dataclasses.replace(
            frame(number, ()), graph_breaks=(BREAK,), failed_guards=WHY, called_from=PLACE, assumptions=(ODD, "b")
        )
        for number in (0, 1)
    ),
    skipped_frames=(SkippedFrame("g", "b.py", 2, SKIP),),
    user_files=(UserFile("a.py", "12ab"), UserFile("/tmp/cell.py", "34cd", "In [3]")),
)


def test_calls_and_prose_that_many_records_have_are_stored_once_and_found_again():
    data = json.loads(to_json(TOLD))
    assert from_json(to_json(TOLD)) == TOLD == from_json(to_json(TOLD, compact=True))
    assert sorted(data["texts"]) == sorted([ODD, "b"])
    assert len(data["locations"]) == 2 and sorted(data["frames"][1]["graph_breaks"][0]["stack"]) == [0, 1]
    assert data["frames"][0]["graph_breaks"][0]["location"]["line"] == 3, "the line of a break can be read in place"


def test_calls_that_stand_in_place_are_read_as_well():
    data = json.loads(to_json(TOLD))
    place = {"file": "a.py", "line": 3, "function": "f", "code": ODD}
    data["frames"][0].update(called_from=place, assumptions=[ODD, "b"])
    data["frames"][0]["graph_breaks"][0].update(stack=[place, {"file": "a.py", "line": 4}], explanation=ODD)
    data["functions"][0]["decorators"] = [place]
    data["user_files"][0] = {"file": "a.py", "digest": "12ab"}
    assert from_json(json.dumps(data)) == TOLD


def test_a_field_that_holds_nothing_is_left_out():
    (saved, _) = json.loads(to_json(TOLD))["frames"]
    assert not {"resumes", "bytecode_files", "from_cache", "divergence"} & set(saved)
    assert [name for name, value in saved.items() if value in (None, "", [])] == ["source", "guards"]


def test_a_manifest_of_schema_2_is_read():
    data = json.loads(to_json(RECORD, compact=True))
    assert data["schema"] == 2 and data["frames"][0]["guards"][0]["condition"] == "self.w is None"
    assert conditions(from_json(json.dumps(data))) == conditions(RECORD)


def test_a_stored_manifest_of_schema_3_is_read_with_all_its_fields():
    stored, first = (Path(__file__).with_name(f"manifest_schema_{n}.json").read_text(encoding="utf-8") for n in (3, 1))
    assert json.loads(stored)["schema"] == 3 and "<value>" in stored
    assert from_json(stored) == from_json(first)


BODY = "".join(f"    layer_{number} = torch.nn.functional.relu(layer_{number - 1})\n" for number in range(1, 23))
SECOND = BODY.replace("relu(layer_7)", "gelu(layer_7)")
TEXTS = [f"def f(x):\n{BODY}", f"def f(x):\n{SECOND}", "\n\n", "\n", "", "no end", f"{ODD}\n", f"a\n{BODY}\n{BODY}b\n"]


def with_sources(*texts):
    original = OriginalFunction("a.py", 1, texts[-1], "file")
    function = FunctionRecord("f_0", "f", "f", "a.py", 1, texts[0], "file", original=original)
    frames = [dataclasses.replace(frame(number, ()), source=text) for number, text in enumerate(texts)]
    return SessionRecord(functions=(function,), frames=tuple(frames))


def test_every_source_is_read_back_to_the_character():
    record = with_sources(*TEXTS)
    assert from_json(to_json(record)) == record == from_json(to_json(record, compact=True))


def test_the_lines_that_versions_share_are_stored_once():
    one, two = (len(to_json(with_sources(*texts))) for texts in (TEXTS[:1], TEXTS[:2]))
    assert len(BODY) > 1000 and two - one < 300
    data = json.loads(to_json(with_sources(*TEXTS[:2])))
    spans = data["frames"][1]["source"]
    assert "".join(line + "\n" for n, count in spans for line in data["lines"][n : n + count]) == TEXTS[1]


@pytest.mark.parametrize(
    "change",
    [
        {"guards": [[99, 0, 0, 0, 0, 0]]},
        {"strings": [0]},
        {"locations": 3},
        {"user_files": [[99]]},
        {"frames": [{"source": [[99, 1]]}]},
    ],
)
def test_a_table_that_is_damaged_is_refused(change):
    with pytest.raises(RecordFormatError, match="a table of the manifest is incomplete"):
        from_json(json.dumps({**json.loads(to_json(RECORD)), **change}))
