"""The stages in order, and the ladder: the first rung whose text is proved is the one that is shown.

code object -> decode -> (simplify) -> flow -> undo -> fold -> structure -> build -> printer
            -> recompile -> prove
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, Callable, Collection, Dict, Iterator, List, Mapping, Optional, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.analysis.local_name_access import sees_local_names
from depyf.decompiler.build import (
    COMPREHENSIONS,
    Settings,
    as_expression,
    build_statements,
    mangled,
    own_statements,
    parameters,
    standalone_comprehension,
    temporaries,
    type_parameters,
    value_node,
)
from depyf.decompiler.bytecode.code_flags import ASYNC_FUNCTIONS, CO_FUTURE_ANNOTATIONS, CO_OPTIMIZED
from depyf.decompiler.bytecode.microops import Program
from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.decode import decode
from depyf.decompiler.flow.graph import Graph, build_graph, is_straight
from depyf.decompiler.fold import drop_unreachable, fold
from depyf.decompiler.printer import Printed, SyntaxLimits, max_depth, print_source
from depyf.decompiler.printer.listing import annotated_disassembly, instructions_as_text
from depyf.decompiler.prove import Grade, Verdict, prove
from depyf.decompiler.recompile import CannotRecompile, compile_like, global_statement, share_nested
from depyf.decompiler.simplify.invented_locals import (
    drop_clears_of_unbound,
    drop_final_deletes,
    drop_unread_locals,
    read_through_aliases,
    store_before_deletes,
)
from depyf.decompiler.simplify.self_stores import without_self_stores
from depyf.decompiler.structure import Sequence, as_machine, structure
from depyf.decompiler.structure.match_blocks import recognise_matches
from depyf.decompiler.structure.region_entries import draw_returns_in, insert_guards
from depyf.decompiler.syntax.identifiers import shown_name, spelled
from depyf.decompiler.syntax.literals import Unspellable
from depyf.decompiler.undo import (
    assign_regions,
    fold_comprehensions,
    merge_copied_tails,
    merge_ends,
    undo_async_loops,
    undo_copies,
    undo_exception_groups,
)
from depyf.signals import is_from_signal_handler
from depyf.text.stable_repr import describe

log = logging.getLogger("depyf")
WIDTH = 110
INTERACTIVE = "Interactive: compiled with mode 'single', which shows the values of expressions."
NOT_SELF_CONTAINED = "Not self-contained: these names stand for objects that no source can spell."
DEEPEST_INDENTATION = 98  # CPython accepts 100 levels

Names = Mapping[str, Tuple[str, ...]]


@dataclass(frozen=True)
class Decompilation:
    """What became of one code object."""

    source: str  # valid Python; for a proved one, the text that was compiled
    code: Optional[CodeType]  # recompiled from `source`, like the reference; None unless proved
    verdict: Verdict
    rung: str  # "idioms", "statements", "state machine", "listings inside", "disassembly"
    lines: Tuple[Tuple[int, int], ...]  # (offset in the input code, line in source), sorted
    bugs: Tuple[str, ...] = ()  # unexpected exceptions inside the stages: worth a report
    stand_ins: Tuple[str, ...] = ()  # what the names are that stand in the text for constants without a spelling
    tree: Optional[s.Module] = field(default=None, repr=False, compare=False)  # what `source` was printed from

    @property
    def proved(self) -> bool:
        """Whether the text may stand in for the code."""
        return self.verdict.holds


@dataclass(frozen=True)
class Rung:
    """One way to structure a program. Later rungs are less pretty and need less."""

    name: str
    folds_expressions: bool
    drops_locals: bool
    is_machine: bool = False
    flags: bool = False  # whether a variable may say how a `with` ended
    names_values: bool = False


IDIOMS = Rung("idioms", True, True)
RUNGS = (
    IDIOMS,
    Rung("idioms", True, False),
    Rung("statements", False, True),
    Rung("statements", False, False),
    Rung("statements", True, True, flags=True),
    Rung("state machine", True, True, True),
    Rung("state machine", True, False, True),
    Rung("state machine", False, True, True),
)


# After all others: functions inside that no rung can say are shown as instructions, and keep their own code.
WITH_LISTINGS = Rung("listings inside", True, True)
WITH_TEMPORARIES = Rung("temporaries", True, True, names_values=True)  # before all others, if it is asked for


def is_installed_by_dynamo(name: str) -> bool:
    """Globals that Dynamo puts into the function's module for the frames it makes."""
    return name.startswith(("__compiled_fn_", "__resume_at_", "__import_", "__comprehension_"))


