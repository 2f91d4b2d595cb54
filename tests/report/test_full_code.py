"""full_code_for_<function>_<n>.py: one valid file with everything compiled for a function, in reading order."""

from __future__ import annotations

import ast
import dataclasses
import re

import pytest

from depyf.record.guard_conditions import InWords, NoDimensionMarks, PythonTest, SameObject
from depyf.record.records import (
    FailedGuard,
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    GraphRecord,
    GuardRecord,
    Location,
    ResumeCall,
    SessionRecord,
    SkippedFrame,
    SkipRecord,
    StageRecord,
    Versions,
)
from depyf.report.closing_summary import render as summary
from depyf.report.full_code import StoryWriter
from depyf.text.python_source import WIDTH


def render(record, key):
    return StoryWriter(record).text_of(key)


LINE_2 = Location("toy.py", 2, "toy_example", "x = a / (torch.abs(a) + 1)")
LINE_3 = Location("toy.py", 3, "toy_example", "if b.sum() < 0:")

TOY = FunctionRecord(
    key="toy_example_0",
    name="toy_example",
    qualified_name="toy_example",
    file="toy.py",
    first_line=1,
    source=(
        "def toy_example(a, b):\n    x = a / (torch.abs(a) + 1)\n    if b.sum() < 0:\n        b = b * -1\n"
        "    return x * b\n"
    ),
    source_origin="file",
    parameters=("a", "b"),
    full_code_file="full_code_for_toy_example_0.py",
)
RESUME = FunctionRecord(
    key="torch_dynamo_resume_in_toy_example_at_3_1",
    name="torch_dynamo_resume_in_toy_example_at_3",
    qualified_name="torch_dynamo_resume_in_toy_example_at_3",
    file="toy.py",
    first_line=3,
    source="def torch_dynamo_resume_in_toy_example_at_3(b, x):\n    b = b * -1\n    return x * b\n",
    source_origin="decompiled",
    parameters=("b", "x"),
    resume_of="toy_example_0",
    resume_names=("__resume_at_102_2",),
)
ENTRY_FRAME = FrameRecord(
    compile_id="0/0",
    function="toy_example_0",
    index=0,
    file="__transformed_code_0_for_toy_example.py",
    source=(
        "def toy_example(a, b):\n"
        "    graph_out_0 = __compiled_fn_1(a, b)\n"
        "    if graph_out_0[0]:\n"
        "        return __resume_at_102_2(b, graph_out_0[1])\n"
        "    return __resume_at_112_3(b, graph_out_0[1])\n"
    ),
    installed="replaced",
    grade="PROVED_UNDER",
    assumptions=("globals that Dynamo installs stay what they are during a frame",),
    rung="idioms",
    guards=(
        GuardRecord(PythonTest("type(a) is torch.Tensor and a.size() == (10,)"), "L['a']", "TENSOR_MATCH", LINE_2),
        GuardRecord(SameObject("torch.abs"), "", "ID", LINE_2),
        GuardRecord(PythonTest("b.dim() == 1 if b.is_dense else True"), "L['b']", "TENSOR_MATCH", LINE_3),
        GuardRecord(PythonTest("torch.is_grad_enabled()"), "", "GLOBAL_STATE", None),
    ),
    graphs=("__compiled_fn_1",),
    resumes=(ResumeCall("__resume_at_102_2", RESUME.key), ResumeCall("__resume_at_112_3", None)),
    graph_breaks=(GraphBreak(("data-dependent branching",), LINE_3),),
)
RESUME_FRAME = FrameRecord(
    compile_id="1/0",
    function=RESUME.key,
    index=0,
    file="__transformed_code_0_for_torch_dynamo_resume_in_toy_example_at_3.py",
    source="   0 RESUME 0\n   2 LOAD_GLOBAL __compiled_fn_4\n",
    installed="relabelled",
    grade="UNPROVED",
    rung="disassembly",
    graphs=("__compiled_fn_4",),
)
SESSION = SessionRecord(
    versions=Versions("1.0", "3.11.9", "2.13.0"),
    functions=(TOY, RESUME),
    frames=(ENTRY_FRAME, RESUME_FRAME),
    graphs=(
        GraphRecord(
            "__compiled_fn_1",
            "0/0",
            stages=(
                StageRecord("Captured_Graph", 0, "__compiled_fn_1.Captured_Graph.0.py"),
                StageRecord("Forward_graph", 0, "__compiled_fn_1.Forward_graph.0.py", runs=True),
            ),
        ),
    ),
)


