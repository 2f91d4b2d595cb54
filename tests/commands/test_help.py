"""Every command explains itself, and a wrong argument gets one line with what to do."""

from __future__ import annotations

import pytest

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
