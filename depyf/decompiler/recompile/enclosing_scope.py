"""The function around one that rebinds its free variables: without it `nonlocal` is no valid Python."""

from __future__ import annotations

from types import CodeType
from typing import List, Optional

from depyf.decompiler import syntax as s
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.recompile.text_compiler import global_statement
from depyf.decompiler.syntax.identifiers import spelled


def enclosing_scope(tree: s.Module, code: CodeType, *, for_super: bool = False) -> Optional[s.FunctionDef]:
    """Return a function that binds the free variables of the one in `tree` and holds it; None if none is needed.

    A function inside may declare them, too: that keeps them free in a code that only hands them on. With `for_super`,
    a method that calls `super()` outside its class gets one, too: it is a call with the class that makes it work.
    """
    function = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(function, (s.FunctionDef, s.AsyncFunctionDef)) or not code.co_freevars:
        return None
    free = {spelled(name) for name in code.co_freevars}
    needs_class = for_super and "__class__" in free
    nodes = s.walk(function) if any(isinstance(const, CODE_TYPES) for const in code.co_consts) else iter(function.body)
    if not needs_class and not any(isinstance(node, s.Nonlocal) and free.intersection(node.names) for node in nodes):
        return None
    variables = s.arguments(args=[s.arg(spelled(name)) for name in code.co_freevars])
    body: List[s.Statement] = [*global_statement([function], code), function, s.Return(s.Name(function.name))]
    return s.FunctionDef(f"__enclosing_scope_of_{function.name}", variables, body)