def marks_of_dynamo(code: CodeType) -> Tuple[str, ...]:
    """Locals that Dynamo sets in resume functions for itself, while it traces them: no code reads them."""
    return tuple([name for name in code.co_varnames[code.co_argcount :] if name == "__is_tracing_resume_prologue"])


def region_tree(program: Program, rung: Rung = RUNGS[0]) -> Sequence:
    """decode's result -> region tree"""
    if program.code.co_flags & CO_OPTIMIZED and not rung.is_machine and is_straight(program):
        return Sequence(list(program.ops))
    return _tree(build_graph(program), rung)


def _tree(graph: Graph, rung: Rung) -> Sequence:
    fold_comprehensions(graph, lambda part: _tree(part, IDIOMS))
    merge_copied_tails(graph)
    regions = assign_regions(graph)
    if not graph.program.code.co_flags & CO_OPTIMIZED:
        merge_ends(graph)
    undo_async_loops(graph, regions)
    undo_exception_groups(graph, regions)
    undo_copies(graph, regions)
    drop_unreachable(graph)
    draw_returns_in(graph)
    insert_guards(graph, regions)
    fold(graph, expressions=rung.folds_expressions)
    recognise_matches(graph)
    return as_machine(graph, regions) if rung.is_machine else structure(graph, regions, rung.flags)


def decompile_frame(
    code: CodeType,
    *,
    reference: Optional[CodeType] = None,
    filename: str = "<depyf>",
    renames: Mapping[str, str] = MappingProxyType({}),
    hints: Names = MappingProxyType({}),
    constant_globals: Optional[Callable[[str], bool]] = is_installed_by_dynamo,
    function: Optional[FunctionType] = None,
) -> Decompilation:
    """Source for a function's code object, proved equal to it or said not to be.

    `reference`: the code that `code` was made from; locals that it has not are the generator's own.
    `renames`: global name in the code -> name to show. `hints`: global name of a function -> its parameters.
    `function`: the function whose code this is; its default values and annotations are shown.
    """
    invented: Collection[str] = marks_of_dynamo(code)
    if reference is not None:
        known = {*reference.co_varnames, *reference.co_cellvars, *reference.co_freevars}
        invented = [name for name in code.co_varnames if name not in known]
    failures: List[str] = []
    bugs: List[str] = []
    worst: Optional[Verdict] = None
    for rung, is_mixed in _ladder(code, bool(invented)):
        try:
            attempt = _Attempt(code, rung, invented, renames, hints, constant_globals, function)
            attempt.is_generated = reference is not None
            if is_mixed:
                attempt.inner_rungs = rungs_inside(code, constant_globals)
            if rung is WITH_LISTINGS:
                attempt.listings = listed_inside(code, attempt.inner_rungs, renames)
            result = attempt.run(filename)
        except (Unstructured, Unspellable, CannotRecompile, SyntaxError) as error:
            failures.append(f"{rung.name}: {error}")
            continue
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            log.debug("decompiling %s failed", code.co_name, exc_info=True)
            bugs.append(f"{type(error).__name__} in {_where(error)}: {error}")
            failures.append(f"{rung.name}: {type(error).__name__}: {error}")
            continue
        if result.proved:
            return replace(result, bugs=tuple(dict.fromkeys(bugs))) if bugs else result
        worst = result.verdict
        failures.append(f"{rung.name}: {result.verdict}")
    reason = "; ".join(dict.fromkeys(failures)) or "nothing was tried"
    text, lines = annotated_disassembly(code, renames, f"no text was proved to equal it ({reason})")
    verdict = worst if worst is not None else Verdict(Grade.UNPROVED, reason=reason)
    return Decompilation(text, None, verdict, "disassembly", lines, tuple(dict.fromkeys(bugs)))


