"""From a region tree to the syntax tree of the whole text: a definition, a module, or one expression."""

from __future__ import annotations

from typing import List, Mapping, NamedTuple

from depyf.decompiler import syntax as s
from depyf.decompiler.analysis.op_kinds import op_kinds
from depyf.decompiler.attempt.outer_statement import outer_statement
from depyf.decompiler.attempt.request import Request
from depyf.decompiler.build import (
    COMPREHENSIONS,
    Settings,
    as_expression,
    build_statements,
    own_statements,
    standalone_comprehension,
    temporaries,
)
from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.microops import Program
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.structure import Sequence


class Text(NamedTuple):
    """The syntax tree of a text, and how the text is compiled."""

    tree: s.Module
    mode: str  # of `compile`: "exec", "eval" or "single"
    placeholders: Mapping[str, object]  # names in the text -> the constants without a spelling that they stand for


def syntax_tree(
    request: Request, program: Program, tree: Sequence, settings: Settings, *, names_values: bool = False
) -> Text:
    """Return the syntax tree for the region tree of a program. Raises Unstructured and Unspellable."""
    code = request.code
    # Only interactive code prints what expressions give.
    mode = "single" if "PRINT_EXPR" in op_kinds(program) else "exec"
    is_module = code.co_name == "<module>"
    settings.imports_annotations = request.imports_annotations
    settings.annotations_are_strings = request.annotations_are_strings
    placeholders = settings.placeholders.values
    if code.co_name in COMPREHENSIONS and code.co_varnames[:1] == (".0",):
        try:
            comprehension = standalone_comprehension(program, tree, settings)
            return Text(s.Module([s.Expr(comprehension, origin=0)]), mode, placeholders)
        except Unstructured:
            pass  # no compiler made this comprehension
    body = build_statements(program, tree, settings, request.own_locals)
    if names_values and code.co_flags & CO_OPTIMIZED:
        body = _with_named_values(body, request)
    if not is_module:
        return Text(s.Module([outer_statement(code, body, settings, request.function)]), mode, placeholders)
    if any(isinstance(node, s.Return) for node in own_statements(body)):
        mode, body = "eval", [s.Expr(as_expression(body), origin=0)]
    elif mode == "single" and len(body) > 1:
        body = [s.OneLine(body, origin=0)]
    return Text(s.Module(body), mode, placeholders)


def _with_named_values(body: List[s.Statement], request: Request) -> List[s.Statement]:
    code = request.code
    stable = set(code.co_varnames) - set(code.co_cellvars)
    taken = {*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names}
    return temporaries.name_values(body, stable, taken)
