"""A reader of the text finds the instruction, and so the user's line, that each statement came from."""

from __future__ import annotations

import dis
import inspect

from depyf.decompiler.attempt.matched_lines import silent_lines
from depyf.decompiler.bytecode.location_table import positions_of
from depyf.decompiler.pipeline import decompile_frame


def function(a, b):
    kept = a
    while True:
        try:
            other = kept
            if other is b:
                break
            a(other)
            continue
        finally:
            b()

    def inner(x):
        y = x
        return y

    del a
    return inner


def silent(result):
    return silent_lines(result.source, result.code, result.lines, result.origins)


def source_lines(pairs, code):
    positions = positions_of(code)
    return {(line, positions[offset // 2][0]) for offset, line in pairs}


def test_each_statement_leads_to_its_line_and_none_to_another():
    code = function.__code__
    result = decompile_frame(code)
    source, first = inspect.getsourcelines(function)
    text = [line.strip() for line in result.source.split("\n")]
    own = {line.strip() for line in source}
    assert {line for line in text if line} <= own, "the text is written as the source is"
    for pairs in (result.lines, silent(result)):
        assert pairs
        for line, source_line in source_lines(pairs, code):
            assert text[line - 1] == source[source_line - first].strip()
    found = {text[line - 1] for _, line in silent(result)}
    assert {"kept = a", "other = kept"} <= found
    assert not found & {"y = x", "return y", "try:", "while True:", "break", "continue"}


def test_an_operation_that_the_text_repeats_leads_to_all_its_lines():
    def twice(a, b):
        return (a or b)()

    result = decompile_frame(twice.__code__)
    offsets = {offset for offset, _ in result.lines}
    calls = [one.offset for one in dis.get_instructions(twice) if one.opname == "CALL"]
    assert set(calls) <= offsets and list(result.lines) == sorted(set(result.lines))
