"""Recompile: source text -> a code object that can stand in for the original.

The compiler sees the text that is shown, but for three things that no text can say: constants without a
spelling are bytes literals of the same length there, generated names have their shown form, and an import that
names nothing hands None to `__import__`, never an empty tuple. They are put back into the code object. Free
variables need a function around the text; the line numbers are kept.
"""

from __future__ import annotations

from opcode import opmap
from types import CodeType
from typing import Any, Callable, Collection, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.bytecode.code_flags import CO_FUTURE_ANNOTATIONS, CO_NESTED, FUTURE_FLAGS
from depyf.decompiler.bytecode.constant_equality import constant_key
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION
from depyf.decompiler.decode import decode
from depyf.decompiler.decode.instructions import Raw, raw_instructions
from depyf.decompiler.printer import SyntaxLimits, print_source
from depyf.decompiler.recompile.qualnames import class_named, renamed
from depyf.decompiler.syntax.identifiers import shown_name
from depyf.text.quiet_compile import compile_quietly

_READS_A_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_MAPPING_OR_GLOBAL"})


class CannotRecompile(Exception):
    """The text does not compile to a code object of the needed form."""


def stand_in(name: str) -> bytes:
    """The bytes constant that the compiler sees for a placeholder; its literal is as long as the name."""
    return name[3:].encode()


def compile_like(
    tree: s.Module,
    original: CodeType,
    *,
    filename: str,
    mode: str = "exec",
    shown_line: int,
    constants: Mapping[str, Any] = {},
    names: Mapping[str, str] = {},
    print_width: Optional[int] = None,
    shown: Optional[str] = None,
    has_scope: bool = False,
    kept: Collection[CodeType] = (),
) -> CodeType:
    """Compile the text, one definition or a whole module, to a code object like `original`.

    `shown_line` is the line of the `def` in the text that is shown. `names` maps shown names to real ones. `shown`
    is the text of `tree` if it was printed already: then that is compiled, and not printed again. Nothing is around
    it there but, where it `has_scope`, a function that binds its free variables.
    `kept`: code objects inside `original` that the text does not say; they are put back as they are.
    """
    body: List[s.Statement] = tree.body
    is_generic = ".type_params" in original.co_freevars  # the compiler itself wraps such a class in a function
    wrapped = bool(original.co_freevars) and not is_generic
    if wrapped:
        empty = s.Assign([s.Name(_shown(name, names)) for name in original.co_freevars], s.Constant(None))
        body = [s.FunctionDef("__around__", s.arguments(), [*own_global(body, original), empty, *body])]
        if shown is not None and not has_scope and not constants:
            shown = _indented_in(s.Module(body), tree, shown)
    is_printed = shown is not None
    if RUNNING.super_calls_are_fused and original.co_name != "<module>" and _has_plain_super(original):
        body = [s.Expr(s.Name("super")), *body]  # a module that names `super` keeps its calls as they are
        is_printed = False
    width = None if print_width is None else print_width + (4 if wrapped and not has_scope else 0)
    text = shown or ""
    if not is_printed or constants:
        text = print_source(
            _with_stand_ins(s.Module(body), constants), features=SyntaxLimits.of(RUNNING_VERSION), width=width
        ).text
    # The text says how it is compiled: annotations that are strings are written as strings, or it has the import.
    flags = original.co_flags & FUTURE_FLAGS & ~CO_FUTURE_ANNOTATIONS
    code = compile_quietly(text, filename, mode, flags=flags, optimize=0)
    if original.co_name != "<module>":
        for _ in range(1 + wrapped + is_generic):
            code = _only_code(code)
    shift = shown_line - code.co_firstlineno
    stand_ins = {stand_in(name): value for name, value in constants.items()}
    prefix = (getattr(code, "co_qualname", ""), getattr(original, "co_qualname", ""))
    put_back = PutBack(dict(names), stand_ins, shift, prefix, original, kept)
    code = put_back.code(code, original)
    return _like(with_empty_fromlists(code, original), original)


def _indented_in(around: s.Module, inner: s.Module, shown: str) -> Optional[str]:
    """The text of a definition inside the function around it; None where lines of it are in a text constant."""
    if '"""' in shown or "'''" in shown:
        return None
    (function,) = around.body
    assert isinstance(function, s.FunctionDef)
    head = s.FunctionDef(function.name, function.args, function.body[: -len(inner.body)])
    text = print_source(s.Module([head]), features=SyntaxLimits.of(RUNNING_VERSION)).text
    return text + "".join([f"    {line}\n" for line in shown[:-1].split("\n")])