def _ladder(code: CodeType, has_invented: bool) -> Iterator[Tuple[Rung, bool]]:
    """The rungs to try, and whether the code objects inside are each to take the rung that suits them."""
    if temporaries.are_wanted():
        yield WITH_TEMPORARIES, False
    for rung in RUNGS:
        if rung.drops_locals or has_invented:
            yield rung, False
        if rung is IDIOMS and any(isinstance(const, CodeType) for const in code.co_consts):
            yield rung, True
    if any(isinstance(const, CodeType) for const in code.co_consts):
        yield WITH_LISTINGS, True


def rungs_inside(code: CodeType, constant_globals: Optional[Callable[[str], bool]]) -> Dict[CodeType, Rung]:
    """For each code object inside this one, the first rung that is proved for it alone: one function that needs
    another rung is no reason to write the whole module in that way."""
    found: Dict[CodeType, Rung] = {}
    for inner in code.co_consts:
        if not isinstance(inner, CodeType):
            continue
        found.update(rungs_inside(inner, constant_globals))
        for rung in RUNGS:
            try:
                attempt = _Attempt(inner, rung, marks_of_dynamo(inner), {}, {}, constant_globals)
                attempt.inner_rungs = found
                if rung.drops_locals and attempt.run("<depyf>").proved:
                    found[inner] = rung
                    break
            except Exception as error:  # the next rung is tried; the caller tells what fails everywhere
                if is_from_signal_handler(error):
                    raise
    return found


def listed_inside(
    code: CodeType, rungs: Mapping[CodeType, Rung], renames: Mapping[str, str]
) -> Dict[CodeType, List[str]]:
    """The functions inside this code that are shown as instructions: those that no rung can say."""
    found: Dict[CodeType, List[str]] = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and inner not in rungs:
            if inner.co_flags & CO_OPTIMIZED and not inner.co_name.startswith("<"):
                found[inner] = instructions_as_text(inner, renames)
            else:
                found.update(listed_inside(inner, rungs, renames))
    return found


def _where(error: BaseException) -> str:
    """The function that an exception came from."""
    trace = error.__traceback__
    name = "?"
    while trace is not None:
        code = trace.tb_frame.f_code
        name = f"{code.co_filename.replace(os.sep, '/').rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return name


def print_tree(tree: s.Module) -> Printed:
    """The text of a tree as it is shown."""
    return print_source(tree, features=SyntaxLimits.of(RUNNING_VERSION), width=WIDTH)


