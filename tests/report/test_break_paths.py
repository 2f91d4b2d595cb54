"""A graph break names the calls that lead to it from the function's own line, and what became of each function there."""

from __future__ import annotations

import inspect
import re

import pytest

torch = pytest.importorskip("torch")

from torch_probes import EXPLAINS_BREAKS, NAMES_FIRST_BREAK, REPORTS_FIRST_RAISE, needs  # noqa: E402

import depyf  # noqa: E402


class Layer(torch.nn.Module):
    def forward(self, x):
        x = x.sin()
        print("in a layer")
        return x + 1


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(), Layer()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)  # in the encoder
        return x


class Head(torch.nn.Module):
    def forward(self, x):
        print("in the head")
        return x.cos()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = Head()

    def forward(self, x):
        x = x * 2
        x = self.encoder(x)  # in the model
        return self.head(x)  # at the end of the model


def stories(folder, function, *inputs):
    """Compile and call a function; return {name in the file name of a story: its text, comments joined}."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager")
    with depyf.prepare_debug(folder) as context:
        for one in inputs or (torch.ones(3),):
            compiled(one)
    assert not context.record.problems
    files = {
        path.name[len("full_code_for_") : -len(".py")]: path.read_text() for path in folder.glob("full_code_for_*")
    }
    return {name: re.sub(r"\n *# +", " ", text) for name, text in files.items()}


def line_of(text):
    """Return `file:line` of the only line of this file that ends so."""
    lines = inspect.getsource(inspect.getmodule(line_of)).split("\n")
    (number,) = [number for number, line in enumerate(lines, start=1) if line.endswith(text)]
    return f"test_break_paths.py:{number}"


def test_the_way_to_a_break_begins_at_the_functions_own_line_though_all_are_called_forward(tmp_path):
    found = stories(tmp_path, Model())
    model, layer = line_of("# in the model"), line_of("# in the encoder")
    assert (
        f"by way of {model}: x = self.encoder(x)  # in the model then {layer}: x = layer(x)" in found["Model.forward_0"]
    )
    assert f"by way of {layer}: x = layer(x)" in found["Encoder.forward_0"]


def test_the_way_in_a_resume_function_begins_at_a_line_of_the_function_that_it_continues(tmp_path):
    rest = stories(tmp_path, Model())["Model.forward_0"].partition("Resume function ")[2]
    assert f"by way of {line_of('# at the end of the model')}: return self.head(x)" in rest


def test_only_functions_on_the_way_are_named_with_what_became_of_them(tmp_path):
    model = stories(tmp_path, Model())["Model.forward_0"]
    first = model.partition("break: ")[2].partition("then: ")[0]
    assert f"{line_of('# in the model')} runs as it is, and of what it calls" in first
    assert "Encoder.forward is left to Python (a graph break inside a loop" in first
    assert "full_code_for_Encoder.forward_0.py" in first
    assert "Layer.forward is compiled on its own: full_code_for_Layer.forward_0.py" in first
    assert "Head.forward" not in first


def test_a_function_that_is_left_to_python_names_the_stories_of_those_that_it_calls(tmp_path):
    encoder = stories(tmp_path, Model())["Encoder.forward_0"]
    assert "Of what it calls Layer.forward is compiled on its own: full_code_for_Layer.forward_0.py" in encoder


class Hooked(torch.nn.Module):
    def forward(self, x):
        return x.tanh()


class Blocks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.Sequential(Hooked(), Hooked())
        for block in self.blocks:
            block.register_forward_pre_hook(lambda module, arguments: print("hook"))

    def forward(self, x):
        return self.blocks(x + 1) * 2


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
def test_a_broken_call_names_the_story_that_has_the_work(tmp_path):
    found = stories(tmp_path, Blocks())
    assert "of what it calls" in found["Blocks.forward_0"]
    assert "Hooked.forward is compiled on its own: full_code_for_Hooked.forward_0.py" in found["Blocks.forward_0"]


def shout(module, arguments, output):
    print("hook")


class Shouting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleDict({"first": Hooked(), "rest": torch.nn.Sequential(Hooked(), Hooked())})
        for part in (self.parts["first"], *self.parts["rest"]):
            part.register_forward_hook(shout)

    def forward(self, x):
        x = self.parts["first"](x)
        return self.parts["rest"](x) * 2


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
def test_a_hook_is_called_one_and_the_modules_that_have_it_are_named(tmp_path, capsys):
    found = stories(tmp_path, Shouting())
    modules = "a hook of parts.first, parts.rest[0], parts.rest[1]"
    assert f"shout, {modules}, is " in found["Shouting.forward_0"]
    assert f"It is {modules}: torch runs it when they are called." in found["shout_0"]
    summary = capsys.readouterr().err
    assert f"in shout, {modules}\n" in summary
    assert "1 graph break (reached in " in summary and "reached in 2 ways:" in summary


def kept(function):
    def wrapper(self, x):
        try:
            return function(self, x)  # in the wrapper
        finally:
            self.calls += 1

    wrapper.__wrapped__ = function
    return wrapper


class Kept(torch.nn.Module):
    calls = 0

    @kept
    def forward(self, x):
        for _ in range(2):
            print("in a loop")
            x = x + 1
        return x


def test_wrappers_have_titles_of_their_own_and_no_story_counts_them_as_compiled(tmp_path):
    found = stories(tmp_path, Kept())
    assert len({text.partition("\n")[0] for text in found.values()}) == len(found)
    wrapper = found["kept_of_Kept.forward_0"]
    assert wrapper.startswith("# What torch.compile did to the decorator kept of Kept.forward (")
    assert "Dynamo compiled no version of it. Below is why." in wrapper
    assert (
        "Dynamo met it with its decorator: kept" in wrapper
        and "What Dynamo was to compile: the decorator kept" in wrapper
    )
    assert "Dynamo compiled it" not in wrapper and "What Dynamo compiled" not in wrapper


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
def test_the_reason_why_dynamo_cannot_resume_is_the_block_around_the_line(tmp_path):
    wrapper = stories(tmp_path, Kept())["kept_of_Kept.forward_0"]
    place = line_of("# in the wrapper")
    number = int(place.rpartition(":")[2])
    assert f"line {number} is inside the `try` of line {number - 1}: Dynamo does not resume there" in wrapper


def masked(x, mask):
    if torch.compiler.is_compiling():
        mask = None
    return x * mask[:, None]  # raises while it is traced


class Closing:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False


def with_finally(x):
    steps = [x]
    try:
        return masked(x, torch.ones(3))
    finally:
        steps.pop()  # once more in the finally


def with_exit(x):
    with Closing():  # once more in the with
        return masked(x, torch.ones(3))


class OwnError(ValueError):
    pass


def with_own_error(x):
    steps = [x]
    try:
        if torch.compiler.is_compiling():
            raise OwnError("no")  # raises an error of its own
        return x + 1
    finally:
        steps.pop()


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
@pytest.mark.parametrize(("function", "again"), [(with_finally, "finally"), (with_exit, "with")])
def test_an_exception_that_is_raised_once_more_names_the_line_that_raised_it_first(tmp_path, function, again):
    story = stories(tmp_path, function)[f"{function.__name__}_0"]
    raised = line_of("# raises while it is traced")
    assert f"at {raised}: return x * mask[:, None]" in story
    assert (f"raised at {raised}" in story) is not REPORTS_FIRST_RAISE
    assert (f"at {line_of(f'# once more in the {again}')}" in story) is not REPORTS_FIRST_RAISE
    assert "masked is left to Python" in story and "full_code_for_masked_0.py" in story
    assert "the exception leaves the function: there is nothing to resume" in story
    summary = (tmp_path / "summary.txt").read_text()
    assert f"graph break at {__file__}:{raised.rpartition(':')[2]}: " in summary and ", 1 graph break\n" in summary
    more = f"raised once more at {__file__}:{line_of(f'# once more in the {again}').rpartition(':')[2]}: "
    assert (more in summary) is not REPORTS_FIRST_RAISE


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
def test_an_exception_whose_line_is_that_of_the_break_is_named_once(tmp_path):
    story = stories(tmp_path, with_own_error)["with_own_error_0"]
    assert f"at {line_of('# raises an error of its own')}" in story and "raised at" not in story


def breaks_below(x):
    print("below")
    return x + 1


def above(x):
    return breaks_below(x)


def twice(x):
    x = above(x)
    torch._dynamo.graph_break()
    return above(torch.cat([x, x]))


def test_a_break_that_another_call_reaches_again_is_described_once(tmp_path):
    text = stories(tmp_path, twice)["above_0"]
    words = "does not know how to trace builtin operator `print`" if EXPLAINS_BREAKS else "ConstantVariable"
    assert text.count(words) == 1, text
    assert re.search(r'break: +test_break_paths\.py:\d+: print\("below"\) +\(as in 1/0\)', text), text


class Middle(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.rest = Hooked(), torch.nn.ModuleList([Hooked(), Hooked()])
        for one in (self.first, *self.rest):
            one.register_forward_pre_hook(lambda module, arguments: print("hook"))

    def forward(self, x):
        x = self.first(x)
        for one, other in zip(self.rest, self.rest[1:]):
            if torch.is_grad_enabled() and self.training is None:
                if one is not None:
                    x = one(x)
                x = other(x, x)
            else:
                if one is not None:
                    x = one(x)
                x = other(x)
        return x


def test_a_resume_function_that_tests_for_none_in_a_loop_is_shown_as_source(tmp_path):
    rest = stories(tmp_path, Middle())["Middle.forward_0"].partition("Resume function ")[2]
    assert "this is its decompiled source" in rest and "if one is not None:" in rest


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()
        self.layers = torch.nn.ModuleList([Layer(), Layer()])

    def forward(self, x):
        x = self.head(x)
        for layer in self.layers:
            x = layer(x)
        return x


class Other(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tail = Tail()

    def forward(self, x):
        print("before the tail")
        return self.tail(x)


class Tail(torch.nn.Module):
    def forward(self, x):
        print("in the tail")
        return x.tan()


class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Other(), Pair()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


def test_the_rest_of_a_function_names_no_story_of_what_another_of_its_name_calls(tmp_path):
    text = stories(tmp_path, Both())["Pair.forward_0"]
    assert "Layer.forward is" in text
    assert "Tail.forward is" not in text
