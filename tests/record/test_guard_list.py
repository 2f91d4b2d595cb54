"""Guards of repeated layers that stand once read and are saved as if each stood on its own."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from depyf.page.guard_table import MARK, GuardTable
from depyf.page.place_table import PlaceTable
from depyf.record.guard_conditions import (
    NoDimensionMarks,
    PythonTest,
    SameObject,
    TensorProperties,
    TensorTest,
    TypeTest,
    ValueTest,
)
from depyf.record.guard_list import LAYER, GuardList, LayerForm, LayerGuards, distinct, locations_of
from depyf.record.journal import line, replay
from depyf.record.json_text import JsonText
from depyf.record.records import FrameRecord, FunctionRecord, GuardRecord, Location, SessionRecord
from depyf.record.saved_form import GrowingText, from_json, to_json
from depyf.report.full_code import StoryWriter


def render(record, key):
    return StoryWriter(record).text_of(key)


OWN, TORCHS = (
    Location("a.py", 3, "f", "y = self.a(x)"),
    Location("torch/nn/modules/linear.py", 9, "forward", "F.linear("),
)
WEIGHT = TensorProperties("torch.nn.Parameter", "torch.float32", "cpu", True, (16, 4), (4, 1))
SINGLES = (
    GuardRecord(TypeTest("self", "Net"), "L['self']", "TYPE_MATCH", OWN),
    GuardRecord(TypeTest("self.blocks", "dict"), "L['self']._modules['blocks']", "TYPE_MATCH", OWN),
    GuardRecord(ValueTest("self.half", "int", "self.half == 4"), "L['self'].half", "EQUALS_MATCH", TORCHS, True),
)
ON_A_LAYER = (
    GuardRecord(TypeTest(LAYER, "Block"), LAYER, "TYPE_MATCH", OWN),
    GuardRecord(PythonTest(f"'forward' not in {LAYER}.__dict__"), f"{LAYER}.__dict__", "DICT_CONTAINS", OWN),
    GuardRecord(TensorTest(f"{LAYER}.a.weight", WEIGHT), f"{LAYER}.a.weight", "TENSOR_MATCH", TORCHS, True),
    GuardRecord(NoDimensionMarks(f"{LAYER}.a.weight", ("dynamic",)), f"{LAYER}.a.weight", "MARKS", TORCHS, True),
    GuardRecord(ValueTest(f"{LAYER}.k", "str", f"{LAYER}.k == 'no'"), f"{LAYER}.k", "EQUALS_MATCH", None),
    GuardRecord(SameObject(f"{LAYER}.f"), f"{LAYER}.f", "ID_MATCH", OWN),
    GuardRecord(PythonTest(f"len({LAYER}.a.shape) == 1"), f"{LAYER}.a.shape", "LENGTH_CHECK", OWN, False, True),
)
FORMS = (LayerForm(ON_A_LAYER), LayerForm(ON_A_LAYER[:4]), LayerForm(ON_A_LAYER[2:]))


def layer(number: int, form: int = 0, of: str = "self.blocks") -> LayerGuards:
    return LayerGuards(FORMS[form], f"{of}[{number}]", f"L['self']._modules['{of[5:]}']._modules['{number}']")


def frame(guards: Any, number: int = 0, function: str = "f_0") -> FrameRecord:
    source = "def f(self, x):\n    return x\n"
    return FrameRecord(f"{number}/0", function, number, f"t_{number}.py", source, "replaced", "PROVED", guards=guards)


def session(versions: Any, has_one_function: bool) -> SessionRecord:
    names = [f"f_{0 if has_one_function else number}" for number in range(len(versions))]
    functions = [
        FunctionRecord(name, "f", "f", "a.py", 1, "def f(self, x): ...\n", "file", ("self", "x"), full_code_file="s.py")
        for name in dict.fromkeys(names)
    ]
    frames = [frame(guards, number, names[number]) for number, guards in enumerate(versions)]
    return SessionRecord(functions=tuple(functions), frames=tuple(frames))


VERSIONS = {
    "layers of one list": [[*SINGLES, *map(layer, range(12))]],
    "layers between others": [[layer(0), SINGLES[0], layer(1), SINGLES[1], *map(layer, range(2, 9)), SINGLES[2]]],
    "two kinds of layers": [[*SINGLES, *[layer(number, number % 2) for number in range(8)]]],
    "two lists": [[*map(layer, range(5)), *[layer(number, 0, "self.others") for number in range(3, 7)], *SINGLES]],
    "versions with other layers": [[*SINGLES, *map(layer, range(4))], [*SINGLES, *map(layer, range(4, 12))]],
    "versions with the same layers": [[*SINGLES, *map(layer, range(4))], [*map(layer, range(6)), SINGLES[0]]],
    "a layer that is another one in a later version": [
        [*SINGLES, *map(layer, range(6))],
        [layer(0), layer(1, 2), layer(2, 1), layer(9, 1), SINGLES[2]],
        [*SINGLES, layer(9), layer(1, 2), *map(layer, range(20, 25))],
    ],
    "a layer whose guards are single in a later version": [
        [*SINGLES, *map(layer, range(6))],
        [*SINGLES, *layer(2).records, layer(7), layer(8)],
    ],
}


@pytest.fixture(params=VERSIONS)
def versions(request):
    return [distinct(pieces) for pieces in VERSIONS[request.param]]


@pytest.mark.parametrize("has_one_function", [True, False])
def test_what_is_written_of_guards_is_the_same_as_if_each_stood_on_its_own(versions, has_one_function):
    assert all(isinstance(guards, GuardList) for guards in versions)
    found, expected = (
        session(guards, has_one_function) for guards in (versions, [tuple(guards) for guards in versions])
    )
    assert found == expected and hash(found.frames) == hash(expected.frames)
    assert to_json(found) == to_json(expected)
    assert to_json(found, compact=True) == to_json(expected, compact=True)
    assert from_json(to_json(found)) == from_json(to_json(expected))
    growing, plain = GrowingText(), GrowingText()
    for count in range(1, len(versions) + 1):
        texts = [
            text.of(replace(one, frames=one.frames[:count])) for text, one in ((growing, found), (plain, expected))
        ]
        assert texts[0] == texts[1]
    for function in found.functions:
        assert render(found, function.key) == render(expected, function.key)


def test_the_journal_of_a_killed_program_has_all_guards(versions):
    found = session(versions, True)
    lines = [line(frame=number, value=one) for number, one in enumerate(found.frames)]
    long = [JsonText(",", ":").of_whole({"frame": number, "value": one}) for number, one in enumerate(found.frames)]
    assert len("".join(lines)) < len("".join(long))
    read = replay(SessionRecord(), "\n".join([*lines, ""]))
    assert read.frames == replay(SessionRecord(), "\n".join([*long, ""])).frames
    assert [one.condition for one in read.frames[0].guards] == [one.condition for one in versions[0]]
    broken = lines[0].replace('"form":0', '"form":9')
    assert replay(SessionRecord(), broken + "\n").frames == ()


def test_the_page_shows_the_same_guards(versions):
    found, expected = GuardTable(PlaceTable(())), GuardTable(PlaceTable(()))
    for guards in versions:
        assert found.add(guards, {}) == expected.add(tuple(guards), {})
    assert each_guard(json.loads(json.dumps({"guards": found.rows, "forms": found.forms}))) == each_guard(
        json.loads(json.dumps({"guards": expected.rows, "forms": expected.forms}))
    )
    assert not expected.forms


def each_guard(part: Any) -> list[Any]:
    """Do what the page's script does with the data."""
    rows: list[Any] = []
    for row in part["guards"]:
        layer = part["forms"][row[0]] if len(row) == 2 else [row]
        rows += [[one[0].replace(MARK, str(row[1])) if len(row) == 2 else one[0], *one[1:]] for one in layer]
    return rows


