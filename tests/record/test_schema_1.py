"""A manifest of schema 1 holds sentences; loaded, the record has its fields back, so reports of it are the same."""

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
    TorchState,
    TypeTest,
    ValueTest,
)
from depyf.record.records import (
    SCHEMA_VERSION,
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    GuardRecord,
    Location,
    LostFiles,
    RankDifference,
    RankView,
    SessionRecord,
    SkipRecord,
)
from depyf.record.saved_form import RecordFormatError, from_json, to_json

FIXED = TensorProperties("torch.Tensor", "torch.float32", "cpu", False, (2, 3), (3, 1))
FREE = TensorProperties("torch.nn.Parameter", "torch.bfloat16", "cuda:1", True, (None, 3, None), (None, 1, None))
SCALAR = TensorProperties("model.build.<locals>.Mine", "torch.int64", "", False, (), ())


@pytest.mark.parametrize(
    ("kind", "test", "condition"),
    [
        ("LAMBDA_GUARD", PythonTest("2 <= n"), "2 <= n"),
        ("LAMBDA_GUARD", InWords("no hooks are set"), "no hooks are set"),
        ("TYPE_MATCH", TypeTest("self.l[0]", "int"), "type(self.l[0]) is int"),
        ("TYPE_MATCH", PythonTest("isinstance(x, int)"), "isinstance(x, int)"),
        (
            "TYPE_MATCH",
            TypeTest("o", "m.f.<locals>.A"),
            "type(o).__module__ + '.' + type(o).__qualname__ == 'm.f.<locals>.A'",
        ),
        ("EQUALS_MATCH", ValueTest("n", "int", "n == 3"), "type(n) is int and n == 3"),
        ("EQUALS_MATCH", ValueTest("s", "str", "s == ' and s is '"), "type(s) is str and s == ' and s is '"),
        (
            "TENSOR_MATCH",
            TensorTest("a", FIXED),
            "type(a) is torch.Tensor and a.dtype is torch.float32 and a.device == torch.device('cpu') and "
            "a.requires_grad is False and a.size() == (2, 3) and a.stride() == (3, 1)",
        ),
        (
            "TENSOR_MATCH",
            TensorTest("self.w", FREE),
            "type(self.w) is torch.nn.Parameter and self.w.dtype is torch.bfloat16 and "
            "self.w.device == torch.device('cuda', 1) and self.w.requires_grad is True and self.w.dim() == 3 and "
            "self.w.size(1) == 3 and self.w.stride(1) == 1",
        ),
        (
            "TENSOR_MATCH",
            TensorTest("a", SCALAR),
            "type(a).__module__ + '.' + type(a).__qualname__ == 'model.build.<locals>.Mine' and "
            "a.dtype is torch.int64 and a.requires_grad is False and a.size() == () and a.stride() == ()",
        ),
        (
            "DIMENSION_DYNAMIC_MARKING_GUARD",
            NoDimensionMarks("d['x, y']", ("dynamic",)),
            "not any(hasattr(d['x, y'], f'_dynamo_{mark}_indices') for mark in ('dynamic',))",
        ),
        ("ID_MATCH", SameObject("torch.abs"), "torch.abs is still the object it was when this was compiled"),
        ("ID_MATCH", SameBody("f"), "f still has the body it had when this was compiled"),
        (
            "GLOBAL_STATE",
            TorchState(False, "torch.float32", True, 4),
            "not torch.is_grad_enabled() and torch.get_default_dtype() is torch.float32 and "
            "torch.are_deterministic_algorithms_enabled() and torch.get_num_threads() == 4",
        ),
    ],
)
def test_a_guard_is_saved_as_its_condition_and_read_back_with_its_fields(kind, test, condition):
    guard = GuardRecord(test, "L['a']", kind, Location("a.py", 3))
    assert (guard.condition, guard.is_python) == (condition, test.is_python)
    frame = FrameRecord("0/0", "f", 0, "f.py", "", "replaced", "PROVED", guards=(guard,))
    record = SessionRecord(frames=(frame,))
    (saved,) = json.loads(to_json(record, compact=True))["frames"][0]["guards"]
    assert (saved["condition"], saved["is_python"]) == (condition, test.is_python)
    assert list(saved) == ["condition", "is_python", "expression", "kind", "location", "from_torch", "of_sizes"]
    assert from_json(to_json(record)) == from_json(to_json(record, compact=True)) == record


