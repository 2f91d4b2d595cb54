"""One attempt takes a code object through the stages, in the order that the map of the house has."""

from __future__ import annotations

import re
import sys

import pytest
from repository import ROOT

from depyf.code_generator import COMPILER, CodeGenerator
from depyf.decompiler import pipeline
from depyf.decompiler.attempt import IDIOMS, Attempt, Request, Rung, region_trees, stage_order, syntax_trees

sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

# The door of each stage, by the name under which an attempt calls it.
DOORS = {
    "decode": (stage_order, "decode"),
    "clean_program": (stage_order, "clean_program"),
    "flow": (region_trees, "build_graph"),
    "clean_graph": (region_trees, "clean_graph"),
    "fold": (region_trees, "fold"),
    "structure": (region_trees, "structure"),
    "build": (syntax_trees, "build_statements"),
    "printer": (stage_order, "print_source"),
    "recompile": (stage_order, "compile_like"),
    "prove": (stage_order, "prove"),
}


def doubled(x):
    while x:
        x = x + x
    return x


def run(function, rung=IDIOMS, **arguments):
    return Attempt(Request(function.__code__, **arguments), rung).run()


def test_every_stage_is_entered_once_and_in_the_order_of_the_map(monkeypatch):
    entered = []
    for stage, (module, name) in DOORS.items():
        door = getattr(module, name)

        def record(*args, stage=stage, door=door, **kwargs):
            entered.append(stage)
            return door(*args, **kwargs)

        monkeypatch.setattr(module, name, record)
    assert run(doubled).proved
    on_the_map = [room.rpartition(".")[2] for room in house.ROOMS if room.startswith("depyf.decompiler.")]
    assert entered == list(DOORS) == [name for name in on_the_map if name in DOORS]


def test_an_attempt_returns_the_text_its_code_and_the_lines_that_belong_together():
    result = run(doubled)
    assert result.source == "def doubled(x):\n    while x:\n        x = x + x\n    return x\n"
    assert result.code is not None and result.rung == "idioms" and result.bugs == ()
    assert {line for _, line in result.lines} <= {1, 2, 3, 4} and len(result.lines) > 3


def test_a_function_without_jumps_needs_no_graph(monkeypatch):
    monkeypatch.setattr(region_trees, "build_graph", None)
    assert run(lambda a: a + 1).proved
    with pytest.raises(TypeError):
        run(doubled)


def test_the_machine_rung_writes_what_no_statement_can():
    result = run(doubled, Rung("state machine", True, True, is_machine=True))
    assert result.proved and "state" in result.source


def test_locals_of_the_generator_are_those_that_its_original_does_not_have():
    def original(a):
        return a

    def made(a):
        tmp = a
        del tmp
        return a

    assert Request(made.__code__).own_locals == ()
    assert Request(made.__code__, reference=original.__code__).own_locals == ("tmp",)
    assert "tmp" in run(made).source
    assert run(made, reference=original.__code__).source == "def made(a):\n    return a\n"


def test_names_that_a_generator_invents_are_handed_in_as_a_value():
    def frame(x):
        mark = True
        return x

    generator = CodeGenerator(own_locals=lambda code: ("mark",))
    assert "mark" in run(frame, generator=COMPILER).source
    result = run(frame, generator=generator)
    assert result.proved and "mark" not in result.source


def test_constants_without_a_spelling_get_a_name_and_a_note():
    marker = object()
    code = (lambda: 1000).__code__
    code = code.replace(co_consts=tuple(marker if const == 1000 else const for const in code.co_consts))
    result = Attempt(Request(code), IDIOMS).run()
    assert result.proved and result.stand_ins == ("__constant_0 is a object",)
    assert result.source.splitlines()[0].startswith("# Not self-contained")


def test_the_page_on_the_decompiler_has_the_stages_in_the_same_order():
    page = (ROOT / "docs" / "decompiler.md").read_text(encoding="utf-8")
    headings = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert [name for name in headings if name in DOORS] == list(DOORS)
    drawing = page.partition("```mermaid")[2].partition("```")[0]
    words = re.findall(r"\w+", drawing)
    assert sorted(DOORS, key=words.index) == list(DOORS)


def test_the_page_on_the_decompiler_has_the_rungs_in_the_order_of_the_ladder():
    page = (ROOT / "docs" / "decompiler.md").read_text(encoding="utf-8")
    table = [line.split("|")[1].strip() for line in page.partition("| rung |")[2].splitlines() if line.startswith("| ")]
    names = [pipeline.WITH_TEMPORARIES.name, *(rung.name for rung in pipeline.RUNGS), pipeline.WITH_LISTINGS.name]
    assert table == [*dict.fromkeys(names), "disassembly"]
