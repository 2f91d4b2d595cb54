"""The journal recovers the session of a killed program."""

from __future__ import annotations

from depyf.record.journal import file_names, header_of, line, replay
from depyf.record.records import FrameRecord, FunctionRecord, GraphRecord, SessionRecord
from depyf.record.saved_form import from_json, to_json

FUNCTION = FunctionRecord("f_0", "f", "f", "f.py", 1, "def f(): pass\n", "file")


FRAME = FrameRecord("0/0", "f_0", 0, "__transformed_code_0_for_f.py", "def f(): pass\n", "replaced", "PROVED")


def test_a_truncated_journal_recovers_everything_before_the_cut():
    lines = [
        line(header={"process": "p", "run": "r", "rank": 1, "world_size": 2}),
        line(compiling="0/0", what="f (f.py:1)"),
        line(file=FRAME.file),
        line(function=FUNCTION),
        line(frame=0, value=FRAME),
        line(graph=0, value=GraphRecord("__compiled_fn_1", "0/0")),
        line(compiled="0/0"),
        line(compiling="1/0", what="g (f.py:9)"),
    ]
    text = "\n".join(lines) + "\n"
    record = replay(SessionRecord(), text)
    assert record.functions == (FUNCTION,) and record.frames == (FRAME,) and len(record.graphs) == 1
    assert record.compiling == ("g (f.py:9) [1/0]",) and not record.complete and record.rank == 1
    assert replay(record, text) == record, "records that the manifest already holds are not added again"
    assert from_json(to_json(record)) == record == from_json(to_json(record, compact=True))
    assert header_of(text)["run"] == "r" and list(file_names(text)) == [FRAME.file]
    for cut in range(len(text)):
        part = replay(SessionRecord(), text[:cut])
        assert part.frames in ((), (FRAME,)) and part.functions in ((), (FUNCTION,))
    torn = text[: text.index(lines[4]) + 9] + "\n" + lines[5] + "\n"  # a full disk in between
    assert replay(SessionRecord(), torn).frames == () and len(replay(SessionRecord(), torn).graphs) == 1