class _Attempt:
    """One rung tried on one code object."""

    def __init__(
        self,
        code: CodeType,
        rung: Rung,
        invented: Collection[str],
        renames: Mapping[str, str],
        hints: Names,
        constant_globals: Optional[Callable[[str], bool]],
        function: Optional[FunctionType] = None,
    ) -> None:
        self.code = code
        self.rung = rung
        self.invented = invented
        self.renames = renames
        self.hints = hints
        self.constant_globals = constant_globals
        self.of = function
        self.is_generated = False  # whether a code generator made the code of another
        self.inner_rungs: Mapping[CodeType, Rung] = {}  # where code objects inside take another rung
        self.listings: Mapping[CodeType, List[str]] = {}  # those inside that are shown as instructions
        self.program = decode(code)
        # How the text is compiled: only interactive code prints what expressions give.
        self.mode = "single" if any(op.kind == "PRINT_EXPR" for op in self.program.ops) else "exec"

    def tree(self) -> Tuple[s.Module, Settings]:
        """The text's syntax tree: the definition of the function or class, or the whole module."""
        program = drop_clears_of_unbound(self.program)
        if self.rung.drops_locals:
            if self.is_generated:
                program = without_self_stores(program)
            program = drop_unread_locals(read_through_aliases(program, self.invented), self.invented)
            program = store_before_deletes(drop_final_deletes(program, self.invented), self.invented)
        is_constant = self.constant_globals or (lambda name: False)
        settings = Settings(self.nested, self.renames, is_constant, self.hints)
        settings.listings = self.listings
        is_module = self.code.co_name == "<module>"
        settings.annotations_are_strings = is_module and bool(self.code.co_flags & CO_FUTURE_ANNOTATIONS)
        tree = region_tree(program, self.rung)
        if self.code.co_name in COMPREHENSIONS and self.code.co_varnames[:1] == (".0",):
            try:
                comprehension = standalone_comprehension(program, tree, settings)
                return s.Module([s.Expr(comprehension, origin=0)]), settings
            except Unstructured:
                pass  # no compiler made this comprehension: Dynamo did
        body = build_statements(program, tree, settings, self.invented)
        if self.rung.names_values and self.code.co_flags & CO_OPTIMIZED:
            stable = set(self.code.co_varnames) - set(self.code.co_cellvars)
            taken = {*self.code.co_varnames, *self.code.co_cellvars, *self.code.co_freevars, *self.code.co_names}
            body = temporaries.name_values(body, stable, taken)
        if is_module:
            if any(isinstance(node, s.Return) for node in own_statements(body)):
                self.mode = "eval"
                body = [s.Expr(as_expression(body), origin=0)]
            elif self.mode == "single" and len(body) > 1:
                body = [s.OneLine(body, origin=0)]
            return s.Module(body), settings
        return s.Module([self.definition(body, settings)]), settings

    def definition(self, body: List[s.Statement], settings: Settings) -> s.Statement:
        """The statement that makes a function or class with this body."""
        if self.code.co_name == "<lambda>":
            try:
                return s.Expr(s.Lambda(self.parameters(settings), as_expression(body)), origin=0)
            except Unstructured:
                pass  # no compiler made this lambda: it has statements
        name = shown_name(self.code.co_name)
        if not self.code.co_flags & CO_OPTIMIZED:
            return s.ClassDef(name, [], [], body, (), type_parameters(self.code), origin=0)
        is_async = self.code.co_flags & ASYNC_FUNCTIONS
        make = s.AsyncFunctionDef if is_async else s.FunctionDef
        returns = self.annotation("return", settings)
        return make(name, self.parameters(settings), body or [s.Pass()], (), returns, origin=0)

    def parameters(self, settings: Settings) -> s.arguments:
        """The parameter list, with the defaults and annotations of the function if there is one."""
        shown = parameters(self.code)
        if self.of is None:
            return shown
        defaults, keyword_defaults = self.of.__defaults__ or (), self.of.__kwdefaults__ or {}
        known = self.of.__globals__
        shown.defaults = [value_node(value, known, settings.placeholders) for value in defaults]
        shown.kw_defaults = [
            value_node(keyword_defaults[arg.arg], known, settings.placeholders) if arg.arg in keyword_defaults else None
            for arg in shown.kwonlyargs
        ]
        if self.code.co_name != "<lambda>":
            for arg in (*shown.posonlyargs, *shown.args, shown.vararg, *shown.kwonlyargs, shown.kwarg):
                if arg is not None:
                    arg.annotation = self.annotation(arg.arg, settings)
        return shown

    def annotation(self, name: str, settings: Settings) -> Optional[s.Expression]:
        """The annotation of a parameter: a class by its name if that is known, any other value as a constant."""
        given = {} if self.of is None else self.of.__annotations__
        if name not in given or self.of is None:
            return None
        return value_node(given[name], self.of.__globals__, settings.placeholders)

    def worst_rung(self) -> Rung:
        """The least pretty rung that the text needed, its functions included."""
        if self.rung in (WITH_TEMPORARIES, WITH_LISTINGS):
            return self.rung
        return max((self.rung, *self.inner_rungs.values()), key=RUNGS.index)

    def nested(self, code: CodeType) -> Tuple[Program, Sequence]:
        """For code objects inside this one."""
        program = drop_clears_of_unbound(decode(code))
        if self.rung.drops_locals and not sees_local_names(program):
            program = drop_unread_locals(program, marks_of_dynamo(code))
        if code in self.inner_rungs:
            return program, region_tree(program, self.inner_rungs[code])
        if self.rung.is_machine:
            try:
                return program, region_tree(program)
            except Unstructured:
                pass  # a machine, then
        return program, region_tree(program, self.rung)

    def run(self, filename: str) -> Decompilation:
        """Build, print, compile back and prove."""
        tree, settings = self.tree()
        if max_depth(tree) > DEEPEST_INDENTATION:
            raise Unstructured("nested too deeply for Python's parser")
        listed = [f"{code.co_name}: no source of it was proved; it keeps its own code" for code in self.listings]
        stand_ins = (*_stand_ins(settings.placeholders.values), *listed)
        notes = [s.Comment(note) for note in (*([NOT_SELF_CONTAINED] if stand_ins else []), *stand_ins)]
        if self.mode == "single":
            notes.insert(0, s.Comment(INTERACTIVE))
        scope = enclosing_scope(tree, self.code)
        printed = print_tree(s.Module([*notes, *(tree.body if scope is None else [scope])]))
        back: Dict[str, str] = {shown: real for real, shown in self.renames.items()}
        back.update(_implicit_names(self.code))
        recompiled = compile_like(
            tree,
            self.code,
            filename=filename,
            mode=self.mode,
            shown_line=1 + len(notes) + (0 if scope is None else 1 + 2 * scope.body.index(tree.body[0])),
            constants=settings.placeholders.values,
            names=back,
            print_width=WIDTH,
            shown=printed.text if not notes else None,
            has_scope=scope is not None,
            kept=self.listings,
        )
        verdict = self.prove(recompiled)
        if verdict.nested:
            recompiled = share_nested(recompiled, verdict.nested)
        code = recompiled if verdict.holds else None
        lines = _lines(recompiled, verdict)
        rung = self.worst_rung().name
        return Decompilation(printed.text, code, verdict, rung, lines, tree=tree, stand_ins=stand_ins)

    def prove(self, recompiled: CodeType) -> Verdict:
        """Compare with the original."""
        return prove(
            self.code,
            recompiled,
            constant_globals=self.constant_globals,
            own_names=self.invented,
            own_names_inside=marks_of_dynamo,
            program_a=self.program,
        )


