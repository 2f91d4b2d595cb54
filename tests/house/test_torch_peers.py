"""The comparison with depyf 0.20 counts what users would lose, or its table would be worth nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from repository import ROOT

pytest.importorskip("torch")
sys.path.insert(0, str(ROOT))

from torch_probes import calls_sequences_by_keyword  # noqa: E402

from bench.torch_peers.__main__ import passed, score_of  # noqa: E402

TESTS = """
import torch


def compiled(x):
    return torch.compile(lambda y: y.sin() + 1, backend="eager")(x)


def test_passes():
    assert compiled(torch.zeros(3)).sum() == 3


def test_fails_by_itself():
    assert compiled(torch.zeros(3)).sum() == 4
"""


def peers(*arguments):
    command = [sys.executable, "-m", "bench.torch_peers", "--jobs", "1", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, timeout=600, check=True
    )
    return done.stdout.splitlines()[-1]


def test_frames_of_a_model_that_run_decompiled_code_are_counted():
    if not calls_sequences_by_keyword():
        pytest.skip("this torch has no keyword arguments of nn.Sequential, which torch/mlp is")
    assert "1 of 1 (100.0 %) | 2 of 2 (100.0 %)" in peers("--only", "torch/mlp", "--variants", "forward")


def test_a_test_that_fails_without_depyf_is_left_out_and_its_frames_are_counted(tmp_path):
    pytest.importorskip("pytest_timeout")
    (tmp_path / "test_compiled.py").write_text(TESTS)
    assert "1 of 1 (100.0 %) | 1 of 1 (100.0 %)" in peers("--tests", str(tmp_path), "test_compiled")


def test_a_test_that_fails_or_is_never_reached_under_a_depyf_is_lost(capsys):
    lines = [
        {"version": "0.0"},
        {"test": "kept", "outcome": "passed"},
        {"test": "broken", "outcome": "failed"},
        {"test": "broken in teardown", "outcome": "passed"},
        {"test": "broken in teardown", "outcome": "failed"},
        {"frames": 5, "replaced": 3},
    ]
    wanted = ["kept", "broken", "broken in teardown", "never reached"]
    assert score_of(lines, wanted) == ("0.0", 1, 4, 3, 5)
    assert capsys.readouterr().err.count("lost with 0.0") == 3


def test_a_test_with_subtests_is_counted_once():
    assert passed([{"test": "one", "outcome": "passed"}] * 3) == ["one"]
