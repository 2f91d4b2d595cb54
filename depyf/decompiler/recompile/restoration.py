"""Restoration: put back into a recompiled code object what no text can spell.

The compiler reads the text that is shown, with three exceptions. Constants without a spelling are bytes literals of the
same length there. Generated names have the form that is shown. And an import that names nothing passes None to
`__import__`, never an empty tuple. Nested code objects that were proved equal go back by identity.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Collection, Dict, FrozenSet, Iterator, List, Optional, Sequence, Tuple

from depyf.decompiler.bytecode.code_flags import FUTURE_FLAGS
from depyf.decompiler.bytecode.code_objects import CODE_TYPES, facts_of
from depyf.decompiler.bytecode.constant_equality import constant_key
from depyf.decompiler.decode.instructions import Raw, opcode_number, raw_instructions
from depyf.decompiler.decode.opcodes import COMMON_CONSTANTS
from depyf.decompiler.recompile.qualnames import (
    class_qualname,
    with_class_qualname,
    with_function_qualnames,
    with_prefix,
)
from depyf.decompiler.syntax.identifiers import shown_name


class CannotRecompile(Exception):
    """The text does not compile to a code object of the needed form."""


def stand_in(name: str) -> bytes:
    """Return the bytes constant compiled instead of a placeholder; its literal is as long as the name."""
    return name[3:].encode()


class Restorer:
    """Put real names and constants into a code object and those nested in it."""

    def __init__(
        self,
        names: Dict[str, str],
        constants: Dict[bytes, Any],
        shift: int,
        prefix: Tuple[str, str],
        original: CodeType,
        kept: Collection[CodeType] = (),
    ) -> None:
        self.names = names
        self.constants = constants
        self.shift = shift
        self.kept = kept
        self.prefix = prefix  # the start of qualified names, and what to replace it by
        self.flags = original.co_flags & FUTURE_FLAGS  # added to all nested code
        # Two sets of the same elements may iterate in different order, which text cannot spell.
        self.sets = {constant_key(value): value for value in _frozensets(original)}

    def code(self, code: CodeType, like: Optional[CodeType]) -> CodeType:
        """Return the restored code object; `like` is the original's counterpart, if found."""
        changes: Dict[str, Any] = {}
        if hasattr(code, "co_qualname"):
            # Code nested by bytecode tools may have any qualified name, not only one that a text gives.
            qualified = with_prefix(code.co_qualname, *self.prefix) if like is None else like.co_qualname
            changes["co_qualname"] = qualified
            code = with_class_qualname(code, qualified)
        elif like is not None:
            code = with_class_qualname(code, class_qualname(like) or "")
        if like is not None:
            changes["co_name"] = like.co_name
        theirs = nested_by_name(like)
        pairs: Dict[int, CodeType] = {}
        consts = [self._constant(const, theirs, pairs, index) for index, const in enumerate(code.co_consts)]
        restored = code.replace(
            **changes,
            co_flags=code.co_flags | self.flags,
            co_names=self._names(code.co_names),
            co_varnames=self._names(code.co_varnames),
            co_cellvars=self._names(code.co_cellvars),
            co_freevars=self._names(code.co_freevars),
            co_consts=tuple(consts),
            co_firstlineno=max(code.co_firstlineno + self.shift, 1),
        )
        if pairs and like is not None and facts_of(like).functions_are_named_where_made:
            return with_function_qualnames(restored, pairs, like)
        return restored

    def _names(self, names: Tuple[str, ...]) -> Tuple[str, ...]:
        return tuple([self.names.get(name, name) for name in names])

    def _constant(
        self, value: Any, theirs: Dict[str, List[CodeType]], pairs: Dict[int, CodeType], index: int = -1
    ) -> Any:
        """Return a constant restored; note the counterpart of a code object in `pairs`."""
        if isinstance(value, CODE_TYPES):
            same_name = theirs.get(value.co_name) or theirs.get(value.co_name[value.co_name.find("__") :])
            like = same_name.pop(0) if same_name else None
            if like is not None:
                pairs[index] = like
            if like in self.kept and like is not None:
                if like.co_freevars != value.co_freevars:
                    raise CannotRecompile(f"the free variables of {like.co_name} are in another order")
                return like
            return self.code(value, like)
        if isinstance(value, bytes) and value in self.constants:
            return self.constants[value]
        if isinstance(value, frozenset) and self.sets:
            return self.sets.get(constant_key(value), value)
        if isinstance(value, tuple) and self.constants:
            return tuple([self._constant(item, theirs, pairs) for item in value])
        return value


