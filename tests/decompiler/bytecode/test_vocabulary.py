"""What all stages share has one definition: a second one would drift from the first."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import depyf.decompiler
from depyf.decompiler.bytecode import code_flags
from depyf.decompiler.bytecode.constant_equality import same_constant, same_op
from depyf.decompiler.bytecode.microops import STORES, STRUCTURED, Op, depth_needed, stack_effect

PACKAGE = Path(depyf.decompiler.__file__).parent
HOMES = {
    "Unstructured": "bytecode/unstructured.py",
    "STORES": "bytecode/microops.py",
    "STRUCTURED": "bytecode/microops.py",
    "FUTURE_FLAGS": "bytecode/code_flags.py",
    "same_op": "bytecode/constant_equality.py",
}


def definitions(tree: ast.Module):
    """Yield the names that a module binds at its top other than by import."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            for name in ast.walk(target) if target is not None else ():
                if isinstance(name, ast.Name):
                    yield name.id


def homes_of(is_wanted):
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in definitions(ast.parse(path.read_text(encoding="utf-8"))):
            if is_wanted(name):
                found.setdefault(name, []).append(path.relative_to(PACKAGE).as_posix())
    return found


@pytest.mark.parametrize("name", HOMES)
def test_shared_words_are_defined_once(name):
    assert homes_of(lambda found: found.strip("_") == name) == {name: [HOMES[name]]}


def test_code_flags_are_defined_once():
    found = homes_of(lambda name: name.startswith("CO_"))
    assert len(found) > 8
    assert {home for homes in found.values() for home in homes} == {"bytecode/code_flags.py"}


def test_no_module_spells_code_flags_as_numbers():
    pattern = re.compile(r"co_flags\s*&\s*\(?\s*(0x[0-9a-fA-F]+|\d+)")
    assert [path.name for path in PACKAGE.rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))] == []


def test_no_module_lists_the_kinds_of_stores_again():
    kinds = "STORE_GLOBAL.{0,20}STORE_NAME"
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if re.search(kinds, re.sub(r'"""(.|\n)*?"""', "", path.read_text(encoding="utf-8")))
    ]
    assert [name for name in found if not name.startswith(("prove/", "decode/"))] == ["bytecode/microops.py"]


def test_code_flags_are_those_of_the_running_interpreter():
    for name, value in vars(code_flags).items():
        if name.startswith("CO_") and hasattr(inspect, name):
            assert value == getattr(inspect, name), name
    import __future__

    assert code_flags.CO_FUTURE_ANNOTATIONS == __future__.annotations.compiler_flag
    features = [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
    assert all(flag & code_flags.FUTURE_FLAGS or flag == code_flags.CO_NESTED or not flag for flag in features)


def test_every_store_pops_the_value_that_it_binds():
    assert {stack_effect(Op(kind, "x")) for kind in STORES} == {(1, 0)}


def test_structured_ops_have_the_stack_effect_of_their_table():
    for kind, (popped, pushed) in STRUCTURED.items():
        assert stack_effect(Op(kind, None)) == (popped, pushed)
        assert depth_needed(Op(kind, None)) == popped


def test_constants_that_compare_equal_are_not_taken_for_each_other():
    assert not same_constant(1, True) and not same_constant(0.0, -0.0) and same_constant((1, 0.5), (1, 0.5))
    assert same_op(Op("CONST", 1), Op("CONST", 1)) and not same_op(Op("CONST", 1), Op("CONST", True))
    assert not same_op(Op("LOAD_LOCAL", "a"), Op("STORE_LOCAL", "a"))
