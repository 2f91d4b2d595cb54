"""Guards that torch 2.2 prints one below the other, in the form of the guard tree that newer torch prints.

There is no tree yet: each guard is an expression, and tensors are tested together. Torch hands each to its log of
guards, `check_tensor(...)` of each tensor included, whether or not anybody reads that log.
"""

from __future__ import annotations

import ctypes
import re
from typing import Iterable

from depyf.torch_hooks.guards.origins import end_of_condition
from depyf.torch_hooks.guards.recompile_reasons import kind_of

_ABOUT = re.compile(r"(?P<test>___check_type_id|___check_obj_id|check_tensor)\((?P<source>.+?), (?P<rest>.+)\)$")
_ABSENT_MARK = re.compile(r"(?P<test>hasattr)\((?P<source>.+), (?P<rest>'_dynamo_\w+_indices')\) == False$")


_CODE_OF = re.compile(r"getattr\((?P<function>[\w.\[\]'\"()]+), '__code__', None\)")


def with_plain_attributes(condition: str) -> str:
    """Return a condition on the code of a function as newer torch prints it: `f.__code__`."""
    return _CODE_OF.sub(r"\g<function>.__code__", condition)


def as_tree(lines: Iterable[str], are_new: bool) -> str:
    """Return the text of a guard tree with these guards, each an expression and torch's comment on it.

    `are_new`: they were made just now, so that what they name by its id lives.
    """
    tree = ["+- RootGuardManager"]
    for line in dict.fromkeys(map(with_plain_attributes, lines)):
        condition = line[: end_of_condition(line)].strip()
        kind = kind_of(condition) or "LAMBDA_GUARD"
        about = _ABSENT_MARK.match(condition) or (_ABOUT.match(condition) if are_new else None)
        if about is None:
            tree.append(f"| +- {kind}: {line}")
        else:
            tree.append(f"| +- GuardManager: source={about['source']}, type={_type_of(about['test'], about['rest'])}")
            tree.append(f"| | +- {kind}: {line}")
    return "\n".join(tree)


def _type_of(test: str, rest: str) -> str:
    """Return the type that a guard tests as `repr` spells it."""
    if not rest.isdecimal():
        return "<class 'torch.Tensor'>"
    tested = ctypes.cast(int(rest), ctypes.py_object).value
    return repr(type(tested) if test == "___check_obj_id" else tested)
