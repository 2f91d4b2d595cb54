"""`python -m depyf finish`."""

from __future__ import annotations

from depyf.__main__ import main


def test_finish_says_what_is_not_a_folder_of_ours(tmp_path, capsys):
    assert main(["finish", str(tmp_path)]) == 2
    assert "no folder that depyf.prepare_debug wrote to" in capsys.readouterr().err
