"""Code with two locals of one name, as Dynamo of some versions of torch makes it: shown, if one of them is not used."""

from types import FunctionType

from depyf.decompiler.attempt.unused_namesakes import named_apart
from depyf.decompiler.pipeline import decompile_frame
from depyf.decompiler.prove import Grade


def example(x, c):
    if c:
        return x
        b = 1
    a = x + 1
    return a * a


def with_locals(function, names):
    assert len(function.__code__.co_varnames) == len(names)
    return function.__code__.replace(co_varnames=names)


def test_a_local_that_is_never_used_may_have_the_name_of_another_one():
    assert example.__code__.co_varnames == ("x", "c", "b", "a")
    code = with_locals(example, ("x", "c", "a", "a"))
    result = decompile_frame(code, reference=example.__code__)
    assert result.proved, result.verdict
    shown = FunctionType(result.code, {})
    assert [shown(3, False), shown(3, True)] == [16, 3]


def test_the_slot_that_is_used_keeps_the_name():
    assert named_apart(with_locals(example, ("x", "c", "a", "a"))).co_varnames == ("x", "c", "a_unused_1", "a")
    assert named_apart(with_locals(example, ("x", "c", "c", "a"))).co_varnames == ("x", "c", "c_unused_1", "a")


def test_two_locals_in_use_with_one_name_are_not_proved():
    def both(x):
        first = x + 1
        second = first * 2
        return second - first

    for names in (("x", "first", "first"), ("x", "x", "second")):
        code = with_locals(both, names)
        assert named_apart(code) is code
        assert decompile_frame(code, reference=both.__code__).verdict.grade == Grade.UNPROVED


def test_code_whose_locals_have_names_of_their_own_is_not_made_anew():
    assert named_apart(example.__code__) is example.__code__
