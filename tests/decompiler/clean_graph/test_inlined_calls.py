"""A call that the compiler writes as a loop is shown as the call, wherever it stands."""

from __future__ import annotations

import pytest
from decompile_tools import assert_same_text


@pytest.mark.parametrize("name", ["all", "any", "tuple"])
def test_a_call_over_a_generator_expression_is_a_call(name: str) -> None:
    assert_same_text(f"""
        def f(a, b):
            x = {name}(y for y in a)
            if {name}(y.z for y in b if y) and a:
                return [{name}(y + z for y in (a if x else b)) for z in a]
            while {name}(y for y in [z for z in a]):
                with {name}(y for y in a) as c:
                    return {name}(y for y in c) or b
            return {name}(y for y in a)
    """)


@pytest.mark.parametrize("name", ["all", "any", "tuple"])
def test_a_call_of_a_variable_of_that_name_is_a_call(name: str) -> None:
    assert_same_text(f"""
        def f({name}, b):
            return {name}(y for y in b)
    """)
