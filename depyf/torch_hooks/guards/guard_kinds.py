"""One reader for each kind of guard that torch prints; a new kind of guard is a function here and its line in READERS.

Torch keeps no structured form of a guard once it is built: what is left is a line such as

    TENSOR_MATCH: check_tensor(L['a'], Tensor, DispatchKeySet(CPU, ...), torch.float32, device=None, ...)
    ID_MATCH: ___check_obj_id(G['torch'], 140332533783168), type=<class 'module'>

`read_guard` returns what it tests, as records whose text is a Python expression over the function's parameters and
globals, or words where Python has none.  Neither holds object ids or addresses: they differ from run to run.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import sys
from types import ModuleType
from typing import Callable, Match, NamedTuple

from depyf.record.guard_conditions import (
    GuardTest,
    InWords,
    NoDimensionMarks,
    PythonTest,
    SameBody,
    SameObject,
    TensorProperties,
    TensorTest,
    TorchState,
    TypeTest,
    ValueTest,
    is_dotted,
)
from depyf.text.python_source import segment
from depyf.torch_hooks.guards.source_names import readable
from depyf.torch_hooks.internals.torch_text import is_expression, scrub, type_from_repr, with_sorted_sets


class Leaf(NamedTuple):
    """One printed guard, with what the tree holds about its value."""

    kind: str  # the class of the guard: TENSOR_MATCH, ID_MATCH ...
    text: str  # the condition as torch prints it, comments cut off
    source: str = ""  # the value that it tests: L['a'], G['torch'].abs; empty for the guards of the root
    type_name: str = ""  # dotted name of the type the value had: torch.Tensor
    absent_marks: tuple[str, ...] = ()  # for a guard that the tensor has no such marks: their names


def read_guard(leaf: Leaf) -> tuple[GuardTest, ...]:
    """Return what `leaf` tests, the most useful first; never empty, never raises for odd text."""
    read = READERS.get(leaf.kind, _plain) if not leaf.absent_marks else _no_marks
    try:
        return tuple([_checked(test) for test in read(leaf)])
    except (ValueError, KeyError, IndexError, SyntaxError, TypeError):
        # A torch that prints this guard differently: its own words are better than none.
        return (_in_words(leaf.text),)


# ---------------------------------------------------------------- types


@functools.lru_cache(maxsize=1024)
def shown_type(type_name: str) -> str:
    """Return the name of a type as the user spells it: `builtins.int` is `int`."""
    if not is_dotted(type_name):
        return type_name  # a class made inside a function has no name that an expression could use
    for home in ("builtins.", "__main__."):
        if type_name.startswith(home):
            type_name = type_name[len(home) :]
    return _PUBLIC_TYPES.get(type_name, type_name)


_PUBLIC_TYPES = {
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "NoneType": "types.NoneType",
    "function": "types.FunctionType",
    "module": "types.ModuleType",
    "code": "types.CodeType",
}


# ---------------------------------------------------------------- one reader for each kind


def _in_words(text: str) -> InWords:
    return InWords(_stable(text))


def _stable(text: str) -> str:
    return scrub(" ".join(text.split()))


MAY_VARY = re.compile(r"___|\d{6,}")  # in a name: a helper of torch's, or one with the id of an object


def _checked(test: GuardTest) -> GuardTest:
    """Return `test`, in words if it is no expression after all or holds what varies from run to run."""
    if not test.is_python:
        return test
    text = test.text
    if not is_expression(text):
        return _in_words(text)
    if MAY_VARY.search(text) is None:
        return test
    names = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
    return _in_words(text) if any(_is_inner(name) for name in names) else test


def _is_inner(name: str) -> bool:
    """Return whether a name means something to torch alone: a helper of its guards, or one with an id in it."""
    helper = name.startswith("___") and re.match(r"___(?:stack|context)", name) is None
    return helper or re.search(r"\d{6,}", name) is not None


def _plain(leaf: Leaf) -> tuple[GuardTest, ...]:
    return (_expression(leaf),)


def _expression(leaf: Leaf) -> PythonTest:
    """Torch's own condition, with the names and values that print oddly put right."""
    text = leaf.text
    if "<" in text:
        text = _ENUM_MEMBER.sub(_name_in, text)
        text = _with_names_of_classes(text)
    return PythonTest(with_sorted_sets(readable(text)))


