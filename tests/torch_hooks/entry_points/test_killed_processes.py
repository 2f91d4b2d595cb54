"""`python -m depyf finish`."""

from __future__ import annotations

from depyf.__main__ import main


def test_finish_refuses_a_folder_that_depyf_did_not_write(tmp_path, capsys):
    assert main(["finish", str(tmp_path)]) == 2
    assert "no folder that depyf.prepare_debug wrote to" in capsys.readouterr().err
