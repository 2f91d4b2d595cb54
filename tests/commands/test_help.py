"""Every command explains itself, and a wrong argument gets one line with what to do."""

from __future__ import annotations

import json

import pytest
from page_runs import SAMPLE

from depyf.__main__ import main

COMMANDS = ("run", "report", "show", "where", "lines", "diff", "finish", "decompile", "doctor", "coverage")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"depyf {command}" in text.split("For example: ")[1]


@pytest.mark.parametrize(
    "arguments",
    [[], ["fly"], ["show"], ["diff", "one"], ["report", "--nope", "x"], ["where", "x"], ["run"], ["doctor", "extra"]],
    ids=" ".join,
)
def test_a_wrong_argument_gets_one_line(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert error.count("\n") == 1 and error.startswith("depyf: ") and "--help" in error


def test_run_without_a_script_asks_for_that_alone(capsys):
    with pytest.raises(SystemExit):
        main(["run"])
    assert "required: SCRIPT (see depyf run --help)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["show", "nowhere"], ["report", "nowhere"], ["diff", "nowhere", "nowhere"], ["where", "a:1", "nowhere"]],
)
def test_a_folder_that_is_none_gets_one_line(capsys, arguments):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "prepare_debug" in error


def test_an_unknown_option_leads_to_the_help_of_its_command(capsys):
    with pytest.raises(SystemExit):
        main(["report", "--nope", "x"])
    assert "depyf report --help" in capsys.readouterr().err


def test_a_line_that_is_none_gets_an_example_of_one(capsys):
    assert main(["where", "forward", str(SAMPLE)]) == 1
    assert "model.py:42" in capsys.readouterr().err


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("depyf ")


def test_findings_of_a_log_are_asked_of_the_folder_that_is_made_of_it(tmp_path, capsys):
    (tmp_path / "trace.log").write_text("V0101 ...", encoding="utf-8")
    assert main(["report", "--sarif", str(tmp_path / "trace.log")]) == 2
    assert "-o DIR" in capsys.readouterr().err


def test_what_became_of_a_line_is_there_as_data(capsys):
    assert main(["where", "model.py:12", str(SAMPLE), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["line"], found["code"]) == (12, found["links"][0]["calls"][-1]["code"])
    assert {"transformed code", "Captured_Graph", "kernel"} <= {link["stage"] for link in found["links"]}
