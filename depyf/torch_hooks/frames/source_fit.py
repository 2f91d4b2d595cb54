"""Source fit: whether lines of a file are the source of a code object.

A file may have been edited since it was imported, and code that a program makes may claim any file name. So the lines
are compiled and compared with the code. Import hooks that rewrite a module, as pytest's does for `assert`, leave code
that its source does not give: there the names and constants of the two are compared.
"""

from __future__ import annotations

import ast
import dis
import re
import textwrap
from types import CodeType
from typing import Any, Iterator, Set, Tuple

from depyf.decompiler.bytecode.constant_equality import same_constant
from depyf.decompiler.bytecode.nested_code import with_nested
from depyf.text.quiet_compile import compile_quietly, parse_quietly
from depyf.torch_hooks.internals.qualified_names import qualified_name

_FUTURE = 0x1FF0000  # bits of co_flags that `from __future__ import ...` sets (Lib/__future__.py)
_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
_REWRITTEN = "@"  # in names that pytest's rewriting adds
_WORD = re.compile(r"\w+")


def is_source(text: str, code: CodeType) -> bool:
    """Return whether `text`, lines of a file as they are, begins with the function that `code` was compiled from.

    The lines of a lambda are those of the statement that holds it, or the first of these.
    """
    scope, is_lambda = _scope(text, code), code.co_name == "<lambda>"
    try:
        module = compile_quietly(scope + text, code.co_filename, flags=code.co_flags & _FUTURE)
    except _ERRORS:
        return is_lambda and "lambda" in text and _names(code) <= set(_WORD.findall(text))
    first = 1 + scope.count("\n")
    found = [one for one in with_nested(module) if is_lambda or one.co_firstlineno == first]
    return any(_is_same(one, code) for one in found) or _has_same_words(text, code)


def _scope(text: str, code: CodeType) -> str:
    """Return the lines of a class and a function around indented lines, so that their names mean the same."""
    indentation = len(text) - len(text.lstrip(" \t"))
    if not indentation:
        return ""
    parameters = ", ".join([name for name in code.co_freevars if name.isidentifier() and name != "__class__"])
    function, owner = f"def _({parameters}):\n", f"class {_class_of(code)}:\n"
    if text.startswith("\t") or indentation < 2:
        return function if parameters else owner
    if code.co_name == "<lambda>":  # the statement that holds it may be a `return`
        return f"{owner} {function}"
    return f"{function} {owner}" if parameters else owner


def _class_of(code: CodeType) -> str:
    """Return the name of the class in whose body the code is, in which private names are spelled differently."""
    *parts, _ = qualified_name(code).split(".")
    while parts and parts[-1] == "<locals>":
        parts = parts[:-2]
    return parts[-1] if parts and parts[-1].isidentifier() else "_"


def _is_same(one: CodeType, other: CodeType) -> bool:
    """Return whether two codes are the same but for their places."""
    if one.co_name != other.co_name or _shape(one) != _shape(other) or len(one.co_consts) != len(other.co_consts):
        return False
    if one.co_code != other.co_code and list(_instructions(one)) != list(_instructions(other)):
        return False
    for mine, its in zip(one.co_consts, other.co_consts):
        if isinstance(mine, CodeType) and isinstance(its, CodeType):
            if not _is_same(mine, its):
                return False
        elif not same_constant(mine, its):
            return False
    return True


def _instructions(code: CodeType) -> Iterator[Tuple[str, Any]]:
    """Yield the instructions, jumps without their targets, calls in one form.

    The compiler calls attributes of what the module imports in another way than methods, and only here is no module.
    """
    for one in dis.get_instructions(code):
        if one.opname not in _FORM_OF_CALL:
            is_jump = one.opcode in dis.hasjrel or one.opcode in dis.hasjabs
            is_inside = isinstance(one.argval, CodeType)
            yield _CALLS.get(one.opname, one.opname), None if is_jump or is_inside else repr(one.argval)


_FORM_OF_CALL = ("PUSH_NULL", "CACHE", "EXTENDED_ARG")
_CALLS = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL_FUNCTION"}


def _shape(code: CodeType) -> Tuple[Any, ...]:
    parameters = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    return (*parameters, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)


# -- code that an import hook has rewritten


def _has_same_words(text: str, code: CodeType) -> bool:
    """Return whether a definition in `text` has the names and constants of the code, where a hook has added to it."""
    try:
        tree = parse_quietly(textwrap.dedent(text))
    except _ERRORS:
        return False
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    node = next((one for one in found if one.name == code.co_name), None)
    names = {_mangled(name) for name in _names(code)}
    if node is None or not any(_REWRITTEN in name for name in names):
        return False
    parameters = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    if tuple(parameters) != code.co_varnames[: code.co_argcount]:
        return False
    constants = {repr(value) for one in with_nested(code) for value in one.co_consts}
    return set(_names_in(node)) <= names and set(_constants_in(node)) <= constants


def _names(code: CodeType) -> Set[str]:
    """Return the names of the variables and attributes of a code and of those inside it."""
    lists = [(one.co_names, one.co_varnames, one.co_freevars, one.co_cellvars) for one in with_nested(code)]
    return {part for names in lists for some in names for name in some for part in name.split(".")}


def _names_in(node: ast.AST) -> Iterator[str]:
    for inner in _inside(node):
        if isinstance(inner, ast.Name):
            yield _mangled(inner.id)
        elif isinstance(inner, ast.Attribute):
            yield _mangled(inner.attr)


def _mangled(name: str) -> str:
    """Return a private name without its class."""
    return "__" + name.rpartition("__")[2] if re.match(r"_\w+__\w", name) else name


def _constants_in(node: ast.AST) -> Iterator[str]:
    numbers = (inner for inner in _inside(node) if isinstance(inner, ast.Constant))
    return (repr(one.value) for one in numbers if type(one.value) in (int, float, complex))


def _inside(node: Any) -> Iterator[ast.AST]:
    """Yield the nodes of the body of a function, annotations aside."""
    for statement in node.body:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.AnnAssign):
                inner.annotation = ast.Constant(None)
            yield inner
