"""Analysis: which reads may raise, and which frames read their own names; a wrong answer is a wrong proof."""

from __future__ import annotations

from hand_built import program

from depyf.decompiler.analysis.local_name_access import sees_local_names
from depyf.decompiler.analysis.nonraising_ops import RETURNING, SILENT, made_of
from depyf.decompiler.analysis.unbound_locals import captured_from, maybe_unbound, never_set, unread_before_store
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.decode import decode

ONE_WAY = """
    LOAD_LOCAL a
    BRANCH_FALSE after
    CONST 1
    STORE_LOCAL x
after:
    LOAD_LOCAL x
    RETURN
"""


def names(reads):
    return {name for _, name in reads}


def test_a_local_that_is_set_on_one_way_only_may_be_unbound():
    assert names(maybe_unbound(program(ONE_WAY, parameters=("a",)))) == {"x"}


def test_a_parameter_has_a_value_until_it_is_deleted():
    assert names(maybe_unbound(program("LOAD_LOCAL a\nRETURN", parameters=("a",)))) == set()
    assert names(maybe_unbound(program("DELETE_LOCAL a\nLOAD_LOCAL a\nRETURN", parameters=("a",)))) == {"a"}


def test_a_handler_is_reached_from_every_op_that_it_protects():
    text = "CONST 1 !h\nSTORE_LOCAL x !h\nCONST None\nRETURN\nh:\nPOP\nLOAD_LOCAL x\nRETURN"
    assert names(maybe_unbound(program(text, handlers={"h": ("h", 0, False)}))) == {"x"}


def test_a_local_that_is_never_set_is_distinct_from_one_that_may_be():
    reads = maybe_unbound(program(ONE_WAY, parameters=("a",)))
    assert never_set(program(ONE_WAY, parameters=("a",)), reads) == set()
    text = "LOAD_LOCAL x\nRETURN"
    assert never_set(program(text), maybe_unbound(program(text))) == {"x"}


def test_a_local_that_is_read_before_its_store_does_not_count_as_fresh():
    assert unread_before_store(program("CONST 1\nSTORE_LOCAL x\nLOAD_LOCAL x\nRETURN")) == {"x"}
    assert unread_before_store(program("LOAD_LOCAL x\nSTORE_LOCAL x\nCONST None\nRETURN")) == set()


def test_a_cell_that_is_taken_in_a_loop_is_taken_from_its_beginning_on():
    text = "again:\nCONST 1\nPOP\nLOAD_CLOSURE c\nBRANCH_TRUE again\nCONST None\nRETURN"
    assert captured_from(program(text)) == {"c": 0}


def test_locals_and_bare_vars_read_the_names_of_the_frame_and_vars_of_something_does_not():
    assert sees_local_names(decode((lambda a: locals()).__code__))
    assert sees_local_names(decode((lambda a: vars()).__code__))
    assert not sees_local_names(decode((lambda a: vars(a)).__code__))
    assert not sees_local_names(decode((lambda a: eval("1 + 1")).__code__))
    assert sees_local_names(decode((lambda a: eval("a")).__code__))


def test_the_unbinding_at_the_end_of_an_except_clause_cannot_raise():
    unbinding = [Op("CONST", None), Op("STORE_LOCAL", "e"), Op("DELETE_LOCAL", "e")]
    assert made_of([Op("POP_EXCEPT"), *unbinding, Op("CONST", 1), Op("RETURN")], RETURNING)
    assert not made_of([Op("DELETE_LOCAL", "e")], SILENT) and not made_of([Op("LOAD_GLOBAL", "x")], SILENT)
