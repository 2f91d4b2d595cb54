"""A long text is valid Python exactly if its deduplicated lines are, which are faster to compile."""

import random

import pytest

from depyf.text.python_source import is_module
from depyf.text.repeated_lines import LineShapes

HEAD = "class GraphModule(torch.nn.Module):\n    def forward(self, primals_1):\n"


def graph(layers=120):
    lines = []
    for number in range(layers):
        lines.append("        # File: model.py:3 in forward, code: return (don't look here")
        lines.append(
            f'        permute_{number}: "f32[16, 16]" = torch.ops.aten.permute.default(primals_{number}, [1, 0])'
        )
        lines.append(
            f"        addmm_{number} = torch.ops.aten.addmm.default(permute_{number}, 0.{number});  permute_{number} = None"
        )
    return HEAD + "\n".join(lines) + "\n        return (addmm_0,)\n"


def test_a_graph_of_many_layers_is_checked_by_compiling_a_few_lines():
    text = graph()
    assert is_module(text) and len(LineShapes().thinned(text)[0].splitlines()) < 12


@pytest.mark.parametrize(
    "broken",
    [
        "        addmm_5 = torch.ops.aten.addmm.default(permute_5, 0.5;  permute_5 = None",
        "        addmm_5 = torch.ops.aten.addmm.default(permute_5, 007);  permute_5 = None",
        "        5addmm = torch.ops.aten.addmm.default(permute_5, 0.5);  permute_5 = None",
        "          addmm_5 = torch.ops.aten.addmm.default(permute_5, 0.5);  permute_5 = None",
        "      addmm_5 = torch.ops.aten.addmm.default(permute_5, 0.5);  permute_5 = None",
        "        addmm_5 = torch.ops.aten.addmm.default(permute_5, 'a);  permute_5 = None",
        "        nonlocal addmm_5",
        "        <built-in function add>",
        "        if addmm_5:",
    ],
)
@pytest.mark.parametrize("at", [2, 100, 250])
def test_one_wrong_line_among_hundreds_is_found(broken, at):
    lines = graph().split("\n")
    lines[at:at] = [broken]
    assert not is_module("\n".join(lines))


def test_a_wrong_line_is_found_inside_brackets_and_after_multi_line_strings():
    assert not is_module(graph() + "x = (\n    1,\n    2\n    3,\n)\n" + "y = 1\n" * 900)
    assert is_module(graph() + "x = (\n    1,\n    2,\n)\n" + "y = 1\n" * 900)
    assert not is_module('x = """\n' + "y = 1 1\n" * 900 + '"""\n' + "y = 1 1\n")
    assert is_module('x = """\n' + "y = 1 1\n" * 900 + '"""\n')


def test_randomly_cut_and_mixed_texts_are_judged_as_by_the_compiler():
    chance = random.Random(0)
    text = graph(40)
    wrong = 0
    for _ in range(300):
        start, length = chance.randrange(len(text)), chance.choice((0, 1, 2, 8, 300))
        changed = text[:start] + chance.choice(["", "(", "\n", "'", ":", " ", "0", "#", ",\n"]) + text[start + length :]
        try:
            compile(changed, "<text>", "exec", dont_inherit=True)
            expected = True
        except SyntaxError:
            expected = False
        wrong += not expected
        assert is_module(changed) == expected, changed[max(0, start - 100) : start + 100]
    assert 50 < wrong < 290


@pytest.mark.parametrize("comment", ["x = (", "x = )", "it's", 'say "', "] and }", "f(a[0], {"])
def test_comments_behind_code_count_as_no_code(comment):
    call = (
        "    value_{} = function(  # user.py:{}: {}\n        argument_{},\n    )\n    other_{} = {}  # user.py:{}: {}\n"
    )
    lines = [call.format(n, n, comment, n, n, n, n, comment) for n in range(120)]
    text = "def f():\n" + "".join(lines)
    assert is_module(text)
    thin, _ = LineShapes().thinned(text)
    compile(thin, "thin", "exec")
    broken = text.replace("other_77 = 77", "other_77 = 77)")
    assert not is_module(broken)
