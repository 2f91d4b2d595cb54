"""The pages of the docs: every output shown is what the programs print. A reader relies on each of them."""

from __future__ import annotations

import re
import shutil
import sys

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import executed_blocks  # noqa: E402

torch = pytest.importorskip("torch")
(TORCH,) = re.findall(r"^TORCH \?= torch==([\d.]+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

pytestmark = [
    pytest.mark.skipif(
        torch.__version__.split("+")[0] != TORCH or sys.version_info[:2] != (3, 11),
        reason=f"the docs show the output of Python 3.11 and torch {TORCH}",
    ),
    pytest.mark.skipif(not any(map(shutil.which, ("g++", "c++", "clang++"))), reason="needs a C++ compiler"),
    pytest.mark.untraced,
]


@pytest.mark.parametrize("page", executed_blocks.pages(), ids=lambda page: page.stem)
def test_every_output_that_a_page_shows_is_what_is_printed(page):
    found = executed_blocks.run_page(page)
    assert not found, "\n".join(executed_blocks.report(page, difference) for difference in found)
