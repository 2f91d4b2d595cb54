"""Handlers that only restore the variables of a comprehension: Dynamo drops them where it cuts one in two."""

from __future__ import annotations

import sys

import pytest
from decompile_tools import function_code

from depyf.decompiler.bytecode.microops import Handler, Op, Program
from depyf.decompiler.prove import Assumption, prove
from depyf.decompiler.prove.comprehension_handlers import without_restoring_handlers

inlined = pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are inlined from 3.12 on")


@inlined
def test_only_a_code_without_handlers_may_lack_the_one_that_restores() -> None:
    whole = function_code("def f(x, i):\n    r = [x(i) for i in x]\n    return r, i")
    bare = whole.replace(co_exceptiontable=b"")
    assert prove(bare, whole).assumptions == (Assumption.NOT_SEEN_IN_TRACEBACKS,)
    assert not prove(whole, bare).holds


def program(*handler: Op, outer: int = -1) -> Program:
    """`f(i)` under a handler, which begins with these ops at index 3."""
    ops = [Op("LOAD_LOCAL", "i"), Op("GET_ITER", handler=0), Op("RETURN"), *handler]
    ops[-1].handler = outer
    return Program(tuple(ops), (Handler(3, 2, False),), (lambda i: i).__code__, (3, 12))


RESTORING = [Op("SWAP", 2), Op("POP"), Op("SWAP", 2), Op("STORE_LOCAL", "i"), Op("RERAISE", 0)]


def test_a_handler_that_only_puts_variables_back_is_as_if_it_were_not_there() -> None:
    bare = without_restoring_handlers(program(*RESTORING))
    assert bare is not None and not bare.handlers
    assert all(op.handler < 0 for op in bare.ops)


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
def test_a_handler_that_does_more_counts(handler: list[Op]) -> None:
    assert without_restoring_handlers(program(*handler)) is None


def test_a_handler_that_leads_to_itself_counts() -> None:
    ops = [Op(op.kind, op.arg) for op in RESTORING]
    assert without_restoring_handlers(program(*ops, outer=0)) is None
