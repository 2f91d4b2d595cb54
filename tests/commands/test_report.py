"""`depyf report` makes the page of a folder, from that folder alone, and leaves files of others as they are."""

from __future__ import annotations

import json

import pytest
from page_runs import sample_folder, write_run

from depyf.__main__ import main
from depyf.record.records import FrameRecord, FunctionRecord, ProcessRecord, SessionRecord


def test_the_page_is_where_the_command_prints_it(tmp_path, capsys):
    folder = sample_folder(tmp_path)
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'index.html'}\n"
    assert (folder / "page" / "graph_0.js").is_file()


def test_side_files_of_an_earlier_page_are_gone(tmp_path):
    folder = sample_folder(tmp_path)
    assert main(["report", str(folder)]) == 0
    (folder / "page" / "graph_99.js").write_text("depyfPart(1)")
    (folder / "page" / "mine.js").write_text("depyfPart(1)")
    (folder / "page" / "graph_98.js").write_text("of somebody else")
    assert main(["report", str(folder)]) == 0
    assert not (folder / "page" / "graph_99.js").exists()
    assert (folder / "page" / "mine.js").exists() and (folder / "page" / "graph_98.js").exists()


def test_an_index_of_somebody_else_stays(tmp_path, capsys):
    folder = sample_folder(tmp_path)
    (folder / "index.html").write_text("mine")
    assert main(["report", str(folder)]) == 0
    assert main(["report", str(folder)]) == 0
    assert (folder / "index.html").read_text() == "mine"
    assert capsys.readouterr().out.splitlines()[-1] == str(folder / "depyf_index.html")


def test_a_folder_called_page_of_somebody_else_stays(tmp_path):
    folder = sample_folder(tmp_path)
    (folder / "page").mkdir()
    (folder / "page" / "notes.txt").write_text("mine")
    for _ in range(2):
        assert main(["report", str(folder)]) == 0
    assert [path.name for path in (folder / "page").iterdir()] == ["notes.txt"]
    assert (folder / "depyf_page" / "graph_0.js").is_file()


def test_a_side_file_of_somebody_else_gets_one_line(tmp_path, capsys):
    folder = sample_folder(tmp_path)
    assert main(["report", str(folder)]) == 0
    (folder / "page" / "graph_0.js").write_text("of somebody else")
    assert main(["report", str(folder)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 99}', '{"schema": 3, "frames": 1}', "\x00"])
def test_a_manifest_that_is_none_gets_one_line(tmp_path, capsys, text):
    (tmp_path / "manifest.json").write_text(text)
    assert main(["report", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "index.html").exists()


def test_names_in_a_manifest_lead_nowhere_else(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    function = FunctionRecord("f_0", "f", "f", str(secret), 1, "", "missing")
    frames = [
        FrameRecord(f"0/{number}", "f_0", number, name, "", "replaced", "PROVED")
        for number, name in enumerate((str(secret), "../secret.txt", "link"))
    ]
    folder = tmp_path / "run"
    record = SessionRecord(
        functions=(function,),
        frames=tuple(frames),
        files=("../secret.txt", "timings.json"),
        processes=(ProcessRecord(".."), ProcessRecord(str(tmp_path))),
    )
    write_run(folder, record)
    (folder / "link").symlink_to(secret)
    (folder / "timings.json").symlink_to(secret)
    assert main(["report", str(folder)]) == 0
    for path in [folder / "index.html", *(folder / "page").iterdir()]:
        assert "the secret" not in path.read_text()


def test_each_process_has_a_page_that_the_first_one_links_to(tmp_path):
    rank = SessionRecord(rank=1, functions=(FunctionRecord("f_0", "f", "f", "f.py", 1, "", "missing"),))
    write_run(tmp_path, SessionRecord(processes=(ProcessRecord("rank_1", 1),)))
    write_run(tmp_path / "rank_1", rank)
    assert main(["report", str(tmp_path)]) == 0
    text = (tmp_path / "index.html").read_text().split('id="data">')[1].split("</script>")[0]
    assert json.loads(text)["processes"][0]["folder"] == "rank_1"
    assert (tmp_path / "rank_1" / "index.html").is_file()
