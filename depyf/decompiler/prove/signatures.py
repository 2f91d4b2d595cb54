"""Signatures: what two codes must share before any instruction is compared; and bit-for-bit identity."""

from __future__ import annotations

from types import CodeType
from typing import Any, Iterator, Tuple

from depyf.decompiler.bytecode.code_flags import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_ITERABLE_COROUTINE,
    CO_NEWLOCALS,
    CO_OPTIMIZED,
    CO_VARARGS,
    CO_VARKEYWORDS,
    FUTURE_FLAGS,
)
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.docstrings import docstring_in
from depyf.decompiler.bytecode.microops import Program, parameters
from depyf.decompiler.prove.terms import Terms

# Flags that decide how the code is called and what a call makes. CO_NESTED and CO_NOFREE are not among them:
# nothing reads those at run time.
_FLAGS = (
    CO_OPTIMIZED | CO_NEWLOCALS | CO_VARARGS | CO_VARKEYWORDS |
    CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR
)  # fmt: skip

_COMPREHENSIONS = frozenset({"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"})


def signature_difference(a: CodeType, b: CodeType, nested: bool) -> Tuple[str, str] | None:
    """Return the first difference between two signatures as a text for each, or None."""
    for what, left, right in _signature_fields(a, b, nested):
        if left != right:
            return f"{what} {left!r}", f"{what} {right!r}"
    return None


def _signature_fields(a: CodeType, b: CodeType, nested: bool) -> Iterator[Tuple[str, Any, Any]]:
    yield "positional parameters", a.co_argcount, b.co_argcount
    yield "positional-only parameters", a.co_posonlyargcount, b.co_posonlyargcount
    yield "keyword-only parameters", a.co_kwonlyargcount, b.co_kwonlyargcount
    yield "flags", a.co_flags & _FLAGS, b.co_flags & _FLAGS
    yield "parameters", parameters(a), parameters(b)
    yield "free variables", sorted(a.co_freevars), sorted(b.co_freevars)
    yield "more cell variables", [], sorted({*b.co_cellvars}.difference(a.co_cellvars))
    yield "docstring", docstring(a), docstring(b)
    # Code that the frame compiles inherits these, under whatever name it reaches `exec`, `eval` or `compile`.
    yield "future flags", a.co_flags & FUTURE_FLAGS, b.co_flags & FUTURE_FLAGS
    if nested:
        yield "name", a.co_name, b.co_name
        yield "qualified name", getattr(a, "co_qualname", None), getattr(b, "co_qualname", None)


def docstring(code: CodeType) -> str | None:
    """Return the `__doc__` of a function made from this code; None if it is called where it is made."""
    return None if code.co_name in _COMPREHENSIONS else docstring_in(code)


def identical(a: CodeType, b: CodeType) -> bool:
    """Return whether the two agree in every bit that the interpreter reads, line tables excepted."""
    work = [(a, b)]
    while work:
        a, b = work.pop()
        if a is b:
            continue
        if a.co_code != b.co_code or a.co_names != b.co_names or a.co_varnames != b.co_varnames:
            return False
        if getattr(a, "co_exceptiontable", b"") != getattr(b, "co_exceptiontable", b""):
            return False
        if a.co_freevars != b.co_freevars or a.co_cellvars != b.co_cellvars or len(a.co_consts) != len(b.co_consts):
            return False
        if signature_difference(a, b, nested=True) is not None or a.co_stacksize > b.co_stacksize:
            return False
        terms = Terms()
        for x, y in zip(a.co_consts, b.co_consts):
            if isinstance(x, CODE_TYPES) and isinstance(y, CODE_TYPES):
                work.append((x, y))
            elif x is not y and terms.const(x) != terms.const(y):
                return False
    return True


def same_operations(a: Program, b: Program) -> bool:
    """Return whether two programs are the same but for where their operations come from.

    Instructions that do nothing, dead code and the order of constants may differ. False if functions are made inside:
    their code has to be compared.
    """
    one, other = a.code, b.code
    if len(a.ops) != len(b.ops) or len(a.handlers) != len(b.handlers) or one.co_varnames != other.co_varnames:
        return False
    if one.co_cellvars != other.co_cellvars or one.co_freevars != other.co_freevars:
        return False
    if any((x.target, x.depth, x.lasti) != (y.target, y.depth, y.lasti) for x, y in zip(a.handlers, b.handlers)):
        return False
    terms = Terms()
    for x, y in zip(a.ops, b.ops):
        if x.kind != y.kind or x.target != y.target or x.handler != y.handler:
            return False
        if x.kind == "CONST":
            if isinstance(x.arg, CODE_TYPES) or (x.arg is not y.arg and terms.const(x.arg) != terms.const(y.arg)):
                return False
        elif x.arg != y.arg:
            return False
    return True
