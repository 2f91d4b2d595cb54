"""The values that the guards of a version test, and which of them two versions want different, likely causes first.

Torch names the first guard that fails, in the order of its guard tree: the size of an input, where the truth is that
another layer was called, or that an attribute was set.  What a person would act on is found by comparing the versions:
each value that both of them pin, to different things.  Sorted, first the ones that explain the others:

    switches of torch      grad mode, default dtype ...
    plain values           None, True, a string, a number or a class, of an argument or an attribute: those nearest to a
                           variable first, and of these a number last, as it often follows from the rest
    lengths and keys       of lists and dictionaries
    tensors                dtype, device, requires_grad
    sizes, then strides    which follow from most of the above
    internals              names with a leading underscore, and what only torch asks for

Attributes of one name are one entry: `self.layers[3].training` adds nothing to `self.training`.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from depyf.record.guard_conditions import GuardTest, PythonTest, TensorTest, TorchState, TypeTest, ValueTest
from depyf.record.records import ChangedValue
from depyf.text.articles import with_article

SWITCH, PLAIN, COUNT, TENSOR, SIZE, STRIDE, INTERNAL = range(7)

Sizes = Tuple[Optional[int], ...]
Order = Tuple[int, int, bool, int, str]

_PATH = r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[(?:'[^'\\\n]*'|\d+)\])*"
_LITERAL = r"-?\d[\w.]*|'[^'\\\n]*'|\"[^\"\\\n]*\"|None|True|False|\([\d, ]*\)"
_EQUAL = re.compile(rf"(?P<about>{_PATH}(?:\.(?:size|stride)\(\))?|len\({_PATH}\)) (?:==|is) (?P<literal>{_LITERAL})$")
_EMPTY = re.compile(rf"not (?P<value>{_PATH})$")
_MEMBER = re.compile(rf"(?P<key>'[^'\\\n]*'|\d+) (?P<not>not )?in (?P<value>{_PATH})$")
_OF_AXIS = re.compile(
    r"(?:(?P<least>\d+) <= )?(?P<tensor>\S+)\.(?P<what>size|stride)\(\)\[(?P<axis>\d+)\]"
    r"(?: <= (?P<most>\d+)| == (?P<exactly>\d+)| == (?P<same>[^<>=!]*\.(?:size|stride)\(\)\[\d+\][^<>=!]*))?$"
)
_AN_AXIS = re.compile(r"\.(size|stride)\(\)\[(\d+)\]")
_NAME = re.compile(r"[^\W\d]\w*")
_PRIVATE = re.compile(r"(?:^|\.)_|\(.*\(")
_OF_TENSOR = re.compile(r"\.(?:size|stride)\(\)$|\.(?:dtype|device|requires_grad)$")


class Tested(NamedTuple):
    """A value, or a property of one, and what a version wants of it."""

    about: str  # self.k, len(args), 'mask' in kwargs, x.dtype, x.size(); else all of the condition
    kind: int  # one of those above
    condition: str  # as a person writes it: self.k == 3, x.size() == (any, 16)
    literal: str = ""  # the one value that fits; empty where several do
    type_name: str = ""  # the class that it must be of; empty where that is not tested
    sizes: Sizes = ()  # those of a tensor, or its strides; None for what may vary

    @property
    def order(self) -> Order:
        """The place among other values: what a person would act on comes first."""
        steps = self.about.count(".") + self.about.count("[")
        return self.kind, steps, self.literal[:1].isdecimal(), len(self.about), self.about

    @property
    def name(self) -> str:
        """The last name in it: the attribute, where it is one."""
        found: List[str] = _NAME.findall(_OF_TENSOR.sub("", self.about))
        return found[-1] if found else self.about

    @property
    def class_name(self) -> str:
        """The class that it must be of, dotted; that of a constant follows from it."""
        return _CLASS_OF.get(self.literal) or self.type_name


_CLASS_OF = {"None": "NoneType", "True": "bool", "False": "bool"}


# ---------------------------------------------------------------- what guards test

Axes = Dict[str, "_Axis"]  # by name: x.size(0)


class _Axis(NamedTuple):
    """What single guards want of one axis of a tensor."""

    conditions: Tuple[str, ...] = ()
    least: str = ""
    most: str = ""
    exactly: str = ""
    same: str = ""  # the size, or what is computed from sizes, that it must equal

    @property
    def words(self) -> str:
        if self.exactly or self.same:
            return self.exactly or self.same
        if not self.least or not self.most:
            return f"{self.least} or more" if self.least else f"up to {self.most}"
        return f"{self.least} to {self.most}"


def values_tested(tests: Iterable[GuardTest]) -> Dict[str, Tested]:
    """Return what guards test, by the value that it is about."""
    found: Dict[str, Tested] = {}
    axes: Axes = {}
    for test in tests:
        for one in _of_test(test, axes):
            found[one.about] = _merged(found[one.about], one) if one.about in found else one
    for one in [one for one in found.values() if one.sizes]:
        found[one.about], spelled = _with_axes(one, axes)
        for condition in spelled:
            found.pop(condition, None)
    return found


def _merged(one: Tested, other: Tested) -> Tested:
    """Return what both tests of a value want of it."""
    first, second = (one, other) if one.literal or not other.literal else (other, one)
    return first._replace(type_name=first.type_name or second.type_name, sizes=first.sizes or second.sizes)


def _of_test(test: GuardTest, axes: Axes) -> Iterator[Tested]:
    if isinstance(test, TensorTest):
        yield from _of_tensor(test)
    elif isinstance(test, TypeTest):
        yield Tested(test.subject, _kind(PLAIN, test.subject), test.text, type_name=test.type_name)
    elif isinstance(test, ValueTest):
        start = f"{test.subject} == "
        literal = test.comparison[len(start) :] if test.comparison.startswith(start) else ""
        yield Tested(test.subject, _kind(PLAIN, test.subject), test.comparison, literal, test.type_name)
    elif isinstance(test, TorchState):
        for name, condition in test.switches().items():
            yield Tested(name, SWITCH, condition, condition)
    elif isinstance(test, PythonTest):
        for part in test.parts or (test.text,):
            yield _of_expression(part, axes)
    else:
        yield Tested(test.text, INTERNAL, test.text)


def _of_tensor(test: TensorTest) -> Iterator[Tested]:
    tensor, wanted = test.subject, test.expected
    kind = f"type({tensor}) is {wanted.type_name}"
    yield Tested(tensor, _kind(PLAIN, tensor), kind, type_name=wanted.type_name)
    for name, value in (("dtype", wanted.dtype), ("device", wanted.device), ("requires_grad", wanted.requires_grad)):
        about = f"{tensor}.{name}"
        yield Tested(about, _kind(TENSOR, tensor), f"{about} is {value}", str(value))
    yield Tested(f"{tensor}.size()", _kind(SIZE, tensor), "", sizes=wanted.sizes)
    yield Tested(f"{tensor}.stride()", _kind(STRIDE, tensor), "", sizes=wanted.strides)


def _of_expression(condition: str, axes: Axes) -> Tested:
    """Read an expression of torch's own; one that is not understood is about itself."""
    found = _EQUAL.match(condition)
    if found is not None:
        about = found["about"]
        kind = COUNT if about.startswith("len(") else SIZE if about.endswith("()") else PLAIN
        return Tested(about, _kind(kind, about), condition, found["literal"])
    found = _EMPTY.match(condition)
    if found is not None:
        about = f"len({found['value']})"
        return Tested(about, _kind(COUNT, about), f"{about} == 0", "0")
    found = _MEMBER.match(condition)
    if found is not None:
        about = f"{found['key']} in {found['value']}"
        return Tested(about, _kind(COUNT, found["value"]), condition, "it is not" if found["not"] else "it is")
    found = _OF_AXIS.match(condition)
    if found is not None:
        axis = f"{found['tensor']}.{found['what']}({found['axis']})"
        known = axes.get(axis, _Axis())
        axes[axis] = _Axis(
            (*known.conditions, condition),
            found["least"] or known.least,
            found["most"] or known.most,
            found["exactly"] or known.exactly,
            known.same or _AN_AXIS.sub(r".\1(\2)", found["same"] or ""),
        )
    return Tested(condition, INTERNAL, condition)