def names_of_functions(text: str) -> list[str]:
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def test_frames_appear_in_reading_order():
    assert names_of_functions(render(SESSION, "toy_example_0")) == [
        "toy_example",
        "__transformed_code_0_for_toy_example",
        "torch_dynamo_resume_in_toy_example_at_3",
        "__transformed_code_0_for_torch_dynamo_resume_in_toy_example_at_3",
        "__resume_at_102_2",
        "toy_example",
        "__guard_0_for_toy_example",
        "__guard_0_for_torch_dynamo_resume_in_toy_example_at_3",
    ]


def test_the_dispatcher_shows_how_a_version_is_chosen():
    assert (
        "def toy_example(a, b):\n"
        "    if __guard_0_for_toy_example(a, b):\n"
        "        return __transformed_code_0_for_toy_example(a, b)\n"
    ) in render(SESSION, "toy_example_0")


def test_guards_are_conditions_beside_the_line_that_asked_for_them():
    text = render(SESSION, "toy_example_0")
    start = text.index("def __guard_0_for_toy_example")
    guards = text[start : text.index("\n    )", start)]
    assert guards == (
        "def __guard_0_for_toy_example(a, b):\n"
        "    return (\n"
        "        # toy.py:2: x = a / (torch.abs(a) + 1)\n"
        "        type(a) is torch.Tensor and a.size() == (10,)\n"
        "        # also: torch.abs is still the object it was when this was compiled\n"
        "        # toy.py:3: if b.sum() < 0:\n"
        "        and (b.dim() == 1 if b.is_dense else True)\n"
        "        # Dynamo itself:\n"
        "        and torch.is_grad_enabled()"
    )


def test_it_names_the_files_to_open_next_and_marks_those_that_run():
    text = render(SESSION, "toy_example_0")
    assert "__compiled_fn_1.Forward_graph.0.py   (runs)" in text
    assert "__compiled_fn_1.Captured_Graph.0.py\n" in text
    assert "# file:   __transformed_code_0_for_toy_example.py" in text.replace("#   file", "# file")


def test_it_lists_the_assumptions_of_the_proof():
    text = render(SESSION, "toy_example_0")
    assert "PROVED_UNDER" in text
    assert "globals that Dynamo installs stay what they are during a frame" in text
    assert "UNPROVED: no source was found that does the same" in text


def test_same_record_same_bytes():
    assert render(SESSION, "toy_example_0") == render(SESSION, "toy_example_0")


def test_a_function_with_every_kind_of_parameter_is_called_the_way_it_is_declared():
    function = dataclasses.replace(
        TOY,
        name="f",
        source="def f(a, /, b=1, *rest, c, d=2, **more):\n    return a\n",
        parameters=("a", "b", "c", "d", "rest", "more"),
    )
    text = render(SessionRecord(functions=(function,), frames=(ENTRY_FRAME,)), "toy_example_0")
    assert "def f(a, /, b=..., *rest, c, d=..., **more):" in text
    assert "if __guard_0_for_f(a, b, c, d, rest, more):" in text
    assert "return __transformed_code_0_for_toy_example(a, b, *rest, c=c, d=d, **more)" in text


def test_an_unknown_function_is_a_key_error():
    with pytest.raises(KeyError):
        render(SESSION, "nobody")


AWFUL_TEXTS = [
    "",
    "def broken(:",
    "x = 'open",
    "    indented = 1",
    "text\x00with\x00nul",
    "a\rb\x0cc\u2028d\x85e",
    "lone \ud800 surrogate",
    "'''",
    '"""',
    "# only a comment",
    "return 5",
    "\\",
    "def f():\n\tpass\n        pass",
    "(" * 300 + ")" * 300,
    "a if b else c",
    "lambda: 1",
    "x := 1",
    "yield 1",
    "a, b",
    "*a",
    "a\nand b",
    "a # b",
    "def f(): pass\ndef g(): pass",
    "# -*- coding: utf-7 -*-",
]


