"""The story shows repeated code once and names the lines of the file that it left out; it stays Python."""

from __future__ import annotations

import ast

from depyf.report.statement_folds import differences, filled_lists, fold_statements


def block(number):
    return [
        f"    modules_{number} = modules['{number}']._modules",
        f"    weight_{number} = modules_{number}['weight']",
        f"    bias_{number} = modules_{number}['bias']",
        f"    if weight_{number}:",
        f"        bias_{number} = None",
        f"    x = call_{number}(x, weight_{number})",
    ]


def code(count):
    return ["def f(modules, x):", *(line for number in range(1, count + 1) for line in block(number)), "    return x"]


def texts(lines):
    return [line.text for line in lines]


def test_repeated_statements_are_one_remark_that_names_the_lines_of_the_file():
    shown = texts(fold_statements(code(50)))
    assert shown == [
        "def f(modules, x):",
        *block(1),
        "    # ... 49 times more, with other numbers: lines 8-301 of the file",
        "    return x",
    ]
    compile("\n".join(shown), "story", "exec")


def test_lines_like_others_further_above_name_those():
    other = ["    y = modules", "    z = y"]
    lines = ["def f(modules, x):", *block(1), *other, *block(2), "    return x"]
    remark = "    # ... once more, with other numbers: lines 10-15 of the file"
    shown = texts(fold_statements(lines))
    assert shown[-2].startswith("    # ... lines 10-15 of the file: as lines 2-7") and remark not in shown
    compile("\n".join(shown), "story", "exec")


def test_nothing_is_left_out_that_others_need():
    arguments = [f"        argument_{number}," for number in range(40)]
    for lines in (
        ["def f(x):", "    return g(", *arguments, "    )"],
        [
            "def f(x):",
            "    if x:",
            *(f"        a_{number} = {number}" for number in range(30)),
            "    else:",
            "        y = 1",
        ],
        [
            "def f(x):",
            *(
                line
                for number in range(9)
                for line in ("    try:", f"        a = {number}", "    finally:", "        b = 1")
            ),
        ],
    ):
        compile("\n".join(lines), "code", "exec")
        compile("\n".join(texts(fold_statements(lines))), "story", "exec")


def test_short_code_and_long_strings_stay_as_they_are():
    for lines in (code(1), [*code(20)[:-1], '    y = """', *(f"    a_{number}" for number in range(20)), '    """']):
        assert texts(fold_statements(lines)) == lines


def test_a_later_version_is_shown_by_the_lines_that_differ():
    before = code(20)
    now = [*before[:-1], "    x = x + 1", "    return x"]
    assert differences(fold_statements(before), fold_statements(now)) == ["122 +     x = x + 1"]
    assert differences(fold_statements(before), fold_statements(before)) == []
    gone = differences(fold_statements(code(1)), fold_statements(["def f(modules, x):", "    return x"]))
    assert gone[1:] == ["3 - ... and on to line 7"]


def renamed(lines, *numbers):
    """Return the code with other names for some of its weights."""
    text = "\n".join(lines)
    for number in numbers:
        text = text.replace(f"weight_{number} ", f"weight_9{number} ").replace(
            f"weight_{number},", f"weight_9{number},"
        )
    return text.split("\n")


def test_of_a_fold_that_both_versions_have_only_the_lines_that_differ_are_shown():
    before, now = code(20), renamed(code(20), 9)
    found = differences(fold_statements(before), fold_statements(now))
    changed = [(old, new) for old, new in zip(before, now) if old != new]
    assert 1 <= len(changed) <= 3
    assert [line.split(" ", 2)[1:] for line in map(str.strip, found)] == [
        part for old, new in changed for part in (["-", old], ["+", new])
    ]


def test_a_fold_in_which_many_lines_differ_is_shown_once():
    before, now = code(20), renamed(code(20), *range(8, 18))
    (line,) = differences(fold_statements(before), fold_statements(now))
    assert " ~ " in line and "# ..." in line and line.endswith("(not the same in both)")


def test_lines_that_moved_between_folds_are_no_difference_where_they_are_the_same():
    items = [f"        weight_{number}," for number in range(40)]
    before = ["def f(self):", "    y = g(", *items, "    )", "    del (", *items, "    )", "    return y"]
    now = ["def f(self):", "    y = g(", "        size,", *items, "    )", "    del (", "        size,", *items]
    now += ["    )", "    return y"]
    assert differences(fold_statements(before), fold_statements(now)) == [" 3 +         size,", "46 +         size,"]


def test_lines_that_repeat_as_they_are_have_no_other_numbers():
    block = [f"    g({name})" for name in "abcdefgh"]
    remarks = [line.text for line in fold_statements(["def f():", *block, *block, "    return 1"]) if line.folded]
    assert remarks == ["    # ... once more: lines 10-17 of the file"]


def test_names_in_brackets_share_lines():
    lines = ["    f(", "        a,", "        b,", "        # ...", "        c,", "    )"]
    assert filled_lists(lines, 60) == ["    f(", "        a, b,", "        # ...", "        c,", "    )"]
    assert max(map(len, filled_lists(["(", *["    name,"] * 50, ")"], 40))) <= 40


def test_a_docstring_stands_in_the_original_alone():
    text = ["def f(x):", '    """First.', "", '    Second."""', *[f"    y_{n} = x[{n}]" for n in range(30)]]
    folded = fold_statements(text)
    assert [line.text for line in folded[:2]] == ["def f(x):", '    """(the docstring of the original)"""']
    assert folded[1].code == "\n".join(text[1:4]) and folded[2].number == 5
    assert "lines " in folded[-1].text and f"-{len(text)} of the file" in folded[-1].text
    ast.parse("\n".join(line.text for line in folded))


def test_a_short_docstring_and_other_strings_stay_as_they_are():
    for text in (
        ["def f(x):", '    """Short."""', "    return x"],
        ["def f(x):", '    y = """a', 'b"""', "    return y"],
    ):
        assert [line.text for line in fold_statements(text)] == text
