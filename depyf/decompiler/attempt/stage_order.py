"""The stages in order: from one code object and one rung to a text, its code and the verdict on it."""

from __future__ import annotations

from dataclasses import replace
from types import CodeType, MappingProxyType
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.analysis.local_name_access import sees_local_names
from depyf.decompiler.analysis.long_arguments import charge_repetitions
from depyf.decompiler.analysis.used_locals import used_locals
from depyf.decompiler.attempt.decompilation import Decompilation
from depyf.decompiler.attempt.matched_lines import matched_lines
from depyf.decompiler.attempt.region_trees import region_tree
from depyf.decompiler.attempt.request import Request
from depyf.decompiler.attempt.rung import Rung
from depyf.decompiler.attempt.stand_ins import described, implicit_names
from depyf.decompiler.attempt.syntax_trees import Text, syntax_tree
from depyf.decompiler.build import Settings
from depyf.decompiler.bytecode.budget import WrittenTooOften
from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.microops import Program
from depyf.decompiler.bytecode.nested_code import size_of
from depyf.decompiler.bytecode.python_facts import RUNNING, PythonFacts
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.clean_program import clean_program
from depyf.decompiler.decode import decode
from depyf.decompiler.printer import Printed, SyntaxLimits, max_depth, print_source
from depyf.decompiler.printer.block_nesting import nests_too_many_blocks
from depyf.decompiler.prove import Grade, Verdict, prove
from depyf.decompiler.recompile import compile_like, share_nested
from depyf.decompiler.recompile.enclosing_scope import enclosing_scope
from depyf.decompiler.structure import Sequence

WIDTH = 110
INTERACTIVE = "Interactive: compiled with mode 'single', which shows the values of expressions."
NOT_SELF_CONTAINED = "Not self-contained: these names stand for constants of the bytecode that are no literals."
MOST_WRITTEN = 30  # how often, on average, the builder may ask for an op of the code inside
WRITTEN_AT_LEAST = 500
UNDECIDED = Verdict(Grade.UNPROVED, reason="the proof is still to be made")
DEEPEST_INDENTATION = 98  # CPython accepts 100 levels


FUTURE_ANNOTATIONS = s.ImportFrom("__future__", [s.alias("annotations")])


def print_tree(tree: s.Module, facts: PythonFacts = RUNNING) -> Printed:
    """Return the text of a tree as it is shown."""
    return print_source(tree, features=SyntaxLimits.of(facts.version), width=WIDTH)


class _Shown(NamedTuple):
    """A printed text, and what it consists of besides the statements of the code."""

    stand_ins: Tuple[str, ...]
    notes: List[s.Comment]
    scope: Optional[s.FunctionDef]
    future: List[s.ImportFrom]
    printed: Printed