@pytest.mark.parametrize("awful", AWFUL_TEXTS, ids=range(len(AWFUL_TEXTS)))
def test_the_file_parses_whatever_the_pieces_contain(awful):
    place = Location(awful, 3, awful, awful)
    parameters = (awful, awful, "class", "0")
    function = dataclasses.replace(
        TOY, name=awful, qualified_name=awful, file=awful, source=awful, parameters=parameters
    )
    frame = dataclasses.replace(
        ENTRY_FRAME,
        file=awful,
        source=awful,
        guards=tuple(GuardRecord(form(awful), awful, awful, place) for form in (PythonTest, InWords)),
        graphs=(awful,),
        graph_breaks=(GraphBreak((awful,), place, awful),),
        recompile_reasons=(awful,),
        assumptions=(awful,),
        resumes=(ResumeCall(awful, None),),
    )
    resume = dataclasses.replace(RESUME, source=awful, resume_names=(awful, awful), parameters=(awful,))
    graph = GraphRecord(awful, "0/0", stages=(StageRecord("x", 0, awful, runs=True),))
    session = SessionRecord(
        versions=Versions(awful, awful, awful), functions=(function, resume), frames=(frame,), graphs=(graph,)
    )
    text = render(session, "toy_example_0")
    compile(text.encode("utf-8"), "full_code", "exec")
    # The functions are still there: the file was not commented out as a whole.
    assert any("guard" in name for name in names_of_functions(text))


def test_resume_functions_that_call_each_other_appear_once():
    first = dataclasses.replace(RESUME, key="one", resume_of="two")
    second = dataclasses.replace(RESUME, key="two", resume_of="one")
    assert len(re.findall("Resume function", render(SessionRecord(functions=(first, second)), "one"))) == 2


def test_a_long_condition_is_broken_into_lines_without_changing_it():
    condition = (
        "not any(hasattr(a, f'_dynamo_{mark}_indices   ') for mark in ("
        + ", ".join(map(repr, "abcdefghijklmnopqrst"))
        + "))"
    )
    frame = dataclasses.replace(ENTRY_FRAME, guards=(GuardRecord(PythonTest(condition)),))
    text = render(dataclasses.replace(SESSION, frames=(frame,)), "toy_example_0")
    (guard,) = [node for node in ast.parse(text).body if getattr(node, "name", "").startswith("__guard")]
    assert ast.dump(guard.body[0].value) == ast.dump(ast.parse(condition, mode="eval").body)
    start = text.index("def __guard_0_for_toy_example")
    assert max(map(len, text[start:].splitlines())) <= WIDTH


def test_a_lambda_is_called_the_way_its_compiled_version_is_declared():
    function = dataclasses.replace(TOY, name="<lambda>", source="f = lambda a, *b: a\n", parameters=("a", "b"))
    frame = dataclasses.replace(ENTRY_FRAME, source="def f(a, *b):\n    return a\n")
    text = render(SessionRecord(functions=(function,), frames=(frame,)), "toy_example_0")
    assert "def _lambda_(a, *b):" in text
    assert "return __transformed_code_0_for_toy_example(a, *b)" in text


def test_source_that_is_no_definition_is_a_comment_above_the_decompiled_function():
    function = dataclasses.replace(
        TOY,
        name="<lambda>",
        source="lambda a, b: a\n",
        source_origin="decompiled",
        written_in="return torch.compile(lambda a, b: a)(x, y)\n",
    )
    text = render(SessionRecord(functions=(function,), frames=(ENTRY_FRAME,)), "toy_example_0")
    assert "#     return torch.compile(lambda a, b: a)(x, y)\n# which, decompiled, is:\nlambda a, b: a\n" in text
    compile(text, "full_code", "exec")


def test_functions_with_nonlocal_are_shown_inside_an_enclosing_scope():
    original = 'def h(a, b):\n    """one\ntwo"""\n    nonlocal n\n    n += 1\n    return a\n'
    transformed = (
        "def __enclosing_scope_of_h(n):\n    def h(a, b):\n        nonlocal n\n        n = 1\n        return a\n\n"
        "    return h\n"
    )
    function = dataclasses.replace(TOY, name="h", source=original)
    frame = dataclasses.replace(ENTRY_FRAME, source=transformed)
    text = render(SessionRecord(functions=(function,), frames=(frame,)), "toy_example_0")
    compile(text, "full_code", "exec")
    assert 'def __enclosing_scope_of_h(n):\n    def h(a, b):\n        """one\ntwo"""\n        nonlocal n\n' in text
    assert "    def __transformed_code_0_for_toy_example(a, b):\n        nonlocal n\n" in text
    assert "    return __transformed_code_0_for_toy_example\n" in text
    assert "return __transformed_code_0_for_toy_example(a, b)" in text