def _with_axes(one: Tested, axes: Axes) -> Tuple[Tested, List[str]]:
    """Spell the sizes, with what other guards want of single axes; return the conditions of these, too."""
    stem = one.about[:-1]
    shown: List[str] = []
    spelled: List[str] = []
    for number, size in enumerate(one.sizes):
        axis = axes.get(f"{stem}{number})") if size is None else None
        shown.append(str(size) if size is not None else "any" if axis is None else axis.words)
        spelled += axis.conditions if axis is not None else ()
    sizes = tuple([int(text) if text.isdecimal() else None for text in shown])
    listed = f"{', '.join(shown)}{',' if len(shown) == 1 else ''}"
    return one._replace(condition=f"{one.about} == ({listed})", sizes=sizes), spelled


def upper_bound(test: GuardTest) -> str:
    """Return the condition of a guard that limits a size, as a table spells sizes: x.size(0) <= 15; else empty."""
    found = _OF_AXIS.match(test.text) if isinstance(test, PythonTest) else None
    return _AN_AXIS.sub(r".\1(\2)", test.text) if found is not None and found["most"] else ""


def _kind(kind: int, about: str) -> int:
    return INTERNAL if _PRIVATE.search(about) is not None else kind


def with_held(
    tested: Dict[str, Tested], numbers: Dict[str, Tuple[str, str]], sizes: Dict[str, Tuple[int, ...]]
) -> Dict[str, Tested]:
    """Return what a version tests, with what its variables held where it does not pin that.

    The guards of a version that fits any number, or any size, do not hold the one that another version rejects.
    `numbers`: type and literal of a variable's value; `sizes`: those of a tensor that a variable held.
    """
    found = dict(tested)
    for name, (type_name, literal) in numbers.items():
        if name not in found or not found[name].literal:
            found[name] = Tested(name, _kind(PLAIN, name), f"{name} == {literal}", literal, type_name)
    for name, held in sizes.items():
        about = f"{name}.size()"
        if about not in found or None in found[about].sizes:
            found[about] = Tested(about, _kind(SIZE, name), f"{about} == {held}", sizes=held)
    return found


