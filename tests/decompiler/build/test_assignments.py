"""Stores become assignments as a person writes them: chained, unpacked, augmented, imported.

If one of these failed, the text would be longer than what was written, or would bind something else.
"""

from __future__ import annotations

import pytest
from build_tools import RETURN_NONE, called, const, flat, local, store, text

from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured


def test_a_store_is_an_assignment():
    assert text(called("f"), store("a"), RETURN_NONE) == "a = f()"


def test_one_value_stored_twice_is_a_chained_assignment():
    assert text(called("f"), Op("COPY", 1), store("a"), store("b"), RETURN_NONE) == "a = b = f()"


def test_values_that_are_computed_first_and_stored_later_share_a_statement():
    assert text(local("b"), local("a"), Op("SWAP", 2), store("a"), store("b"), RETURN_NONE) == "a, b = b, a"


def test_a_value_stored_and_used_in_one_expression_is_named_inside_it():
    ops = flat(called("f"), Op("COPY", 1), store("a"), Op("LOAD_ATTR", "x"), Op("RETURN"))
    assert text(ops) == "return (a := f()).x"


def test_a_local_that_a_code_generator_added_gets_a_statement_instead():
    ops = flat(called("f"), Op("COPY", 1), store("a"), Op("LOAD_ATTR", "x"), Op("RETURN"))
    assert text(ops, generated=["a"]).splitlines() == ["a = f()", "return a.x"]


def test_a_store_to_a_global_is_declared():
    assert text(const(1), Op("STORE_GLOBAL", "G"), RETURN_NONE).splitlines() == ["global G", "G = 1"]


def test_attributes_and_items_are_assigned_to_after_the_value_is_computed():
    assert text(called("f"), local("a"), Op("STORE_ATTR", "x"), RETURN_NONE) == "a.x = f()"
    assert text(called("f"), local("a"), local("b"), Op("STORE_SUBSCR"), RETURN_NONE) == "a[b] = f()"


@pytest.mark.parametrize(
    "ops, wanted",
    [
        ([local("a"), local("b"), Op("INPLACE", "+"), store("a")], "a += b"),
        (
            [local("a"), Op("COPY", 1), Op("LOAD_ATTR", "x"), local("b"), Op("INPLACE", "+"), Op("SWAP", 2)]
            + [Op("STORE_ATTR", "x")],
            "a.x += b",
        ),
        (
            [local("a"), local("b"), Op("COPY", 2), Op("COPY", 2), Op("SUBSCR"), const(1), Op("INPLACE", "-")]
            + [Op("SWAP", 3), Op("SWAP", 2), Op("STORE_SUBSCR")],
            "a[b] -= 1",
        ),
    ],
)
def test_an_operation_stored_where_it_came_from_is_augmented_assignment(ops, wanted):
    assert text(ops, RETURN_NONE) == wanted


def test_an_in_place_operation_stored_elsewhere_works_on_a_copy_of_the_reference():
    ops = flat(local("a"), local("b"), Op("INPLACE", "+"), store("c"), RETURN_NONE)
    assert text(ops).splitlines()[:2] == ["a_1 = a", "a_1 += b"]


def test_unpacking_collects_its_targets():
    ops = flat(called("f"), Op("UNPACK", 2), store("a"), Op("UNPACK_EX", (1, 0)), store("b"), store("c"), RETURN_NONE)
    assert text(ops) == "a, (b, *c) = f()"


def test_unpacked_values_that_are_used_before_they_are_stored_get_names():
    ops = flat(called("f"), Op("UNPACK", 2), Op("BINARY", "-"), Op("RETURN"))
    assert text(ops).splitlines() == ["f_result_0, f_result_1 = f()", "return f_result_1 - f_result_0"]


def test_unpacked_values_that_are_used_after_others_were_stored_get_names():
    # As Dynamo of torch 2.6 writes it: `x, condition = graph(); if condition: ...`, the second one never stored.
    ops = flat(called("f"), Op("UNPACK", 3), store("a"), Op("BINARY", "-"), Op("RETURN"))
    assert text(ops).splitlines() == ["a, f_result_1, f_result_2 = f()", "return f_result_2 - f_result_1"]


@pytest.mark.parametrize("after", [(), (const(1), Op("BUILD_TUPLE", 2)), (Op("BUILD_TUPLE", 1),)])
def test_a_generator_of_code_that_unpacks_one_value_and_uses_it_means_no_annotation(after):
    written = text(called("f"), Op("UNPACK", 1), *after, Op("RETURN"), is_generated=True)
    assert written.splitlines()[0] == "(f_result_0,) = f()" and "*" not in written


def test_an_element_that_the_compiler_pops_has_the_target_of_the_next():
    # `a, a = f()`: only the last store to a variable is kept.
    assert text(called("f"), Op("UNPACK", 2), Op("POP"), store("a"), RETURN_NONE) == "a, a = f()"
    ops = flat(called("f"), Op("UNPACK", 2), Op("POP"), Op("UNPACK", 2), store("a"), store("b"), RETURN_NONE)
    assert text(ops) == "a, (a, b) = f()"


def test_deletes():
    ops = flat(Op("DELETE_LOCAL", "a"), local("b"), Op("DELETE_ATTR", "x"), local("b"), const(0), Op("DELETE_SUBSCR"))
    assert text(ops, RETURN_NONE).splitlines() == ["del a", "del b.x", "del b[0]"]


def imported(name, fromlist, *rest):
    return flat(const(0), const(fromlist), Op("IMPORT_NAME", name), rest, RETURN_NONE)


def test_imports():
    assert text(imported("os.path", None, store("os"))) == "import os.path"
    assert text(imported("os", None, store("a"))) == "import os as a"
    ops = [Op("IMPORT_FROM", "path"), store("path"), Op("IMPORT_FROM", "sep"), store("x"), Op("POP")]
    assert text(imported("os", ("path", "sep"), ops)) == "from os import path, sep as x"


def test_a_name_taken_out_of_what_is_no_module_is_refused():
    with pytest.raises(Unstructured, match="not just imported"):
        text(local("a"), Op("IMPORT_FROM", "path"), store("path"), Op("POP"), RETURN_NONE)


def test_an_import_that_takes_none_of_the_names_it_lists_is_refused():
    with pytest.raises(Unstructured, match="takes none of the names"):
        text(imported("os", ("path",), Op("POP")))
