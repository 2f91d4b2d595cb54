"""What no text can spell is put back into the code object, by identity where Dynamo compares by identity."""

from __future__ import annotations

import dis
import textwrap
from types import CodeType, FunctionType

from decompile_tools import function_code, newer_bytecode

from depyf.decompiler.recompile.restoration import Restorer, share_nested, stand_in, with_empty_fromlists

MAKES_TWO = "def f():\n def g(): return 1\n def h(): return 1\n return g, h"


def nested(code: CodeType) -> list[CodeType]:
    return [const for const in code.co_consts if isinstance(const, CodeType)]


def test_the_stand_in_of_a_constant_is_as_long_as_its_placeholder() -> None:
    # Then the text that is compiled breaks its lines where the text that is shown does.
    assert len(repr(stand_in("__constant_12"))) == len("__constant_12")


def test_code_proved_equal_goes_back_by_identity() -> None:
    original, ours = function_code(MAKES_TWO), function_code(MAKES_TWO)
    shared = share_nested(ours, list(zip(nested(original), nested(ours))))
    assert [a is b for a, b in zip(nested(shared), nested(original))] == [True, True]


def test_one_code_that_stands_for_two_of_the_original_stays() -> None:
    original, ours = function_code(MAKES_TWO), function_code(MAKES_TWO)
    (first, second), (mine, _) = nested(original), nested(ours)
    shared = share_nested(ours, [(first, mine), (second, mine)])
    assert nested(shared)[0] is mine


def test_a_set_iterates_in_the_order_of_the_original() -> None:
    # The same elements in another order of insertion: 0 and 8 collide in a table of eight.
    theirs, mine = frozenset([0, 8]), frozenset([8, 0])
    assert list(theirs) != list(mine), "the test needs two orders"
    plain = function_code("def f(x): return x in {1, 2}")

    def with_set(code: CodeType, found: frozenset[int]) -> CodeType:
        return code.replace(co_consts=tuple(found if isinstance(c, frozenset) else c for c in code.co_consts))

    original = with_set(plain, theirs)
    restored = Restorer({}, {}, 0, ("f", "f"), original).code(with_set(plain, mine), original)
    assert [c for c in restored.co_consts if isinstance(c, frozenset)][0] is theirs


def test_an_import_hands_over_the_empty_tuple_that_dynamo_hands_over() -> None:
    ours = function_code("def f():\n import os\n return os")
    consts = (*ours.co_consts, ())
    data = bytearray(ours.co_code)
    # The level, LOAD_CONST fromlist, IMPORT_NAME: that load is of None in what Python compiles.
    loads = ("LOAD_CONST", "LOAD_COMMON_CONSTANT")
    names = next(one for one in dis.get_instructions(ours) if one.opname in loads and one.argval is None)
    data[names.offset : names.offset + 2] = dis.opmap["LOAD_CONST"], len(consts) - 1
    original = ours.replace(co_code=bytes(data), co_consts=consts)
    seen = []

    def note(name: str, space: object, local: object, fromlist: object, level: int) -> object:
        seen.append(fromlist)

    for code in (original, with_empty_fromlists(ours, original), ours):
        FunctionType(code, {"__builtins__": {"__import__": note}})()
    assert seen == [(), (), None]


@newer_bytecode
def test_a_nested_class_stores_the_qualified_name_of_the_original() -> None:
    source = textwrap.dedent("""
        def f():
            class C:
                where = __qualname__
            return C
    """)
    ours = function_code(source)
    original = ours.replace(co_qualname="Outer.f", co_consts=tuple(
        const.replace(co_qualname="Outer.f.<locals>.C") if isinstance(const, CodeType) else const
        for const in ours.co_consts
    ))
    restored = Restorer({}, {}, 0, ("f", "Outer.f"), original).code(ours, original)
    made = FunctionType(restored, {"__name__": "m"})()
    assert made.__qualname__ == made.where == "Outer.f.<locals>.C"