def test_guards_that_repeat_for_each_tensor_or_come_from_torch_are_grouped():
    guards = (
        GuardRecord(PythonTest("type(a) is torch.Tensor"), location=LINE_2),
        GuardRecord(NoDimensionMarks("a", ("dynamic", "static")), location=LINE_2),
        GuardRecord(PythonTest("a.layer is None"), location=Location("nn/one.py", 1, code="one"), from_torch=True),
        GuardRecord(NoDimensionMarks("b", ("dynamic", "static")), location=LINE_3),
        GuardRecord(PythonTest("b.layer is None"), location=Location("nn/two.py", 2, code="two"), from_torch=True),
        GuardRecord(PythonTest("torch.is_grad_enabled()")),
    )
    frame = dataclasses.replace(ENTRY_FRAME, guards=guards)
    assert (
        "    return (\n"
        "        # toy.py:2: x = a / (torch.abs(a) + 1)\n"
        "        type(a) is torch.Tensor\n"
        "        # from torch itself:\n"
        "        and a.layer is None and b.layer is None\n"
        "        # Dynamo itself:\n"
        "        and torch.is_grad_enabled()\n"
        "        # also: no dimension of a, b is marked dynamic or static\n"
        "    )\n"
    ) in render(dataclasses.replace(SESSION, frames=(frame,)), "toy_example_0")


def test_terms_of_dynamo_are_explained_and_resume_functions_have_a_location():
    text = render(SESSION, "toy_example_0")
    assert "#   then:   goes on in __resume_at_102_2   (what is left after toy.py:3)\n" in text
    assert "#   __resume_at_<offset>_<n>: the rest of a function" in text
    assert "record_pregraph_bytecode_enter/exit: torch times" not in text
    source = ENTRY_FRAME.source.replace("    if", "    record_pregraph_bytecode_enter([], [])\n    if")
    frame = dataclasses.replace(ENTRY_FRAME, source=source)
    text = render(dataclasses.replace(SESSION, frames=(frame,)), "toy_example_0")
    assert "record_pregraph_bytecode_enter/exit: torch times" in text and "#   [], []" in text


def test_versions_from_before_the_session_and_breaks_without_a_version_are_listed():
    function = dataclasses.replace(
        TOY,
        earlier_versions=2,
        skips=(SkipRecord("graph break in a loop", "a loop", "0/1", (GraphBreak(("a loop",), LINE_3),)),),
    )
    text = render(dataclasses.replace(SESSION, functions=(function, RESUME)), "toy_example_0")
    assert text.count("2 versions compiled before this session are not shown") == 2
    assert "at toy.py:3: if b.sum() < 0:\n" in text
    alone = render(SessionRecord(functions=(function,)), "toy_example_0")
    assert (
        "it runs as it is, eagerly" in alone
        and "# Dynamo compiled no version of it: it" in alone
        and "  a loop" in alone
    )
    resume = dataclasses.replace(SESSION, frames=(ENTRY_FRAME,))
    assert "    # Dynamo has not come to it: it has not been called" in render(resume, "toy_example_0")
    met = SkippedFrame(RESUME.name, RESUME.file, RESUME.first_line, SkipRecord("no graph", None))
    left = render(dataclasses.replace(resume, skipped_frames=(met,)), "toy_example_0")
    assert "    # Dynamo left it to Python: there is no operation on tensors in it to compile.\n" in left
    for one in (text, alone):
        compile(one, "full_code", "exec")


# ---------------------------------------------------------------- several versions without repetition

AGAIN = dataclasses.replace(
    ENTRY_FRAME,
    compile_id="0/1",
    index=1,
    file="__transformed_code_1_for_toy_example.py",
    guards=(GuardRecord(PythonTest("type(a) is torch.Tensor and a.size() == (20,)"), "L['a']", "TENSOR_MATCH", LINE_2),)
    + ENTRY_FRAME.guards[1:],
)


