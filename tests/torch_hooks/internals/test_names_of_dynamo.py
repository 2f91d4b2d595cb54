"""What Dynamo adds to a frame is known by name, so that the text shows the user's code and not Dynamo's."""

from __future__ import annotations

import functools
import subprocess
import sys

import pytest

from depyf.torch_hooks.internals.generated_code import (
    DYNAMO,
    MAYBE_DYNAMO,
    is_installed_global,
    original_function,
    short_name,
    tracing_marks,
)
from depyf.torch_hooks.internals.stable_names import RESUME_NAME


@pytest.mark.parametrize("name", ["__compiled_fn_1", "__resume_at_30_2", "__import_torch", "__comprehension_3"])
def test_globals_that_dynamo_installs_are_constant(name):
    assert is_installed_global(name) and not is_installed_global(name.lstrip("_"))


def test_marks_of_resume_functions_are_dynamos_unless_the_user_passes_them():
    def resumed(x):
        __is_tracing_resume_prologue = True
        return x

    def handed_in(__is_tracing_resume_prologue):
        return __is_tracing_resume_prologue

    assert tracing_marks(resumed.__code__) == ("__is_tracing_resume_prologue",)
    assert tracing_marks(handed_in.__code__) == ()


def test_modules_and_the_timer_of_dynamo_get_short_names():
    assert short_name("import_torch_dot__dynamo_dot_utils") == "dynamo_utils"
    assert short_name("record_pregraph_bytecode_enter_result") == "pregraph_timer"
    assert short_name("graph_out_0") == ""


def test_a_resume_function_is_recognised_by_its_name_with_a_random_id_too():
    match = RESUME_NAME.match("__resume_at_30_2_d8065403_e292_4aa4_9a4e_2a1b0f6a9c7d")  # torch 2.8
    assert match is not None and match["offset"] == "30" and RESUME_NAME.match("__resume_at_30_2")
    assert RESUME_NAME.match("__resume_at_30_2_of_mine") is None


def test_nothing_is_assumed_about_globals_of_code_that_runs_later():
    assert MAYBE_DYNAMO.constant_globals is None and DYNAMO.constant_globals is not None
    assert MAYBE_DYNAMO.own_locals is DYNAMO.own_locals


def test_only_a_wrapper_of_torch_itself_is_taken_off():
    def users(x):
        return x

    @functools.wraps(users)
    def wrapper(x):
        return users(x)

    wrapper._torchdynamo_orig_callable = users
    assert original_function(wrapper) is wrapper
    torch = pytest.importorskip("torch")
    assert original_function(torch.compile(users, backend="eager")) is users


def test_it_needs_no_torch():
    program = "import sys, depyf.torch_hooks.internals.generated_code; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "False\n"
