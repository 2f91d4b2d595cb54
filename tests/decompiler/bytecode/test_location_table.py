"""Location tables are read within bounds: as CPython reads whole ones, and as empty where they are malformed."""

from __future__ import annotations

import importlib.util
import types

import pytest

from depyf.decompiler.bytecode.location_table import NO_POSITION, is_well_formed, lines_of, positions_of


def codes(module: str) -> list[types.CodeType]:
    work, found = [importlib.util.find_spec(module).loader.get_code(module)], []
    while work:
        found.append(work.pop())
        work.extend(const for const in found[-1].co_consts if isinstance(const, types.CodeType))
    return found


@pytest.mark.parametrize("module", ["typing", "argparse", "decimal", "_pydecimal", "json.decoder"])
def test_every_position_of_the_standard_library_is_what_cpython_gives(module):
    for code in codes(module):
        assert is_well_formed(code.co_linetable)
        assert positions_of(code) == list(code.co_positions())
        assert lines_of(code) == list(code.co_lines())


SAMPLE = compile("x = 1\ny = x + 1\n", "sample.py", "exec")


@pytest.mark.parametrize("table", [b"\xf0", b"\xf0\x7f\x7f", b"\xe8\x40", b"\x00", b"\x80", b"\xd0\x01", b"\x80\x80"])
def test_a_table_that_ends_inside_an_entry_counts_as_empty(table):
    code = SAMPLE.replace(co_linetable=table)
    assert not is_well_formed(table)
    assert positions_of(code) == [NO_POSITION] * (len(code.co_code) // 2)
    assert lines_of(code) == []


def test_a_stripped_code_object_has_a_position_for_each_unit():
    code = SAMPLE.replace(co_linetable=b"")
    assert positions_of(code) == [NO_POSITION] * (len(code.co_code) // 2) and lines_of(code) == []


def test_a_table_longer_than_the_code_gives_no_more_than_the_code_has():
    code = SAMPLE.replace(co_linetable=b"\xe8\x02" + b"\xff" * 10_000)
    assert len(positions_of(code)) == len(code.co_code) // 2
    assert all(start < len(code.co_code) for start, _, _ in lines_of(code))
