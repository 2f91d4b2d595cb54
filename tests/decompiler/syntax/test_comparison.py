"""Trees are walked in the order of the text and compared by shape and by the bits of their constants."""

from __future__ import annotations

import pytest

from depyf.decompiler import syntax as s

A, B, C = s.Name("a"), s.Name("b"), s.Name("c")


def test_equal_trees_may_have_different_origins_but_not_different_constants():
    assert s.same(s.Return(A, origin=1), s.Return(s.Name("a"), origin=2))
    assert s.same(s.Call(A, [B]), s.Call(A, (B,)))
    for one, other in [(1, True), (1, 1.0), (0.0, -0.0), ((1,), (True,)), ("a", b"a")]:
        assert not s.same(s.Constant(one), s.Constant(other))
    assert not s.same(s.Pass(trailing="a"), s.Pass())


def test_a_missing_field_is_not_the_same_as_an_empty_one():
    assert not s.same(s.Return(), s.Return(s.Constant(None)))
    assert not s.same(s.If(A, [s.Pass()]), s.If(A, [s.Pass()], [s.Pass()]))


def test_an_operator_is_part_of_the_shape():
    assert not s.same(s.BinOp(A, "+", B), s.BinOp(A, "-", B))
    assert not s.same(s.BinOp(A, "-", B), s.BinOp(B, "-", A))


def test_constants_that_have_no_literal_compare_by_identity():
    one, other = object(), object()
    assert s.same(s.Constant(one), s.Constant(one))
    assert not s.same(s.Constant(one), s.Constant(other))


def test_frozensets_compare_by_their_elements_in_any_order():
    assert s.same(s.Constant(frozenset(["a", "b"])), s.Constant(frozenset(["b", "a"])))
    assert not s.same(s.Constant(frozenset([1])), s.Constant(frozenset([True])))


def test_children_come_in_the_order_of_the_fields_and_leave_out_what_is_no_node():
    call = s.Call(A, [B], [s.keyword("k", C)])
    assert [type(child).__name__ for child in s.children(call)] == ["Name", "Name", "keyword"]
    assert list(s.children(s.Dict([None, A], [B, C]))) == [A, B, C]
    assert list(s.children(s.Constant((1, 2)))) == []


def test_walking_visits_each_node_before_those_below_it_in_the_order_of_the_text():
    assign = s.Assign([A], s.BinOp(B, "+", C))
    loop = s.For(s.Name("i"), s.Name("items"), [assign])
    names = [node.id if isinstance(node, s.Name) else type(node).__name__ for node in s.walk(s.Module([loop]))]
    assert names == ["Module", "For", "i", "items", "Assign", "a", "BinOp", "b", "c"]


@pytest.mark.parametrize("depth", [20_000])
def test_a_tree_as_deep_as_a_long_program_is_walked_and_compared_without_recursion(depth):
    def tower() -> s.Expression:
        node: s.Expression = A
        for _ in range(depth):
            node = s.UnaryOp("-", node)
        return node

    assert sum(1 for _ in s.walk(tower())) == depth + 1
    assert s.same(tower(), tower())


def test_a_dump_shows_the_whole_tree_but_not_where_it_came_from():
    assert s.dump(s.Return(s.BinOp(A, "+", s.Constant(1)), origin=7)) == (
        "Return(BinOp(Name('a'), '+', Constant(1)), '')"
    )


def test_the_dump_of_a_constant_nested_deeply_is_as_long_as_the_constant():
    """Found in a damaged file that took minutes: quotes of quotes were escaped."""
    deep = ("text",)
    for _ in range(100):
        deep = (deep,)
    assert len(s.dump(s.Constant(deep))) < 2000
