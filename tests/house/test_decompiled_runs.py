"""A program that runs decompiled runs from the texts and nothing else, or its tests would prove nothing."""

from __future__ import annotations

import sys

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT / "bench"))

from cpython_tests import differing  # noqa: E402
from decompiled_run import TextStore, run  # noqa: E402

from depyf import decompiler  # noqa: E402

PROGRAM = """
import sys
import colorsys
import helper
with open(sys.argv[1], "w") as file:
    file.write(f"{helper.VALUE} {helper.__loader__.__class__.__name__} {colorsys.rgb_to_yiq(1, 1, 1)[0]:.1f}")
sys.exit(3)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("VALUE = 1\n")
    return tmp_path / "program.py"


def ended(program, store):
    place = program.parent / "written"
    done = run(str(program), [str(place)], store, seconds=120)
    assert done.status == 3
    return done, place.read_text()


def test_a_program_and_the_modules_that_it_imports_run_from_their_texts(program, tmp_path):
    done, text = ended(program, TextStore(tmp_path / "texts"))
    assert text == "1 DecompilingLoader 1.0" and not done.others
    assert [path.rpartition("/")[2] for path in done.decompiled][::2] == ["program.py", "helper.py"]
    assert done.decompiled[1].endswith("/colorsys.py")


def test_what_runs_is_the_text_and_not_the_source(program, tmp_path):
    store = TextStore(tmp_path / "texts")
    with open(store.place_of(str(tmp_path / "helper.py")), "w") as file:
        file.write("VALUE = 2\n")
    assert ended(program, store)[1].startswith("2 ")


def test_without_the_hook_the_sources_run(program):
    done, text = ended(program, None)
    assert text == "1 SourceFileLoader 1.0" and not done.decompiled


def test_a_module_without_a_text_of_its_own_is_named_and_runs_from_its_source(program, tmp_path, monkeypatch):
    def refuse(code, **options):
        if code.co_filename.endswith("helper.py"):
            raise decompiler.DecompilationError("no text is proved")
        return decompile(code, **options)

    decompile = decompiler.decompile
    monkeypatch.setattr(decompiler, "decompile", refuse)
    done, text = ended(program, TextStore(tmp_path / "texts"))
    assert text.startswith("1 ") and "DecompilationError" in done.others[str(tmp_path / "helper.py")]


def test_a_test_that_is_missing_or_ends_otherwise_is_a_difference():
    one = {"a": ["ok"], "b": ["ok"], "c": ["failure"], "the end": [""]}
    assert differing(one, one) == []
    assert differing(one, {"a": ["ok"], "b": ["error KeyError"]}) == ["b", "c", "the end"]
