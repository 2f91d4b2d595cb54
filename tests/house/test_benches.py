"""The benchmarks judge the decompiler correctly, or a failure would be overlooked."""

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
from zoo_checks import anonymous_names, is_story_of  # noqa: E402

from depyf.decompiler.decode import decode  # noqa: E402
from depyf.decompiler.prove.proof_attempts import Proof  # noqa: E402

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


def fails_on_wanted(code: CodeType) -> Optional[str]:
    return "asks for it" if "wanted" in code.co_consts else None


def test_a_failing_function_is_reduced_to_what_makes_it_fail() -> None:
    assert smallest(LONG, "method", 9, fails_on_wanted, seconds=60) == 'def method():\n    """wanted"""\n'


def test_a_failing_import_is_reduced_to_the_name_that_makes_it_fail() -> None:
    imports_wanted = lambda code: "wanted" if "wanted" in code.co_names else None  # noqa: E731
    source = "def f():\n    from a import b, wanted\n"
    assert smallest(source, "f", 1, imports_wanted, seconds=60) == "def f():\n    from a import wanted\n"


def test_a_function_that_does_not_fail_is_not_reduced() -> None:
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
def test_a_mutant_is_called_equivalent_only_if_no_program_can_distinguish_it(value: object) -> None:
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


def test_a_jump_into_a_handler_that_needs_a_deeper_stack_is_refuted() -> None:
    program = decode(handler_in_handler.__code__)
    outer, inner = (i for i, op in enumerate(program.ops) if op.kind == "BRANCH_FALSE")
    mutant = changed(program, outer, target=program.ops[inner].target)
    assert not Proof(None, frozenset()).compared(program, mutant).holds


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("# What torch.compile did to LlamaModel.forward (modeling_llama.py:352).", True),
        ("# What torch.compile did to forward (modeling_llama.py:352).", False),
        ("# The original: can_return_tuple.<locals>.wrapper   (generic.py:9)", False),
        ("# inner, compiled version 1 of 2   (compile id 0/0)", False),
    ],
)
def test_the_zoo_reports_stories_under_names_of_nothing(line: str, known: bool) -> None:
    stories = {"full_code_for_LlamaModel.forward_0.py": line}
    assert (not list(anonymous_names({"functions": []}, stories, ""))) == known


def test_the_zoo_reports_summaries_that_point_elsewhere() -> None:
    story = "full_code_for_Inner.forward_0.py"
    stories = {story: "# What torch.compile did to Inner.forward (net.py:3)."}
    assert is_story_of(f"/dump/{story}", stories, "Inner.forward")
    assert not is_story_of(f"/dump/{story}", stories, "Outer.forward")
    assert not is_story_of("", stories, "Outer.forward")
