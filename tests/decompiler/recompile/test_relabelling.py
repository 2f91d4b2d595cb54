"""A frame that could not be decompiled must still stop in a debugger, at the right line of its file."""

from __future__ import annotations

import ast
import dis
import sys
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depyf.decompiler.printer.listing import annotated_disassembly
from depyf.decompiler.recompile.relabelling import (
    adopt_lines,
    encode_line_deltas,
    encode_lnotab,
    encode_locations,
    move,
    relabel,
)


def sample(values, limit=3):
    total = 0
    for value in values:
        try:
            total += value
        except TypeError:
            continue
        if total > limit:
            break
    return total, [v for v in values if v]


def decode_locations(table, first_line):
    """Reader of the 3.11+ location table, written from Objects/locations.md, for no-column entries."""
    out, line, i = [], first_line, 0
    while i < len(table):
        head = table[i]
        assert head & 0x80 and (head >> 3) & 15 == 13
        i += 1
        shift = value = 0
        while True:
            byte = table[i]
            i += 1
            value |= (byte & 63) << shift
            shift += 6
            if not byte & 64:
                break
        line += -(value >> 1) if value & 1 else value >> 1
        out += [line] * ((head & 7) + 1)
    return out


def decode_line_deltas(table, first_line):
    """Reader of the 3.10 line table, per two bytes, from Objects/lnotab_notes.txt."""
    out, line = [], first_line
    for size, delta in zip(table[::2], table[1::2]):
        line += delta - 256 if delta > 127 else delta
        out += [line] * (size // 2)
    return out


def decode_lnotab(table, first_line, size):
    """Reader of the 3.8 table, per two bytes: PyCode_Addr2Line."""
    out = []
    for address in range(0, size, 2):
        line, at = first_line, 0
        for step, delta in zip(table[::2], table[1::2]):
            at += step
            if at > address:
                break
            line += delta - 256 if delta > 127 else delta
        out.append(line)
    return out


runs_of_code = st.lists(
    st.tuples(st.integers(1, 400).map(lambda units: 2 * units), st.integers(1, 5000)), min_size=1, max_size=12
)


@given(runs_of_code, st.integers(1, 5000))
@settings(max_examples=150, deadline=None)
def test_every_instruction_keeps_its_line_in_all_three_table_formats(runs, first):
    expected = [line for size, line in runs for _ in range(size // 2)]
    assert decode_locations(encode_locations(runs, first), first) == expected
    assert decode_line_deltas(encode_line_deltas(runs, first), first) == expected
    assert decode_lnotab(encode_lnotab(runs, first), first, 2 * len(expected)) == expected


def test_relabelled_code_has_the_requested_lines_and_the_same_instructions():
    code = sample.__code__
    offsets = [instruction.offset for instruction in dis.get_instructions(code)]
    lines = [(offset, 10 + 7 * position) for position, offset in enumerate(offsets)]
    new = relabel(code, "/tmp/x.py", lines, first_line=3)
    assert (new.co_code, new.co_consts, new.co_names) == (code.co_code, code.co_consts, code.co_names)
    assert all(a is b for a, b in zip(new.co_consts, code.co_consts)), "nested code must stay the same object"
    assert (new.co_filename, new.co_firstlineno) == ("/tmp/x.py", 3)
    assert [pair for pair in dis.findlinestarts(new) if pair[1]] == lines
    assert types.FunctionType(new, {}, "f", (3,))([1, 2, 3]) == sample([1, 2, 3])


def test_tracing_a_relabelled_function_reports_the_lines_of_the_listing():
    text, lines = annotated_disassembly(sample.__code__, {})
    tree = ast.parse(text)
    assert isinstance(tree.body[0], ast.FunctionDef)
    function = types.FunctionType(relabel(sample.__code__, "/tmp/y.py", lines, 1), globals(), "f", (3,))
    seen = []

    def trace(frame, event, arg):
        if event == "line" and frame.f_code.co_filename == "/tmp/y.py":
            seen.append((frame.f_lineno, dict(frame.f_locals)))
        return trace

    old = sys.gettrace()
    sys.settrace(trace)
    try:
        result = function([1, "a", 2, 3])
    finally:
        sys.settrace(old)
    assert result == sample([1, "a", 2, 3])
    known = {line for _, line in lines}
    assert len(seen) > 20 and {line for line, _ in seen} <= known
    assert any(state.get("total") == 3 for _, state in seen)


def test_lines_are_optional_and_an_empty_map_still_gives_a_valid_code_object():
    new = relabel(sample.__code__, "/tmp/z.py", [])
    assert {line for _, line in dis.findlinestarts(new)} == {1}


def test_nested_functions_move_with_the_code_around_them():
    source = "def f(a):\n    return (lambda: a)\n"
    spread = "\n\n# note\ndef f(\n    a,\n):\n    # why\n    return (lambda: a)\n"
    here, there = ({}, {})
    exec(compile(source, "here.py", "exec"), here)
    exec(compile(spread, "there.py", "exec"), there)
    moved = move(here["f"].__code__, "moved.py", 4)
    inner = next(c for c in moved.co_consts if isinstance(c, types.CodeType))
    assert (moved.co_firstlineno, inner.co_firstlineno, inner.co_filename) == (5, 6, "moved.py")
    adopted = adopt_lines(here["f"].__code__, there["f"].__code__)
    inner = next(c for c in adopted.co_consts if isinstance(c, types.CodeType))
    assert (adopted.co_firstlineno, inner.co_firstlineno, inner.co_filename) == (4, 8, "there.py")
    with pytest.raises(ValueError):
        adopt_lines(here["f"].__code__, sample.__code__)


def test_the_listing_shows_the_friendly_name_and_no_address():
    namespace = {}
    exec("def f():\n    return __compiled_fn_1_abc(object)\n", namespace)
    code = namespace["f"].__code__
    code = code.replace(co_consts=code.co_consts + (object(),))
    text, _ = annotated_disassembly(code, {"__compiled_fn_1_abc": "__compiled_fn_1"})
    assert "__compiled_fn_1_abc" not in text and "__compiled_fn_1" in text and "0x7" not in text
