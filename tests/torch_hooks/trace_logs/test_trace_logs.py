"""A log of TORCH_TRACE gives the page, whoever wrote it, and nothing but the log is read."""

from __future__ import annotations

import builtins
import gzip
import io
import json
import os
import subprocess
import sys

import pytest
from page_runs import EVIL
from repository import ROOT

from depyf.__main__ import main
from depyf.record.records import SessionRecord
from depyf.record.saved_form import from_json

# Of torch 2.13: a function with a graph break, trained, called with another number; fields of metrics left out.
LOG = ROOT / "tests" / "samples" / "trace.log"
HEAD = "V1116 21:35:26.909000 14018 torch/_dynamo/convert_frame.py:303] "
MOST_MEMORY = 1 << 30


def report(log, folder) -> SessionRecord:
    assert main(["report", str(log), "-o", str(folder)]) == 0
    return from_json((folder / "manifest.json").read_text(encoding="utf-8"))


def event(kind: str, data: object = None, payload: str = "", **context: object) -> str:
    head = {kind: {} if data is None else data, "frame_id": 0, "frame_compile_id": 0, "attempt": 0, **context}
    return HEAD + json.dumps(head) + "\n" + "".join(f"\t{line}\n" for line in payload.split("\n") if payload)


def start(file: str, function: str) -> str:
    stack = [{"line": 3, "name": function, "filename": 0}]
    return event("str", [file, 0]) + event("dynamo_start", {"stack": stack})


# ---------------------------------------------------------------- what a log has


def test_a_log_gives_functions_versions_graphs_breaks_and_recompiles(tmp_path):
    record = report(LOG, tmp_path / "out")
    assert [frame.compile_id for frame in record.frames] == ["0/0", "1/0", "0/1", "1/1"]
    assert [function.name for function in record.functions] == ["step", "torch_dynamo_resume_in_step_at_11"]
    assert record.functions[1].resume_of == record.functions[0].key
    assert [resume.function for resume in record.frames[0].resumes] == [record.functions[1].key]
    assert {one.location.line for frame in record.frames for one in frame.graph_breaks} == {11}
    assert "needs n == 2" in str(record.frames[2].failed_guards[0])
    assert [guard.condition for guard in record.frames[0].guards if guard.condition.endswith("n == 2")]
    stages = {part.stage for part in record.graphs[0].stages + record.graphs[0].kernels}
    assert {"Captured_Graph", "Joint_graph", "Forward_graph", "Backward_graph", "AFTER_POST_GRAD", "kernel"} <= stages
    assert record.versions.torch == "2.13.0+cpu"


def test_a_log_has_the_line_that_made_a_size_a_number(tmp_path):
    log = tmp_path / "trace.log"
    stack = [{"line": 4, "name": "f", "filename": 0, "loc": "if x.shape[0] == 6:"}]
    size = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "6", "user_stack": stack}
    log.write_text(
        start("/home/me/model.py", "f") + event("symbolic_shape_specialization", size) + event("dynamo_cpp_guards_str")
    )
    ((found,),) = [frame.specialized for frame in report(log, tmp_path / "out").frames]
    assert (found.sources, found.value) == (("x.size()[0]",), "6")
    assert found.location is not None and (found.location.line, found.location.code) == (4, "if x.shape[0] == 6:")


def test_a_warning_of_a_backend_in_a_log_is_no_break_of_its_own(tmp_path):
    lines = LOG.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "dynamo_graph_break_reason" in line)
    warning = "\tWON'T CONVERT step /somewhere/model.py line 3\n\t========== TorchDynamo Stack Trace ==========\n"
    log = tmp_path / "trace.log"
    log.write_text("".join([*lines[: at + 1], warning, *lines[at:]]))
    wanted, found = report(LOG, tmp_path / "wanted"), report(log, tmp_path / "found")
    assert wanted.frames[0].graph_breaks
    assert [frame.graph_breaks for frame in found.frames] == [frame.graph_breaks for frame in wanted.frames]


def test_the_page_of_a_log_names_what_the_log_lacks(tmp_path):
    report(LOG, tmp_path / "out")
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert '"from_log":true' in index and "a trace log has no bytecode" in index


def test_the_lines_of_a_function_that_the_log_shows_keep_their_numbers(tmp_path):
    function = report(LOG, tmp_path / "out").functions[0]
    lines = dict(enumerate(function.source.split("\n"), function.first_line))
    assert lines[10] == "y = scaled(x) * n" and lines[11] == 'print("done")' and lines[12] == "return y.relu()"
    assert lines[9] == "# (not in the log)"


def test_kernels_of_a_log_are_linked_to_the_lines_of_the_program(tmp_path, capsys):
    report(LOG, tmp_path / "out")
    capsys.readouterr()
    assert main(["where", "train.py:12", str(tmp_path / "out")]) == 0
    assert "kernel" in capsys.readouterr().out


def test_the_timeline_of_a_log_has_torchs_own_timers(tmp_path):
    report(LOG, tmp_path / "out")
    times = (tmp_path / "out" / "page" / "times.js").read_text(encoding="utf-8")
    assert "entire_frame_compile" in times


def test_a_packed_log_gives_the_same_record(tmp_path):
    packed = tmp_path / "trace.log.gz"
    packed.write_bytes(gzip.compress(LOG.read_bytes()))
    assert report(packed, tmp_path / "a") == report(LOG, tmp_path / "b")


