"""One guard that failed, in parts: the value, the property of it, what was expected and what came.

Torch names the first guard that fails for each earlier version, in words that differ from guard to guard: a new form of
them is a function here and its line in `_FORMS`.  What a value is now is often not among those words; it is read from
the frame that Dynamo is about to compile.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import Callable, Tuple

from depyf.record.vocabulary import FITS_NOW, TORCH_WORDS
from depyf.text.articles import with_article
from depyf.text.lines import shortened
from depyf.torch_hooks.guards.compiled_values import active_modes, metadata_of
from depyf.torch_hooks.guards.frame_values import Variables
from depyf.torch_hooks.guards.source_names import A_SOURCE, readable
from depyf.torch_hooks.guards.torch_switches import Switch, changed_switches
from depyf.torch_hooks.internals.torch_text import is_expression, type_from_repr

# Properties that are not spelled as an attribute of the value.
TYPE, IDENTITY, LENGTH = "type", "identity", "length"
DISPATCH_KEYS = "dispatch keys"
DISTINCT = "distinct"  # the values are different tensors
TORCH_STATE = "torch state"
BACKEND = "backend"
CONTAINS = "contains"  # a key or an element is in the value, or is not
METADATA = "metadata"  # of a tensor subclass: what it consists of apart from its tensors
MODES = "modes"  # the stack of torch function modes
ALIVE = "alive"  # the objects that the guards name, of which one was freed
EXPRESSION = "expression"  # no single property: an expression

_MOST_PARTS = 6  # values that are listed for one condition


@dataclass(frozen=True)
class Mismatch:
    """A property that is not what it was when a version was compiled."""

    aspect: str  # size(0), stride(1), dim(), dtype, requires_grad of a tensor, or one of those above
    subject: str = ""  # the value, as the user spells it; of an expression the tensor that it begins with, if any
    expected: str = ""  # the value that the version was compiled for; empty where it is not known
    actual: str = ""  # the value that came; empty where it cannot be read
    text: str = ""  # of an expression: all of it
    switches: Tuple[Switch, ...] = ()  # of torch's state: what changed
    parts: Tuple[Tuple[str, str], ...] = ()  # of an expression: (part of it, its value now)
    keys: Tuple[str, ...] | None = None  # of the length of a dictionary: its keys now, where they can be read

    @property
    def about(self) -> str:
        """What is tested, without the value that was expected: the same for all versions that differ in it."""
        if self.aspect == EXPRESSION:
            return ", ".join(part for part, _ in self.parts) or self.subject or self.text
        return f"{self.subject}.{self.aspect}" if self.subject else self.aspect

    @property
    def condition(self) -> str:
        """What the version needs, for a reader: an expression, or words that continue "it needs"."""
        spell = _SPELLINGS.get(self.aspect)
        if spell is not None:
            return spell(self)
        operator = "is" if self.aspect in ("dtype", "requires_grad") else "=="
        return f"{self.subject}.{self.aspect} {operator} {self.expected}"

    @property
    def is_of_tensor(self) -> bool:
        """Whether a guard on the tensor `subject` may hold the line, or the type, that torch left out."""
        is_known_type = self.aspect == TYPE and bool(self.expected)
        others = (IDENTITY, LENGTH, DISTINCT, CONTAINS, METADATA, ALIVE)
        return bool(self.subject) and self.aspect not in others and not is_known_type


_SPELLINGS: dict[str, Callable[[Mismatch], str]] = {
    TYPE: lambda one: (
        f"type({one.subject}) is {one.expected}" if one.expected else f"{one.subject} to have the type it had"
    ),
    IDENTITY: lambda one: f"{one.subject} to be {one.expected}",
    LENGTH: lambda one: f"len({one.subject}) == {one.expected}",
    DISPATCH_KEYS: lambda one: f"{one.subject} to have the dispatch keys {one.expected}",
    DISTINCT: lambda one: one.text or f"{one.subject} to be different tensors",
    TORCH_STATE: lambda one: " and ".join(switch.condition for switch in one.switches) or SAME_SWITCHES,
    BACKEND: lambda one: f"the backend {one.expected or 'that it was compiled with'}",
    CONTAINS: lambda one: one.text,
    METADATA: lambda one: (
        f"{one.subject or 'a tensor subclass'} to have the metadata it had (__tensor_flatten__()[1])"
        + (f": {one.expected}" if one.expected else "")
    ),
    MODES: lambda one: (
        f"the torch function modes that it was compiled under{f': {one.expected}' if one.expected else ''}"
    ),
    ALIVE: lambda one: (
        f"{one.subject} to be {one.expected}" if one.subject else "every object that it was compiled with"
    ),
    FITS_NOW: lambda one: "nothing that this call lacks",
    EXPRESSION: lambda one: one.text,
    TORCH_WORDS: lambda one: one.text,
}
SAME_OBJECT = "the object it was compiled with"
SAME_SWITCHES = "torch's global switches as they were (grad mode, autocast, default dtype, threads)"


def read_mismatch(condition: str, variables: Variables) -> Mismatch:
    """Read what torch prints of a guard that failed, its comment cut off."""
    for pattern, read in _FORMS:
        match = pattern.match(condition)
        if match is not None:
            found = read(match, variables)
            actual = shortened(_with_class(found.actual, found.expected))
            return replace(found, expected=shortened(found.expected), actual=actual)
    return _expression(condition, variables)


def _with_class(actual: str, expected: str) -> str:
    """Return a number with its class where it equals the one that was expected: 1 and True, 1 and 1.0."""
    if len(actual) > _LONGEST_NUMBER or actual == expected:
        return actual
    try:
        now, then = ast.literal_eval(actual), ast.literal_eval(expected)
    except (SyntaxError, ValueError):
        return actual
    is_equal = isinstance(now, (int, float)) and isinstance(then, (int, float)) and now == then
    return f"{actual}, {with_article(type(now).__name__)}" if is_equal and type(now) is not type(then) else actual


_LONGEST_NUMBER = 30


# ---------------------------------------------------------------- the forms in which torch prints it

_DTYPES = {
    "Float": "torch.float32",
    "Double": "torch.float64",
    "Half": "torch.float16",
    "BFloat16": "torch.bfloat16",
    "Long": "torch.int64",
    "Int": "torch.int32",
    "Short": "torch.int16",
    "Char": "torch.int8",
    "Byte": "torch.uint8",
    "Bool": "torch.bool",
}


def _dimension(match: re.Match[str], variables: Variables) -> Mismatch:
    return Mismatch(f"{match['what']}({match['axis']})", readable(match["name"]), match["then"], match["now"])


def _rank(match: re.Match[str], variables: Variables) -> Mismatch:
    return Mismatch("dim()", readable(match["name"]), match["then"], match["now"])


def _dtype(match: re.Match[str], variables: Variables) -> Mismatch:
    expected, actual = (_DTYPES.get(match[which], match[which]) for which in ("then", "now"))
    return Mismatch("dtype", readable(match["name"]), expected, actual)


def _requires_grad(match: re.Match[str], variables: Variables) -> Mismatch:
    expected = match["then"] == "1"
    return Mismatch("requires_grad", readable(match["name"]), str(expected), str(not expected))


def _keys(match: re.Match[str], variables: Variables) -> Mismatch:
    """Read dispatch keys, and the device, which they follow and which a program chooses."""
    device = variables.describe(f"{match['name']}.device")
    parts = ((f"{readable(match['name'])}.device", device),) if device else ()
    return Mismatch(DISPATCH_KEYS, readable(match["name"]), match["then"], match["now"], parts=parts)


def _two_objects(match: re.Match[str], variables: Variables) -> Mismatch:
    names = f"{readable(match['one'])} and {readable(match['other'])}"
    return Mismatch(DISTINCT, names, "one object", "two objects", text=f"{names} to be one object")


def _not_a_tensor(match: re.Match[str], variables: Variables) -> Mismatch:
    return Mismatch(TYPE, readable(match["name"]), "", type_from_repr(match["now"]))


def _duplicates(match: re.Match[str], variables: Variables) -> Mismatch:
    names = [readable(name.strip().strip("\"'")) for name in match["names"].split(",")]
    return Mismatch(DISTINCT, ", ".join(names), "different tensors", "one tensor")


def _global_state(match: re.Match[str], variables: Variables) -> Mismatch:
    return of_switches(changed_switches(match["names"].split()))


def of_switches(switches: Tuple[Switch, ...]) -> Mismatch:
    """Return the mismatch of torch's global state that consists of these switches."""
    known = [one for one in switches if one.asked]
    if len(switches) == 1:
        (one,) = switches
        return Mismatch(TORCH_STATE, expected=one.then, actual=one.now, switches=switches)
    then = ", ".join(f"{one.asked} is {one.then}" for one in known if one.then)
    now = ", ".join(f"{one.asked} is {one.now}" for one in known if one.now)
    return Mismatch(TORCH_STATE, expected=then, actual=now, switches=switches)


