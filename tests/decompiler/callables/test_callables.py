"""`decompile` of whatever can be called: the function that a call runs first is shown."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import subprocess
import sys

import pytest

import depyf


def add(a, b=2):
    return a + b


ADD = "def add(a, b=2):\n    return a + b\n"


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


class Wrapper:
    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, *args):
        return self.__wrapped__(*args)


class Sample:
    def __call__(self, x):
        return x + 1

    @property
    def both(self):
        return "got"

    @both.setter
    def both(self, value):
        self.value = "set"

    @classmethod
    def of_class(cls):
        return "of class"

    @staticmethod
    def static():
        return "static"

    def method(self, a, b):
        return "method"

    @functools.lru_cache(None)  # noqa: B019
    def cached(self):
        return "cached"

    @functools.cached_property
    def computed(self):
        return "computed"

    @functools.singledispatchmethod
    def dispatched(self, x):
        return "dispatched"

    partial = functools.partialmethod(method, 1)


class Color(enum.Enum):
    RED = 1

    @property
    def shade(self):
        return "shade"


@dataclasses.dataclass
class Data:
    field: int


@functools.singledispatch
def generic(x):
    return "generic"


@contextlib.contextmanager
def context():
    yield "context"


class Cell:
    __call__ = functools.partialmethod(Sample.method, 1)


@pytest.mark.parametrize(
    "thing",
    [
        functools.partial(add, 1),
        functools.partial(functools.partial(add, 1), b=2),
        functools.lru_cache(None)(add),
        functools.partial(functools.lru_cache(None)(add)),
        staticmethod(functools.partial(add, 1)),
        functools.wraps(add)(functools.partial(add)),
    ],
    ids=["partial", "partials", "lru_cache", "both", "staticmethod", "wraps"],
)
def test_the_function_inside_is_shown(thing):
    assert depyf.decompile(thing) == ADD


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (Sample(), "return x + 1"),
        (Sample().__call__, "return x + 1"),
        (Sample.of_class, "'of class'"),
        (vars(Sample)["of_class"], "'of class'"),
        (vars(Sample)["static"], "'static'"),
        (Sample.cached, "'cached'"),
        (Sample().cached, "'cached'"),
        (vars(Sample)["computed"], "'computed'"),
        (vars(Sample)["dispatched"], "'dispatched'"),
        (Sample.dispatched, "'dispatched'"),
        (Sample().dispatched, "'dispatched'"),
        (vars(Sample)["partial"], "'method'"),
        (Sample.partial, "'method'"),
        (Sample().partial, "'method'"),
        (Cell(), "'method'"),
        (vars(Color)["shade"], "'shade'"),
        (generic, "'generic'"),
        (context, "'context'"),
        (Data.__repr__, "(field={self.field!r})"),
    ],
)
def test_what_the_standard_library_put_around_a_function_is_skipped(thing, text):
    shown = depyf.decompile(thing)
    assert text in shown and shown.count("def ") == 1 and "#" not in shown
    exec(depyf.decompile(thing, strict=True), {})


def test_all_functions_of_a_property_are_shown():
    shown = depyf.decompile(Sample.both)
    assert shown == "def both(self):\n    return 'got'\n\ndef both(self, value):\n    self.value = 'set'\n"
    assert depyf.decompile(Sample.both, strict=True) == "from __future__ import annotations\n\n\n" + shown
    assert depyf.decompile(property(fset=add)) == ADD


@pytest.mark.parametrize("make", [logged, Wrapper, lambda function: functools.partial(logged(function), 1)])
def test_a_wrapper_of_the_users_is_shown_itself_and_names_what_it_wraps(make):
    first, rest = depyf.decompile(make(add)).split("\n", 1)
    assert first == "# This is a wrapper around add, which is its attribute __wrapped__."
    assert rest.startswith(("def wrapper(*args)", "def __call__(self, *args)"))
    assert depyf.decompile(logged(add).__wrapped__) == ADD


@pytest.mark.parametrize(
    "thing", [len, functools.partial(len), [].append, object().__str__, functools.lru_cache(None)(len), property(), 5]
)
def test_what_has_no_python_code_is_a_type_error_with_its_name(thing):
    with pytest.raises(TypeError, match=r"depyf can decompile functions, .* it has no Python bytecode"):
        depyf.decompile(thing)


def test_an_object_that_wraps_itself_is_refused():
    looped = functools.partial(add)
    looped.__setstate__((looped, (), {}, {}))
    with pytest.raises(TypeError, match="wraps itself"):
        depyf.decompile(looped)


def test_an_object_that_has_every_attribute_shows_how_it_is_called():
    class Everything:
        def __getattr__(self, name):
            return Everything()

        def __call__(self):
            return "called"

    assert "'called'" in depyf.decompile(Everything())


def test_the_shell_shows_what_the_function_shows():
    command = [sys.executable, "-m", "depyf", "decompile", "functools:partialmethod.__get__"]
    assert "def __get__" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
    command[-1] = "contextlib:suppress.__exit__"
    assert "def __exit__" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_what_torch_put_around_code_is_skipped():
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def forward(self, x):
            return x + 42

    class Special(Model):
        def __call__(self, x):
            return "special"

    in_place = Model()
    in_place.compile(backend="eager")
    replaced = Model()
    replaced.forward = add
    forward = "def forward(self, x):\n    return x + 42\n"
    for model in (Model(), torch.compile(Model(), backend="eager"), in_place, torch.compile(Model().forward)):
        assert depyf.decompile(model) == forward
    assert depyf.decompile(replaced) == ADD
    assert "'special'" in depyf.decompile(Special())
    assert "for module in self" in depyf.decompile(torch.compile(torch.nn.Sequential()))
    assert "x + 42" in depyf.decompile(torch.fx.symbolic_trace(Model()))
    for wrap in (torch.no_grad(), torch.compiler.disable, torch.compile, functools.partial):
        assert depyf.decompile(wrap(add)) == ADD
    assert depyf.decompile(torch.compile(functools.partial(add, 1), backend="eager")) == ADD
    assert "x + 1" in depyf.decompile(torch.compile(Sample(), backend="eager"))
    with pytest.raises(TypeError, match="Python bytecode"):
        depyf.decompile(torch.sin)
