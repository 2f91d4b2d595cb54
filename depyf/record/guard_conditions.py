"""The conditions of guards: one frozen class for each form, with the value that it is about and what is expected of it.

`text` spells a test for a reader: as a Python expression where `is_python`, else in words.  `parts` are the conditions
that the expression joins by `and`, each on one line; there are none in words, nor in what is no Python after all: a
record that was loaded may hold anything.  `has_parts` is known without making them.  Readers of torch's text
(`depyf.torch_hooks.guards.guard_kinds`) make these records; everything after that asks for their fields and parts and
never reads `text` again.  Schema 1 of the saved form holds `text` alone: `depyf.record.schema_1` recovers the fields.
"""

from __future__ import annotations

import functools
import keyword
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar, Dict, Generic, Optional, Tuple, TypeVar, Union

from depyf.text.python_source import is_operand, is_primary, operands

PROSE: Dict[str, Any] = {"prose": True}  # metadata of each field that holds words for a person; no report may read them

AND = " and "  # between the conditions that a test consists of
VALUE = "\0"  # stands for the value in a text that many values share

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that is made when it is first asked for: `functools.cached_property` without the lock of Python 3.11.

    Models have thousands of guards, and each view asks for the text of each of them.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make = make
        self._name = make.__name__

    def __get__(self, owner: Any, kind: Any) -> T:
        value = self.make(owner)
        object.__setattr__(owner, self._name, value)  # past a frozen class; `__dict__` would make a dict per guard
        return value


@dataclass(frozen=True)
class PythonTest:
    """A Python expression over the function's parameters and globals: torch's own, and nothing more is known of it."""

    text: str
    is_python: ClassVar[bool] = True

    @Lazy
    def parts(self) -> Tuple[str, ...]:
        return operands(self.text)

    @property
    def has_parts(self) -> bool:
        return bool(self.parts)


@dataclass(frozen=True)
class InWords:
    """What no Python expression can test."""

    text: str = field(metadata=PROSE)
    is_python: ClassVar[bool] = False
    parts: ClassVar[Tuple[str, ...]] = ()
    has_parts: ClassVar[bool] = False


@dataclass(frozen=True)
class TypeTest:
    """The value is of exactly this type."""

    subject: str  # the value, as the user spells it: self.layers[0]
    type_name: str  # dotted, as the user spells it: int, torch.nn.Parameter, model.build.<locals>.Inner
    is_python: ClassVar[bool] = True

    @Lazy
    def text(self) -> str:
        return _type_form(self.type_name).replace(VALUE, self.subject)

    @Lazy
    def parts(self) -> Tuple[str, ...]:
        return (self.text,) if self.has_parts else ()

    @property
    def has_parts(self) -> bool:
        return is_primary(self.subject)

    @property
    def form(self) -> str:
        """Return the text with `VALUE` for the value."""
        return _type_form(self.type_name)

    @property
    def names_type(self) -> bool:
        """Whether an expression can name the type: a class made inside a function has no such name."""
        return is_dotted(self.type_name)


@dataclass(frozen=True)
class ValueTest:
    """The value is of exactly this type and fits a comparison: 1 does not pass for True."""

    subject: str
    type_name: str
    comparison: str  # a Python expression: self.k == 3
    is_python: ClassVar[bool] = True

    @Lazy
    def text(self) -> str:
        return AND.join((self._type_test, self.comparison))

    @Lazy
    def parts(self) -> Tuple[str, ...]:
        return (self._type_test, self.comparison) if self.has_parts else ()

    @property
    def has_parts(self) -> bool:
        return is_primary(self.subject) and is_operand(self.comparison)

    @property
    def forms(self) -> Tuple[str, str]:
        """Return the parts with `VALUE` for the value; the comparison as it is unless it begins with the value."""
        subject, comparison = self.subject, self.comparison
        if comparison.startswith(f"{subject} ") and subject not in comparison[len(subject) :]:
            comparison = VALUE + comparison[len(subject) :]
        return _type_form(self.type_name), comparison

    @property
    def _type_test(self) -> str:
        return _type_form(self.type_name).replace(VALUE, self.subject)


@dataclass(frozen=True)
class TensorProperties:
    """What is expected of a tensor; the layers of a model share few of these."""

    type_name: str
    dtype: str  # torch.float32
    device: str  # cpu, cuda:0; empty where torch does not print it
    requires_grad: bool
    sizes: Tuple[Optional[int], ...]  # None for a dimension of any size
    strides: Tuple[Optional[int], ...]

    @Lazy
    def form(self) -> str:
        """Return the test as an expression, with `VALUE` for the tensor."""
        return AND.join(self._conditions())

    @Lazy
    def parts(self) -> Tuple[str, ...]:
        """Return the conditions that it consists of, with `VALUE` for the tensor."""
        conditions = self._conditions()
        return conditions if all(is_operand(one.replace(VALUE, "x")) for one in conditions) else ()

    def _conditions(self) -> Tuple[str, ...]:
        tensor = VALUE
        kind, _, index = self.device.partition(":")
        parts = [_type_form(self.type_name), f"{tensor}.dtype is {self.dtype}"]
        if self.device:
            parts.append(f"{tensor}.device == torch.device({kind!r}{f', {index}' if index else ''})")
        parts.append(f"{tensor}.requires_grad is {self.requires_grad}")
        if None not in self.sizes:
            parts.append(f"{tensor}.size() == {self.sizes!r}")
        else:
            parts.append(f"{tensor}.dim() == {len(self.sizes)}")
            parts += [f"{tensor}.size({axis}) == {size}" for axis, size in enumerate(self.sizes) if size is not None]
        if None not in self.strides:
            parts.append(f"{tensor}.stride() == {self.strides!r}")
        else:
            parts += [
                f"{tensor}.stride({axis}) == {step}" for axis, step in enumerate(self.strides) if step is not None
            ]
        return tuple(parts)


