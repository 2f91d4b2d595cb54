"""Trees are compared by shape and by the bits of their constants."""

from __future__ import annotations

from depyf.decompiler import syntax as s

A, B = s.Name("a"), s.Name("b")


def test_trees_compare_by_shape_and_bits_whatever_their_origins():
    assert s.same(s.Return(A, origin=1), s.Return(s.Name("a"), origin=2))
    assert s.same(s.Call(A, [B]), s.Call(A, (B,)))
    for one, other in [(1, True), (1, 1.0), (0.0, -0.0), ((1,), (True,)), ("a", b"a")]:
        assert not s.same(s.Constant(one), s.Constant(other))
    assert not s.same(s.Pass(trailing="a"), s.Pass())
