"""The variables of one code object: how each is spelled, what has to be declared, and which reads have no effect."""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence

from depyf.decompiler.analysis.unbound_locals import captured_from, maybe_unbound, unread_before_store
from depyf.decompiler.build.annotated_names import BodyAnnotations
from depyf.decompiler.build.constant_nodes import Placeholders
from depyf.decompiler.build.private_names import class_around
from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.microops import Op, Program
from depyf.decompiler.syntax.identifiers import spelled


class Settings:
    """What all code objects of one decompilation share."""

    def __init__(
        self,
        structure: Callable[[CodeType], Any],
        renames: Mapping[str, str],
        constant_globals: Callable[[str], bool],
        hints: Mapping[str, Sequence[str]],
        short_name: Callable[[str], str] = lambda name: "",
    ) -> None:
        self.structure = structure  # code -> (program, region tree)
        self.renames = renames  # global -> the name that the text has for it
        self.constant_globals = constant_globals  # whether a global is known not to change while the frame runs
        self.hints = {renames.get(name, name): parameters for name, parameters in hints.items()}  # of known functions
        self.short_name = short_name  # a better name for a local of the generator's; empty: none
        self.placeholders = Placeholders()
        self.listings: Mapping[CodeType, Sequence[str]] = {}  # functions inside that are shown as instructions
        self.imports_annotations = False  # whether a text that is no module begins with that statement
        self.annotations_are_strings = False  # whether the text has `from __future__ import annotations`
        self.unused_locals: FrozenSet[str] = frozenset()  # of the outermost code: free for values of the text's own
        self.text_runs_alone = False  # whether the text is run as it is, without what is put back into its code
        self.is_generated = False  # whether a generator made the code, which writes `x = x` and `[x, y][0]`


class Scope:
    """The facts about the variables of one code object, and the declarations that its text needs so far."""

    __slots__ = (
        "program", "code", "settings", "is_namespace", "class_name", "is_in_class", "locals_around", "declared",
        "captured", "maybe_unbound", "unread_before_store", "annotations",
    )  # fmt: skip

    def __init__(self, program: Program, settings: Settings, class_name: Optional[str], is_function: bool) -> None:
        """Analyse a code object inside the class `class_name`; `is_function`: even if it is a module or class body."""
        self.program = program
        self.code = program.code
        self.settings = settings
        # Whether variables live in a mapping, as those of modules and class bodies do.
        self.is_namespace = not is_function and not self.code.co_flags & CO_OPTIMIZED
        self.class_name = class_name
        self.is_in_class = False  # whether the text of that class is around: then names in it are mangled
        if self.is_namespace and self.code.co_name != "<module>":
            self.class_name = self.code.co_name
            self.is_in_class = True
        elif class_name is None:
            self.class_name = class_around(getattr(self.code, "co_qualname", ""))
        self.locals_around: FrozenSet[str] = frozenset()  # variables of the functions around
        self.declared: Dict[str, List[str]] = {}  # "global" -> names
        self.captured = captured_from(program)
        self.maybe_unbound = maybe_unbound(program)  # reads of locals (offset, name) that may find no value
        self.unread_before_store = unread_before_store(program)  # locals that no value reads when they are stored
        self.annotations = BodyAnnotations()

    @property
    def placeholders(self) -> Placeholders:
        """The placeholders of the whole decompilation."""
        return self.settings.placeholders

    def locals_inside(self) -> FrozenSet[str]:
        """Return the variables of functions that code inside this one finds by their names alone."""
        if self.is_namespace:
            return self.locals_around
        found = self.locals_around.union(self.code.co_varnames, self.code.co_cellvars, self.code.co_freevars)
        return found.difference(self.declared.get("global", ()))

    def global_name(self, name: str) -> str:
        """Return how a global is spelled."""
        return self.settings.renames.get(name) or spelled(name)

    def variable_name(self, op: Op) -> str:
        """Return how the variable of a store or delete is spelled."""
        return self.global_name(op.arg) if "GLOBAL" in op.kind else spelled(op.arg)

    def declare(self, op: Op) -> None:
        """Record the declaration that a store or delete needs."""
        if op.kind in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            self.declare_global(self.global_name(op.arg))

    def declare_global(self, name: str) -> None:
        """Record that the text needs `global name`."""
        names = self.declared.setdefault("global", [])
        if name not in names:
            names.append(name)

    def bound_name(self, op: Op) -> str:
        """Declare the variable of a store if it needs that, and return how it is spelled."""
        self.declare(op)
        return self.variable_name(op)

    def is_private_cell(self, name: str, offset: int) -> bool:
        """Return whether a cell variable is like a local at `offset`: it has not been captured yet, or never is."""
        return name in self.code.co_cellvars and offset < self.captured.get(name, offset + 1)