_STRING = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"  # which may hold anything: `registry["<class 'Model'>"]`
_ENUM_MEMBER = re.compile(rf"{_STRING}|<(?P<name>\w+(?:\.\w+)+): [^<>]*>")  # <Color.RED: 1>
_CLASS = re.compile(rf"{_STRING}|<class '(?:__main__\.|builtins\.)?(?P<name>[\w.]+)'>")


def _with_names_of_classes(text: str) -> str:
    return _CLASS.sub(_name_in, text) if "<class " in text else text


def _name_in(found: Match[str]) -> str:
    return found["name"] or found[0]


def _type_match(leaf: Leaf) -> tuple[GuardTest, ...]:
    expression = _first_argument(leaf.text)
    type_name = _type_in(leaf)
    if not type_name:
        return (_in_words(f"the type of {readable(expression)} is still the one it was when this was compiled"),)
    return (TypeTest(readable(expression), shown_type(type_name)),)


def _type_in(leaf: Leaf) -> str:
    """Return the type in the condition; torch 2.9 prints only an id there, but the tree has the name."""
    return type_from_repr(leaf.text) or leaf.type_name


def _equals_match(leaf: Leaf) -> tuple[GuardTest, ...]:
    """Read a comparison; the guard in C++ compares the type first: 1 does not pass for True, nor 1.0 for 1."""
    comparison = _expression(leaf)
    if not leaf.type_name or not leaf.source:
        return (comparison,)
    return (ValueTest(readable(leaf.source), shown_type(leaf.type_name), comparison.text),)


def _truth_match(leaf: Leaf) -> tuple[GuardTest, ...]:
    expression, _, value = leaf.text.rpartition(" == ")
    return (PythonTest(f"{readable(expression)} is {value.strip()}"),)


_SINGLETONS = {id(value): repr(value) for value in (None, True, False, Ellipsis)}
_CHECK_ID = re.compile(r"___check_obj_id\((.*), (\d+)\)(?:, type=(.*))?$")


def _id_match(leaf: Leaf) -> tuple[GuardTest, ...]:
    """Identity with the object seen while compiling: a module can be named in Python, other objects cannot."""
    match = _CHECK_ID.match(leaf.text)
    if match is None:
        return _plain(leaf)
    expression, identity, type_name = readable(match.group(1)), int(match.group(2)), _type_in(leaf)
    if identity in _SINGLETONS:  # torch 2.8 and older print their ids, too
        return (PythonTest(f"{expression} is {_SINGLETONS[identity]}"),)
    if type_name == "module":
        name = _module_name(expression, identity)
        if name:
            return (PythonTest(f"{expression} is sys.modules[{name!r}]"),)
    if expression.endswith(".__code__"):
        return (SameBody(_stable(expression[: -len(".__code__")])),)
    return (SameObject(_stable(expression)),)


def _module_name(expression: str, identity: int) -> str:
    """Return the name of the loaded module with that id, which `expression` gave; empty when there is none."""
    found = _reached_from_modules(expression)
    known = vars(found).get("__name__") if type(found) is ModuleType else None
    for name in (expression, known):
        if isinstance(name, str) and id(sys.modules.get(name)) == identity:
            return name
    names = [name for name, module in list(sys.modules.items()) if id(module) == identity]
    return min(names, key=lambda name: (name.count("."), name), default="")


def _reached_from_modules(expression: str) -> object:
    """Return what attributes of a loaded module lead to: `torch.nn.modules.module.torch.nn`; None where they do not."""
    steps = expression.split(".")
    known = next((n for n in range(len(steps) - 1, 0, -1) if ".".join(steps[:n]) in sys.modules), 0)
    found: object = sys.modules.get(".".join(steps[:known])) if known else None
    for step in steps[known:]:
        found = vars(found).get(step) if type(found) is ModuleType else None
    return found


_CHECK_TENSOR = re.compile(
    r"check_tensor\((?P<source>.*), (?P<type>[\w.<>]+), DispatchKeySet\((?P<keys>[^()]*)\), "
    r"(?P<dtype>torch\.\w+), device=(?P<index>\w+), requires_grad=(?P<grad>True|False), "
    r"size=(?P<size>\[.*?\]), stride=(?P<stride>\[.*?\])\)$"
)