def _unnamed_state(match: re.Match[str], variables: Variables) -> Mismatch:
    """Torch 2.3 and older do not name the switch."""
    return Mismatch(TORCH_STATE, actual="one of them changed")


def _aliased(match: re.Match[str], variables: Variables) -> Mismatch:
    """Torch 2.3 and older name one of the tensors: the others are the variables that hold it, too."""
    name = readable(match["name"])
    names = variables.holding_same(match["name"])
    if len(names) > 1:
        return Mismatch(DISTINCT, ", ".join(names), "different tensors", "one tensor")
    text = f"{name} to be another tensor than the others"
    return Mismatch(DISTINCT, name, "different tensors", "one tensor", text=text)


def _key_set(match: re.Match[str], variables: Variables) -> Mismatch:
    """Torch 2.3 and older compare the keys of a dictionary, later ones its length first."""
    keys = variables.keys(match["name"])
    actual = "" if keys is None else f"{{{', '.join(keys)}}}"
    return Mismatch(EXPRESSION, "", match["then"], actual, readable(match.string))


def _type(match: re.Match[str], variables: Variables) -> Mismatch:
    expected = re.sub(r"^(?:builtins|__main__)\.", "", type_from_repr(match["type"] or ""))
    return Mismatch(TYPE, readable(match["name"]), expected, variables.describe(f"type({match['name']})"))