def test_a_condition_that_is_there_twice_is_listed_once():
    again = GuardRecord(PythonTest("'forward' not in self.blocks[2].__dict__"), "", "DICT_CONTAINS", OWN)
    for pieces in (
        [again, layer(0), layer(2)],
        [layer(2), layer(2), layer(3)],
        [layer(0), layer(0, 1)],
        [layer(1), layer(5, 0, "self.blocks[1].blocks"), again],
    ):
        found = distinct(pieces)
        assert isinstance(found, tuple)
        conditions = [guard.condition for guard in found]
        assert len(set(conditions)) == len(conditions)
        listed = [one for piece in pieces for one in (piece.records if isinstance(piece, LayerGuards) else [piece])]
        assert conditions == list(dict.fromkeys([one.condition for one in listed]))


def test_a_list_of_guards_is_a_sequence_of_them():
    found = distinct([*SINGLES, layer(0), layer(1)])
    assert len(found) == 3 + 2 * len(ON_A_LAYER)
    assert found[0] == SINGLES[0] and found[-1].condition == "len(self.blocks[1].a.shape) == 1"
    assert found[3].expression == "L['self']._modules['blocks']._modules['0']"
    assert found == tuple(found) and tuple(found) == found and found != tuple(found)[1:] and found != 3
    assert {place.line for place in locations_of(found)} == {3, 9}
    assert set(locations_of(tuple(found))) == set(locations_of(found))


@pytest.mark.parametrize("name", ["self.blocks", "self.class[0]", "self.d['k'][0]", "self.blocks[007]", "f(x)[0]", ""])
def test_what_is_no_item_of_a_plain_list_is_no_layer_of_a_form(name):
    assert not FORMS[0].fits(name)
    assert FORMS[0].fits("self.blocks[0]") and FORMS[0].fits("self.stages[1].blocks[20]")


def test_layers_in_any_order_are_folded_as_they_were():
    numbers = list(range(30))
    random.Random(7).shuffle(numbers)
    guards = distinct([piece for number in numbers for piece in (layer(number), layer(number, 1, "self.others"))])
    found, expected = (session([one], True) for one in (guards, tuple(guards)))
    assert isinstance(guards, GuardList)
    assert render(found, "f_0") == render(expected, "f_0")
