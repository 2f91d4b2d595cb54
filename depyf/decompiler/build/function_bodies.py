"""The body of one code object: its statements, and the declarations that make its variables what they are."""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, FrozenSet, List, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.analysis.local_name_access import sees_local_names
from depyf.decompiler.analysis.op_kinds import has_name, made_inside, op_kinds
from depyf.decompiler.analysis.unbound_locals import never_set
from depyf.decompiler.analysis.used_locals import used_locals
from depyf.decompiler.build.comprehension_nodes import COMPREHENSIONS
from depyf.decompiler.build.expression_forms import lambda_over
from depyf.decompiler.build.namespace_bodies import drop_returns, future_imports, namespace_body
from depyf.decompiler.build.parameter_lists import docstring_of
from depyf.decompiler.build.provisional_nodes import resolve, spell_assertion_errors
from depyf.decompiler.build.region_walk import trampoline, walk
from depyf.decompiler.build.scope import Scope
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.tidying import own_statements, tidy_body
from depyf.decompiler.build.variable_names import descriptive_names, rename, renamed_temporaries
from depyf.decompiler.bytecode.code_flags import CO_ASYNC_GENERATOR, CO_OPTIMIZED, GENERATORS
from depyf.decompiler.bytecode.code_objects import CODE_TYPES, facts_of
from depyf.decompiler.bytecode.microops import parameters
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.identifiers import spelled

_OF_CLASSES = ("__classdict__", "__conditional_annotations__")  # cells that the compiler makes
_EXPRESSIONS = frozenset({*COMPREHENSIONS, "<lambda>"})
PUTS_ASIDE = frozenset({"LOAD_LOCAL_AND_CLEAR", "SAVE_CELL", "RENEW_CELL"})
READS_OF_NAMES = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
SETS_CELL = frozenset({"STORE_CELL", "DELETE_CELL"})
SETS_NAME = frozenset({"STORE_NAME", "DELETE_NAME"})
READS_OF_CELLS = frozenset({"LOAD_CELL", "LOAD_CLOSURE", "LOAD_CLASS_CELL", "LOAD_FROM_MAPPING_OR_CELL"})


def function_body(frame: Frame, tree: Any, is_nested: bool = False) -> List[s.Statement]:
    """Return the statements of a code object, docstring and declarations first.

    `is_nested`: it is inside another one, so its text alone decides which of its variables are cells.
    """
    scope = frame.scope
    for name in hidden_globals(scope):
        scope.declare_global(scope.global_name(name))
    body = written_statements(frame, tree)
    head: List[s.Statement] = []
    docstring = docstring_of(scope.code)
    if docstring is not None:
        head.append(s.Expr(s.Constant(docstring)))
    if scope.is_namespace:
        body = namespace_body(scope, body)
        start = future_imports(body)
        head, body = body[:start], body[start:]
    free = [name for name in scope.code.co_freevars if rebinds(scope, name) or not mentions(scope, name)]
    free += [name for name in scope.code.co_freevars if name not in free and is_set_inside(scope, name)]
    captured = [name for name in free if name in _own_names(scope)]
    free = [name for name in free if name not in captured]
    if scope.declared.get("global"):
        head.append(s.Global(scope.declared["global"]))
    if free:
        head.append(s.Nonlocal(free))
    if scope.code.co_flags & GENERATORS and not _yields(scope):
        head.append(s.If(s.Constant(False), [s.Expr(s.Yield())]))  # a generator that never yields
    head.extend(s.AnnAssign(s.Name(name), s.Constant(...)) for name in unset_cells(scope))
    if is_nested or not (scope.settings.is_generated or frame.output.generated):
        captured += uncaptured_cells(scope)
    unused = unset_names(scope) if scope.is_namespace else unused_locals(scope)
    unused = [name for name in unused if name not in captured]
    dropped = dropped_loop_variables(scope)
    if dropped:
        head.append(s.If(s.Constant(False), _in_their_places(scope, dropped)))
        captured = [name for name in captured if name not in dropped]
        unused = [name for name in unused if name not in dropped]
    if unused:
        nothing: List[s.Statement] = [s.Assign([s.Name(name) for name in unused], s.Constant(None))]
        head.append(s.If(s.Constant(False), nothing))
    unmade: List[s.Statement] = [_capture(scope, captured)] if captured else []
    if scope.is_namespace and _lacks_function(scope, body):
        unmade.append(s.FunctionDef(frame.output.names.like("unused"), s.arguments(), [s.Pass()]))
    if unmade:
        head.append(s.If(s.Constant(False), unmade))
    return head + body


