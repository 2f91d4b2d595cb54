"""Names for values that need one: descriptive, and never one that the code uses already."""

from __future__ import annotations

import builtins
import functools
import keyword
import re
from types import CodeType
from typing import Any, Callable, Collection, Dict, Iterable, List, Mapping, Set

from depyf.decompiler import syntax as s
from depyf.decompiler.build.expression_forms import is_none
from depyf.decompiler.build.tidying import own_statements
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.decode.global_reads import reads_global
from depyf.decompiler.syntax.provisional import AssertionErrorName, IterOf

_BUILTINS = frozenset(dir(builtins))  # `set = a.set_` would puzzle a reader, and functions inside that use `set`
_NO_WORD = re.compile(r"\W")


class FreshNames:
    """Gives out names that one function does not use yet."""

    def __init__(self, code: CodeType, also_taken: Iterable[str] = (), unused: Collection[str] = ()) -> None:
        own = [name for name in code.co_varnames if name not in unused]
        self.taken: Set[str] = {*own, *code.co_cellvars, *code.co_freevars, *code.co_names, *also_taken}
        self._inside = [const for const in code.co_consts if isinstance(const, CODE_TYPES)]
        self._next: Dict[str, int] = {}

    def fresh(self, node: s.Expression) -> str:
        """Return a new name for the value of `node`."""
        return self.like(suggestion(node))

    def like(self, base: str) -> str:
        """Return a new name, as near to `base` as possible."""
        number = self._next.get(base, 0)
        if number:
            name = f"{base}_{number}"
            number += 1
        else:
            if not base.isidentifier():  # pytest's `@py_assert1`, a comprehension's `.0`
                base = _clean(base)
            name, number = base, self._next.get(base, 1)
        while not self._is_free(name):
            name = f"{base}_{number}"
            number += 1
        self._next[base] = number
        self.taken.add(name)
        return name

    def _is_free(self, name: str) -> bool:
        if name in self.taken or name in _BUILTINS or keyword.iskeyword(name) or not name.isidentifier():
            return False
        # A variable here would hide that from code inside.
        return not self._inside or not any(reads_global(code, name) for code in self._inside)


def suggestion(node: s.Expression) -> str:
    """Return a name that describes the value of `node`."""
    key = node.slice.value if isinstance(node, s.Subscript) and isinstance(node.slice, s.Constant) else None
    if isinstance(key, str) and key.isidentifier():
        return _clean(key)
    if key is not None and isinstance(node, s.Subscript) and isinstance(key, (int, str)):
        inner = suggestion(node.value)
        return _clean(f"{inner}_{key}".replace("-", "last_"))
    if isinstance(node, s.Attribute):
        return _clean(node.attr)
    if isinstance(node, s.Name):
        return _clean(node.id)
    if isinstance(node, s.Call):
        inner = suggestion(node.func)
        return inner if inner == "value" or inner.endswith("_result") else f"{inner}_result"
    if isinstance(node, (s.List, s.ListComp)):
        return "items"
    if isinstance(node, IterOf):
        return "iter_result"
    if isinstance(node, AssertionErrorName):
        return "AssertionError"
    return "value"


@functools.lru_cache(maxsize=256)
def _clean(text: str) -> str:
    text = _NO_WORD.sub("_", text).strip("_") or "value"
    return text if not text[0].isdigit() else f"value_{text}"


def rename(body: List[s.Statement], names: Dict[str, str]) -> None:
    """Give variables other names, in place."""
    work: List[Any] = list(body) if names else []
    while work:
        node = work.pop()
        kind = node.__class__
        if kind is s.Name:
            node.id = names.get(node.id, node.id)
        elif kind is s.Subscript or kind is s.Attribute:
            work.append(node.value)
            if kind is s.Subscript and node.slice.__class__ is not s.Constant:
                work.append(node.slice)
        elif kind is s.Assign:
            work += node.targets
            work.append(node.value)
        elif kind is not s.Constant:
            work += s.children(node)


_GENERATED_NAME = re.compile(r"tmp_\d+$")
_MADE_OF_GENERATED = re.compile(r"(?P<base>tmp_\d+)_(?P<rest>.+)$")
_LONGEST_NAME = 24


def descriptive_names(
    body: List[s.Statement], generated: Collection[str], short_name: Callable[[str], str]
) -> Dict[str, str]:
    """Return names for variables of a code generator (`tmp_3`), each from the one value that it gets.

    None does not count: it stands for a value that is not there yet. `short_name`: a better name for a name, or "".
    """
    found: Dict[str, Set[str]] = {}
    plain = {name for name in generated if _GENERATED_NAME.match(name)}
    if not plain:
        return {}
    for statement in own_statements(body):
        if isinstance(statement, s.Assign):
            for target in statement.targets:
                for part in (target,) if target.__class__ is s.Name else s.walk(target):
                    if isinstance(part, s.Name) and part.id in plain and not is_none(statement.value):
                        wanted = suggestion(statement.value) if part is target else "value"
                        found.setdefault(part.id, set()).add(wanted)
    only = {name: next(iter(names)) for name, names in found.items() if len(names) == 1}
    for name, wanted in only.items():  # in the order of the text: a name may be made of one before it
        only[name] = short_name(wanted) or after_renaming(wanted, only)
    return {name: wanted for name, wanted in only.items() if wanted != "value" and len(wanted) <= _LONGEST_NAME}


def after_renaming(name: str, renamed: Mapping[str, str]) -> str:
    """Return `x_result` for `tmp_3_result` where `tmp_3` is renamed to `x`."""
    made_of = _MADE_OF_GENERATED.match(name)
    if made_of is None or made_of["base"] not in renamed:
        return name
    return f"{renamed[made_of['base']]}_{made_of['rest']}"


def renamed_temporaries(temporaries: Iterable[str], renamed: Mapping[str, str]) -> Dict[str, str]:
    """Return better names for our own temporaries that are called after a variable which gets a better name."""
    better = {temporary: after_renaming(temporary, renamed) for temporary in temporaries}
    return {temporary: name for temporary, name in better.items() if name != temporary}
