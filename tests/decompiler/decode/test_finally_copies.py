"""The `finally` bodies of 3.8, which are subroutines, are copied for each way in; what cannot be followed is refused."""

from __future__ import annotations

from typing import List

import pytest

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.decode.finally_copies import with_copies
from depyf.decompiler.decode.instructions import Raw

FACTS = facts_for((3, 8))


def raws(*parts: str) -> List[Raw]:
    found = []
    for number, part in enumerate(parts):
        name, _, arg = part.partition(" ")
        found.append(Raw(2 * number, 2 * number, name, int(arg or 0), 2 * number + 2))
    return found


def copied(*parts: str) -> List[str]:
    return [f"{raw.offset} {raw.opname}" for raw in with_copies(raws(*parts), FACTS)]


# try: return a()
# finally: b()
RETURN_IN_TRY = (
    "SETUP_FINALLY 10", "LOAD_FAST 0", "CALL_FUNCTION 0", "POP_BLOCK", "CALL_FINALLY 2", "RETURN_VALUE",
    "LOAD_FAST 1", "CALL_FUNCTION 0", "POP_TOP", "END_FINALLY", "LOAD_CONST 0", "RETURN_VALUE",
)  # fmt: skip


def test_a_body_that_a_return_calls_lies_before_the_return_and_again_behind_the_handler():
    assert copied(*RETURN_IN_TRY) == [
        "0 SETUP_FINALLY", "2 LOAD_FAST", "4 CALL_FUNCTION", "6 POP_BLOCK", "8 CALL_FINALLY",
        "12 LOAD_FAST", "14 CALL_FUNCTION", "16 POP_TOP", "18 END_FINALLY", "10 RETURN_VALUE",
        "12 LOAD_FAST", "14 CALL_FUNCTION", "16 POP_TOP", "18 RERAISE",
    ]  # fmt: skip


def test_jumps_lead_to_the_copy_that_they_are_in():
    found = with_copies(
        raws("SETUP_FINALLY 4", "POP_BLOCK", "BEGIN_FINALLY", "LOAD_FAST 0", "POP_JUMP_IF_FALSE 14", "NOP", "NOP",
             "END_FINALLY", "LOAD_CONST 0", "RETURN_VALUE"),
        FACTS,
    )  # fmt: skip
    starts = {raw.start: raw for raw in found}
    ends = [starts[raw.arg].opname for raw in found if raw.opname == "POP_JUMP_IF_FALSE"]
    assert ends == ["END_FINALLY", "RERAISE"]


def test_a_with_statement_calls_its_exit_method_with_and_without_an_exception():
    assert copied(
        "SETUP_WITH 6", "POP_TOP", "POP_BLOCK", "BEGIN_FINALLY", "WITH_CLEANUP_START", "WITH_CLEANUP_FINISH",
        "END_FINALLY", "LOAD_CONST 0", "RETURN_VALUE",
    )[3:] == [
        "6 BEGIN_FINALLY", "8 WITH_CLEANUP_START", "10 WITH_CLEANUP_FINISH", "12 END_FINALLY", "14 LOAD_CONST",
        "16 RETURN_VALUE", "8 WITH_CLEANUP_START", "10 JUMP_IF_SWALLOWED", "12 RERAISE", "10 WITH_SWALLOWED",
        "12 END_FINALLY", "12 JUMP_ABSOLUTE",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "parts",
    [("END_FINALLY",), ("POP_FINALLY 0", "RETURN_VALUE"), ("LOAD_CONST 0", "POP_BLOCK", "END_FINALLY"),
     ("BEGIN_FINALLY", "POP_FINALLY 2"), ("BEGIN_FINALLY", "POP_EXCEPT"), ("CALL_FINALLY 0", "WITH_CLEANUP_START")],
)  # fmt: skip
def test_a_subroutine_that_is_entered_or_left_otherwise_is_refused(parts):
    with pytest.raises(Malformed):
        copied(*parts)


def test_a_subroutine_that_calls_itself_is_refused_in_time():
    with pytest.raises(Malformed, match="blocks are open"):
        copied("CALL_FINALLY 0", "JUMP_ABSOLUTE 0", "END_FINALLY")


def test_bodies_in_bodies_that_would_be_copied_without_end_are_refused():
    parts: List[str] = []
    for _ in range(12):  # each level is entered in two ways from each copy around it
        parts += ["LOAD_FAST 0", f"POP_JUMP_IF_FALSE {2 * len(parts) + 8}", "CALL_FINALLY 4", "JUMP_FORWARD 2", "CALL_FINALLY 0"]
    with pytest.raises(Malformed):
        copied(*parts, "END_FINALLY")


def test_code_without_subroutines_is_left_as_it_is():
    instructions = raws("LOAD_CONST 0", "RETURN_VALUE")
    assert with_copies(instructions, FACTS) is instructions
