"""Location tables are read within bounds: as CPython reads whole ones, and as empty where they are malformed."""

from __future__ import annotations

import dis
import importlib.util
import types

import pytest

from depyf.decompiler.bytecode.code_objects import ForeignCode
from depyf.decompiler.bytecode.location_table import (
    NO_POSITION,
    decoded_lines,
    decoded_positions,
    is_well_formed,
    lines_of,
    positions_of,
)
from depyf.decompiler.bytecode.python_facts import LINE_DELTAS, LINE_NUMBERS, LOCATIONS, RUNNING, facts_for
from depyf.decompiler.recompile.relabelling import encode_line_deltas, encode_lnotab

needs_columns = pytest.mark.skipif(not hasattr(types.CodeType, "co_positions"), reason="tables have lines alone")


def codes(module: str) -> list[types.CodeType]:
    work, found = [importlib.util.find_spec(module).loader.get_code(module)], []
    while work:
        found.append(work.pop())
        work.extend(const for const in found[-1].co_consts if isinstance(const, types.CodeType))
    return found


@needs_columns
@pytest.mark.parametrize("module", ["typing", "argparse", "decimal", "_pydecimal", "json.decoder"])
def test_every_position_of_the_standard_library_is_what_cpython_gives(module):
    for code in codes(module):
        assert is_well_formed(code.co_linetable)
        assert positions_of(code) == list(code.co_positions())
        assert lines_of(code) == list(code.co_lines())


SAMPLE = compile("x = 1\ny = x + 1\n", "sample.py", "exec")


@needs_columns
@pytest.mark.parametrize("table", [b"\xf0", b"\xf0\x7f\x7f", b"\xe8\x40", b"\x00", b"\x80", b"\xd0\x01", b"\x80\x80"])
def test_a_table_that_ends_inside_an_entry_counts_as_empty(table):
    code = SAMPLE.replace(co_linetable=table)
    assert not is_well_formed(table)
    assert positions_of(code) == [NO_POSITION] * (len(code.co_code) // 2)
    assert lines_of(code) == []


@needs_columns
def test_a_stripped_code_object_has_a_position_for_each_unit():
    code = SAMPLE.replace(co_linetable=b"")
    assert positions_of(code) == [NO_POSITION] * (len(code.co_code) // 2) and lines_of(code) == []


@needs_columns
def test_a_table_longer_than_the_code_gives_no_more_than_the_code_has():
    code = SAMPLE.replace(co_linetable=b"\xe8\x02" + b"\xff" * 10_000)
    assert len(positions_of(code)) == len(code.co_code) // 2
    assert all(start < len(code.co_code) for start, _, _ in lines_of(code))


@pytest.mark.skipif(RUNNING.line_table != LOCATIONS, reason="older tables have no columns")
@pytest.mark.parametrize("module", ["typing", "argparse", "_pydecimal"])
def test_a_table_of_another_python_is_read_as_that_python_reads_it(module):
    for code in codes(module):
        table = (LOCATIONS, code.co_linetable, len(code.co_code), code.co_firstlineno)
        assert list(decoded_positions(*table)) == list(code.co_positions())
        by_offset = {at: line for start, end, line in decoded_lines(*table) for at in range(start, end, 2)}
        assert by_offset == {at: line for start, end, line in code.co_lines() for at in range(start, end, 2)}


RUNS = [(10, 7), (600, 300), (2, 299), (4, 7), (300, 8)]  # bytes, line


@pytest.mark.parametrize("form, encode", [(LINE_DELTAS, encode_line_deltas), (LINE_NUMBERS, encode_lnotab)])
def test_the_lines_of_older_pythons_are_those_that_were_written(form, encode):
    expected, end = [], 0
    for size, line in RUNS:
        expected.append((end, end + size, line))
        end += size
    assert decoded_lines(form, encode(RUNS, 5), end, 5) == expected
    positions = list(decoded_positions(form, encode(RUNS, 5), end, 5))
    assert len(positions) == end // 2 and positions[5] == (300, 300, None, None)


def test_a_stretch_without_a_line_in_3_10_has_none():
    assert decoded_lines(LINE_DELTAS, bytes([4, 0, 2, 0x80, 6, 1]), 12, 1) == [(0, 4, 1), (4, 6, None), (6, 12, 2)]


def test_code_of_3_9_has_the_lines_of_its_own_table():
    fields = {"co_code": bytes(12), "co_firstlineno": 3, "co_lnotab": bytes([4, 1, 4, 5])}
    code = ForeignCode(facts_for((3, 9)), fields)
    assert lines_of(code) == list(code.co_lines()) == [(0, 4, 3), (4, 8, 4), (8, 12, 9)]
    assert positions_of(code)[2] == (4, 4, None, None)


@pytest.mark.skipif(hasattr(types.CodeType, "co_positions"), reason="tables have columns")
@pytest.mark.parametrize("module", ["typing", "argparse", "_pydecimal", "json.decoder"])
def test_every_line_of_a_table_without_columns_is_what_cpython_gives(module):
    for code in codes(module):
        stretches = lines_of(code)
        assert [one[1] for one in stretches] == [two[0] for two in stretches[1:]] + [len(code.co_code)]
        starts = dict(dis.findlinestarts(code))
        assert {line for _, _, line in stretches if line is not None} == set(starts.values())
        found = positions_of(code)
        assert len(found) == len(code.co_code) // 2
        assert all(found[at // 2] == (line, line, None, None) for at, line in starts.items())


@pytest.mark.skipif(hasattr(types.CodeType, "co_positions"), reason="tables have columns")
def test_a_table_of_pairs_that_is_empty_or_too_long_gives_no_more_than_the_code_has():
    table = "co_linetable" if hasattr(types.CodeType, "co_linetable") else "co_lnotab"
    for content in (b"", b"\x02\x01" * 5000, b"\x00\x80" * 5000, b"\xff\xff" * 99 + b"\x04"):
        code = SAMPLE.replace(**{table: content})
        assert len(positions_of(code)) == len(code.co_code) // 2
        assert all(start < end <= len(code.co_code) for start, end, _ in lines_of(code))