class Attempt:
    """One rung tried on one code object."""

    def __init__(
        self,
        request: Request,
        rung: Rung,
        inner_rungs: Mapping[CodeType, Rung] = MappingProxyType({}),
        listings: Mapping[CodeType, List[str]] = MappingProxyType({}),
        *,
        verifies: bool = True,
    ) -> None:
        self.request = request
        self.rung = rung
        self.inner_rungs = inner_rungs  # where code objects inside take another rung
        self.listings = listings  # those inside that are shown as instructions
        # Ops inside that may be written: one code object may be made into functions in many places.
        self.ops_left = MOST_WRITTEN * size_of(request.code) + WRITTEN_AT_LEAST
        self.verifies = verifies  # whether code is verified first, and not only where the proof needs it

    def run(self) -> Decompilation:
        """Take the code object through the stages.

        Raises Unstructured, Unspellable, CannotRecompile and SyntaxError where a stage has no form for it; anything for
        code that is not well formed and not verified.
        """
        program, text = self.written()
        shown = self.printed(text)
        recompiled = self.recompiled(text, shown)
        result = Decompilation(
            shown.printed.text,
            None,
            UNDECIDED,
            self.rung.name,
            (),
            tree=None if self.request.is_generated else text.tree,
            stand_ins=shown.stand_ins,
            origins=shown.printed.origins,
        )
        del text, shown  # the tree of a long frame is thousands of objects, and the proof makes as many
        return self.proved(program, recompiled, result)

    def written(self) -> Tuple[Program, Text]:
        """Take the code object through the stages up to its syntax tree; raise what `run` raises."""
        request, rung = self.request, self.rung
        program = decode(request.code, verifies=self.verifies)
        charge_repetitions(program)
        own_locals = request.own_locals if rung.drops_locals else ()
        simple = clean_program(program, own_locals, drops_self_stores=rung.drops_locals and request.is_generated)
        tree = region_tree(simple, rung)
        return program, syntax_tree(request, simple, tree, self.settings(program), names_values=rung.names_values)

    def settings(self, program: Program) -> Settings:
        """Return the settings of the builder: names, and how to read the code inside.

        A generator keeps the names of the user's locals in code that does not use them: the text may. It must not where
        the frame reads its names, as those would be others.
        """
        request = self.request
        is_constant = request.generator.constant_globals or (lambda name: False)
        settings = Settings(self.nested, request.renames, is_constant, request.hints, request.generator.short_name)
        settings.listings = self.listings
        settings.is_generated = request.is_generated
        settings.text_runs_alone = request.stands_alone
        if request.is_generated and not sees_local_names(program):
            settings.unused_locals = frozenset(program.code.co_varnames) - used_locals(program)
        return settings

    def nested(self, code: CodeType) -> Tuple[Program, Sequence]:
        """Return the program and the region tree of a code object inside this one."""
        program = decode(code, verifies=self.verifies)
        self.ops_left -= len(program.ops)
        if self.ops_left < 0:
            raise WrittenTooOften("functions inside are made in too many places")
        charge_repetitions(program)
        own_locals = self.request.generator.own_locals(code) if self.rung.drops_locals else ()
        program = clean_program(program, () if own_locals and sees_local_names(program) else own_locals)
        if code in self.inner_rungs:
            return program, region_tree(program, self.inner_rungs[code])
        if self.rung.is_machine:
            try:
                return program, region_tree(program)
            except Unstructured:
                pass  # a machine, then
        return program, region_tree(program, self.rung)

    def printed(self, text: Text) -> _Shown:
        """Print the text with what belongs around it. Raises Unstructured for one that is nested too deeply."""
        code, tree = self.request.code, text.tree
        facts = facts_of(code)
        if max_depth(tree) > DEEPEST_INDENTATION:
            raise Unstructured("nested too deeply for Python's parser")
        stand_ins = (*described(text.placeholders), *self.unproved_inside())
        notes = [s.Comment(note) for note in (*([NOT_SELF_CONTAINED] if stand_ins else []), *stand_ins)]
        if text.mode == "single":
            notes.insert(0, s.Comment(INTERACTIVE))
        scope = enclosing_scope(tree, code, for_super=self.request.stands_alone)
        future = [FUTURE_ANNOTATIONS] if self.request.imports_annotations else []
        printed = print_tree(s.Module([*notes, *future, *(tree.body if scope is None else [scope])]), facts)
        if facts.comprehensions_are_inlined and nests_too_many_blocks(tree, printed.text):
            raise Unstructured("more blocks around a comprehension than CPython's compiler survives")
        return _Shown(stand_ins, notes, scope, future, printed)

    def unchecked(self, reason: str) -> Decompilation:
        """Return the text without a proof, for want of a compiler: its first line states the reason."""
        text = self.written()[1]
        shown = self.printed(text)
        verdict = Verdict(Grade.UNPROVED, reason=reason)
        source = f"# {verdict.grade.name}: {reason}\n{shown.printed.text}"
        return Decompilation(source, None, verdict, self.rung.name, (), tree=text.tree, stand_ins=shown.stand_ins)

    def recompiled(self, text: Text, shown: _Shown) -> CodeType:
        """Return the code that the text compiles to."""
        tree, (_, notes, scope, future, printed) = text.tree, shown
        return compile_like(
            tree,
            self.request.code,
            filename=self.request.filename,
            mode=text.mode,
            shown_line=1
            + len(notes)
            + 3 * len(future)
            + (0 if scope is None else 1 + 2 * scope.body.index(tree.body[0])),
            constants=text.placeholders,
            names=self.names_back(),
            print_width=WIDTH,
            shown=printed.text if not notes and not future else None,
            annotations_are_strings=self.request.annotations_are_strings,
            has_scope=scope is not None,
            kept=self.listings,
            is_generated=self.request.is_generated,
            compiler=self.request.compiler,
        )

    def proved(self, program: Program, recompiled: CodeType, unproved: Decompilation) -> Decompilation:
        """Compare the code that the text compiles to with the original; return the text with the verdict."""
        verdict = prove(
            self.request.code,
            recompiled,
            constant_globals=self.request.generator.constant_globals,
            own_names=self.request.own_locals,
            own_names_inside=self.request.generator.own_locals,
            drops_self_stores=self.request.is_generated,
            program_a=program,
            is_compiled=True,
        )
        if verdict.nested:
            recompiled = share_nested(recompiled, verdict.nested)
        kept = recompiled if verdict.holds else None
        return replace(unproved, code=kept, verdict=verdict, lines=matched_lines(recompiled, verdict))

    def unproved_inside(self) -> List[str]:
        """Return a note for each function inside that is shown as instructions."""
        return [f"{code.co_name}: no source of it was proved; it keeps its own code" for code in self.listings]

    def names_back(self) -> Dict[str, str]:
        """Return name in the text -> name in the code, where they differ."""
        back = {shown: real for real, shown in self.request.renames.items()}
        back.update(implicit_names(self.request.code))
        return back
