"""What the caller of the decompiler asks for: a code object, and what is known about it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Mapping, Optional, Tuple

from depyf.code_generator import COMPILER, CodeGenerator
from depyf.decompiler.bytecode.code_flags import CO_FUTURE_ANNOTATIONS
from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.nested_code import with_nested
from depyf.decompiler.recompile import Compiler, running_compiler


@dataclass(frozen=True)
class Request:
    """One code object to decompile."""

    code: CodeType
    generator: CodeGenerator = COMPILER
    reference: Optional[CodeType] = None  # the code that a generator made `code` from
    filename: str = "<depyf>"  # of the recompiled code
    renames: Mapping[str, str] = field(default_factory=dict)  # global name in the code -> name to show
    hints: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)  # global name of a function -> its parameters
    # The FunctionType whose code this is: its default values and annotations are shown. (For mypy a descriptor.)
    function: Any = None
    stands_alone: bool = False  # whether the text will be run as it is: a method, outside its class
    compiler: Compiler = running_compiler  # of the Python that the code belongs to

    @property
    def is_generated(self) -> bool:
        """Whether a generator made the code from other code."""
        return self.reference is not None

    @property
    def imports_annotations(self) -> bool:
        """Whether the text begins with `from __future__ import annotations`: code that it compiles inherits that."""
        is_module = self.code.co_name == "<module>"  # which has the statement itself
        return self.stands_alone and not is_module and bool(self.code.co_flags & CO_FUTURE_ANNOTATIONS)

    @functools.cached_property
    def annotations_are_strings(self) -> bool:
        """Whether annotations of the text become strings by the flag of `from __future__ import annotations`.

        Without it the text spells them as strings. Where other annotations are deferred, strings of a class's variables
        would be, too: only with the flag they are stored when the class is made.
        """
        if not self.code.co_flags & CO_FUTURE_ANNOTATIONS:
            return False
        if self.stands_alone or self.code.co_name == "<module>":
            return True
        is_deferred = facts_of(self.code).annotations_are_deferred
        return is_deferred and any("__annotations__" in one.co_names for one in with_nested(self.code))

    @functools.cached_property
    def own_locals(self) -> Tuple[str, ...]:
        """The locals that the generator invented: with a reference, those that it does not have."""
        if self.reference is None:
            return self.generator.own_locals(self.code)
        known = {*self.reference.co_varnames, *self.reference.co_cellvars, *self.reference.co_freevars}
        return tuple([name for name in self.code.co_varnames if name not in known])