def test_the_version_table_comes_first_and_shared_guards_are_not_repeated():
    text = render(dataclasses.replace(SESSION, frames=(ENTRY_FRAME, AGAIN, RESUME_FRAME)), "toy_example_0")
    assert (
        "# What sets the 2 versions of toy_example apart; all their other guards are the same:\n"
        "#   0/0: a.size() == (10,)\n"
        "#   0/1: a.size() == (20,)\n"
    ) in text
    second = text.split("compiled version 2 of 2")[1].split("def __guard")[0]
    assert "#   proof:  PROVED_UNDER the same assumptions as 0/0\n" in second
    assert "#   break:  toy.py:3: if b.sum() < 0:   (as in 0/0)\n" in second and "data-dep" not in second
    same = (ENTRY_FRAME, dataclasses.replace(AGAIN, guards=ENTRY_FRAME.guards))
    assert "# The 2 versions of toy_example have the same guards:" in render(
        dataclasses.replace(SESSION, frames=same), "toy_example_0"
    )
    assert "What sets the" not in render(SESSION, "toy_example_0"), "a single version has no table"


def test_the_version_table_wraps_between_conditions_and_is_cut_when_long():
    def with_long_guards(value, frame):
        long = [f"the_first_value_{one}.{one}_and_a_long_name_of_an_attribute == {value}" for one in "abcdefghi"]
        guards = tuple(GuardRecord(PythonTest(condition), location=LINE_2) for condition in long)
        return dataclasses.replace(frame, guards=frame.guards + guards)

    frames = [with_long_guards(number, frame) for number, frame in enumerate((ENTRY_FRAME, AGAIN))]
    text = render(dataclasses.replace(SESSION, frames=tuple(frames)), "toy_example_0")
    table = text[text.index("# What sets the") : text.index("compiled version 1 of 2")]
    start = "#   0/1: the_first_value_a.a_and_a_long_name_of_an_attribute == 1\n"
    assert f"{start}#        and the_first_value_b.b_and_a_long_name_of_an_attribute == 1\n" in table
    assert " and 4 more\n" in table and max(map(len, table.splitlines())) <= WIDTH


def test_a_condition_that_torch_checks_twice_is_shown_once():
    guards = (GuardRecord(PythonTest("type(a) is torch.Tensor"), location=LINE_2), *ENTRY_FRAME.guards)
    text = render(dataclasses.replace(SESSION, frames=(dataclasses.replace(ENTRY_FRAME, guards=guards),)), TOY.key)
    assert "        type(a) is torch.Tensor and a.size() == (10,)\n" in text


def test_sizes_that_are_always_static_are_not_attributed_to_the_line_that_used_them_first():
    guard = GuardRecord(PythonTest("2 <= a.size()[0]"), location=LINE_2, of_sizes=True)
    frame = dataclasses.replace(ENTRY_FRAME, guards=(ENTRY_FRAME.guards[0], guard))
    text = render(dataclasses.replace(SESSION, frames=(frame,)), TOY.key)
    assert "        # from torch, which compiles for sizes 0 and 1 apart" in text
    assert "        and 2 <= a.size()[0]\n" in text
    failed = FailedGuard("0/0", "2 <= a.size()[0]", "", "a.size()[0] is 1", LINE_2, of_sizes=True)
    again = dataclasses.replace(AGAIN, failed_guards=(failed,))
    story = render(dataclasses.replace(SESSION, frames=(frame, again)), TOY.key)
    assert "asked for by torch, which compiles for sizes 0 and 1 apart" in story


def test_many_identity_guards_are_one_comment_within_the_width():
    names = [f"torch.nn.functional.number_{number}" for number in range(20)]
    guards = tuple(GuardRecord(SameObject(name), location=LINE_2) for name in names)
    frame = dataclasses.replace(ENTRY_FRAME, guards=ENTRY_FRAME.guards[:1] + guards)
    text = render(dataclasses.replace(SESSION, frames=(frame,)), TOY.key)
    guard = text[text.index("def __guard_0") :]
    ends = [name.rpartition(".")[2] for name in names]
    assert "torch.nn.functional.{number_0, number_1," in guard and all(end in guard for end in ends)
    assert guard.count("still the objects they were when this was compiled") == 1
    assert max(map(len, guard.splitlines())) <= WIDTH