def enclosing_scope(tree: s.Module, code: CodeType) -> Optional[s.FunctionDef]:
    """A function around one that rebinds its free variables: without it `nonlocal` is no valid Python.

    A function inside may declare them, too: that keeps them free in a code that only hands them on.
    """
    function = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(function, (s.FunctionDef, s.AsyncFunctionDef)) or not code.co_freevars:
        return None
    free = {spelled(name) for name in code.co_freevars}
    nodes = s.walk(function) if any(isinstance(const, CodeType) for const in code.co_consts) else iter(function.body)
    if not any(isinstance(node, s.Nonlocal) and free.intersection(node.names) for node in nodes):
        return None
    variables = s.arguments(args=[s.arg(spelled(name)) for name in code.co_freevars])
    body: List[s.Statement] = [*global_statement([function], code), function, s.Return(s.Name(function.name))]
    return s.FunctionDef(f"__enclosing_scope_of_{function.name}", variables, body)


def _stand_ins(constants: Mapping[str, Any]) -> Tuple[str, ...]:
    """What the names that stand for constants without a spelling are."""
    return tuple([f"{name} is {describe(value)}" for name, value in constants.items()])


def _implicit_names(code: CodeType) -> Dict[str, str]:
    """Stand-ins for names that no source can spell; inside a class the compiler mangles them as private names."""
    found: Dict[str, str] = {}
    work: List[Tuple[CodeType, Optional[str]]] = [(code, None)]
    while work:
        current, class_name = work.pop()
        if not current.co_flags & CO_OPTIMIZED and current.co_name != "<module>":
            class_name = current.co_name
        for name in (*current.co_varnames, *current.co_cellvars, *current.co_freevars, *current.co_names):
            if spelled(name) != name:
                found[mangled(spelled(name), class_name)] = name
        work.extend((const, class_name) for const in current.co_consts if isinstance(const, CodeType))
    return found


def _lines(code: CodeType, verdict: Verdict) -> Tuple[Tuple[int, int], ...]:
    """(offset in the original, line of the text) from the operations that the proof matched."""
    line_at: Dict[int, int] = {}
    for start, end, line in code.co_lines():
        if line is not None:
            for offset in range(start, end, 2):
                line_at[offset] = line
    found = {a: line_at[b] for a, b in verdict.pairs if b in line_at}
    return tuple(sorted(found.items()))
