"""What 3.7 does when it leaves blocks is written out as later compilers do; what cannot be followed is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import List

import pytest

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.decode.block_unwinding import with_blocks_left
from depyf.decompiler.decode.instructions import Raw

FACTS = facts_for((3, 7))
CODE = SimpleNamespace(co_consts=(None, 1), co_names=("StopAsyncIteration", "other"))


def raws(*parts: str) -> List[Raw]:
    found = []
    for number, part in enumerate(parts):
        name, _, arg = part.partition(" ")
        found.append(Raw(2 * number, 2 * number, name, int(arg or 0), 2 * number + 2))
    return found


def left(*parts: str) -> List[str]:
    """Return the names of what is written, with the places of targets in it."""
    found = with_blocks_left(raws(*parts), CODE, FACTS)
    kept = ("POP_FINALLY", "GET_ANEXT", "WITH_CLEANUP_START")
    return [raw.opname + (f" {raw.arg}" if raw.opname in kept else "") for raw in found]


# for x in a: BODY
LOOP = ("SETUP_LOOP 14", "LOAD_FAST 0", "GET_ITER", "FOR_ITER 6", "STORE_FAST 1")
IN_LOOP = ["LOAD_FAST", "GET_ITER", "FOR_ITER", "STORE_FAST"]
END = ("POP_BLOCK", "LOAD_CONST 0", "RETURN_VALUE")


def test_a_value_that_is_returned_out_of_a_loop_outlives_the_iterator():
    found = left(*LOOP, "LOAD_FAST 1", "RETURN_VALUE", *END)
    assert found == [*IN_LOOP, "LOAD_FAST", "ROT_TWO", "POP_TOP", "RETURN_VALUE", "LOAD_CONST", "RETURN_VALUE"]


def test_a_constant_is_loaded_after_the_blocks_are_left_as_later_compilers_do():
    found = left(*LOOP, "LOAD_CONST 1", "RETURN_VALUE", *END)
    assert found == [*IN_LOOP, "POP_TOP", "LOAD_CONST", "RETURN_VALUE", "LOAD_CONST", "RETURN_VALUE"]


def test_break_drops_the_iterator_and_continue_does_not():
    found = left("SETUP_LOOP 12", "LOAD_FAST 0", "GET_ITER", "FOR_ITER 4", "STORE_FAST 1", "BREAK_LOOP", *END)
    assert found == [*IN_LOOP, "POP_TOP", "LOAD_CONST", "RETURN_VALUE", "JUMP_ABSOLUTE"]
    found = left(
        "SETUP_LOOP 22", "LOAD_FAST 0", "GET_ITER", "FOR_ITER 14", "STORE_FAST 1",
        "SETUP_EXCEPT 2", "CONTINUE_LOOP 6", "POP_TOP", "POP_TOP", "POP_TOP", "BREAK_LOOP", *END,
    )  # fmt: skip
    assert found == [
        *IN_LOOP, "SETUP_FINALLY", "POP_BLOCK", "JUMP_ABSOLUTE",
        "POP_TOP", "POP_TOP", "POP_TOP", "POP_EXCEPT", "POP_TOP", "LOAD_CONST", "RETURN_VALUE", "JUMP_ABSOLUTE",
    ]  # fmt: skip


def test_a_finally_body_lies_on_each_way_out():
    # try: return a(), finally: b()
    body = ("LOAD_FAST 1", "CALL_FUNCTION 0", "POP_TOP", "END_FINALLY")
    found = left("SETUP_FINALLY 6", "LOAD_FAST 0", "CALL_FUNCTION 0", "RETURN_VALUE", *body, *END[1:])
    assert found == [
        "SETUP_FINALLY", "LOAD_FAST", "CALL_FUNCTION", "POP_BLOCK", "BEGIN_FINALLY",
        "LOAD_FAST", "CALL_FUNCTION", "POP_TOP", "END_FINALLY", "RETURN_VALUE",
        "LOAD_FAST", "CALL_FUNCTION", "POP_TOP", "RERAISE",
    ]  # fmt: skip


def test_a_return_in_a_finally_body_drops_what_the_body_was_entered_with():
    # try: return a, finally: return b
    found = left("SETUP_FINALLY 4", "LOAD_FAST 0", "RETURN_VALUE", "LOAD_FAST 1", "RETURN_VALUE")
    assert found == [
        "SETUP_FINALLY", "LOAD_FAST", "POP_BLOCK", "BEGIN_FINALLY",
        "LOAD_FAST", "POP_FINALLY 1", "ROT_TWO", "POP_TOP", "RETURN_VALUE",
        "LOAD_FAST", *["ROT_TWO", "POP_TOP"] * 3, "ROT_FOUR", "POP_EXCEPT", "RETURN_VALUE",
    ]  # fmt: skip


def test_a_with_statement_calls_its_exit_method_before_a_value_is_returned():
    found = left(
        "LOAD_FAST 0", "SETUP_WITH 6", "POP_TOP", "LOAD_FAST 1", "RETURN_VALUE",
        "WITH_CLEANUP_START", "WITH_CLEANUP_FINISH", "END_FINALLY", *END[1:],
    )  # fmt: skip
    assert found[:9] == [
        "LOAD_FAST", "SETUP_WITH", "POP_TOP", "LOAD_FAST", "POP_BLOCK", "ROT_TWO", "BEGIN_FINALLY",
        "WITH_CLEANUP_START 0", "WITH_CLEANUP_FINISH",
    ]  # fmt: skip
    assert found[9:13] == ["END_FINALLY", "RETURN_VALUE", "WITH_CLEANUP_START 1", "JUMP_IF_SWALLOWED"]


ASYNC_FOR = (
    "SETUP_LOOP 42", "LOAD_FAST 0", "GET_AITER", "SETUP_EXCEPT 14", "GET_ANEXT", "LOAD_CONST 0", "YIELD_FROM",
    "UNPACK_SEQUENCE 1", "STORE_FAST 1", "POP_BLOCK", "JUMP_ABSOLUTE 6",
    "DUP_TOP", "LOAD_GLOBAL {name}", "COMPARE_OP 10", "POP_JUMP_IF_TRUE 32", "END_FINALLY",
    "POP_TOP", "POP_TOP", "POP_TOP", "POP_EXCEPT", "POP_TOP", *END,
)  # fmt: skip


def async_for(name: int = 0) -> List[str]:
    return left(*[part.format(name=name) for part in ASYNC_FOR])


def test_an_async_loop_is_the_one_of_later_versions_and_counts_what_else_its_handler_covers():
    assert async_for() == [
        "LOAD_FAST", "GET_AITER", "SETUP_FINALLY", "GET_ANEXT 1", "LOAD_CONST", "YIELD_FROM", "POP_BLOCK",
        "UNPACK_SEQUENCE", "STORE_FAST", "JUMP_ABSOLUTE", "END_ASYNC_FOR", "LOAD_CONST", "RETURN_VALUE",
    ]  # fmt: skip


def test_a_handler_that_waits_for_another_exception_is_not_that_of_an_async_loop():
    assert "END_ASYNC_FOR" not in async_for(name=1)


@pytest.mark.parametrize(
    "parts",
    [
        ("SETUP_EXCEPT 2", "BREAK_LOOP", *END),  # in no loop
        ("SETUP_EXCEPT 2", "CONTINUE_LOOP 0", *END),
        ("SETUP_LOOP 0", "POP_EXCEPT", *END),
        ("SETUP_LOOP 0", "END_FINALLY", *END),
        ("SETUP_LOOP 0", "LOAD_CONST 0", *END),  # POP_BLOCK would have to cut the stack
        ("SETUP_LOOP 0", "WITH_CLEANUP_START", *END),
        ("SETUP_LOOP 0", "POP_TOP", "LOAD_CONST 0", "RETURN_VALUE"),  # takes what is below its block
        ("SETUP_LOOP 0", "JUMP_ABSOLUTE 0"),  # without end
        ("SETUP_LOOP 0", "JUMP_ABSOLUTE 3"),
        ("SETUP_LOOP 0", "NOP"),
        ("SETUP_LOOP 0", "BEGIN_FINALLY", *END),  # is none of 3.7
    ],
)
def test_blocks_that_are_entered_or_left_otherwise_are_refused(parts):
    with pytest.raises(Malformed):
        left(*parts)


def test_code_without_blocks_is_left_as_it_is():
    instructions = raws("LOAD_CONST 0", "RETURN_VALUE")
    assert with_blocks_left(instructions, CODE, FACTS) is instructions
