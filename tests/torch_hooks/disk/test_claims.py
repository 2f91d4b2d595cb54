"""A folder belongs to one process at a time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from depyf.torch_hooks.disk.claims import JOURNAL, Claim, is_claimed


def test_a_folder_is_claimed_once_and_released_when_the_process_ends(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    assert fcntl
    program = f"""
import sys
from depyf.torch_hooks.disk.claims import Claim
claim = Claim.take({str(tmp_path)!r})
claim.append("one")
print("taken", flush=True)
sys.stdin.read()
"""
    holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "taken\n"
    assert is_claimed(str(tmp_path)) and Claim.take(str(tmp_path)) is None
    holder.kill()
    holder.communicate()
    assert not is_claimed(str(tmp_path)) and (tmp_path / JOURNAL).read_text() == "one\n"
    claim = Claim.take(str(tmp_path))
    claim.release()
    assert list(tmp_path.iterdir()) == []