@pytest.mark.parametrize("kind", ["TYPE_MATCH", "EQUALS_MATCH", "TENSOR_MATCH", "GLOBAL_STATE", "NEW_KIND"])
@pytest.mark.parametrize(
    "condition", ["", "type(", "type(a) is b and", "not any(hasattr(a, f'_dynamo_{mark}_indices'))"]
)
def test_a_condition_that_is_in_no_form_of_its_kind_is_kept_as_it_is(kind, condition):
    frame = FrameRecord(
        "0/0", "f", 0, "f.py", "", "replaced", "PROVED", guards=(GuardRecord(PythonTest(condition), "", kind),)
    )
    loaded = from_json(to_json(SessionRecord(frames=(frame,))))
    assert loaded.frames[0].guards[0].condition == condition


STORED = Path(__file__).with_name("manifest_schema_1.json").read_text(encoding="utf-8")


def test_a_stored_manifest_of_schema_1_is_read_with_all_its_fields():
    record = from_json(STORED)
    assert json.loads(STORED)["schema"] == 1 and record.schema == SCHEMA_VERSION
    assert [len(frame.guards) for frame in record.frames] == [
        len(frame["guards"]) for frame in json.loads(STORED)["frames"]
    ]
    kinds = {type(guard.test) for frame in record.frames for guard in frame.guards}
    assert {TensorTest, SameObject, NoDimensionMarks} <= kinds
    (loud,) = record.skipped
    causes = ("Call to `torch._dynamo.graph_break()`", "graph break in loop")
    assert loud.skips[0].graph_breaks[0].causes == causes
    assert record.problems == () and record.lost_files == LostFiles(1, "full")
    assert from_json(to_json(record)) == record and json.loads(to_json(record))["schema"] == SCHEMA_VERSION


def test_the_causes_of_a_graph_break_the_detail_of_a_skip_and_lost_files_are_read_back():
    graph_break = GraphBreak(("print", "no resume"), Location("a.py", 3))
    skips = (SkipRecord("no graph", None), SkipRecord("disabled", "it is under disable", graph_breaks=(graph_break,)))
    function = FunctionRecord("f", "f", "f", "a.py", 1, "", "file", skips=skips)
    view = RankView((1,), "x = y")
    difference = RankDifference("graph", "f", "a.py:1", (view,), "Rank 1 captured another graph in version 2 of f", 2)
    record = SessionRecord(
        functions=(function,),
        problems=("reading: ValueError",),
        lost_files=LostFiles(1, "full"),
        differences=(difference,),
    )
    saved = json.loads(to_json(record, compact=True))
    skipped = saved["functions"][0]["skips"]
    assert skipped[0]["reason"] == "there is no operation on tensors in it to compile"
    assert skipped[1]["graph_breaks"][0]["reason"] == "print, and then no resume"
    assert from_json(to_json(record)) == record
    saved.update(schema=1, problems=["reading: ValueError", "a file could not be written: full"])
    del saved["lost_files"], saved["differences"][0]["version"]
    del skipped[0]["detail"], skipped[1]["detail"], skipped[1]["graph_breaks"][0]["causes"]
    assert from_json(json.dumps(saved)) == record, "the sentences alone, as in schema 1"
    saved["problems"][1] = "12 files could not be written: full"
    assert from_json(json.dumps(saved)) == dataclasses.replace(record, lost_files=LostFiles(12, "full"))


@pytest.mark.parametrize("frames", [[{}], [3], [{"compile_id": "0/0", "guards": [{"kind": "X"}]}]])
def test_a_text_that_is_no_record_is_refused_with_what_is_missing(frames):
    with pytest.raises(RecordFormatError, match="in the manifest is incomplete"):
        from_json(json.dumps({"schema": 1, "frames": frames}))
