"""The names of a call's keyword arguments where Dynamo has put other values below the operands of the call."""

from types import SimpleNamespace

import pytest

from depyf.decompiler.decode.carried_constants import constant_on_top
from depyf.decompiler.decode.instructions import Raw

NAMES = ("mask", "weights")
PUSHED = [("LOAD_FAST", 0), ("LOAD_CONST", 0)]  # an argument, and the names
# A list of a variable goes below both, as in frames of torch 2.14: all are moved up again.
BELOW = [("LOAD_FAST", 1), ("BUILD_LIST", 1), ("SWAP", 3), ("SWAP", 2)]


def found(instructions, landings=()):
    raws = [Raw(2 * n, 2 * n, opname, arg, 2 * n + 2) for n, (opname, arg) in enumerate(instructions)]
    layout = SimpleNamespace(instructions=raws, landings=set(landings), code=SimpleNamespace(co_consts=(NAMES, 1)))
    return constant_on_top(layout, len(raws))


@pytest.mark.parametrize(
    "between",
    [
        [],
        BELOW,
        [("COPY", 1), ("POP_TOP", 0)],
        [("BUILD_LIST", 0), ("LOAD_FAST", 1), ("LIST_EXTEND", 1), ("POP_TOP", 0)],
        [("SWAP", 2), ("COPY", 2)],
        [("LOAD_FAST", 1), ("LOAD_CONST", 1), ("BINARY_OP", 26), ("STORE_FAST", 2)],
    ],
)
def test_names_that_were_moved_are_the_names_of_the_call(between):
    assert found(PUSHED + between) == NAMES


@pytest.mark.parametrize(
    "instructions, landings",
    [
        (PUSHED + [("SWAP", 2)], ()),  # the argument is on top
        (PUSHED + [("BUILD_TUPLE", 1)], ()),  # made at run time
        (PUSHED + [("CALL", 0), ("SWAP", 2)], ()),  # what is behind a call is not followed
        (PUSHED + BELOW, {len(PUSHED) + 1}),  # a jump leads in between
        ([("SWAP", 2)], ()),
        ([("LOAD_CONST", 7)], ()),
    ],
)
def test_where_another_value_may_be_on_top_there_are_no_names(instructions, landings):
    assert found(instructions, landings) is None
