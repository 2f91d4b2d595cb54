"""Dynamo's frames get descriptive names and no superfluous statements."""

from __future__ import annotations

import pytest

from depyf.decompiler.pipeline import decompile_frame
from depyf.torch_hooks.frames.functions import resume_parameters
from depyf.torch_hooks.internals.generated_code import DYNAMO

torch = pytest.importorskip("torch")

from torch_probes import CALLS_SIZE, TIMES_FRAMES, needs  # noqa: E402


@pytest.fixture(scope="module")
def text() -> str:
    """Return the text of the frame of a module with parameters, compiled with dynamic shapes."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.linear(x)

    texts = []
    handle = register_bytecode_hook(lambda code, new: texts.append(decompile_frame(new, reference=code, generator=DYNAMO).source))
    try:
        torch.compile(Layer(), backend="eager", dynamic=True)(torch.ones(3, 4))
    finally:
        handle.remove()
        torch._dynamo.reset()
    (text,) = texts
    return str(text)


@needs(TIMES_FRAMES, "local for each part of a module")
def test_values_taken_out_of_a_dictionary_have_the_names_of_their_keys(text: str) -> None:
    assert "weight = parameters['weight']" in text
    assert "bias = parameters['bias']" in text


def test_a_temporary_that_holds_an_argument_has_the_name_of_the_argument(text: str) -> None:
    assert ("call_size(x, 0)" if CALLS_SIZE else "x.size(0)") in text
    assert ":=" not in text


def test_temporaries_are_deleted_in_one_statement(text: str) -> None:
    assert [line.split()[0] for line in text.splitlines()].count("del") <= 1


@needs(TIMES_FRAMES, "clock in each frame")
def test_values_that_dynamo_adds_to_every_frame_have_descriptive_names(text: str) -> None:
    assert "pregraph_timer = " in text
    assert "tmp_" not in text


def test_a_variable_that_is_passed_on_after_a_break_keeps_its_name_where_the_frame_has_no_other_use_for_it() -> None:
    from torch._dynamo.convert_frame import register_bytecode_hook

    def toy(a, b):  # type: ignore[no-untyped-def]
        x = a / (torch.abs(a) + 1)
        torch._dynamo.graph_break()
        return x * b

    def reads_its_names(a, b):  # type: ignore[no-untyped-def]
        x = a + 1
        torch._dynamo.graph_break()
        return x * b, len(locals())

    def hook(code, new):  # type: ignore[no-untyped-def]
        hints = resume_parameters(code, new)
        texts.append(decompile_frame(new, reference=code, hints=hints, generator=DYNAMO))

    texts = []
    handle = register_bytecode_hook(hook)
    try:
        for function in (toy, reads_its_names):
            torch.compile(function, backend="eager")(torch.ones(3), torch.ones(3))
    finally:
        handle.remove()
        torch._dynamo.reset()
    assert all(text.proved for text in texts if "locals" not in text.source)
    assert "    x = graph_out_0[0]\n" in texts[0].source and "x_1" not in texts[0].source
