"""Functions are called what their user calls them, whatever Dynamo compiles of them."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import traced_features as features  # noqa: E402
from capture_tools import module_from  # noqa: E402

import depyf  # noqa: E402
from depyf.record.saved_form import from_json  # noqa: E402
from depyf.torch_hooks.frames import identities  # noqa: E402

X = torch.ones(2, 2)


def preserving(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapper


def careless(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapper


class Scaled:
    """A decorator that is an object."""

    def __call__(self, function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs) * self.factor

        return inner

    factor = 2


class Plain(torch.nn.Module):
    def forward(self, x):
        return x + 2

    def encode(self, x):
        return x + 3


class Decorated(torch.nn.Module):
    @preserving
    @torch.no_grad()
    def forward(self, x):
        return x + 4


class Carelessly(torch.nn.Module):
    @careless
    def forward(self, x):
        return x + 5


class Inherits(Decorated):
    pass


class CallsItsBase(Plain):
    def forward(self, x):
        torch._dynamo.graph_break()
        return super().forward(x) * 2


class CanBeCalled:
    def __call__(self, x):
        return x + 6

    @classmethod
    def of_class(cls, x):
        return x + 7

    @staticmethod
    def of_nothing(x):
        return x + 8


@torch.no_grad()
def without_gradient(x):
    return x + 9


@careless
def carelessly(x):
    return x + 10


@Scaled()
def scaled(x):
    return x + 11


def plain(x):
    return x + 12


def local_class():
    class Local(torch.nn.Module):
        def forward(self, x):
            return x + 13

    return Local()


def replaced_forward():
    """Return a module whose forward was replaced, as accelerate does it."""
    module = Plain()

    def new_forward(module, *args, **kwargs):
        return module._old_forward(*args, **kwargs)

    module._old_forward = module.forward
    module.forward = functools.update_wrapper(functools.partial(new_forward, module), module.forward)
    return module


def hooked():
    module = Plain()
    module.register_forward_hook(lambda *values: None)
    return module


def executed():
    names = {}
    exec("def made(x):\n    return x + 14\n", names)
    return names["made"]


def record_of(folder):
    return from_json((Path(folder) / "manifest.json").read_text())


def compiled(folder, *functions):
    """Compile the functions, call each once, and return the record."""
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)):
        for function in functions:
            torch.compile(function, backend="eager")(X)
    return record_of(folder)


CASES = {
    "plain": (lambda: plain, "plain", []),
    "method": (lambda: Plain().encode, "Plain.encode", []),
    "module": (Plain, "Plain.forward", []),
    "local class": (local_class, "Local.forward", []),
    "module of torch's": (lambda: torch.nn.Sequential(torch.nn.ReLU()), "Sequential.forward", ["wrap_inline"]),
    "decorated": (Decorated, "Decorated.forward", ["preserving", "no_grad"]),
    "inherited": (Inherits, "Inherits.forward", ["preserving", "no_grad"]),
    "decorated without wraps": (Carelessly, "Carelessly.forward", ["careless"]),
    "function without wraps": (lambda: carelessly, "carelessly", ["careless"]),
    "function under no_grad": (lambda: without_gradient, "without_gradient", ["wrap_inline", "no_grad"]),
    "decorator that is an object": (lambda: scaled, "scaled", ["Scaled"]),
    "vmap": (lambda: torch.func.vmap(plain), "plain", ["vmap"]),
    "partial": (lambda: functools.partial(plain), "plain", ["wrap_inline"]),
    "partial of a module": (lambda: functools.partial(Decorated()), "Decorated.forward", None),
    "callable object": (CanBeCalled, "CanBeCalled.__call__", ["wrap_inline"]),
    "class method": (lambda: CanBeCalled.of_class, "CanBeCalled.of_class", []),
    "static method": (lambda: CanBeCalled.of_nothing, "CanBeCalled.of_nothing", []),
    "in C": (lambda: torch.exp, "torch.exp", ["wrap_inline"]),
    "lambda": (lambda: lambda x: x + 15, "<lambda>", []),
    "made by exec": (executed, "made", None),  # older torch wraps a function without a file
    "replaced forward": (replaced_forward, "Plain.forward", ["replaced_forward"]),
    "hooks": (hooked, "Plain.forward", []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_function_is_called_what_its_user_calls_it(tmp_path, case):
    if case == "vmap" and not features.transforms():
        pytest.skip("this torch does not trace the transforms of torch.func")
    make, title, decorators = CASES[case]
    record = compiled(tmp_path, make())
    first = record.function(record.frames[0].function)
    assert first.display_name == title
    if decorators is not None:
        assert [one.function for one in first.decorators] == decorators
    stem = {"<lambda>": "lambda"}.get(title, title)
    assert first.full_code_file == f"full_code_for_{stem}_0.py"
    assert (tmp_path / first.full_code_file).exists()
    assert first.compiled_in_calls


def test_the_story_of_a_decorated_method_has_the_method_its_decorators_and_the_wrapper(tmp_path):
    compiled(tmp_path, Decorated())
    story = (tmp_path / "full_code_for_Decorated.forward_0.py").read_text()
    assert re.match(r"# What torch\.compile did to Decorated\.forward \([^)]*test_identities\.py:\d+\)\.\n", story)
    original, wrapper = story.index("return x + 4"), story.index("def wrapper(*args, **kwargs):")
    assert original < wrapper
    heading = " ".join(story.replace("\n# ", " ").split())
    assert "@preserving" in story and "outermost first: preserving (" in heading and ", no_grad (" in heading


def test_a_wrapper_that_serves_two_models_gives_each_its_own_story(tmp_path):
    record = compiled(tmp_path, Decorated(), Inherits(), preserving(plain))
    titles = [record.function(frame.function).display_name for frame in record.frames]
    assert titles == ["Decorated.forward", "Inherits.forward", "plain"]
    assert len({record.function(frame.function).full_code_file for frame in record.frames}) == 3
    assert len({record.function(frame.function).file for frame in record.frames}) == 1


def test_a_method_reached_by_super_is_called_by_the_class_that_defines_it(tmp_path):
    class Outer(CallsItsBase):
        def forward(self, x):
            x = super().forward(x)
            torch._dynamo.graph_break()
            return x

    record = compiled(tmp_path, Outer())
    titles = {record.function(frame.function).display_name.split(" ")[0] for frame in record.frames}
    assert titles <= {"Outer.forward", "CallsItsBase.forward", "Plain.forward"} and "Outer.forward" in titles


def test_a_resume_function_is_called_by_what_it_continues(tmp_path):
    record = compiled(tmp_path, CallsItsBase())
    resume = next(function for function in record.functions if function.resume_of is not None)
    assert resume.display_name == f"CallsItsBase.forward resumed at line {resume.first_line}"


@dataclasses.dataclass
class Pair:
    left: torch.Tensor

    def __post_init__(self):
        self.right = self.left + 1


def makes_a_pair(x):
    for _ in range(2):
        torch._dynamo.graph_break()
    return Pair(x)


def test_a_method_that_python_generated_is_shown_with_its_dataclass(tmp_path):
    record = compiled(tmp_path, makes_a_pair)
    made = next(function for function in record.functions if function.display_name == "Pair.__init__")
    assert made.file == "<string>" and made.shown_file == __file__
    assert made.original.source.startswith("class Pair:") and made.shown_line > 1
    story = (tmp_path / "full_code_for_Pair.__init___0.py").read_text()
    assert "# Python generated it for this dataclass.\n" in story
    assert "# What Dynamo compiled: Pair.__init__, as Python generated it" in story


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a comprehension has no frame of its own there")
def test_a_comprehension_is_called_by_the_function_that_holds_it():
    def holder(x):
        return [x + number for number in range(1)]

    code = next(one for one in holder.__code__.co_consts if hasattr(one, "co_name"))
    assert identities.of_code(code).title == "test_a_comprehension_is_called_by_the_function_that_holds_it.listcomp"


def recording(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        try:
            kept = {name: print(end="") for name in ("a", "b")}
        finally:
            kept = {}
        return function(*args, **kwargs) + len(kept)

    return wrapper


class Recorded(torch.nn.Module):
    @recording
    def forward(self, x):
        return x + 6


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a comprehension has no frame of its own there")
def test_a_comprehension_of_a_decorator_is_called_by_the_decorator(tmp_path):
    record = compiled(tmp_path, Recorded())
    assert "recording.dictcomp" in [one.display_name for one in record.functions]
    summary = (tmp_path / "summary.txt").read_text()
    story = (tmp_path / "full_code_for_recording.dictcomp_0.py").read_text()
    assert "not compiled: the decorator recording of Recorded.forward (" in summary
    assert story.startswith("# What torch.compile did to the dict comprehension in recording (")
    assert "# The original: the dict comprehension in recording   (" in story
    assert "wrapper" not in summary.partition(" does not give ")[0]  # names of torch's follow where it lacks some


def scaling(factor):
    def wrapper(cls):
        original = cls.forward

        @functools.wraps(original)
        def forward(self, *args):
            torch._dynamo.graph_break()
            return original(self, *args) * factor

        cls.forward = forward
        return cls

    return wrapper


@scaling(2)
class ScaledAsAClass(torch.nn.Module):
    def forward(self, x):
        return x + 7


def test_a_decorator_of_a_class_is_called_by_its_own_name_and_not_that_of_a_function_in_it(tmp_path):
    record = compiled(tmp_path, ScaledAsAClass())
    assert {one.function for function in record.functions for one in function.decorators} == {"scaling"}


def test_the_first_line_of_transformed_code_names_the_class(tmp_path):
    compiled(tmp_path, Plain(), plain)
    assert (tmp_path / "__transformed_code_0_for_forward.py").read_text().startswith("def forward(self, x):  # Plain.f")
    assert (tmp_path / "__transformed_code_0_for_plain.py").read_text().startswith("def plain(x):\n")


def test_a_later_context_calls_what_an_earlier_one_compiled_by_the_same_name(tmp_path):
    module = Decorated()  # held: up to torch 2.4 its version goes with it
    compiled(tmp_path / "first", module)
    with depyf.prepare_debug(str(tmp_path / "second")):
        torch.compile(plain, backend="eager")(X)
    titles = {function.display_name for function in record_of(tmp_path / "second").functions}
    assert titles == {"Decorated.forward", "plain"}


class BreaksInALoop(torch.nn.Module):
    @torch.no_grad()
    def forward(self, x):
        for _ in range(2):
            x = x + 1
            print(end="")
        return x


def test_a_function_left_to_python_and_its_compiled_wrapper_have_titles_of_their_own(tmp_path):
    compiled(tmp_path, BreaksInALoop())
    summary = (tmp_path / "summary.txt").read_text()
    assert summary.count("not compiled: BreaksInALoop.forward (") == 1
    story = (tmp_path / "full_code_for_BreaksInALoop.forward_0.py").read_text()
    wrapper = "full_code_for_no_grad_of_BreaksInALoop.forward_0.py"
    assert f"{wrapper}: the decorator no_grad of BreaksInALoop.forward\n" in story and (tmp_path / wrapper).exists()


class Handing(torch.nn.Module):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)

    def forward(self, hidden, bias=None, *, scale=1.0):
        return hidden * scale if bias is None else hidden + bias


def shifting(function):
    def wrapper(*args):
        return function(1.0, *args)

    return wrapper


@shifting
def shifted(factor, x, y):
    return x * factor + (0 if y is None else y)


@preserving
def preserved(x, y):
    return x + (0 if y is None else y)


@pytest.mark.parametrize(
    ("function", "meaning"),
    [(Handing(), "args[1] is bias"), (preserved, "args[1] is y"), (shifted, "")],
)
def test_items_of_args_have_the_names_of_the_function_that_gets_them(tmp_path, function, meaning):
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager")
    with depyf.prepare_debug(tmp_path, include_earlier=False):
        for second in (None, X):
            compiled(X, second)
    summary = (tmp_path / "summary.txt").read_text()
    stories = "".join(path.read_text() for path in tmp_path.glob("full_code_for_*"))
    assert "needs args[1] is None, now a tensor" in summary
    assert (f"    {meaning}\n" in summary and f"{meaning})" in stories) if meaning else "args[1] is y" not in summary


def test_the_manifest_has_the_title(tmp_path):
    compiled(tmp_path, Decorated())
    text = (tmp_path / "manifest.json").read_text()
    (function,) = json.loads(text)["functions"]
    assert function["key"] == "Decorated.forward_0" and function["title"] == "Decorated.forward"
    original = from_json(text).functions[0].original
    assert function["name"] == "wrapper" and original.source.endswith("return x + 4\n")


def test_what_was_compiled_before_any_context_is_called_by_the_function_inside_its_wrapper(tmp_path):
    torch._dynamo.reset()
    module = Carelessly()
    torch.compile(module, backend="eager")(X)
    assert [one.display_name for one in depyf.inspect(module).functions] == ["Carelessly.forward"]
    torch._dynamo.reset()
    # From a file: torch wraps a function without one in a function of its own, whose code many others may have.
    wrapped = torch.compile(module_from(tmp_path / "program.py", WRAPPER).used_once, backend="eager")
    wrapped(X)
    with depyf.prepare_debug(str(tmp_path / "dump")):
        pass
    assert [one.display_name for one in record_of(tmp_path / "dump").functions] == ["used_once"]
    torch._dynamo.reset()


WRAPPER = """
import functools


def around(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) + 1

    return wrapper


@around
def used_once(x):
    return x * 2
"""


def test_the_decorator_is_the_one_that_is_written_before_the_definition(tmp_path):
    assert [one.function for one in compiled(tmp_path, in_two_steps).functions[0].decorators] == ["with_options"]


def with_options(function=None):
    def taken(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) + 1

        return wrapper

    return taken if function is None else taken(function)


@with_options
def in_two_steps(x):
    return x * 3
