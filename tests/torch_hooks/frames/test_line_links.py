"""Where plain torch.compile names a line of the user's, the line of transformed code shown instead names it, too."""

from __future__ import annotations

import dis
import logging
import re
import traceback
import types
import warnings

import pytest
import torch
from capture_tools import module_from
from torch_probes import COPIES_POSITIONS, needs, source_of

import depyf
from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.record.saved_form import from_json
from depyf.record.vocabulary import BY_BYTECODE, BY_PROOF, BY_RESUME
from depyf.torch_hooks.frames.line_links import copied_positions

PROGRAM = '''\
import logging
import warnings

import torch

log = logging.getLogger("a program")
calls = 0
fatal = 0


class Failure(Exception):
    pass


@torch._dynamo.disable
def step(x=None, **options):
    global calls
    calls += 1
    if calls == fatal:
        raise Failure
    return x


def straight(x):
    y = step(x + 1)
    step(y); z = step(y) * 2
    return step(z)


def branches(x):
    if step(x).sum() > 0:
        x = step(x + 1)
    return step(x)


def protected(x):
    torch._dynamo.graph_break()
    y = x + 1
    try:
        v = x.sum().item()
        step("a # b", key=(v,
                           [step(1)]))
    finally:
        step(len(y))
    return y + v


def spread(x):
    y = step(
        x + 1,
        key=step(
            x * 2
        ),
    )
    return (y
            + step(y))


def inner(x, n):
    """A text

    # of many lines."""
    x = x + n
    step(x)
    return x * 2


def helper(x):
    return x.sin()


def one_graph(x):
    y = x + 1
    y = helper(y)
    return y.cos()


def nested(x):
    y = inner(x + 1, 1)
    return inner(y, 2) + sum([step(y) for _ in range(2)])


def listed(x):
    y = x + 1
    return sum([step(y) for _ in range(2)])


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        x = self.linear(x)
        step(x)
        return step(self.linear(x))


short = lambda x: step(step(x + 1) * 2)


def telling(x):
    y = x + 1
    log.warning("one")
    warnings.warn("two")
    return y * 2
'''


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return module_from(tmp_path_factory.mktemp("program") / "program.py", PROGRAM)


def lines_shown(program, function, fatal):
    """Call a compiled function; return what the traceback shows of the program and its transformed code."""
    torch._dynamo.reset()
    program.calls, program.fatal = 0, fatal
    with pytest.raises(program.Failure) as failure:
        torch.compile(function, backend="eager")(torch.ones(3))
    files = (program.__file__, "__transformed_code_")
    frames = traceback.extract_tb(failure.value.__traceback__)
    return [
        (frame.name, frame.filename, frame.lineno, frame.line)
        for frame in frames
        if any(map(frame.filename.__contains__, files))
    ]


def names_of(frames):
    """Return the names of the functions, without the number that a comprehension has in the process."""
    return [re.sub(r"^(__comprehension_.*)_\d+$", r"\1", frame[0]) for frame in frames]


CASES = [("straight", 4), ("branches", 3), ("protected", 3), ("spread", 3), ("nested", 4), ("Model", 2), ("short", 2)]


needs_positions = needs(COPIES_POSITIONS, "positions of the user's instructions in its code")


@needs_positions
@pytest.mark.parametrize("name, count", CASES, ids=[name for name, _ in CASES])
def test_a_traceback_names_the_line_that_it_names_without_depyf(name, count, program, tmp_path):
    function = getattr(program, name)
    function = function() if name == "Model" else function
    for fatal in range(1, count + 1):
        plain = lines_shown(program, function, fatal)
        with depyf.prepare_debug(str(tmp_path / str(fatal))):
            ours = lines_shown(program, function, fatal)
        assert names_of(ours) == names_of(plain)
        assert any(file != program.__file__ for _, file, _, _ in ours)
        for (_, _, number, line), (_, file, *rest) in zip(plain, ours):
            if file == program.__file__:
                assert rest == [number, line]
            else:
                shown = re.search(r"  # (?:after )?program\.py:(\d+)(?:: (.*?)(?:\.\.\.)?)?$", rest[1])
                assert shown is not None, rest[1]
                assert int(shown[1]) == number and line.startswith(shown[2] or "")


@needs_positions
def test_log_records_and_warnings_name_the_line_too(program, tmp_path):
    places = []
    handler = logging.Handler()
    handler.emit = lambda record: places.append((record.pathname, record.lineno))
    program.log.addHandler(handler)
    torch._dynamo.reset()
    try:
        with depyf.prepare_debug(str(tmp_path)), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.compile(program.telling, backend="eager")(torch.ones(3))
    finally:
        program.log.removeHandler(handler)
    places += [(one.filename, one.lineno) for one in caught if str(one.message) == "two"]
    shown = [open(file).read().split("\n")[line - 1].partition("  # ")[2] for file, line in places]
    first = PROGRAM.split("\n").index('    log.warning("one")') + 1
    assert shown == [f'program.py:{first}: log.warning("one")', f'program.py:{first + 1}: warnings.warn("two")']


def compiled_in(folder, function):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)):
        torch.compile(function, backend="eager")(torch.ones(3))
    return from_json((folder / "manifest.json").read_text())


