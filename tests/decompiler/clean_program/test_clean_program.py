"""Clean the program: what only a code generator needed is gone, and nothing of the user's with it."""

from __future__ import annotations

from hand_built import ops_text, program

from depyf.decompiler.clean_program import clean_program


def simplified(text, own_locals=(), **arguments):
    return ops_text(clean_program(program(text, parameters=("a",)), own_locals, **arguments).ops)


UNREAD = "LOAD_LOCAL a\nSTORE_LOCAL tmp\nDELETE_LOCAL tmp\nCONST None\nRETURN"
ALIAS = "LOAD_LOCAL a\nSTORE_LOCAL tmp\nLOAD_LOCAL tmp\nRETURN"
SELF_STORE = "LOAD_CELL c\nSTORE_CELL c\nCONST None\nRETURN"


def test_a_local_of_the_generator_that_is_never_read_is_gone():
    assert simplified(UNREAD, ["tmp"]) == "LOAD_LOCAL a; POP; CONST None; RETURN"


def test_a_local_of_the_user_stays_even_if_it_is_never_read():
    assert simplified(UNREAD) == "LOAD_LOCAL a; STORE_LOCAL tmp; DELETE_LOCAL tmp; CONST None; RETURN"


def test_an_alias_of_a_parameter_is_read_as_the_parameter():
    assert simplified(ALIAS, ["tmp"]) == "LOAD_LOCAL a; POP; LOAD_LOCAL a; RETURN"


def test_an_alias_of_a_parameter_that_is_bound_again_stays():
    text = "LOAD_LOCAL a\nSTORE_LOCAL tmp\nCONST 1\nSTORE_LOCAL a\nLOAD_LOCAL tmp\nRETURN"
    assert "STORE_LOCAL tmp" in simplified(text, ["tmp"])


def test_a_delete_right_before_the_return_is_left_to_the_end_of_the_frame():
    text = "CONST 1\nSTORE_LOCAL tmp\nLOAD_LOCAL tmp\nDELETE_LOCAL tmp\nRETURN"
    assert simplified(text, ["tmp"]) == "CONST 1; STORE_LOCAL tmp; LOAD_LOCAL tmp; RETURN"


def test_a_local_is_not_cleared_where_it_has_no_value_yet():
    assert simplified("PUSH_NULL\nSTORE_LOCAL x\nLOAD_LOCAL a\nRETURN") == "LOAD_LOCAL a; RETURN"
    assert simplified("PUSH_NULL\nSTORE_LOCAL a\nCONST None\nRETURN").startswith("PUSH_NULL; STORE_LOCAL a")


def test_a_variable_that_is_stored_into_itself_stays_unless_that_is_asked_for():
    assert simplified(SELF_STORE) == "LOAD_CELL c; STORE_CELL c; CONST None; RETURN"
    assert simplified(SELF_STORE, drops_self_stores=True) == "CONST None; RETURN"


def test_jumps_still_lead_to_the_same_op():
    text = "LOAD_LOCAL a\nSTORE_LOCAL tmp\nagain:\nDELETE_LOCAL tmp\nLOAD_LOCAL a\nBRANCH_TRUE again\nCONST None\nRETURN"
    found = clean_program(program(text, parameters=("a",)), ["tmp"])
    (branch,) = [op for op in found.ops if op.kind == "BRANCH_TRUE"]
    assert ops_text(found.ops[branch.target : branch.target + 1]) == "LOAD_LOCAL a"


def test_simplifying_leaves_its_input_as_it_was():
    for text in (UNREAD, ALIAS, SELF_STORE):
        given = program(text, parameters=("a",))
        before = given.listing()
        assert clean_program(given, ["tmp"], drops_self_stores=True).listing() != before
        assert given.listing() == before


def test_a_program_of_the_compiler_is_returned_itself():
    given = program("LOAD_LOCAL a\nRETURN", parameters=("a",))
    assert clean_program(given, drops_self_stores=True) is given
