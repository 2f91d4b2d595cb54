"""Long lines of generated code are broken, and it compiles to the same instructions, on lines that a person reads."""

from __future__ import annotations

import random

import pytest

from depyf.text import line_breaks
from depyf.text.line_breaks import LIMIT, break_lines, joined_comments

NAMES = [f"l_self_modules_layers_modules_{number}_modules_self_attn_parameters_weight_" for number in range(6)]
TYPE = f"f32[s77, 48, {'(((s53 - 1)//2)) + 1, ' * 4}s1][{'48*((((s0 - 1)//2)) + 1), ' * 6}1]cpu"
STATEMENTS = [
    f"{NAMES[0]} = {NAMES[1].upper()}",
    f'{NAMES[0]}: "f32[4, 16][16, 1]cpu" = {NAMES[1]} * {NAMES[2]};  {NAMES[1]} = None',
    f"x = torch._C._nn.linear({', '.join(NAMES)});  {' = '.join(NAMES)} = None",
    f'x: "f32[4, 16]" = torch.nn.functional.layer_norm({NAMES[0]}, (16,), weight={NAMES[1]}, eps=1e-05);  y = None',
    f"x = torch.einsum('a;  b, (c', {NAMES[0]}, [{NAMES[1]}, {NAMES[2]}]);  {NAMES[0]} = {NAMES[1]} = None",
    f"x = f({NAMES[0]}, g({', '.join(NAMES)}), h)[0]",
    f"return ({', '.join(NAMES)},)",
    f"x = {' + '.join(NAMES)}",
    f'x: "{TYPE}" = torch.conv2d(a, b)',
    f'{NAMES[0]}: "{TYPE}" = {NAMES[1]} * 0.2;  {NAMES[1]} = None',
]


def graph(statements):
    parameters = ", ".join([f'{name}: "f32[16, 16][16, 1]cpu"' for name in NAMES])
    body = "".join(
        f"        # File: a.py:{number} in forward, code: {'call(x)  ' * 9}\n        {one}\n"
        for number, one in enumerate(statements)
    )
    return f"class GraphModule(torch.nn.Module):\n    def forward(self, {parameters}):\n{body}        return x\n"


def forward_in(text):
    (module,) = [constant for constant in compile(text, "graph", "exec").co_consts if hasattr(constant, "co_code")]
    codes = [constant for constant in module.co_consts if hasattr(constant, "co_code")]
    (code,) = [code for code in codes if code.co_name == "forward"]  # annotations have a code of their own since 3.14
    return code.co_names, code.co_varnames, code.co_consts, code.co_code


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_broken_statement_is_the_same_code(statement):
    text = graph([statement])
    broken = break_lines(text)
    assert max(map(len, broken.split("\n"))) <= LIMIT < max(map(len, text.split("\n")))
    before, after = forward_in(text), forward_in(broken)
    assert before[:3] == after[:3]
    if before[3] != after[3]:  # 3.13 joins two loads of one line into one instruction
        assert len(before[3]) != len(after[3])


def test_the_type_of_a_parameter_is_broken_and_stays_one_string():
    text = f'def forward(self, {NAMES[0]}: "{TYPE}", y: "f32[4]"):\n    return y\n'
    broken = break_lines(text)
    assert max(map(len, broken.split("\n"))) <= LIMIT
    found = {}
    exec(compile(broken, "graph", "exec", dont_inherit=True), found)
    assert found["forward"].__annotations__ == {NAMES[0]: TYPE, "y": "f32[4]"}


def test_comments_that_were_broken_are_read_as_they_were():
    text = graph(STATEMENTS)
    before = [line for line in text.split("\n") if line.lstrip().startswith("#")]
    after = [line for _, line in joined_comments(break_lines(text)) if line.lstrip().startswith("#")]
    assert after == before


@pytest.mark.parametrize("length", range(20, 180, 10))
def test_a_comment_is_read_as_it_was_however_often_and_wherever_it_was_broken(length):
    text = f"        # File: /{'a' * length}.py:6 in f, code: return (x - mean) / variance.sqrt()"
    broken = break_lines(break_lines(text))
    assert [line for _, line in joined_comments(broken)] == [text]
    assert all(len(line) <= max(LIMIT, length + 30) for line in broken.split("\n"))


@pytest.mark.parametrize("text", ["x = 1\n", "", f'x = """\n{"y " * 90}\n"""\n', f"x = '{'y' * 130}'\n"])
def test_what_needs_no_break_or_cannot_have_one_stays(text):
    assert break_lines(text) == text


@pytest.mark.parametrize("indent", ["", " " * 8, " " * 100])
@pytest.mark.parametrize(
    "path",
    ["/a/long/folder" * 12 + "/model.py", "/" + "x" * 300, "C:\\\\" + "dir\\ " * 60, "/short \\ " * 30, "é" * 250],
)
def test_a_comment_with_a_path_over_the_limit_is_broken_and_read_as_it_was(indent, path):
    text = f"{indent}# File: {path}:13 in forward, code: x = y"
    broken = break_lines(text)
    assert max(map(len, broken.split("\n"))) <= LIMIT
    assert [line for _, line in joined_comments(broken)] == [text]


SHAPES = [
    "{target} = {name}",
    "{target} = torch._C._nn.linear({arguments});  {released} = None",
    "{target} = f({arguments})",
    "{target} = f({arguments}).g({arguments})",
    "def forward(self, {parameters}):",
    "def forward(self, {parameters}) -> x:",
]
WORDS = [NAMES[0], "x", "linear_61", "1e-05", "(16,)", "(4, 16)", "dim = 1", "'a, b'", "torch.float32", "y" * 40, "()"]


def test_a_form_that_is_broken_without_a_search_for_brackets_is_broken_as_any_other():
    choose = random.Random(0)
    for _ in range(2000):
        line = choose.choice(["", " " * 4, " " * 8]) + choose.choice(SHAPES).format(
            target=choose.choice(NAMES) + choose.choice(["", ': "f32[4, 16][16, 1]cpu"']),
            name=choose.choice(NAMES).upper(),
            arguments=", ".join(choose.choices(WORDS, k=choose.randint(0, 9))),
            released=" = ".join(choose.choices(NAMES, k=choose.randint(1, 6))),
            parameters=", ".join([f'{name}: "f32[4, 16][16, 1]cpu"' for name in choose.choices(NAMES, k=3)]),
        )
        assert line_breaks._broken_line(line) == "\n".join(line_breaks._broken(line)) or "(" not in line