@needs_positions
def test_the_record_has_the_links_that_the_comments_show(program, tmp_path):
    program.fatal = 0
    record = compiled_in(tmp_path, program.straight)
    shown, links = set(), set()
    for frame in record.frames:
        text = (tmp_path / frame.file).read_text()
        assert text.startswith(frame.source)
        for number, line in enumerate(text.split("\n"), start=1):
            found = re.search(r"  # (after )?program\.py:(\d+)", line)
            if found and "__compiled_fn_" not in line:
                shown.add((frame.file, number, int(found[2]), bool(found[1])))
        for link in frame.line_links:
            assert link.user_file == program.__file__
            links.add((frame.file, link.line, link.user_line, link.found_by == BY_RESUME))
    assert links == shown and {found_by for *_, found_by in links} == {True, False}


def test_the_call_of_a_graph_names_the_lines_that_it_stands_for(program, tmp_path):
    record = compiled_in(tmp_path, program.one_graph)
    first = PROGRAM.split("\n").index("def one_graph(x):") + 2
    (frame,) = record.frames
    (call,) = [line for line in frame.source.split("\n") if "__compiled_fn_" in line]
    assert call.endswith(f"  # program.py:{first}-{first + 2}")
    assert frame.line_links == (), "the record has the lines of each node of the graph"


def test_a_later_session_finds_the_lines_of_code_that_an_earlier_one_installed(program, tmp_path):
    program.fatal = 0
    first = compiled_in(tmp_path / "first", program.straight)
    with depyf.prepare_debug(str(tmp_path / "second")):
        pass
    second = from_json((tmp_path / "second" / "manifest.json").read_text())
    assert {frame.source for frame in second.frames} == {frame.source for frame in first.frames}
    assert {frame.line_links for frame in second.frames} == {frame.line_links for frame in first.frames}
    assert any(frame.line_links for frame in first.frames) == COPIES_POSITIONS


def test_what_dynamo_made_up_has_no_comment(program, tmp_path):
    program.fatal = 0
    record = compiled_in(tmp_path, program.straight)
    lines = [line for frame in record.frames for line in frame.source.split("\n")]
    assert any("__compiled_fn_" in line for line in lines)
    made_up = [line for line in lines if re.search(r"pregraph|graph_out_\d\[|^ *del |^def ", line)]
    assert made_up and not any("#" in line for line in made_up)


@needs(COPIES_POSITIONS, "positions of copied instructions")
def test_statements_that_do_nothing_observable_have_their_line(tmp_path):
    text = """\
        import torch

        def silent(x):
            for i in range(2):
                x = x + i
            try:
                v = x.sum().item()
                w = v
                if w is not v:
                    return 0
            finally:
                torch._dynamo.graph_break()
            return w
    """
    module = module_from(tmp_path / "silent.py", re.sub("^        ", "", text, flags=re.MULTILINE))
    record = compiled_in(tmp_path / "out", module.silent)
    links = {
        frame.source.split("\n")[link.line - 1].strip(): link for frame in record.frames for link in frame.line_links
    }
    assert links["w = v  # silent.py:8: w = v"].found_by == BY_BYTECODE
    assert "return 0" not in links, "its position is that of the last statement in the finally"
    assert "return 0" in record.frames[0].source and not re.search("return 0 *#", record.frames[0].source)
    assert links["v = x.sum().item()  # silent.py:7: v = x.sum().item()"].found_by == BY_PROOF


@pytest.mark.skipif(not hasattr(types.CodeType, "co_positions"), reason="this Python has no columns")
def test_code_without_columns_is_linked_where_its_line_changes():
    def made_of(code, table):
        return code.replace(co_linetable=bytes(table))

    def function(x):
        first(x)  # noqa: F821
        return second(x)  # noqa: F821

    code = function.__code__
    units = len(code.co_code) // 2
    calls = [one.offset for one in dis.get_instructions(code) if one.opname == "CALL"]
    bare = made_of(code, [0x80 | 13 << 3 | 0, 0] + [0x80 | 13 << 3, 2] + [0x80 | 13 << 3, 0] * (units - 2))
    start = [0x80 | 13 << 3, 0] * (calls[0] // 2)
    new = made_of(code, [*start, 0x80 | 13 << 3, 2, *[0x80 | 13 << 3, 0] * (units - calls[0] // 2 - 1)])
    assert copied_positions(bare, new) == {calls[0]: (code.co_firstlineno + 1, None, None, None)}
    assert copied_positions(code, new) == {}, "the user's code has columns: nothing without them was copied"


# torch 2.13 and Python 3.12: a comprehension in which the graph breaks becomes a function of its own
CALLS_COMPREHENSIONS = (
    "__comprehension_" in source_of("torch._dynamo.comprehension_graph_break") and RUNNING.comprehensions_are_inlined
)


@needs(CALLS_COMPREHENSIONS, "function of its own for a comprehension in which the graph breaks")
def test_the_call_of_a_comprehension_with_a_graph_break_names_its_line(program, tmp_path):
    program.fatal = 0
    record = compiled_in(tmp_path, program.listed)
    calls = [line for frame in record.frames for line in frame.source.split("\n") if "= __comprehension_" in line]
    assert len(calls) == 1 and re.search(r"  # program\.py:\d+: return sum\(", calls[0]), calls
