"""No text of a program can become markup or code of the page, and two runs give the same bytes."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from page_runs import EVIL, NASTY, SAMPLE, hostile_record, write_run

from depyf.line_table.folders import read_file, read_records
from depyf.page.compile_times import times_data
from depyf.page.folder_page import make_page_again
from depyf.page.page_data import page_data
from depyf.page.page_text import PART_START, page_files, script_json


def files_of(folder):
    ((path, record),) = read_records(str(folder))
    data = page_data(record, lambda name: read_file(path, name))
    return page_files(data, times_data(read_file(path, "timings.json")))


def data_in(index):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', index, re.DOTALL)[1])


def part_in(text):
    assert text.startswith(PART_START) and text.endswith(");\n")
    return json.loads(f"[{text[len(PART_START) : -3]}]")


@pytest.mark.parametrize("text", NASTY)
def test_no_character_ends_a_script_or_a_line_of_one(text):
    written = script_json({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert re.fullmatch(r"[ -%'-;=?-~]*", written)  # ASCII that is seen, without < > &


def test_texts_of_a_hostile_program_are_data_and_nothing_else(tmp_path):
    record, texts = hostile_record()
    files = files_of(write_run(tmp_path, record, texts))
    plain = files_of(SAMPLE)
    assert files["index.html"].count("<") == plain["index.html"].count("<")  # no element more
    for name, text in files.items():
        if name != "index.html":
            assert "<" not in text and text.count("\n") == 1
            assert part_in(text)[0] == name[len("page/") : -len(".js")]
    names = [one["name"] for one in data_in(files["index.html"])["functions"]]
    assert names == [EVIL, EVIL]


def test_two_runs_differ_in_the_file_of_times_alone(tmp_path):
    first = files_of(SAMPLE)
    other = tmp_path / "other"
    other.mkdir()
    for path in SAMPLE.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    timings = json.loads((other / "timings.json").read_text())
    for one in timings["compilations"]:
        one["compilation_metrics"]["duration_us"] += 17
    (other / "timings.json").write_text(json.dumps({**timings, "started": 5.0}))
    second = files_of(other)
    assert [name for name in first if first[name] != second[name]] == ["page/times.js"]


def test_all_side_files_that_the_overview_names_are_there():
    files = files_of(SAMPLE)
    overview = data_in(files["index.html"])
    parts = {f"page/{one['part']}.js" for one in overview["functions"] + overview["graphs"]}
    assert parts | {"page/times.js", "index.html"} == set(files)


def test_the_page_is_small_beside_the_folder():
    files = files_of(SAMPLE)
    assert len(files["index.html"]) < 150_000
    assert sum(map(len, files.values())) < 3 * sum(path.stat().st_size for path in SAMPLE.iterdir())


def test_a_timings_file_that_is_none_gives_no_times():
    for text in ("", "{", "[]", "3", '{"compilations": 3}', '{"compilations": [3, {"compilation_metrics": 3}]}'):
        assert not times_data(text).get("compilations")


def test_phases_of_a_compilation_add_up_to_what_it_took():
    rows = times_data((SAMPLE / "timings.json").read_text())["compilations"]
    assert {row["kind"] for row in rows} == {"forward", "backward"}
    for row in rows:
        assert abs(sum(row["phases"].values()) - row["took"]) <= len(row["phases"]) + 1


@pytest.mark.parametrize(("name", "above"), [("rank_3", '"above":"../index.html"'), ("dump", '"above":""')])
def test_the_page_of_one_process_leads_up_to_that_of_all(tmp_path, name, above):
    folder = tmp_path / name
    shutil.copytree(SAMPLE, folder)
    make_page_again(str(folder))
    assert above in (folder / "index.html").read_text(encoding="utf-8")
