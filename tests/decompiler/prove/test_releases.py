"""When values die: a finalizer may do anything, so a text that frees a value at another moment is another program."""

from __future__ import annotations

import sys

import pytest
from decompile_tools import assert_proved, function_code

from depyf.decompiler import decompile_frame
from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.decompiler.prove import Assumption, Grade, prove
from depyf.decompiler.prove.machine_state import Side
from depyf.decompiler.prove.releases import unwound
from depyf.decompiler.prove.terms import Terms

ORDER, TEMPORARIES, BY_VALUE = Assumption.RELEASE_ORDER, Assumption.TEMPORARIES, Assumption.TUPLES_BY_VALUE

# Bodies of `def f(a, b)`: what the original does, what the text does, and what has to be assumed; None: not equal.
PAIRS = {
    "a result is freed before a global is read, or after it": ("k()\n h()", "(k(), h)[1]()", (ORDER,)),
    "a result is freed before the function's result is read": ("t = None\n t = k()\n u = h\n t = None\n return u",
                                                               "t = None\n k()\n u = h\n return u", (ORDER,)),
    "two variables are emptied in another order": ("a = b = None", "b = a = None", (ORDER,)),
    "two variables are deleted in another order": ("del a, b", "del b, a", (ORDER,)),
    "variables die in the order of their first use": ("x = k(); y = k()\n return 1",
                                                      "if 0: y = 1\n x = k(); y = k()\n return 1", (ORDER,)),
    "a tuple dies from its end on": ("(k(), k())", "k(), k()", ()),
    "a list holds a value twice, which dies with the lower place": ("x = k()\n y = [a, x, a]", "x = k()\n y = [x, a, a]", (ORDER,)),
    "a list twice in another one dies with the lower place": ("x = [k()]; y = [a, x, b, x]", "x = [k()]; y = [x, a, b, x]", (ORDER,)),
    "a value twice in a list that is replaced in another": ("x = k(); y = [[a, x, a]]\n a = x = None\n y[0] = 1\n return y",
                                                            "x = k(); y = [[x, a, a]]\n a = x = None\n y[0] = 1\n return y",
                                                            (ORDER,)),
    "an update replaces two values in another order": ("{**{'x': k(), 'y': k()}, **{'y': 1, 'x': 2}}",
                                                       "{**{'x': k(), 'y': k()}, **{'x': 2, 'y': 1}}", None),
    "a dict that holds itself is left to the garbage collector": ("x = {'y': k()}\n x['x'] = x", "x = {'y': k()}", (ORDER,)),
    "of two missing globals another one is named": ("return (g, h)", "y = h\n return (g, y)", (TEMPORARIES,)),
    "a missing global is noticed before a variable is set": ("x = a\n g\n k()", "g\n x = a\n k()", (ORDER,)),
    "a tuple holds the arguments while the function runs": ("return k(*(a,))", "return k(a)", (TEMPORARIES, ORDER)),
    "one tuple twice, or two equal ones": ("t = u = (a, b)\n return k(t, u)", "t = (a, b)\n u = (a, b)\n return k(t, u)",
                                           (BY_VALUE, ORDER)),
    "a value in a variable of the user's is freed early": ("x = k()\n h()\n x = None", "x = None\n k()\n h()\n x = None", None),
    "elements that have one hash are compared in their order": ("return a in {-1, -2}", "return a in {-2, -1}", None),
    "elements of a set are compared by their hash first": ("return a in {1, 2, 3}", "return a in {3, 2, 1}", ()),
}  # fmt: skip


@pytest.mark.parametrize("which", PAIRS)
def test_a_value_that_dies_at_another_moment_is_never_proved_without_an_assumption(which: str) -> None:
    left, right, expected = PAIRS[which]
    if "if 0:" in right and sys.version_info < (3, 10):
        pytest.skip("dead code leaves no variables behind")
    a, b = function_code(f"def f(a, b):\n {left}"), function_code(f"def f(a, b):\n {right}")
    verdict = prove(a, b)
    if expected is None:
        assert not verdict.holds
    else:
        assert verdict.holds, verdict
        assert verdict.assumptions == expected


def test_a_value_that_the_stack_holds_twice_dies_with_its_lower_entry() -> None:
    terms = Terms()
    one, other = terms.symbol(), terms.symbol()
    assert unwound(terms, Side(), [one, other, one], 0) == [other, one]


def test_tuples_that_hold_each_other_twice_are_walked_once() -> None:
    body = "t = (a, b)" + "\n t = (t, t)" * 38 + "\n k(t)\n t = None\n return 1"  # 2 ** 38 references to `a`
    assert prove(function_code(f"def f(a, b):\n {body}"), function_code(f"def f(a, b):\n if 0: x = 1\n {body}")).holds