def _frozensets(code: CodeType) -> Iterator[FrozenSet[Any]]:
    """Yield the sets among the constants of a code object and of those nested in it."""
    work = [code]
    while work:
        for const in work.pop().co_consts:
            if isinstance(const, CODE_TYPES):
                work.append(const)
            elif isinstance(const, frozenset):
                yield const


def nested_by_name(code: Optional[CodeType]) -> Dict[str, List[CodeType]]:
    """Return the code objects among the constants by their names in text, those of one name in order."""
    found: Dict[str, List[CodeType]] = {}
    for const in () if code is None else code.co_consts:
        if isinstance(const, CODE_TYPES):
            name = const.co_name if const.co_name.startswith("<") else shown_name(const.co_name)
            found.setdefault(name, []).append(const)
    return found


def with_empty_fromlists(code: CodeType, original: CodeType) -> CodeType:
    """Return the code with `()` as fromlist of imports that have it in the original, as Dynamo's own imports do."""
    facts = facts_of(original)
    version, shift = facts.version, 2 if facts.imports_have_modes else 0
    imports = opcode_number("IMPORT_NAME", version) in original.co_code[::2]
    theirs = raw_instructions(original, version) if imports else ()
    modules = {
        original.co_names[raw.arg >> shift]
        for names, raw in zip(theirs, theirs[1:])
        if raw.opname == "IMPORT_NAME" and _makes_empty_tuple(names, original)
    }
    if not modules:
        return code
    data, consts = bytearray(code.co_code), (*code.co_consts, ())
    raws = raw_instructions(code, version)
    for names, raw in zip(raws, raws[1:]):
        if raw.opname == "IMPORT_NAME" and code.co_names[raw.arg >> shift] in modules and _loads_none(names, code):
            if names.start != names.offset or len(consts) > 256:
                raise CannotRecompile("an import among too many constants")
            data[names.offset : names.offset + 2] = opcode_number("LOAD_CONST", version), len(consts) - 1
    return code.replace(co_code=bytes(data), co_consts=consts)


def _loads_none(raw: Raw, code: CodeType) -> bool:
    if raw.opname == "LOAD_COMMON_CONSTANT":
        return COMMON_CONSTANTS[raw.arg] is None
    return raw.opname == "LOAD_CONST" and code.co_consts[raw.arg] is None


def _makes_empty_tuple(raw: Raw, code: CodeType) -> bool:
    if raw.opname == "BUILD_TUPLE":
        return not raw.arg
    return raw.opname == "LOAD_CONST" and type(code.co_consts[raw.arg]) is tuple and not code.co_consts[raw.arg]


def share_nested(code: CodeType, proved: Sequence[Tuple[CodeType, CodeType]]) -> CodeType:
    """Return the code with the original's own nested code objects instead of those that were proved equal.

    `proved` holds (the original's, ours) wherever the two codes make functions. One of ours that matches several of
    the original's stays.
    """
    theirs: Dict[int, List[CodeType]] = {}
    for original, ours in proved:
        known = theirs.setdefault(id(ours), [])
        if all(one is not original for one in known):
            known.append(original)
    consts = [theirs[id(const)][0] if len(theirs.get(id(const), ())) == 1 else const for const in code.co_consts]
    return code.replace(co_consts=tuple(consts))