# Torch 2.8 and older print the ids of these, newer torch the conditions.
_SINGLETONS = {str(id(None)): "is None", str(id(True)): "== True", str(id(False)): "== False"}


def _object(match: re.Match[str], variables: Variables) -> Mismatch:
    if match["id"] in _SINGLETONS:
        return read_mismatch(f"{match['name']} {_SINGLETONS[match['id']]}", variables)
    actual = variables.describe_other(match["name"]) or "another object"
    return Mismatch(IDENTITY, readable(match["name"]), SAME_OBJECT, actual)


def _length(match: re.Match[str], variables: Variables) -> Mismatch:
    """Read a length; of a dictionary, torch may print the opposite: how it is found to differ."""
    name = match["name"]
    keys = variables.keys(name)
    return Mismatch(LENGTH, readable(name), match["then"], variables.describe(f"len({name})"), keys=keys)


def _contains(match: re.Match[str], variables: Variables) -> Mismatch:
    owner, key = readable(match["owner"]), match["key"]
    was_there = match["not"] is None
    text = f"{key} {'in' if was_there else 'not in'} {owner}"
    return Mismatch(CONTAINS, f"{owner}[{key}]", actual="it is not" if was_there else "it is", text=text)


def _metadata(match: re.Match[str], variables: Variables) -> Mismatch:
    """Torch names the check by an id, and not the tensor: the guards of the version do."""
    found = [(name, metadata_of(value)) for name, value in variables.local.items()]
    parts = [(f"{name}.{attribute}", value) for name, one in found for attribute, value in one.items()]
    return Mismatch(METADATA, actual="others", parts=tuple(parts))


def _modes(match: re.Match[str], variables: Variables) -> Mismatch:
    return Mismatch(MODES, actual=words_of_modes(active_modes()))


def words_of_modes(modes: Tuple[str, ...]) -> str:
    """Return the modes, outermost first."""
    return ", ".join(modes) or "none"


def _missing_key(match: re.Match[str], variables: Variables) -> Mismatch:
    """Torch got as far as a value that the dictionary does not have any more."""
    owner, key = readable(match["owner"]), match["key"]
    return Mismatch(CONTAINS, f"{owner}[{key}]", actual="it is not", text=f"{key} in {owner}")


