"""Records of many ranks: what is alike is read and kept once, what is not is never taken for it, and nobody waits."""

from __future__ import annotations

import json
import os

import pytest

from depyf.record.records import FunctionRecord, GraphRecord, SessionRecord, StageRecord, Versions
from depyf.record.saved_form import to_json
from depyf.record.vocabulary import CAPTURED_GRAPH
from depyf.torch_hooks.disk.merging import merge, merge_at_exit
from depyf.torch_hooks.disk.process_records import Deadline, TooLong, members_below

GRAPH = "__compiled_fn_1.Captured_Graph.0.py"


def write_rank(top, rank, name="f", text="x = y.to('cuda:{rank}')\n", world_size=4):
    folder = top / f"rank_{rank}"
    folder.mkdir(parents=True)
    function = FunctionRecord(
        key="f", name=name, qualified_name=name, file="/m.py", first_line=1, source="", source_origin="missing"
    )
    stage = StageRecord(CAPTURED_GRAPH, 0, GRAPH)
    record = SessionRecord(
        versions=Versions("1", "3", "2"),
        functions=(function,),
        graphs=(GraphRecord("__compiled_fn_1", "0/0", (stage,)),),
        files=(GRAPH, "timings.json"),
        rank=rank,
        world_size=world_size,
        complete=True,
    )
    (folder / "manifest.json").write_text(to_json(record))
    (folder / GRAPH).write_text(text.format(rank=rank))
    (folder / "timings.json").write_text(json.dumps({"run": "r", "process": f"p{rank}", "started": 1.0}))


def test_ranks_that_compiled_the_same_share_one_record_and_others_have_their_own(tmp_path):
    write_rank(tmp_path, 0)
    write_rank(tmp_path, 1)
    write_rank(tmp_path, 2, name="g")
    write_rank(tmp_path, 3, text="x = y * 7\n")
    first, second, other, another = members_below(str(tmp_path), "r")
    assert [one.record.rank for one in (first, second, other, another)] == [0, 1, 2, 3]
    assert first.record.functions is second.record.functions and first.graphs is second.graphs
    assert other.record.functions[0].name == "g"
    assert another.graphs[GRAPH] == "x = y * 7\n" and first.graphs[GRAPH] == "x = y.to('cuda:0')\n"


def test_the_merged_record_has_every_rank_by_its_own_number(tmp_path):
    for rank in range(4):
        write_rank(tmp_path, rank)
    merged = merge(str(tmp_path), "r")
    assert [(one.folder, one.rank) for one in merged.processes] == [(f"rank_{rank}", rank) for rank in range(4)]
    assert not merged.differences


def test_the_end_of_a_program_does_not_wait_for_the_comparison_of_many_ranks(tmp_path):
    for rank in range(4):
        write_rank(tmp_path, rank)
    with pytest.raises(TooLong):
        merge_at_exit(str(tmp_path), "r", 2.0, Deadline.after(-1))
    assert "manifest.json" not in os.listdir(tmp_path)
    assert merge_at_exit(str(tmp_path), "r", 2.0) is not None  # the claim was given back
    assert "manifest.json" in os.listdir(tmp_path)