def _lacks_function(scope: Scope, body: List[s.Statement]) -> bool:
    """Return whether a class body had a function that is never made: its namespace is in a cell (3.14) for no other."""
    if "__classdict__" not in scope.code.co_cellvars:
        return False
    made = [op.arg for op in scope.program.ops if op.kind == "CONST" and isinstance(op.arg, CODE_TYPES)]
    if any("__classdict__" in code.co_freevars for code in made):
        return False
    return not any(isinstance(node, (s.FunctionDef, s.AsyncFunctionDef)) for node in own_statements(body))


def dropped_loop_variables(scope: Scope) -> List[str]:
    """Return the cells that are among the locals, too, because a comprehension that the compiler dropped has them."""
    code = scope.code
    if not code.co_cellvars or not facts_of(code).comprehensions_are_inlined:
        return []
    own = {*code.co_varnames[len(parameters(code)) :]}.intersection(code.co_cellvars)
    return [name for name in code.co_varnames if name in own and not has_name(scope.program, PUTS_ASIDE, name)]


def _in_their_places(scope: Scope, dropped: List[str]) -> List[s.Statement]:
    """Return statements that put variables of dropped comprehensions where they were among the locals.

    The order of the locals is that in which the frame releases and lists them, so all that come before are mentioned.
    """
    code, program = scope.code, scope.program
    used = used_locals(program)
    found: List[s.Statement] = []
    for name in code.co_varnames[len(parameters(code)) : code.co_varnames.index(dropped[-1]) + 1]:
        shown = s.Name(spelled(name))
        is_cell = name in code.co_cellvars
        if not is_cell and name in used and not has_name(program, PUTS_ASIDE, name):
            found.append(s.Assign([shown], s.Constant(None)))
        else:
            value = lambda_over([shown.id]) if name in dropped else shown
            found.append(s.Expr(s.ListComp(value, [s.comprehension(shown, s.Tuple([]))])))
    return found


def _own_names(scope: Scope) -> FrozenSet[str]:
    """Return the names that a class body has of its own: it cannot declare them nonlocal."""
    if not scope.is_namespace:
        return frozenset()
    kinds = ("LOAD_NAME", "STORE_NAME", "DELETE_NAME")
    return frozenset([op.arg for op in scope.program.ops if op.kind in kinds])


def hidden_globals(scope: Scope) -> List[str]:
    """Return the globals that are read here, by lambdas and comprehensions, too, and that functions around hide."""
    if not scope.locals_around or scope.code.co_name == "<lambda>":
        return []
    found: Dict[str, None] = {}
    work = [scope.program]
    while work:
        program = work.pop()
        for op in program.ops:
            if op.kind == "LOAD_GLOBAL" and op.arg in scope.locals_around:
                found[op.arg] = None
            elif op.kind == "CONST" and isinstance(op.arg, CODE_TYPES) and not _can_declare(op.arg):
                work.append(scope.settings.structure(op.arg)[0])
    own = {*scope.code.co_varnames, *scope.code.co_cellvars, *scope.code.co_freevars}
    return [name for name in found if name not in own]


def _can_declare(code: CodeType) -> bool:
    """Return whether code can declare globals for all in it: no expression can, and a class cannot for its lambdas."""
    return code.co_name not in _EXPRESSIONS and bool(code.co_flags & CO_OPTIMIZED)


def uncaptured_cells(scope: Scope) -> List[str]:
    """Return the cells that no function inside refers to: one in code that the compiler dropped does."""
    if not scope.code.co_cellvars:
        return []
    ops = scope.program.ops
    captured = {
        name for op in ops if op.kind == "CONST" and isinstance(op.arg, CODE_TYPES) for name in op.arg.co_freevars
    }
    captured.update(op.arg for op in ops if op.kind == "RENEW_CELL")  # of an inlined comprehension, which captures it
    return [name for name in scope.code.co_cellvars if name not in captured and name not in _OF_CLASSES]


def _capture(scope: Scope, cells: Sequence[str]) -> s.Statement:
    """Return a statement that makes cells of variables, and variables of those that nothing sets."""
    unset: List[s.Expression] = [s.Name(spelled(name)) for name in cells if _is_unset(scope, name)]
    function = lambda_over([spelled(name) for name in cells])
    return s.Assign(unset, function) if unset else s.Expr(function)