def _missing_item(match: re.Match[str], variables: Variables) -> Mismatch:
    owner = readable(match["owner"])
    actual = variables.describe(f"len({match['owner']})")
    return Mismatch(
        EXPRESSION, text=f"len({owner}) > {match['index']}", actual=actual, parts=((f"len({owner})", actual),)
    )


def _missing_attribute(match: re.Match[str], variables: Variables) -> Mismatch:
    owner = readable(match["owner"])
    return Mismatch(
        CONTAINS, f"{owner}.{match['name']}", actual="it has none", text=f"hasattr({owner}, '{match['name']}')"
    )


def _freed(match: re.Match[str], variables: Variables) -> Mismatch:
    """Torch drops a version when an object is freed that a guard compares by identity, and some live for one call."""
    return Mismatch(ALIVE, readable(match["name"]), SAME_OBJECT, "that one is freed, and torch dropped the version")


def _alive(match: re.Match[str], variables: Variables) -> Mismatch:
    """Torch 2.2 does not name the object."""
    return Mismatch(ALIVE, actual="one of them was freed")


def _fits_now(match: re.Match[str], variables: Variables) -> Mismatch:
    """Torch found no guard that fails, which it takes for a bug of its own: another thread compiled meanwhile."""
    return Mismatch(FITS_NOW)


def _backend(match: re.Match[str], variables: Variables) -> Mismatch:
    """Read two backends; torch continues with advice, and prints two backends of one class alike."""
    expected, actual = match["then"] or "", match["now"] or ""
    same = actual and actual == expected
    actual = f"another {actual}, or one with other options" if same else actual or "another one"
    return Mismatch(BACKEND, expected=expected, actual=actual)


def _is_nan(match: re.Match[str], variables: Variables) -> Mismatch:
    name = readable(match["name"])
    actual = variables.describe(match["name"])
    return Mismatch(EXPRESSION, "", "nan", actual, f"math.isnan({name})", parts=((name, actual),))


def _equal(match: re.Match[str], variables: Variables) -> Mismatch:
    found = _expression(match.string, variables)
    if A_SOURCE.search(match["then"]) or len(found.parts) > 1:  # two values that vary: none is the expected one
        return replace(found, text=spelled(match.string))
    actual = variables.describe(match["name"]) or found.actual
    return replace(found, text=spelled(match.string), expected=match["then"], actual=actual)


def spelled(expression: str) -> str:
    """Return a condition as a reader spells it, with x.size(0) in the place of torch's x.size()[0]."""
    return _AXIS.sub(r".\1(\2)", readable(expression))


def _is_of_one(text: str, value: str) -> bool:
    """Return whether a condition compares nothing but one value with constants."""
    rest = text.replace(value, "", 1).split()
    return bool(rest) and all(one in _COMPARISONS or one.isdecimal() for one in rest)