def test_logs_of_several_ranks_are_compared(tmp_path, capsys):
    logs = tmp_path / "logs"
    logs.mkdir()
    text = LOG.read_text(encoding="utf-8")
    for rank in (0, 1, 2):
        odd = text.replace("sin", "cos").replace("cos", "tan") if rank == 1 else text
        (logs / f"dedicated_log_torch_trace_rank_{rank}_abc.log").write_text(odd, encoding="utf-8")
    record = report(logs, tmp_path / "out")
    assert [process.folder for process in record.processes] == ["rank_0", "rank_1", "rank_2"]
    assert any(view.ranks == (1,) for one in record.differences for view in one.views)
    assert (tmp_path / "out" / "rank_1" / "index.html").is_file()


def test_a_second_report_of_a_log_replaces_the_first(tmp_path):
    first = report(LOG, tmp_path / "out")
    assert report(LOG, tmp_path / "out") == first


def test_a_log_that_was_cut_off_gives_what_it_has(tmp_path):
    text = LOG.read_bytes()
    (tmp_path / "cut.log").write_bytes(text[: len(text) // 2])
    assert report(tmp_path / "cut.log", tmp_path / "out").frames
    packed = gzip.compress(text)
    (tmp_path / "cut.log.gz").write_bytes(packed[: len(packed) // 2])
    record = report(tmp_path / "cut.log.gz", tmp_path / "out")
    assert record.functions and any("cut off" in line for line in record.problems)


# ---------------------------------------------------------------- what a log may not do


def test_no_file_that_a_log_names_is_read(tmp_path, monkeypatch):
    secret = tmp_path / "secret.py"
    secret.write_text("SECRET = 1\n")
    log = tmp_path / "trace.log"
    graph = f"class GraphModule(torch.nn.Module):\n    # File: {secret}:1 in f, code: x\n    y = torch.relu(x)\n"
    log.write_text(
        start(str(secret), "f")
        + event("dynamo_output_graph", payload=graph)
        + event("inductor_output_code", {"filename": str(secret)}, "def call(args): pass")
        + event("compilation_metrics", {"fail_user_frame_filename": str(secret), "fail_user_frame_lineno": 1})
        + event("dynamo_cpp_guards_str", payload="TREE_GUARD_MANAGER:\n+- RootGuardManager")
    )
    opened = []
    real = io.open

    def watched(file, *args, **kwargs):
        opened.append(str(file))
        return real(file, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", watched)
    monkeypatch.setattr(io, "open", watched)
    report(log, tmp_path / "out")
    assert str(log) in opened and str(secret) not in opened
    assert not any("SECRET" in path.read_text() for path in (tmp_path / "out").rglob("*.*") if path.is_file())


def test_names_of_a_hostile_log_stay_in_the_folder_and_are_text(tmp_path):
    log = tmp_path / "trace.log"
    log.write_text(
        start(f"/../../{EVIL}", EVIL)
        + event("dynamo_output_graph", payload="class GraphModule:\n    pass", frame_id="../../x")
        + event("dynamo_output_graph", payload=f"class GraphModule:\n    # {EVIL}")
        + event("graph_dump", {"name": "../../evil", "type": "/../x"}, payload="int main")
        + event("dynamo_cpp_guards_str", payload=EVIL),
        encoding="utf-8",
        errors="backslashreplace",
    )
    report(log, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "trace.log"]
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<script>window.hacked" not in index and "onerror" not in index.replace("<img", "").split("<body")[0]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + '{"dynamo_start": {"stack": [{"line": 1e400, "name": 3, "filename": []}]}, "frame_id": {}}\n',
        HEAD + '{"dynamo_start": {"stack": ' + "[" * 100_000 + "\n",
        HEAD + '{"str": [1, "x"]}\n' + HEAD + '{"frame_id": 0}\n' + HEAD + "null\n" + HEAD + "{}\n",
        "\t\t\t\n\x00\xff",
        HEAD + '{"dynamo_output_graph": 3, "frame_id": 0, "attempt": "x"}\n',
    ],
)
def test_a_log_of_nonsense_gets_one_line(tmp_path, capsys, text):
    log = tmp_path / "trace.log"
    log.write_text(text, encoding="utf-8")
    assert main(["report", str(log), "-o", str(tmp_path / "out")]) in (0, 2)
    assert capsys.readouterr().err.count("\n") <= 1


def _limited() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is Linux's")
@pytest.mark.parametrize("unit", [b"\0", b"\t\n", b"\t" + b"x" * 1000 + b"\n", HEAD.encode() + b'{"a": 1}\n'])
def test_a_log_that_unpacks_to_much_more_gets_one_line_within_a_gigabyte(tmp_path, unit):
    log = tmp_path / "bomb.log.gz"
    block = unit * ((1 << 20) // len(unit))
    with gzip.open(log, "wb", compresslevel=9) as stream:
        stream.write(event("dynamo_start", {"stack": []}).encode())
        for _ in range(100):
            stream.write(block)
    command = [sys.executable, "-m", "depyf", "report", str(log), "-o", str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=120, preexec_fn=_limited, check=False
    )
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr, done.stderr
    assert (done.stdout + done.stderr).count("\n") == 1


def test_a_file_that_is_no_log_gets_one_line_with_what_to_give(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("hello\n")
    assert main(["report", str(tmp_path / "notes.txt"), "-o", str(tmp_path / "out")]) == 2
    assert "TORCH_TRACE" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "missing")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