def own_global(body: Sequence[s.Statement], original: CodeType) -> List[s.Statement]:
    """For a function around a definition: code inside that reads a global of the same name must still find that."""
    definition = body[0] if len(body) == 1 else None
    if not isinstance(definition, (s.FunctionDef, s.AsyncFunctionDef, s.ClassDef)):
        return []
    work = [original]
    while work:
        code = work.pop()
        if definition.name in code.co_names and definition.name not in original.co_freevars:
            if any(op.kind in _READS_A_GLOBAL and op.arg == definition.name for op in decode(code).ops):
                return [s.Global([definition.name])]
        work.extend(const for const in code.co_consts if isinstance(const, CodeType))
    return []


def _has_plain_super(code: CodeType) -> bool:
    """Whether calls of `super` in the code, or in code nested in it, are not fused with the attribute read."""
    work = [code]
    calls = False
    while work:
        current = work.pop()
        work.extend(const for const in current.co_consts if isinstance(const, CodeType))
        if "super" in current.co_names:  # a name that code generators may leave there unused
            raws = raw_instructions(current, RUNNING_VERSION)
            if any(raw.opname == "LOAD_SUPER_ATTR" for raw in raws):
                return False
            calls = calls or any(_loads_super(current, raw) for raw in raws)
    return calls


def _loads_super(code: CodeType, raw: Raw) -> bool:
    if raw.opname == "LOAD_NAME":
        return code.co_names[raw.arg] == "super"
    return raw.opname == "LOAD_GLOBAL" and code.co_names[raw.arg >> 1] == "super"


def _shown(name: str, names: Mapping[str, str]) -> str:
    for shown, real in names.items():
        if real == name:
            return shown
    return name


def _only_code(code: CodeType) -> CodeType:
    found = [const for const in code.co_consts if isinstance(const, CodeType)]
    if len(found) != 1:
        raise CannotRecompile(f"{len(found)} code objects where one was expected")
    return found[0]


def _with_stand_ins(module: s.Module, constants: Mapping[str, Any]) -> s.Module:
    """The tree with bytes literals in place of placeholders (in place, and undone by `Placeholder` itself)."""
    if not constants:
        return module
    replaced: s.Module = _replace(
        module, lambda node: s.Constant(stand_in(node.name)) if isinstance(node, s.Placeholder) else node
    )
    return replaced