class Witness:
    """A value whose death is recorded."""

    def __init__(self, log: list, name: str) -> None:
        self.log, self.name = log, name

    def __del__(self) -> None:
        self.log.append(self.name)


@pytest.mark.parametrize(
    ("body", "order"),
    [
        ("(make(1), make(2))", [2, 1]),
        ("[make(1), make(2)]", [2, 1]),
        ("{'x': make(1), 'y': make(2)}", [1, 2]),
        ("slice(make(1), make(2), make(3))", [3, 1, 2]),
    ],
)
def test_containers_give_up_their_elements_in_the_order_that_the_proof_takes(body: str, order: list) -> None:
    log: list = []
    exec(body, {"make": lambda number: Witness(log, number)})
    assert log == order


@pytest.mark.parametrize(
    "source",
    [
        "def f(k):\n    if k:\n        z = 1\n    z = z\n    return lambda: z\n",
        "def f(x):\n    x = x\n    return x\n",
    ],
)
def test_statements_that_only_seem_to_do_nothing_stay_in_the_text(source: str) -> None:
    found = decompile_frame(function_code(source))
    assert found.source == source
    assert found.verdict.grade is Grade.PROVED


def test_an_unbound_variable_raises_in_the_text_where_it_raises_in_the_code() -> None:
    source = "def f(k):\n    if k:\n        z = 1\n    z = z\n    return lambda: z\n"
    space: dict = {}
    exec(decompile_frame(function_code(source)).source, space)
    with pytest.raises(UnboundLocalError):
        space["f"](0)


def test_objects_that_dynamo_installed_may_be_one_object() -> None:
    a = function_code("def f(x):\n if __import_a is __import_b:\n  return x.y\n return x.z")
    b = function_code("def f(x):\n return x.z")
    assert not prove(a, b, constant_globals=lambda name: name.startswith("__import_")).holds


@pytest.mark.skipif(sys.version_info < (3, 13), reason="SET_FUNCTION_ATTRIBUTE came with 3.13")
def test_attributes_of_a_function_that_are_set_in_another_order_are_other_attributes() -> None:
    a = function_code("def f(a):\n def g(x: int = 3): return x\n return g")
    import dis

    places = [i.offset for i in dis.get_instructions(a) if i.opname == "SET_FUNCTION_ATTRIBUTE"]
    assert len(places) == 2
    swapped = bytearray(a.co_code)
    swapped[places[0] + 1], swapped[places[1] + 1] = swapped[places[1] + 1], swapped[places[0] + 1]
    assert not prove(a.replace(co_code=bytes(swapped)), a).holds


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_which_object_a_constant_is_does_not_keep_a_text_from_being_proved() -> None:
    assert_proved("def f(x):\n    return x is 0.0 or x is ()\n")


@pytest.mark.parametrize("elements", ["{-2, -1, 0}", "{-1, -2, 0}"])
def test_elements_with_one_hash_are_written_in_the_order_in_which_they_are_compared(elements: str) -> None:
    source = f"def f(x):\n    return x in {elements}\n"
    assert assert_proved(source).source == source


def test_a_cell_that_only_dropped_code_made_dies_last_because_the_text_makes_it_too() -> None:
    found = decompile_frame(function_code("def f():\n    c = g()\n    z = m()\n    if 0:\n        lambda: c\n"))
    assert found.verdict.assumptions == ()
    assert "lambda: c" in found.source


def test_variables_that_die_in_another_order_when_a_global_is_missing_are_not_proved_exactly() -> None:
    code = function_code("def f(a):\n b = g()\n c = h()\n m\n b = c = None")
    other = function_code("def f(a):\n (c := 0) if False else 0\n b = g()\n c = h()\n m\n b = c = None")
    verdict = prove(code, other)
    assert other.co_varnames == ("a", "c", "b") and verdict.assumptions == (Assumption.RELEASE_ORDER,), verdict


def test_a_cell_that_has_the_slot_of_a_local_dies_in_the_order_of_that_slot() -> None:
    code = function_code("def f(a, **d):\n d = g()\n b = h()\n return lambda: d")
    local = code.replace(co_flags=code.co_flags & ~0x8)  # `d` is no parameter any more, and keeps its slot
    result = decompile_frame(local)
    # A comprehension that the compiler inlines and drops can put it there.
    assumed = () if RUNNING.comprehensions_are_inlined else (Assumption.RELEASE_ORDER,)
    assert result.proved and result.verdict.assumptions == assumed, result.source