def test_long_signatures_of_resume_functions_stay_within_the_width():
    names = ("__nested_resume_fns", "__nested_frame_values", "___stack0", "loss", "another_value", "x")
    source = f"def torch_dynamo_resume_in_toy_example_at_3({', '.join(names)}):\n    return x\n"
    resume = dataclasses.replace(RESUME, source=source, parameters=names)
    frame = dataclasses.replace(RESUME_FRAME, source=source, rung="idioms", grade="PROVED")
    session = dataclasses.replace(SESSION, functions=(TOY, resume), frames=(ENTRY_FRAME, frame))
    text = render(session, TOY.key)
    compile(text, "full_code", "exec")
    ours = text[text.index("def __guard_0_for_torch_dynamo") :]
    assert max(map(len, ours.splitlines())) <= WIDTH
    assert "    __nested_resume_fns, __nested_frame_values, ___stack0, loss, another_value, x\n):\n" in ours


def test_blank_lines_are_not_mistaken_for_rebound_variables():
    source = ENTRY_FRAME.source.replace("(b, g", "((lambda: b).__closure__)(b, g")
    frame = dataclasses.replace(ENTRY_FRAME, source=source)
    text = render(dataclasses.replace(SESSION, frames=(frame,)), TOY.key)
    assert ".__closure__: the variable" in text and "#   x = x:" not in text
    again = dataclasses.replace(frame, source=source + "    b = b\n")
    assert "#   x = x:" in render(dataclasses.replace(SESSION, frames=(again,)), TOY.key)


def test_a_resume_function_of_a_resume_function_names_the_original_function():
    second = dataclasses.replace(RESUME, key="second", resume_of=RESUME.key, resume_names=("__resume_at_200_9",))
    text = render(dataclasses.replace(SESSION, functions=(TOY, RESUME, second)), TOY.key)
    assert "# What is left of toy_example after a graph break.\n" in text
    assert "# What is left of toy_example after a further graph break.\n" in text


def test_a_version_whose_body_is_its_docstring_has_a_remark_that_it_returns_none():
    frame = dataclasses.replace(ENTRY_FRAME, source='def toy_example(a, b):\n    """Warn\n    once."""\n')
    text = render(dataclasses.replace(SESSION, frames=(frame,)), TOY.key)
    assert '    once."""\n    # returns None: nothing is left to do\n' in text
    assert "returns None" not in render(SESSION, TOY.key)


def test_a_resume_function_that_was_not_decompiled_is_shown_as_the_lines_that_it_was_made_of():
    listed = dataclasses.replace(RESUME, source_origin="disassembly", source="def f(b, x):\n    '0 RESUME 0'\n")
    text = render(dataclasses.replace(SESSION, functions=(TOY, listed)), TOY.key)
    assert "#      3      if b.sum() < 0:\n#      4          b = b * -1\n#      5      return x * b\n" in text
    assert "made of these lines of the original" in text and "0 RESUME 0'" not in text


# ---------------------------------------------------------------- links to other files


def test_a_break_inside_a_called_function_names_the_file_of_that_function():
    stack = (
        Location("toy.py", 2, "toy_example", "helper(a)"),
        Location("toy.py", 9, "helper", "print()"),
    )
    helper = function_named("helper", first_line=8)
    frame = dataclasses.replace(ENTRY_FRAME, graph_breaks=(GraphBreak(("print",), stack[1], stack=stack),))
    session = dataclasses.replace(SESSION, functions=(TOY, RESUME, helper), frames=(frame,))
    text = render(session, TOY.key)
    assert "by way of toy.py:2: helper(a)\n" in text
    assert "is compiled" not in text and "helper is" not in text  # it is neither compiled nor skipped
    met = dataclasses.replace(helper, skips=(SkipRecord("graph break in a loop", None),))
    left = render(dataclasses.replace(session, functions=(TOY, RESUME, met)), TOY.key)
    assert (
        "#           toy.py:2 runs as it is, and of what it calls\n#             helper is left to Python (a graph"
        in left
    )
    compiled = dataclasses.replace(session, frames=(frame, dataclasses.replace(AGAIN, function=helper.key)))
    assert "#             helper is compiled on its own: full_code_for_helper.py\n" in render(compiled, TOY.key)