def _tensor_match(leaf: Leaf) -> tuple[GuardTest, ...]:
    match = _CHECK_TENSOR.match(leaf.text)
    if match is None:
        return (_in_words(leaf.text),)
    tensor = readable(match["source"])
    keys = tuple([key.strip() for key in match["keys"].split(",") if key.strip()])
    device = _device(keys, match["index"])
    expected = TensorProperties(
        shown_type(leaf.type_name or "torch." + match["type"]),
        match["dtype"],
        device,
        match["grad"] == "True",
        _sizes(match["size"]),
        _sizes(match["stride"]),
    )
    tests: list[GuardTest] = [TensorTest(tensor, expected)]
    if not device or not _are_ordinary(keys):
        tests.append(_in_words(f"{tensor} has the dispatch keys {', '.join(keys)}"))
    return tuple(tests)


# Backend dispatch key -> device type, for the backends whose name is not simply the key in lower case.
_DEVICE_OF_KEY = {"Meta": "meta", "PrivateUse1": ""}
_NOT_A_BACKEND = re.compile(r"Autograd|ADInplaceOrView|BackendSelect|Autocast|Python|Functionalize|Conj|Neg|Zero|Fake")


@functools.lru_cache(maxsize=64)
def _device(keys: tuple[str, ...], index: str) -> str:
    """Return the device of a tensor with these dispatch keys: `cpu`, `cuda:0`; empty where they name none."""
    backends = [key for key in keys if not _NOT_A_BACKEND.search(key)]
    if len(backends) != 1:
        return ""
    kind = _DEVICE_OF_KEY.get(backends[0], backends[0].lower())
    return kind if not kind or index == "None" else f"{kind}:{index}"


@functools.lru_cache(maxsize=64)
def _are_ordinary(keys: tuple[str, ...]) -> bool:
    """Return whether these are the keys of a plain dense tensor outside inference mode and autocast."""
    return (
        len(keys) == 4
        and [bool(_NOT_A_BACKEND.search(key)) for key in keys].count(False) == 1
        and ({"ADInplaceOrView", "BackendSelect"} < set(keys))
    )


def _sizes(text: str) -> tuple[int | None, ...]:
    """Return `[4, None]` as a tuple."""
    return tuple([None if size == "None" else int(size) for size in text[1:-1].split(", ") if size])


def _no_marks(leaf: Leaf) -> tuple[GuardTest, ...]:
    return (NoDimensionMarks(readable(leaf.source), leaf.absent_marks),)


def _aliasing(leaf: Leaf) -> tuple[GuardTest, ...]:
    test = _expression(leaf)
    one, _, other = test.text.partition(" is ")
    if one == other:
        return (_in_words(f"{one} is one object, on whichever of two ways torch comes to it"),)
    return (test,)


def _no_aliasing(leaf: Leaf) -> tuple[GuardTest, ...]:
    names = _arguments(leaf.text)
    if len(names) == 2:
        return (PythonTest(f"{names[0]} is not {names[1]}"),)
    return (PythonTest(f"len({{{', '.join(f'id({name})' for name in names)}}}) == {len(names)}"),)


def _dict_contains(leaf: Leaf) -> tuple[GuardTest, ...]:
    negated = leaf.text.startswith("not ")
    key, expression = _arguments(leaf.text)
    return (PythonTest(f"{key} {'not in' if negated else 'in'} {expression}"),)


def _set_contains(leaf: Leaf) -> tuple[GuardTest, ...]:
    negated = leaf.text.startswith("not ")
    expression, key = _arguments(leaf.text)
    return (PythonTest(f"{key} {'not in' if negated else 'in'} {expression}"),)


def _dict_version(leaf: Leaf) -> tuple[GuardTest, ...]:
    name = _arguments(leaf.text)[0]
    return (_in_words(f"the dictionary {name} has not been changed since this was compiled"),)


def _mode_stack(leaf: Leaf) -> tuple[GuardTest, ...]:
    return (_in_words("the stack of torch function modes is the one this was compiled under"),)


METADATA_GUARD = "TENSOR_SUBCLASS_METADATA_MATCH"  # torch's name for it


def _metadata(leaf: Leaf) -> tuple[GuardTest, ...]:
    """Torch prints nothing but the name of a function of its own, which differs from version to version."""
    value = readable(leaf.source) if leaf.source else "the tensor subclass"
    return (_in_words(f"{value} has the metadata that it had (the second result of its __tensor_flatten__)"),)


# Of torch 2.2: helpers of torch's own, and what they test.
_HELPERS = {
    "___guarded_code.valid": "every object that this was compiled with still lives",
    "___compile_config_hash()": "torch's configuration is the one that this was compiled under",
    "(___skip_backend_check() or ": "the backend is the one that this was compiled with",
}
_CHECK_TENSORS = re.compile(r"___check_tensors\((?P<sources>.+), tensor_check_names=")


