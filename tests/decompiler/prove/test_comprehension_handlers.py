"""Handlers that only restore comprehension variables: Dynamo drops them when a graph break splits the comprehension."""

from __future__ import annotations

import sys

import pytest
from decompile_tools import function_code

from depyf.decompiler.bytecode.microops import Handler, Op, Program
from depyf.decompiler.prove import Assumption, prove
from depyf.decompiler.prove.comprehension_handlers import handlers_keep_order, without_restoring_handlers

inlined = pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are inlined from 3.12 on")


@inlined
def test_only_code_without_any_handler_may_lack_the_restoring_one() -> None:
    whole = function_code("def f(x, i):\n    r = [x(i) for i in x]\n    return r, i")
    bare = whole.replace(co_exceptiontable=b"")
    assert prove(bare, whole).assumptions == (Assumption.NOT_SEEN_IN_TRACEBACKS,)
    assert not prove(whole, bare).holds


@inlined
def test_variables_that_two_handlers_restore_die_in_another_order() -> None:
    whole = function_code("def f(x):\n    return [i for i in x if [i for i, j in x]]")
    bare = whole.replace(co_exceptiontable=b"")
    assert prove(bare, whole).assumptions == (Assumption.NOT_SEEN_IN_TRACEBACKS, Assumption.RELEASE_ORDER)


def program(*handler: Op, outer: int = -1) -> Program:
    """Return a program of `iter(i)` protected by a handler that starts at index 3 with these ops."""
    ops = [Op("LOAD_LOCAL", "i"), Op("GET_ITER", handler=0), Op("RETURN"), *handler]
    ops[-1].handler = outer
    return Program(tuple(ops), (Handler(3, 2, False),), (lambda i: i).__code__, (3, 12))


RESTORING = [Op("SWAP", 2), Op("POP"), Op("SWAP", 2), Op("STORE_LOCAL", "i"), Op("RERAISE", 0)]


def test_a_handler_that_only_restores_variables_is_ignored() -> None:
    bare = without_restoring_handlers(program(*RESTORING))
    assert bare is not None and not bare.handlers
    assert all(op.handler < 0 for op in bare.ops)


def test_a_handler_that_drops_the_stack_from_below_changes_the_order_of_deaths() -> None:
    assert handlers_keep_order(program(*RESTORING))
    assert handlers_keep_order(program(Op("SWAP", 2), Op("POP"), Op("SWAP", 2), Op("POP"), Op("RERAISE", 0)))
    assert not handlers_keep_order(program(Op("SWAP", 3), Op("POP"), Op("POP"), Op("RERAISE", 0)))


@pytest.mark.parametrize(
    "handler",
    [
        [Op("SWAP", 2), Op("POP"), Op("SWAP", 2), Op("STORE_GLOBAL", "i"), Op("RERAISE", 0)],
        [Op("LOAD_GLOBAL", "g"), Op("POP"), *RESTORING],
        [Op("STORE_LOCAL", "i"), Op("RERAISE", 0)],  # another value is raised
        [Op("PUSH_EXC_INFO"), *RESTORING],
        [Op("POP"), Op("CONST", None), Op("RETURN")],
    ],
    ids=["stores a global", "reads a global", "keeps the exception", "handles it", "swallows it"],
)
def test_a_handler_with_any_other_effect_is_kept(handler: list[Op]) -> None:
    assert without_restoring_handlers(program(*handler)) is None


def test_a_handler_that_protects_itself_is_kept() -> None:
    ops = [Op(op.kind, op.arg) for op in RESTORING]
    assert without_restoring_handlers(program(*ops, outer=0)) is None