def test_a_full_code_file_names_its_neighbours():
    others = tuple(function_named(f"other_{number}") for number in range(3))
    session = dataclasses.replace(SESSION, functions=(TOY, RESUME, *others))
    text = render(session, TOY.key)
    assert "# Functions with stories of their own:\n#   full_code_for_other_0.py: other_0 (not compiled)\n" in text
    assert "full_code_for_toy_example_0.py" not in text.split("stories of their own")[1]
    many = tuple(function_named(f"other_{number}") for number in range(30))
    text = render(dataclasses.replace(SESSION, functions=(TOY, *many)), TOY.key)
    assert "full_code_for_other_" not in text and "have stories of their own: see summary.txt" in text
    assert "stories of their own" not in render(SESSION, TOY.key)


# ---------------------------------------------------------------- the summary at the end of a session


def function_named(key, **changes):
    return dataclasses.replace(TOY, key=key, name=key, full_code_file=f"full_code_for_{key}.py", **changes)


def compiled(key, compile_id, graphs=("__compiled_fn_1",)):
    return dataclasses.replace(ENTRY_FRAME, function=key, compile_id=compile_id, graphs=graphs)


def opened_first(functions, frames, is_there=bool):
    text = summary(SessionRecord(functions=tuple(functions), frames=tuple(frames)), "d", is_there)
    return [line.partition("open first: ")[2] for line in text.splitlines() if "open first: " in line]


def test_the_file_to_open_first_is_that_of_the_most_compiled_function_not_of_a_helper():
    functions = [
        function_named("library", file="/venv/lib/python3.11/site-packages/torch/optim/optimizer.py"),
        function_named("trivial"),
        function_named("without_graph"),
        function_named("main"),
        dataclasses.replace(RESUME, resume_of="main"),
    ]
    frames = [compiled(one.key, f"{number}/0") for number, one in enumerate(functions)]
    frames += [compiled("library", "0/1"), compiled("library", "0/2")]
    frames += [compiled("without_graph", f"2/{number}", ()) for number in range(1, 9)]
    frames[2] = compiled("without_graph", "2/0", ())
    assert opened_first(functions, frames) == ["d/full_code_for_main.py"]


def test_a_deleted_file_is_not_named_as_the_one_to_open():
    functions, frames = [function_named("one"), function_named("two")], [compiled("one", "0/0"), compiled("two", "1/0")]
    assert opened_first(functions, frames, lambda path: "one" not in path) == ["d/full_code_for_two.py"]
    assert opened_first(functions, frames, lambda path: False) == []


def test_a_failed_compilation_is_shown_with_its_error_and_line():
    place = Location("toy.py", 3, code="if b.sum() < 0:")
    skip = SkipRecord("failed", "ValueError: no", "0/0", location=place)
    record = SessionRecord(functions=(function_named("f", skips=(skip,)),))
    assert "depyf: 0 frames, 0 graphs" in summary(record, "d")
    assert "the program got the exception\n      at toy.py:3: if b.sum() < 0:\n      ValueError: no\n" in summary(
        record, "d"
    )
    assert "#       at toy.py:3: if b.sum() < 0:\n#       ValueError: no\n" in render(record, "f")


def test_a_break_inside_a_library_names_the_line_of_the_program_that_called_it():
    library = Location("/venv/lib/python3.11/site-packages/torch/optim/optimizer.py", 79, "step", "graph_break()")
    again = Location("d/__transformed_code_0_for_step.py", 2, "step")
    breaks = [
        GraphBreak(("no",), library, stack=(LINE_3, library)),
        GraphBreak(("no",), library, stack=(again, library)),
    ]
    frames = [dataclasses.replace(compiled("f", f"0/{n}"), graph_breaks=(one,)) for n, one in enumerate(breaks)]
    text = summary(SessionRecord(functions=(function_named("f"),), frames=tuple(frames)), "d")
    assert (
        "optimizer.py:79: graph_break()\n      no\n      reached from toy.py:3" in text and "1 graph break in d" in text
    )
    assert text.count("reached from") == 1


def test_skipped_generators_of_libraries_are_counted_not_named():
    skip = (SkipRecord("generator", "no"),)
    own = function_named("mine", skips=skip)
    others = [
        function_named(f"typing_{number}", file="/usr/lib/python3.11/typing.py", skips=skip) for number in range(7)
    ]
    text = summary(SessionRecord(functions=(*others, own), frames=(compiled("mine", "0/0"),)), "d")
    assert "typing" not in text and "compiled: mine (toy.py:1)" in text
    assert "7 functions more left to Python" in text
