"""The page's script gives each layer the guards that the data has once: run by Node.js, where that is installed."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from depyf.page.guard_table import GuardTable
from depyf.page.page_text import _asset, part_text
from depyf.page.place_table import PlaceTable
from depyf.record.guard_conditions import PythonTest, TypeTest
from depyf.record.guard_list import LAYER, LayerForm, LayerGuards, distinct
from depyf.record.records import GuardRecord, Location

BROWSER = """
const document = { getElementById: () => ({ textContent: '{"functions": [], "graphs": []}' }) };
const window = {}, location = {}, wellFormed = (text) => text, el = () => null, decoded = (text) => text;
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_each_layer_has_its_guards_in_the_page():
    place = Location("a.py", 3, "f", "x = self.a($&)")
    form = LayerForm(
        [
            GuardRecord(TypeTest(LAYER, "Block"), LAYER, "TYPE_MATCH", place),
            GuardRecord(
                PythonTest(f"'f' not in {LAYER}.__dict__ and {LAYER}.k == '$&'"), LAYER, "DICT_CONTAINS", place
            ),
        ]
    )
    layers = [LayerGuards(form, f"self.blocks[{number}]", f"L['self'].blocks[{number}]") for number in range(3)]
    guards = distinct([GuardRecord(TypeTest("x", "int"), "L['x']", "TYPE_MATCH", place), *layers])
    table, whole = GuardTable(PlaceTable(())), GuardTable(PlaceTable(()))
    numbers = table.add(guards, {})
    assert numbers == whole.add(tuple(guards), {}) == list(range(7))
    part = {"guards": table.rows, "forms": table.forms}
    script = BROWSER + _asset("parts.js") + part_text("function_0", part).replace("depyfPart", "window.depyfPart", 1)
    script += 'process.stdout.write(JSON.stringify(PARTS.get("function_0").guards));'
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == json.loads(json.dumps(whole.rows))