# ---------------------------------------------------------------- two versions


def changes(then: Dict[str, Tested], now: Dict[str, Tested]) -> List[ChangedValue]:
    """Return the values that two versions pin to different things, first those that a person would act on.

    Of attributes of one name only the nearest is named, of sizes that change alike only the first. A stride is named
    where the sizes are the same.
    """
    pairs = [(one, now[about]) for about, one in then.items() if about in now and one != now[about]]
    found: Dict[Tuple[str, ...], ChangedValue] = {}
    for one, other in sorted(pairs, key=lambda pair: min(pair[0].order, pair[1].order)):
        if one.kind == STRIDE and _has_other_sizes(one, then, now):
            continue
        if one.sizes or other.sizes:
            for change in _changed_sizes(one, other)[: 1 if one.kind == STRIDE else None]:
                found.setdefault((change.then, change.now), change)
        else:
            for change in _changed(one, other):
                found.setdefault((one.name,), change)
    return list(found.values())


def _has_other_sizes(stride: Tested, then: Dict[str, Tested], now: Dict[str, Tested]) -> bool:
    sizes = stride.about.replace(".stride()", ".size()")
    return sizes in then and sizes in now and then[sizes].sizes != now[sizes].sizes


def _changed(one: Tested, other: Tested) -> List[ChangedValue]:
    """Return how two versions differ in one value; nothing where only one of them pins it."""
    if one.kind == SWITCH:
        return [ChangedValue(one.about, one.condition)] if one.condition != other.condition else []
    if one.literal and other.literal:
        same = one.literal == other.literal
        return [] if same else [ChangedValue(one.about, one.condition, one.literal, _value_now(one, other))]
    if not one.class_name or not other.class_name or one.class_name == other.class_name:
        return []
    before, after = one.class_name.rpartition(".")[2], other.class_name.rpartition(".")[2]
    if before == after:
        before, after = one.class_name, other.class_name
    then = one.literal or with_article(before)
    condition = one.condition if one.literal else f"{one.about} to be {then}"
    return [ChangedValue(one.about, condition, then, other.literal or with_article(after))]


def _value_now(one: Tested, other: Tested) -> str:
    """Return the value, with its class where that alone is another one: 1 after 1.0."""
    is_number = "float" in (one.type_name, other.type_name) and {one.type_name, other.type_name} <= {"float", "int"}
    if is_number and one.type_name != other.type_name and float(one.literal) == float(other.literal):
        return f"{other.literal}, {with_article(other.type_name)}"
    return other.literal


def _changed_sizes(one: Tested, other: Tested) -> List[ChangedValue]:
    """Return how the sizes that two versions are compiled for differ, axis by axis."""
    if len(one.sizes) != len(other.sizes):
        about = f"{_OF_TENSOR.sub('', one.about)}.dim()"
        then = str(len(one.sizes))
        return [ChangedValue(about, f"{about} == {then}", then, str(len(other.sizes)))]
    found = []
    for axis, (size, size_now) in enumerate(zip(one.sizes, other.sizes)):
        if size is not None and size_now is not None and size != size_now:
            about = f"{one.about[:-1]}{axis})"
            found.append(ChangedValue(about, f"{about} == {size}", str(size), str(size_now)))
    return found