def _replace(root: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of a tree with some of its nodes changed; iterative."""
    copies: Dict[int, Any] = {}
    work: List[Tuple[Any, bool]] = [(root, False)]
    while work:
        node, is_ready = work.pop()
        if not is_ready:
            work.append((node, True))
            work.extend((child, False) for child in s.children(node))
            continue
        changed = change(node)
        if changed is node:
            new = object.__new__(type(node))
            for slot in node.__slots__:
                value = getattr(node, slot)
                if isinstance(value, s.Node):
                    value = copies[id(value)]
                elif isinstance(value, (list, tuple)) and not isinstance(node, s.Constant):
                    value = [copies[id(item)] if isinstance(item, s.Node) else item for item in value]
                setattr(new, slot, value)
            changed = new
        copies[id(node)] = changed
    return copies[id(root)]


class PutBack:
    """Puts real names and constants into a code object and those nested in it."""

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
        self.prefix = prefix  # how qualified names begin, and how they should
        self.flags = original.co_flags & FUTURE_FLAGS  # which all the code has
        # Two sets of the same elements may iterate in different order; the text cannot say in which.
        self.sets = {constant_key(value): value for value in _frozensets(original)}

    def code(self, code: CodeType, like: Optional[CodeType]) -> CodeType:
        """The code object as it should be; `like` is the one that it stands for, as far as that is known."""
        changes: Dict[str, Any] = {}
        if hasattr(code, "co_qualname"):
            # What bytecode tools nest may have any qualified name, not only the one that a text gives.
            named = renamed(code.co_qualname, *self.prefix) if like is None else like.co_qualname
            changes["co_qualname"] = named
            code = class_named(code, named)
        if like is not None:
            changes["co_name"] = like.co_name
        theirs = nested_by_name(like)
        return code.replace(
            **changes,
            co_flags=code.co_flags | self.flags,
            co_names=self._names(code.co_names),
            co_varnames=self._names(code.co_varnames),
            co_cellvars=self._names(code.co_cellvars),
            co_freevars=self._names(code.co_freevars),
            co_consts=tuple([self._constant(const, theirs) for const in code.co_consts]),
            co_firstlineno=max(code.co_firstlineno + self.shift, 1),
        )

    def _names(self, names: Tuple[str, ...]) -> Tuple[str, ...]:
        return tuple([self.names.get(name, name) for name in names])

    def _constant(self, value: Any, theirs: Dict[str, List[CodeType]]) -> Any:
        if isinstance(value, CodeType):
            same_name = theirs.get(value.co_name) or theirs.get(value.co_name[value.co_name.find("__") :])
            like = same_name.pop(0) if same_name else None
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
            return tuple([self._constant(item, theirs) for item in value])
        return value


def with_empty_fromlists(code: CodeType, original: CodeType) -> CodeType:
    """The code with `()` as fromlist of imports that have it in the original, as Dynamo's own have."""
    ops = decode(original).ops if opmap["IMPORT_NAME"] in original.co_code[::2] else ()
    modules = {op.arg for names, op in zip(ops, ops[1:]) if op.kind == "IMPORT_NAME" and _is_empty_tuple(names)}
    if not modules:
        return code
    data, consts = bytearray(code.co_code), (*code.co_consts, ())
    raws = raw_instructions(code, RUNNING_VERSION)
    for names, raw in zip(raws, raws[1:]):
        if raw.opname == "IMPORT_NAME" and code.co_names[raw.arg] in modules and consts[names.arg] is None:
            if names.opname != "LOAD_CONST" or names.start != names.offset or len(consts) > 256:
                raise CannotRecompile("an import among too many constants")
            data[names.offset + 1] = len(consts) - 1
    return code.replace(co_code=bytes(data), co_consts=consts)


def _is_empty_tuple(op: Op) -> bool:
    return not op.arg if op.kind == "BUILD_TUPLE" else op.kind == "CONST" and type(op.arg) is tuple and not op.arg


def _frozensets(code: CodeType) -> Iterator[FrozenSet[Any]]:
    """The sets among the constants of a code object and of those nested in it."""
    work = [code]
    while work:
        for const in work.pop().co_consts:
            if isinstance(const, CodeType):
                work.append(const)
            elif isinstance(const, frozenset):
                yield const


def _like(code: CodeType, original: CodeType) -> CodeType:
    """Name, flags and cells as in the original."""
    changes: Dict[str, Any] = {"co_name": original.co_name}
    if hasattr(original, "co_qualname"):
        changes["co_qualname"] = original.co_qualname
    both = code.co_flags ^ original.co_flags
    if both & ~(CO_NESTED | FUTURE_FLAGS) == 0:
        changes["co_flags"] = original.co_flags
    code = code.replace(**changes)
    if code.co_cellvars != original.co_cellvars or code.co_freevars != original.co_freevars:
        from depyf.decompiler.recompile.cells import with_cells

        code = with_cells(code, original.co_cellvars, original.co_freevars)
    return code


def nested_by_name(code: Optional[CodeType]) -> Dict[str, List[CodeType]]:
    """The code objects among the constants by the names that a text gives them, those of one name in their order."""
    found: Dict[str, List[CodeType]] = {}
    for const in () if code is None else code.co_consts:
        if isinstance(const, CodeType):
            name = const.co_name if const.co_name.startswith("<") else shown_name(const.co_name)
            found.setdefault(name, []).append(const)
    return found


def share_nested(code: CodeType, proved: Sequence[Tuple[CodeType, CodeType]]) -> CodeType:
    """The code with the original's own nested code objects in place of those that were proved to be the same.

    `proved`: (the original's, ours) wherever the two codes make functions. One of ours that stands for several of
    the original's stays.
    """
    theirs: Dict[int, List[CodeType]] = {}
    for original, ours in proved:
        known = theirs.setdefault(id(ours), [])
        if all(one is not original for one in known):
            known.append(original)
    consts = [theirs[id(const)][0] if len(theirs.get(id(const), ())) == 1 else const for const in code.co_consts]
    return code.replace(co_consts=tuple(consts))