_COMPARISONS = ("is", "not", "None", "True", "False", "<=", "<", ">=", ">", "!=")
_AXIS = re.compile(r"\.(size|stride)\(\)\[(\d+)\]")
_TENSOR = re.compile(r"(.+?)(?:\.(?:size|stride|dim|dtype|requires_grad)\b| has the )")
_VALUE = r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[(?:'[^'\\\n]*'|\d+)\])*"
_PLAIN_TENSOR = re.compile(rf"({_VALUE})\.(?:size|stride|storage_offset)\(\d*\)")


def _expression(condition: str, variables: Variables) -> Mismatch:
    if not is_expression(condition):
        return Mismatch(TORCH_WORDS, text=condition)
    text = spelled(condition)
    tensor = _PLAIN_TENSOR.search(text) or _TENSOR.match(text)
    every = [(spelled(part), value) for part, value in _values_now(condition, variables).items()]
    parts = tuple([(part, value) for part, value in every if part != value])  # torch.float32 is torch.float32
    actual = ", ".join(f"{part} is {value}" for part, value in parts)
    if len(parts) == 1 and (len(every) == 2 or _is_of_one(text, parts[0][0])):
        actual = parts[0][1]
    return Mismatch(EXPRESSION, "" if tensor is None else tensor[1], "", actual, text, parts=parts)


_FORMS = tuple(
    (re.compile(pattern, re.DOTALL), read)
    for pattern, read in (
        (r"tensor '(?P<name>.+)' (?P<what>size|stride) mismatch at index (?P<axis>\d+)\. expected (?P<then>.+), "
         r"actual (?P<now>.+)$", _dimension),
        (r"tensor '(?P<name>.+)' rank mismatch\. expected (?P<then>\d+), actual (?P<now>\d+)$", _rank),
        (r"tensor '(?P<name>.+)' dtype mismatch\. expected (?P<then>\w+), actual (?P<now>\w+)$", _dtype),
        (r"tensor '(?P<name>.+)' requires_grad mismatch\. expected requires_grad=(?P<then>\d)", _requires_grad),
        (r"tensor '(?P<name>.+)' dispatch key set mismatch\. expected DispatchKeySet\((?P<then>.*?)\), "
         r"actual DispatchKeySet\((?P<now>.*?)\)", _keys),
        (r"expected type of '(?P<name>.+?)' to be (?:a tensor type|<class '[\w.]+'>),.* but found (?P<now>.+)$",
         _not_a_tensor),
        (r"BACKEND_MATCH failure:.*?different backend callables\.?"
         r"(?: Cached backend: (?P<then>\S+) .*?New backend: (?P<now>\S+) )?", _backend),
        (r"Duplicate tensors? found: \[(?P<names>.*)\]$", _duplicates),
        (r"Duplicate tensor found where not expected! (?P<name>.+?) ?should not alias to anything", _aliased),
        (r"GLOBAL_STATE changed: (?P<names>.*)$", _global_state),
        (r"___check_global_state\(\)$", _unnamed_state),
        (r"set\((?P<name>.+)\.keys\(\)\) == (?P<then>\{.+\})$", _key_set),
        (r"___check_type_id\((?P<name>.+), (?:\d+|\.\.\.)\)(?:, type=(?P<type>.+))?$", _type),
        (r"___check_obj_id\((?P<name>.+), (?P<id>\d+|\.\.\.)\)", _object),
        (r"len\((?P<name>[^()]+)\) [!=]= (?P<then>\d+)$", _length),
        (r"(?P<not>not )?___(?:dict|set)_contains\((?P<key>'[^'\\\n]*'|\d+), (?P<owner>.+)\)$", _contains),
        (r"(?P<not>not )?(?:set|frozenset|dict)\.__contains__\((?P<owner>.+), (?P<key>'[^'\\\n]*'|\d+)\)$", _contains),
        (r"___check_metadata_", _metadata),
        (r"___check_torch_function_mode_stack\(\)", _modes),
        (r"KeyError on (?P<owner>.+)\[(?P<key>'[^'\\\n]*'|\d+)\]$", _missing_key),
        (r"IndexError on (?P<owner>.+)\[(?P<index>\d+)\]$", _missing_item),
        (r"getattr failed on source (?P<owner>.+)\.(?P<name>\w+)$", _missing_attribute),
        (r"Cache line invalidated because (?P<name>.+) got deallocated$", _freed),
        (r"___guarded_code\.valid$", _alive),
        (r"Unexpected recompilation: runtime guards failed", _fits_now),
        (r"\(type\((?P<name>.+)\) is float and __math_isnan\((?P=name)\)\)$", _is_nan),
        (rf"(?P<one>{_VALUE}) is (?P<other>(?!None$|True$|False$){_VALUE})$", _two_objects),
        (r"(?P<name>[^=<>!]+?) == (?P<then>.+)$", _equal),
    )
)  # fmt: skip


# ---------------------------------------------------------------- values now


def _values_now(condition: str, variables: Variables) -> dict[str, str]:
    """Return the values now of what a condition compares: `x.size()[0]` -> `1`."""
    try:
        tree = ast.parse(condition, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, str] = {}
    _gather_values(tree, condition, variables, found)
    return found


def _gather_values(node: ast.expr, condition: str, variables: Variables, found: dict[str, str]) -> None:
    """Describe a part of a condition as a whole where that is possible, else the parts that it is computed from."""
    if isinstance(node, ast.Constant) or len(found) >= _MOST_PARTS:
        return
    if not isinstance(node, ast.Compare):
        text = ast.get_source_segment(condition, node) or ""
        value = variables.describe(text)
        if value:
            found[readable(text)] = value
            return
    if isinstance(node, (ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp)):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                _gather_values(part, condition, variables, found)
