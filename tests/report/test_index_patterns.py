"""Folded texts stand for exactly the texts they were made of: no guard is lost, and none is made up."""

from __future__ import annotations

import random

import pytest

from depyf.report.index_patterns import fold


def clauses(pattern):
    return [clause for loop in pattern.loops for clause in loop.clauses]


def spelled(pattern):
    """Evaluate a pattern: all texts that it stands for, each as the value of the numbers in it."""
    names = [name for loop in pattern.loops for name in vars(loop).values() if isinstance(name, str)]
    assert len(set(names)) == len(names)
    return eval(f"[{pattern.text} {' '.join(clauses(pattern))}]") if pattern.loops else [eval(pattern.text)]


@pytest.mark.parametrize(
    ("texts", "text", "loops"),
    [
        (["type(a[0].b) is C", "type(a[1].b) is C", "type(a[2].b) is C"], "type(a[i].b) is C", ["for i in range(3)"]),
        (["a[3] is b", "a[5] is b", "a[9] is b"], "a[i] is b", ["for i in (3, 5, 9)"]),
        (["k(d)[0] == '0'", "k(d)[1] == '1'"], "k(d)[i] == str(i)", ["for i in range(2)"]),
        (["a[0].n == 1", "a[1].n == 2"], "a[i].n == i + 1", ["for i in range(2)"]),
        (["a[0].n <= 2 * 1", "a[1].n <= 2 * 2"], "a[i].n <= 2 * (i + 1)", ["for i in range(2)"]),
        (["i[0] is j", "i[1] is j"], "i[k] is j", ["for k in range(2)"]),
        (
            ["s[0].b[0] is c", "s[1].b[0] is c", "s[1].b[1] is c"],
            "s[i].b[j] is c",
            ["for i, k in enumerate((1, 2))", "for j in range(k)"],
        ),
        (["a[0] == 64", "a[1] == 128"], "a[i] == j", ["for i, j in ((0, 64), (1, 128))"]),
    ],
)
def test_texts_that_differ_in_numbers_become_one_pattern(texts, text, loops):
    (pattern,) = fold(texts)
    assert (pattern.text, clauses(pattern), sorted(pattern.texts)) == (text, loops, sorted(texts))


@pytest.mark.parametrize(
    "texts",
    [
        ["self.layer1 is a", "self.layer2 is a"],
        ["x == 1.5", "x == 2.5"],
        ["x == 1e-05", "x == 1e-06"],
        ["x == 'a 1 b'", "x == 'a 2 b'"],
        ["x == '01'", "x == '02'"],
        ["x is b'1'", "x is b'2'"],
    ],
)
def test_numbers_that_are_part_of_something_else_stay(texts):
    assert [pattern.text for pattern in fold(texts)] == texts


def test_a_list_names_the_numbers_where_they_stand():
    (pattern,) = fold(["a[0].b", "a[1].b", "a[2].b"])
    assert pattern.in_words == "a[0..2].b"
    (pattern,) = fold(["a[0].b[0]", "a[1].b[1]"])
    assert pattern.in_words == "a[i].b[i] (i = 0..1)"
    (pattern,) = fold(["a[0].b[0]", "a[1].b[0]", "a[1].b[1]"])
    assert pattern.in_words == "a[i].b[j] (i, j = 0, 0; 1, 0..1)"


def test_whatever_is_folded_is_all_of_it_and_no_more():
    chance = random.Random(7)
    shapes = ["({}, {}, {})", "('{}', {})", "(0, {}, '{}', -{})", "({},)"]
    for _ in range(400):
        texts = []
        for shape in chance.sample(shapes, 2):
            for _ in range(chance.randrange(1, 14)):
                numbers = [chance.randrange(chance.choice((2, 3, 12))) for _ in range(shape.count("{}"))]
                texts.append(shape.format(*numbers))
        found = [value for pattern in fold(texts) for value in spelled(pattern)]
        assert sorted(map(repr, found)) == sorted(map(repr, map(eval, dict.fromkeys(texts))))