def _lambda(leaf: Leaf) -> tuple[GuardTest, ...]:
    helper = next((words for start, words in _HELPERS.items() if leaf.text.startswith(start)), None)
    if helper is not None:
        return (_in_words(helper),)
    tensors = _CHECK_TENSORS.match(leaf.text)
    if tensors is not None:
        return (_in_words(f"{readable(tensors['sources'])}: tensors with the properties that they had"),)
    if "top_saved_tensors_hooks ids" in leaf.text:
        if leaf.text.endswith("== None"):
            return (_in_words("no saved-tensors hooks that Dynamo could inline are set"),)
        return (_in_words("the saved-tensors hooks are those this was compiled under"),)
    return _plain(leaf)


# A weak reference that Dynamo keeps as a global: __optimizer_<ids>_c<number>
_LIVES = re.compile(r"G\['__(?P<what>[a-z_]+?)_\d{6,}\w*'\]\(\) is not None$")


def _not_none(leaf: Leaf) -> tuple[GuardTest, ...]:
    match = _LIVES.match(leaf.text)
    if match is None:
        return _plain(leaf)
    return (_in_words(f"the {match['what'].replace('_', ' ')} that this was compiled with still lives"),)


def _global_state(leaf: Leaf) -> tuple[GuardTest, ...]:
    """Read the switches of torch itself; the number of a dtype is torch's own numbering."""
    if " against " not in leaf.text:  # torch 2.9 does not print them
        return (_in_words("torch's global switches are as they were: grad mode, autocast, default dtype, threads"),)
    state = json.loads(leaf.text.partition(" against ")[2])
    dtype = {5: "float16", 6: "float32", 7: "float64", 15: "bfloat16"}.get(state["default_dtype"])
    switches = TorchState(
        bool(state["grad_mode"]),
        f"torch.{dtype}" if dtype else "",
        bool(state["deterministic_algorithms"]),
        int(state["num_threads"]),
    )
    autocast = "on" if any(state.get("autocast_state", {}).get("enabled", ())) else "off"
    rest = f"torch's other global switches are as they were: autocast ({autocast}), TF32, reduced precision"
    return (switches, _in_words(rest))


def _default_device(leaf: Leaf) -> tuple[GuardTest, ...]:
    return (PythonTest(_expression(leaf).text.replace(" == None", " is None")),)


_ID_AND_END = re.compile(r", \d+\)")


def _first_argument(text: str) -> str:
    """Return the first argument of the call at the start of `text`, as torch spells it."""
    start = text.index("(")
    return _ID_AND_END.split(text[start + 1 :], maxsplit=1)[0]


_TEXT = r"'[^'\\\n]*'"
_TWO_ARGUMENTS = re.compile(rf"(?:not )?\w+\(({_TEXT}|\d+), ((?:[\w.]|\[(?:{_TEXT}|\d+)\])+)\)$")


def _arguments(text: str) -> list[str]:
    """Return the positional arguments of the first call in `text`, made readable."""
    simple = _TWO_ARGUMENTS.match(text)
    if simple is not None:
        return [readable(simple[1]), readable(simple[2])]
    text = _with_names_of_classes(text)
    tree = ast.parse(text, mode="eval")
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [readable(segment(text, argument)) for argument in call.args]


# Torch's name for a kind of guard -> the function that reads one; other kinds are printed as an expression.
READERS: dict[str, Callable[[Leaf], tuple[GuardTest, ...]]] = {
    "TYPE_MATCH": _type_match,
    "FAKE_SCRIPT_TYPE_MATCH": _type_match,
    "EQUALS_MATCH": _equals_match,
    "TRUE_MATCH": _truth_match,
    "FALSE_MATCH": _truth_match,
    "ID_MATCH": _id_match,
    "TENSOR_MATCH": _tensor_match,
    "NO_TENSOR_ALIASING": _no_aliasing,
    "OBJECT_ALIASING": _aliasing,
    "DICT_CONTAINS": _dict_contains,
    "SET_CONTAINS": _set_contains,
    "DICT_VERSION": _dict_version,
    "TORCH_FUNCTION_MODE_STACK": _mode_stack,
    METADATA_GUARD: _metadata,
    "LAMBDA_GUARD": _lambda,
    "NOT_NONE": _not_none,
    "NOT_NONE_MATCH": _not_none,
    "GLOBAL_STATE": _global_state,
    "DEFAULT_DEVICE": _default_device,
}