def _yields(scope: Scope) -> bool:
    """Return whether the text has a `yield` that makes it a generator; in an async one, YIELD_FROM is an `await`."""
    kinds = op_kinds(scope.program)
    return "YIELD" in kinds or ("YIELD_FROM" in kinds and not scope.code.co_flags & CO_ASYNC_GENERATOR)


def written_statements(frame: Frame, tree: Any) -> List[s.Statement]:
    """Return the statements of a region tree."""
    output, scope = frame.output, frame.scope
    trampoline(walk(frame, tree))
    if frame.stack.values and output.falls:
        raise Unstructured("values are left on the stack")
    body = resolve(output.body, scope.placeholders)
    if scope.is_namespace:
        drop_returns(body)
    facts = facts_of(scope.code)
    tidy_body(body, scope.program.budget, facts.asserts_read_global)
    if "LOAD_ASSERTION_ERROR" in op_kinds(scope.program):
        spell_assertion_errors(body, scope.placeholders)
    wanted = {**descriptive_names(body, output.generated, scope.settings.short_name), **output.better_names}
    wanted = {**renamed_temporaries(output.temporaries, wanted), **wanted}
    rename(body, {old: output.names.like(name) for old, name in wanted.items()})
    return body


def unset_cells(scope: Scope) -> List[str]:
    """Return the variables that are captured but never set here: an annotation makes them this function's own."""
    if scope.is_namespace:
        return []
    stored = {op.arg for op in scope.program.ops if op.kind in ("STORE_CELL", "DELETE_CELL")}
    locals_ = scope.code.co_varnames
    own = [name for name in scope.code.co_cellvars if name in scope.captured and name not in locals_]
    return [name for name in own if name not in stored and not is_set_inside(scope, name)]


def is_set_inside(scope: Scope, name: str) -> bool:
    """Return whether a comprehension sets the variable with `:=`, which makes it this function's own as well.

    Only those that the program makes count: code that Dynamo wrote keeps the constants of the code it was made of.
    """
    work = [scope.program]
    while work:
        for code in made_inside(work.pop()):
            if code.co_name in COMPREHENSIONS and name in code.co_freevars:
                program = scope.settings.structure(code)[0]
                if any(op.kind == "STORE_CELL" and op.arg == name for op in program.ops):
                    return True
                work.append(program)
    return False


def unused_locals(scope: Scope) -> List[str]:
    """Return the locals that only dropped code sets: those that are read, and all if the frame reads its own names."""
    found = set(never_set(scope.program, scope.maybe_unbound))
    if sees_local_names(scope.program):
        found.update(set(scope.code.co_varnames) - used_locals(scope.program))
    unset = {name for name in uncaptured_cells(scope) if _is_unset(scope, name)}
    if unset:
        found.update(op.arg for op in scope.program.ops if op.kind == "LOAD_CELL" and op.arg in unset)
    return [
        spelled(name) for name in dict.fromkeys((*scope.code.co_varnames, *scope.code.co_cellvars)) if name in found
    ]


def _is_unset(scope: Scope, cell: str) -> bool:
    """Return whether nothing sets a variable: no instruction, and no caller."""
    is_stored = has_name(scope.program, SETS_CELL | SETS_NAME, cell)
    return not is_stored and cell not in scope.code.co_varnames and cell != "__class__"


def unset_names(scope: Scope) -> List[str]:
    """Return the names of a class body that only dropped code sets: else they would be those of functions around."""
    if not scope.locals_around:
        return []
    ops = scope.program.ops
    stored = {op.arg for op in ops if op.kind in ("STORE_NAME", "DELETE_NAME")}
    read = dict.fromkeys(op.arg for op in ops if op.kind == "LOAD_NAME")
    return [spelled(name) for name in read if name in scope.locals_around and name not in stored]


def mentions(scope: Scope, name: str) -> bool:
    """Return whether the text mentions a free variable without a declaration."""
    program = scope.program
    if name == "__class__" and has_name(program, READS_OF_NAMES, "super"):
        return True
    if scope.is_namespace and has_name(program, PUTS_ASIDE, name):
        return True  # by a comprehension
    return has_name(program, READS_OF_CELLS, name)


def rebinds(scope: Scope, name: str) -> bool:
    """Return whether the function assigns to a free variable."""
    return has_name(scope.program, SETS_CELL, name)
