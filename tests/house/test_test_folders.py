"""The tests of a room of the source are in the folder of the same name, so that they can be found and run alone."""

from __future__ import annotations

import collections
import sys

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

TESTS = ROOT / "tests"
FOLDERS = sorted({path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")})
PACKAGES = {name for name, path in house.modules().items() if path.name == "__init__.py"}

# Folders of tests that belong to no single room of the source.
ACROSS_ROOMS = {
    "decompiler/round_trip": "from code to text and back, through all stages",
    "house": "the tree, the tools and the benchmarks themselves",
    "programs": "whole programs under prepare_debug",
    "public_api": "what users import and type",
}
# Rooms that have no folder of tests: those of depyf 0.20's names, which only forward to others.
TESTED_IN = {
    "explain": "public_api",
    "optimization": "torch_hooks/entry_points",
}


def room(folder: str) -> str:
    return "depyf." + folder.replace("/", ".")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_of_tests_is_a_room_of_the_source(folder):
    assert (room(folder) in house.ROOMS) != (folder in ACROSS_ROOMS)


@pytest.mark.parametrize("package", sorted(PACKAGES & set(house.ROOMS) - set(house._OUTER)))
def test_every_package_of_the_source_has_its_tests(package):
    folder = package[len("depyf.") :].replace(".", "/")
    assert (folder in FOLDERS) != (folder in TESTED_IN), "either a folder of tests, or a line in TESTED_IN"
    assert TESTED_IN.get(folder, folder) in FOLDERS


def test_no_two_test_files_have_one_name():
    counts = collections.Counter(path.name for path in TESTS.rglob("*.py"))
    assert [name for name, count in counts.items() if count > 1] == []


def test_all_tests_are_in_folders_that_pytest_collects_without_packages():
    assert sorted(path.name for path in TESTS.glob("*.py")) == ["conftest.py"]
    assert list(TESTS.rglob("__init__.py")) == []
