"""How Dynamo's frames read: names that tell, and nothing said that a person would not say."""

from __future__ import annotations

import pytest

from depyf.decompiler.pipeline import decompile_frame

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def text() -> str:
    """The frame of a module with parameters, compiled for shapes that change."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.linear(x)

    texts = []
    handle = register_bytecode_hook(lambda code, new: texts.append(decompile_frame(new, reference=code).source))
    try:
        torch.compile(Layer(), backend="eager", dynamic=True)(torch.ones(3, 4))
    finally:
        handle.remove()
        torch._dynamo.reset()
    (text,) = texts
    return str(text)


def test_values_taken_out_of_a_dictionary_have_the_names_of_their_keys(text: str) -> None:
    assert "weight = parameters['weight']" in text
    assert "bias = parameters['bias']" in text


def test_a_temporary_of_dynamos_that_is_an_argument_is_called_by_the_arguments_name(text: str) -> None:
    assert "call_size(x, 0)" in text
    assert ":=" not in text


def test_temporaries_go_in_one_statement(text: str) -> None:
    assert [line.split()[0] for line in text.splitlines()].count("del") <= 1


def test_what_dynamo_keeps_in_every_frame_has_a_name_and_names_are_made_of_names_that_tell(text: str) -> None:
    assert "pregraph_timer = " in text
    assert "tmp_" not in text
