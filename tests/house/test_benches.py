"""The tools in bench/ that judge the decompiler: what they say must be right, or a failure would be overlooked."""

from __future__ import annotations

import random
import sys
from types import CodeType
from typing import Optional

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from equivalent import reason  # noqa: E402
from minimise import smallest  # noqa: E402
from mutants import MUTATIONS, changed  # noqa: E402

from depyf.decompiler.decode import decode  # noqa: E402
from depyf.decompiler.prove.proof import Proof  # noqa: E402

LONG = '''
import os

class Kept:
    """Documented."""

    other = 1

    @property
    def method(self, first=1, *rest, **named) -> int:
        for item in rest:
            if item > 3 and first:
                with open(item) as file:
                    print(file.read(), named["wanted"][0])
            else:
                first += 1
        return first
'''


def asks_for_wanted(code: CodeType) -> Optional[str]:
    return "asks for it" if "wanted" in code.co_consts else None


def test_a_failing_function_is_shown_without_what_has_nothing_to_do_with_the_failure() -> None:
    assert smallest(LONG, "method", 9, asks_for_wanted, seconds=60) == 'def method():\n    """wanted"""'


def test_what_does_not_fail_has_no_smallest_form() -> None:
    assert smallest(LONG, "method", 9, lambda code: None, seconds=60) is None


def function_with_handler(x):
    try:
        x()
    except ValueError as error:
        print(error)
    return x


def kept(x):
    y = x()
    x.a = y
    y = 3
    return x(y)


@pytest.mark.parametrize("value", [1, "text", 2.5])
def test_a_reason_is_given_only_where_nothing_can_tell_the_mutant_apart(value: object) -> None:
    program = decode(function_with_handler.__code__)
    cleared = [i for i, op in enumerate(program.ops) if op.kind == "STORE_LOCAL" and program.ops[i - 1].kind == "CONST"]
    assert cleared
    for at in cleared:
        mutant = changed(program, at - 1, arg=value)
        assert reason(program, mutant, at - 1) is not None  # `error = None` just before `del error`
    program = decode(kept.__code__)
    seen = next(i for i, op in enumerate(program.ops) if op.kind == "CONST" and op.arg == 3)
    assert reason(program, changed(program, seen, arg=value), seen) is None
    store = next(i for i, op in enumerate(program.ops) if op.kind == "STORE_LOCAL")
    held = MUTATIONS["keep a value"](program, store, program.ops[store], random.Random(0))
    assert held is not None and reason(program, held, store) is None  # y gets another value before the frame ends


def handler_in_handler(x):
    try:
        x()
    except ValueError:
        try:
            x.a()
        except KeyError:
            pass


def test_a_jump_to_where_a_handler_wants_more_stack_than_there_is_is_not_accepted() -> None:
    program = decode(handler_in_handler.__code__)
    outer, inner = (i for i, op in enumerate(program.ops) if op.kind == "BRANCH_FALSE")
    mutant = changed(program, outer, target=program.ops[inner].target)
    assert not Proof(None, frozenset()).compared(program, mutant).holds
