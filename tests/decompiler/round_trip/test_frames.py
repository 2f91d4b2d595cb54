"""Frames as Dynamo generates them: names, defaults, lifetimes and line numbers survive."""

from __future__ import annotations

import gc
import weakref

import pytest

import depyf
from depyf.decompiler.bytecode.location_table import lines_of
from depyf.decompiler.pipeline import decompile_frame
from depyf.torch_hooks.internals.generated_code import DYNAMO


def outer():
    count = 0

    def step(x):
        nonlocal count
        count += 1
        return x + count

    return step


def call_with_empty_keywords(function, args):
    return function(*args, **{})


def test_a_function_with_nonlocal_is_shown_as_valid_python() -> None:
    text = depyf.decompile(outer())
    compile(text, "shown", "exec")
    assert "nonlocal count" in text


def around(count):
    class Inner:
        def around(self):
            return count, around

        def step(self):
            nonlocal count
            count = step  # noqa: F821
            return around

    return Inner


def test_a_method_that_reads_a_global_of_its_own_name_still_reads_the_global() -> None:
    for method in (around(1).around, around(1).step):
        result = decompile_frame(method.__code__)
        assert result.proved, result.verdict
        lines = result.source.splitlines()
        assert result.code is not None
        assert lines[result.code.co_firstlineno - 1].strip() == f"def {method.__name__}(self):"


def test_a_call_with_an_empty_keyword_mapping_is_proved() -> None:
    assert decompile_frame(call_with_empty_keywords.__code__).proved


def test_defaults_and_annotations_of_a_function_are_kept() -> None:
    def function(a, b: int = 1, *, key="k", **rest) -> bool:
        return a

    assert depyf.decompile(function).startswith("def function(a, b: 'int' = 1, *, key='k', **rest) -> 'bool':")


def test_a_default_that_no_text_can_spell_is_named_and_explained() -> None:
    def function(a=[object()]):  # noqa: B006, B008
        return a

    text = depyf.decompile(function)
    assert "# __constant_0 is a list of 1" in text and "a=__constant_0" in text


@pytest.mark.parametrize("bad", [print, len, int, object(), 3, "text", None, type("Empty", (), {})])
def test_an_object_without_bytecode_is_a_clear_type_error(bad: object) -> None:
    with pytest.raises(TypeError, match="no Python bytecode"):
        depyf.decompile(bad)


def test_tensors_that_dynamo_frees_early_are_not_kept_alive(tmp_path) -> None:
    torch = pytest.importorskip("torch")

    def run() -> list[int]:
        torch._dynamo.reset()
        made: list[weakref.ref] = []
        alive: list[int] = []

        def backend(graph, inputs):
            def call(*args):
                outputs = graph.forward(*args)
                made.extend(weakref.ref(output) for output in outputs if isinstance(output, torch.Tensor))
                return outputs

            return call

        @torch._dynamo.disable
        def look(tensor):
            gc.collect()
            alive.append(sum(ref() is not None for ref in made))
            return tensor

        @torch.compile(backend=backend)
        def function(x):
            first = x + 1
            second = look(first * 2)
            del first
            third = look(second + 3)
            if third.sum() > 0:
                third = look(third - 1)
            return third

        function(torch.ones(4))
        return alive

    plain = run()
    with depyf.prepare_debug(str(tmp_path / "dump")):
        shown = run()
    assert shown == plain


def test_a_nested_function_that_only_passes_a_free_variable_on_gives_valid_python():
    between = 1

    def outer(x):
        def inner(y):
            nonlocal between
            return y

        return inner(x)

    text = decompile_frame(outer.__code__).source
    assert "nonlocal between" in text
    compile(text, "<text>", "exec", dont_inherit=True)
    assert decompile_frame(outer.__code__).code.co_freevars == ("between",)


@pytest.mark.parametrize("length", range(80, 100))
def test_line_numbers_match_the_text_when_an_enclosing_scope_narrows_it(length: int) -> None:
    name = "x" * (length - 60)
    arguments = ", ".join(["first_argument", "second_argument", "third_argument", name])
    text = f"""
def around(count):
    def step({arguments}):
        nonlocal count
        count = first_argument({arguments})
        return count
    return step
"""
    namespace: dict = {}
    exec(compile(text, "given", "exec"), namespace)
    result = decompile_frame(namespace["around"](0).__code__)
    assert result.code is not None
    (scope,) = [const for const in compile(result.source, "shown", "exec").co_consts if hasattr(const, "co_code")]
    (shown,) = [const for const in scope.co_consts if hasattr(const, "co_code")]
    assert lines_of(result.code) == lines_of(shown)


def test_a_code_constant_is_annotated_with_the_place_of_its_source() -> None:
    def made(function):
        return function(1001, 1002)

    step = outer().__code__
    given = {1001: step, 1002: globals()}  # constants of the frame, as Dynamo adds them
    code = made.__code__.replace(co_consts=tuple(given.get(const, const) for const in made.__code__.co_consts))
    text = decompile_frame(code).source
    name = getattr(step, "co_qualname", step.co_name)
    assert f"is the code of {name}, whose text is at {__file__}:{step.co_firstlineno}\n" in text
    assert f"is the dictionary of the global variables of {__name__}\n" in text


def test_a_nested_closure_over_an_unused_variable_gives_a_file_that_compiles():
    def make(variable):
        def frame(x):
            def rest(y):
                nonlocal variable
                return y * 2

            return rest(x)

        return frame

    frame = make(1)
    result = decompile_frame(frame.__code__)
    assert result.proved and result.code.co_freevars == frame.__code__.co_freevars
    compile(result.source, "frame", "exec", dont_inherit=True)


def test_the_prologue_of_torch_2_15_has_descriptive_names():
    def original(x):
        return x + 1

    def made(x):
        tmp_3 = __import_torch_dot_autograd_dot_profiler._is_profiler_enabled  # noqa: F821
        tmp_2 = __import_torch_dot__dynamo_dot_utils  # noqa: F821
        tmp_1 = None
        if tmp_3:
            tmp_1 = tmp_2.record_pregraph_bytecode_enter()
        x.check()
        if tmp_1 is not None:
            tmp_2.record_pregraph_bytecode_exit(tmp_1)
        return __compiled_fn_1(x)  # noqa: F821

    result = decompile_frame(made.__code__, reference=original.__code__, generator=DYNAMO)
    assert result.proved and "tmp_" not in result.source
    assert "pregraph_timer = dynamo_utils.record_pregraph_bytecode_enter()" in result.source
