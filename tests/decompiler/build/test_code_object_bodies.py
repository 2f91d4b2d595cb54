"""Bodies of code objects: declarations, modules, classes, functions and comprehensions inside.

If one of these failed, a name would mean another variable than in the program.
"""

from __future__ import annotations

import pytest
from build_tools import RETURN_NONE, call, const, flat, local, program, region, shown, store, text

from depyf.decompiler.build import Settings, standalone_comprehension
from depyf.decompiler.bytecode.microops import CLOSURE, DEFAULTS, Op
from depyf.decompiler.clean_graph import Comprehension
from depyf.decompiler.flow.graph import Simple
from depyf.decompiler.structure import IfNode, LoopNode


def module_code(source):
    return compile(source, "<test>", "exec")


def code_inside(code, name):
    return next(const for const in code.co_consts if getattr(const, "co_name", None) == name)


MODULE = module_code("class C:\n    def method(self): pass\ndef outer(x):\n    def inner(y=1): return x\n    x = 2\n")
OUTER = code_inside(MODULE, "outer")
INNER = code_inside(OUTER, "inner")
CLASS = code_inside(MODULE, "C")


def name_store(name):
    return Op("STORE_NAME", name)


def test_a_module_has_its_docstring_first_and_no_return():
    ops = flat(const("Documented."), name_store("__doc__"), const(1), name_store("a"), RETURN_NONE)
    assert text(ops, code=MODULE).splitlines() == ['"""Documented."""', "a = 1"]


def test_an_annotation_is_a_store_into_the_mapping_of_annotations():
    ops = flat(Op("SETUP_ANNOTATIONS"), const(1), name_store("a"), Op("LOAD_NAME", "int"))
    ops += flat(Op("LOAD_NAME", "__annotations__"), const("a"), Op("STORE_SUBSCR"), RETURN_NONE)
    assert text(ops, code=MODULE) == "a: int = 1"


def test_the_same_store_in_a_function_is_a_store():
    ops = flat(Op("LOAD_GLOBAL", "int"), Op("LOAD_GLOBAL", "__annotations__"), const("a"), Op("STORE_SUBSCR"))
    assert text(ops, RETURN_NONE) == "__annotations__['a'] = int"


def test_a_class_body_is_without_what_the_compiler_adds():
    ops = flat(Op("LOAD_NAME", "__name__"), name_store("__module__"), const("C"), name_store("__qualname__"))
    ops += flat(const(1), name_store("_C__private"), Op("LOAD_CLOSURE", "__class__"), Op("COPY", 1))
    ops += flat(name_store("__classcell__"), Op("RETURN"))
    assert text(ops, code=CLASS) == "__private = 1"


def test_a_global_that_a_class_body_reads_as_one_is_declared_there():
    assert text(Op("LOAD_GLOBAL", "a"), name_store("b"), RETURN_NONE, code=CLASS).splitlines() == ["global a", "b = a"]


def test_a_function_stored_under_its_name_is_a_def():
    nested = {INNER: (program(inner_tree(), INNER), inner_tree())}
    ops = flat(const((1,)), Op("LOAD_CLOSURE", "x"), Op("BUILD_TUPLE", 1), const(INNER))
    ops += [Op("MAKE_FUNCTION", DEFAULTS | CLOSURE), store("inner")]
    assert text(ops, RETURN_NONE, code=OUTER, nested=nested) == "def inner(y=1):\n    return x"


def inner_tree():
    return region(Op("LOAD_CELL", "x"), Op("RETURN"))


def test_a_function_that_is_passed_to_another_and_stored_is_decorated():
    nested = {INNER: (program(inner_tree(), INNER), inner_tree())}
    ops = flat(Op("LOAD_GLOBAL", "f"), Op("LOAD_CLOSURE", "x"), Op("BUILD_TUPLE", 1), const(INNER))
    ops += [Op("MAKE_FUNCTION", CLOSURE), call(1), store("inner")]
    assert text(ops, RETURN_NONE, code=OUTER, nested=nested).splitlines()[:2] == ["@f", "def inner(y):"]


def test_a_free_variable_that_is_assigned_to_is_declared():
    ops = flat(const(1), Op("STORE_CELL", "x"), RETURN_NONE)
    assert text(ops, code=INNER).splitlines() == ["nonlocal x", "x = 1"]


def test_a_class_is_made_of_a_body_a_name_and_bases():
    tree = region(Op("LOAD_NAME", "__name__"), name_store("__module__"), RETURN_NONE)
    nested = {CLASS: (program(tree, CLASS), tree)}
    ops = flat(Op("LOAD_BUILD_CLASS"), const(CLASS), Op("MAKE_FUNCTION", 0), const("C"), Op("LOAD_NAME", "Base"))
    ops += [call(3), name_store("C")]
    assert text(ops, RETURN_NONE, code=MODULE, nested=nested) == "class C(Base):\n    pass"


def loop_over(collect):
    """Return the loop `for x in ...: if x: collect x`, as the compiler makes it of a comprehension."""
    test = IfNode(Simple("true"), 0)
    test.then = region(local("x"), collect)
    node = LoopNode("for", 0)
    node.body = region(store("x"), local("x"), test)
    return node


def test_a_comprehension_that_was_inlined_is_an_expression():
    found = Comprehension("<listcomp>", frozenset({"x"}), frozenset(), None)
    found.tree = region(loop_over(Op("LIST_APPEND", 2)))
    ops = flat(local("a"), Op("GET_ITER"), Op("COMPREHENSION", found), Op("RETURN"))
    assert text(ops) == "return [x for x in a if x]"


@pytest.mark.parametrize(
    "source, start, collect, wanted",
    [
        ("[x for x in ()]", [Op("BUILD_LIST", 0)], Op("LIST_APPEND", 2), "[x for x in __iterator if x]"),
        ("{x for x in ()}", [Op("BUILD_SET", 0)], Op("SET_ADD", 2), "{x for x in __iterator if x}"),
    ],
)
def test_a_comprehension_of_its_own_runs_over_the_iterator_that_it_is_given(source, start, collect, wanted):
    name = {"[": "<listcomp>", "{": "<setcomp>"}[source[0]]
    code = (lambda x: None).__code__.replace(co_name=name, co_varnames=(".0",), co_argcount=1)
    tree = region(start, Op("LOAD_LOCAL", ".0"), loop_over(collect), Op("RETURN"))
    settings = Settings({}.__getitem__, {}, lambda name: False, {})
    assert shown(standalone_comprehension(program(tree, code), tree, settings)) == wanted
