"""docs/proof.md is the page on the proof: a grade, an assumption or a module that it lacks is one nobody can read about."""

from __future__ import annotations

import re

import pytest
from repository import ROOT

from depyf.decompiler.prove import Assumption, Grade

PAGE = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
ROWS = {cells[1].strip(" `"): [cell.strip() for cell in cells] for cells in (line.split("|") for line in PAGE.splitlines()) if len(cells) > 3}
MODULES = [path.stem for path in (ROOT / "depyf" / "decompiler" / "prove").glob("*.py") if path.stem != "__init__"]


@pytest.mark.parametrize("assumption", Assumption, ids=lambda assumption: assumption.name)
def test_every_assumption_is_documented_with_its_text(assumption: Assumption) -> None:
    assert ROWS[assumption.name][2] == assumption.value
    assert len(ROWS[assumption.name][3]) > 20  # why it is needed


@pytest.mark.parametrize("grade", Grade, ids=lambda grade: grade.name)
def test_every_grade_is_documented(grade: Grade) -> None:
    assert grade.name in ROWS


@pytest.mark.parametrize("module", MODULES)
def test_every_module_of_the_prover_has_its_place_on_the_page(module: str) -> None:
    assert re.search(rf"`{module}\b", PAGE)


def test_the_page_names_no_assumption_that_does_not_exist() -> None:
    rows = {name for name in ROWS if re.fullmatch(r"[A-Z_]+", name)}
    assert rows == {*Assumption.__members__, *Grade.__members__}
