"""Write code objects to files that plain `pickle.load` (and so `dill.load`) reads, without depyf or dill.

pickle cannot name the type of code objects, but it can call `code.replace` on some code object:

    operator.methodcaller("replace", co_code=..., co_consts=..., ...)(compile("0", "", "eval"))

Constants that pickle cannot hold are replaced by a text that describes them.
"""

from __future__ import annotations

import io
import operator
import pickle
from types import CodeType
from typing import Any, Dict, Mapping

from depyf.text.stable_repr import stable_repr

_FIELDS = (
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_nlocals",
    "co_stacksize",
    "co_flags",
    "co_firstlineno",
    "co_code",
    "co_consts",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_filename",
    "co_name",
    "co_qualname",
    "co_exceptiontable",
)


class _AnyCode:
    """A placeholder that is pickled as some code object."""

    def __reduce__(self) -> tuple[Any, ...]:
        return compile, ("0", "", "eval")


class _CodePickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, CodeType):
            return operator.methodcaller("replace", **_fields(obj)), (_AnyCode(),)
        return NotImplemented


def dump_code(code: CodeType, renames: Mapping[str, str]) -> bytes:
    """Return a pickle of `code`: same code, same bytes.

    `renames` maps names in it, and its file name, to stable ones, which do not vary from run to run.
    """
    return _dump(_portable(code, renames))


def _dump(value: object) -> bytes:
    stream = io.BytesIO()
    pickler = _CodePickler(stream, protocol=4)
    pickler.fast = True  # no memo: the bytes must not depend on which equal strings are the same object
    pickler.dump(value)
    return stream.getvalue()


def _fields(code: CodeType) -> Dict[str, Any]:
    table = "co_linetable" if hasattr(code, "co_linetable") else "co_lnotab"
    return {name: getattr(code, name) for name in (*_FIELDS, table) if hasattr(code, name)}


def _portable(code: CodeType, renames: Mapping[str, str]) -> CodeType:
    """Return a copy, to be read and not run, without what varies from run to run or cannot be stored."""

    def constant(value: Any) -> Any:
        if isinstance(value, CodeType):
            return _portable(value, renames)
        try:
            data = _dump(value)
            pickle.loads(data)
        except Exception:
            return stable_repr(value)
        return value

    return code.replace(
        co_consts=tuple(map(constant, code.co_consts)),
        co_names=tuple(renames.get(name, name) for name in code.co_names),
        co_filename=renames.get(code.co_filename, code.co_filename),
    )