@dataclass(frozen=True)
class TensorTest:
    """The value is a tensor with these properties."""

    subject: str
    expected: TensorProperties
    is_python: ClassVar[bool] = True

    @Lazy
    def text(self) -> str:
        return self.expected.form.replace(VALUE, self.subject)

    @Lazy
    def parts(self) -> Tuple[str, ...]:
        subject = self.subject
        return tuple([part.replace(VALUE, subject) for part in self.expected.parts]) if self.has_parts else ()

    @property
    def has_parts(self) -> bool:
        return bool(self.expected.parts) and is_primary(self.subject)

    @property
    def type_name(self) -> str:
        return self.expected.type_name

    @property
    def names_type(self) -> bool:
        """As in TypeTest."""
        return is_dotted(self.type_name)


@dataclass(frozen=True)
class NoDimensionMarks:
    """The tensor carries none of the attributes that `mark_dynamic` and its like leave on one."""

    subject: str
    marks: Tuple[str, ...]  # dynamic, weak_dynamic, ...
    is_python: ClassVar[bool] = True

    @Lazy
    def text(self) -> str:
        return f"not any(hasattr({self.subject}, f'_dynamo_{{mark}}_indices') for mark in {self.marks!r})"

    @Lazy
    def parts(self) -> Tuple[str, ...]:
        return (self.text,) if self.has_parts else ()

    @property
    def has_parts(self) -> bool:
        return is_primary(self.subject)


@dataclass(frozen=True)
class SameObject:
    """The value is the object that it was when this was compiled."""

    subject: str
    is_python: ClassVar[bool] = False
    parts: ClassVar[Tuple[str, ...]] = ()
    has_parts: ClassVar[bool] = False

    @Lazy
    def text(self) -> str:
        return f"{self.subject} is still the object it was when this was compiled"


@dataclass(frozen=True)
class SameBody:
    """The function has the code that it had when this was compiled."""

    subject: str
    is_python: ClassVar[bool] = False
    parts: ClassVar[Tuple[str, ...]] = ()
    has_parts: ClassVar[bool] = False

    @Lazy
    def text(self) -> str:
        return f"{self.subject} still has the body it had when this was compiled"


@dataclass(frozen=True)
class TorchState:
    """Torch's global switches, those that Python can ask for."""

    grad_mode: bool
    default_dtype: str  # torch.float32; empty where torch prints an unknown number
    deterministic_algorithms: bool
    num_threads: int
    is_python: ClassVar[bool] = True

    @Lazy
    def text(self) -> str:
        return AND.join(self.switches().values())

    @Lazy
    def parts(self) -> Tuple[str, ...]:
        tests = tuple(self.switches().values())
        return tests if all(map(is_operand, tests)) else ()

    @property
    def has_parts(self) -> bool:
        return bool(self.parts)

    def switches(self) -> Dict[str, str]:
        """Torch's name for each switch -> the test of it as an expression."""
        tests = {"grad_mode": ("" if self.grad_mode else "not ") + "torch.is_grad_enabled()"}
        if self.default_dtype:
            tests["default_dtype"] = f"torch.get_default_dtype() is {self.default_dtype}"
        is_set = "" if self.deterministic_algorithms else "not "
        tests["deterministic_algorithms"] = is_set + "torch.are_deterministic_algorithms_enabled()"
        tests["num_threads"] = f"torch.get_num_threads() == {self.num_threads}"
        return tests


GuardTest = Union[
    PythonTest, InWords, TypeTest, ValueTest, TensorTest, NoDimensionMarks, SameObject, SameBody, TorchState
]


def with_subject(test: GuardTest, mark: str, subject: str) -> GuardTest:
    """Return the same test of another value, for which `mark` stands in it."""
    if isinstance(test, TensorTest):
        return TensorTest(test.subject.replace(mark, subject), test.expected)
    if isinstance(test, TypeTest):
        return TypeTest(test.subject.replace(mark, subject), test.type_name)
    if isinstance(test, PythonTest):
        return PythonTest(test.text.replace(mark, subject))
    if isinstance(test, InWords):
        return InWords(test.text.replace(mark, subject))
    if isinstance(test, ValueTest):
        value = test.subject.replace(mark, subject)
        return ValueTest(value, test.type_name, test.comparison.replace(mark, subject))
    if isinstance(test, (SameObject, SameBody)):
        return type(test)(test.subject.replace(mark, subject))
    if isinstance(test, NoDimensionMarks):
        return NoDimensionMarks(test.subject.replace(mark, subject), test.marks)
    return test


def is_dotted(name: str) -> bool:
    """Return whether an expression can spell the name: `torch.Tensor`, but not `f.<locals>.A`."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split("."))


@functools.lru_cache(maxsize=1024)
def _type_form(type_name: str) -> str:
    """Return a test of the type of `VALUE`."""
    if is_dotted(type_name):
        return f"type({VALUE}) is {type_name}"
    kind = f"type({VALUE})"
    return f"{kind}.__module__ + '.' + {kind}.__qualname__ == {type_name!r}"
