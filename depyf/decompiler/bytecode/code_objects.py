"""Code objects: those of the running Python, and those of other versions, which are plain records.

A `ForeignCode` has the attributes that code objects of its version have, as far as the stages read them, so a stage
treats both alike, and is annotated with CodeType for both. `isinstance(x, CODE_TYPES)` is the test for either;
`facts_of` returns the facts of the version that a code object belongs to.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Type, cast

from depyf.decompiler.bytecode.location_table import Position, decoded_lines, decoded_positions
from depyf.decompiler.bytecode.python_facts import RUNNING, PythonFacts

_NUMBERS = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_stacksize", "co_flags", "co_firstlineno")
_VARIABLES = ("co_names", "co_varnames", "co_cellvars", "co_freevars")
_TEXTS = ("co_filename", "co_name", "co_code", "co_consts")
_OF_SOME_VERSIONS = ("co_qualname", "co_exceptiontable", "co_linetable", "co_lnotab")


class ForeignCode:
    """A code object of another Python than the running one. It never changes, and equals itself alone.

    (The compiler makes one of code objects with the same contents.) An attribute that its version does not have is
    missing here, too.
    """

    __slots__ = ("facts", *_NUMBERS, *_VARIABLES, *_TEXTS, *_OF_SOME_VERSIONS)

    facts: PythonFacts
    co_code: bytes
    co_consts: Tuple[Any, ...]
    co_firstlineno: int
    co_linetable: bytes
    co_lnotab: bytes
    co_name: str
    co_varnames: Tuple[str, ...]

    def __init__(self, facts: PythonFacts, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "facts", facts)
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a code object does not change: {name}")

    def replace(self, **changes: Any) -> ForeignCode:
        """Return a copy with other fields, as `CodeType.replace` does."""
        return ForeignCode(self.facts, {**self._fields(), **changes})

    @property
    def co_nlocals(self) -> int:
        """The number of local variables."""
        return len(self.co_varnames)

    def co_lines(self) -> Iterator[Tuple[int, int, Optional[int]]]:
        """Yield (first byte, byte after the last, line) of each stretch of instructions."""
        return iter(decoded_lines(self.facts.line_table, self._line_table(), len(self.co_code), self.co_firstlineno))

    def co_positions(self) -> Iterator[Position]:
        """Yield the position of each code unit."""
        return decoded_positions(self.facts.line_table, self._line_table(), len(self.co_code), self.co_firstlineno)

    def _line_table(self) -> bytes:
        return self.co_linetable if hasattr(self, "co_linetable") else self.co_lnotab

    def _fields(self) -> Dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "facts" and hasattr(self, name)}

    def __repr__(self) -> str:
        return f"<code {self.co_name}>"


# What `isinstance` finds code objects by. For the type checker all of them are of the one type.
CODE_TYPES: Tuple[Type[CodeType], ...] = (CodeType, cast("Type[CodeType]", ForeignCode))


def foreign_code(facts: PythonFacts, fields: Mapping[str, Any]) -> CodeType:
    """Return a code object of another version, from its attributes."""
    return cast("CodeType", ForeignCode(facts, fields))


def is_foreign(code: CodeType) -> bool:
    """Return whether a code object belongs to another Python than the running one."""
    return type(code) is not CodeType


def facts_of(code: CodeType) -> PythonFacts:
    """Return the facts of the Python that a code object belongs to."""
    if type(code) is CodeType:
        return RUNNING
    facts: PythonFacts = cast("ForeignCode", code).facts
    return facts
