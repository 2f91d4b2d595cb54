"""The way into the stage: the statements of one code object, or the comprehension that it computes."""

from __future__ import annotations

from types import CodeType
from typing import Any, Collection, Dict, List

from depyf.decompiler import syntax as s
from depyf.decompiler.build.comprehension_frames import comprehension_of
from depyf.decompiler.build.expression_forms import as_expression
from depyf.decompiler.build.function_bodies import function_body, written_statements
from depyf.decompiler.build.op_handlers import TABLES
from depyf.decompiler.build.scope import Settings
from depyf.decompiler.build.symbolic_frame import open_frame
from depyf.decompiler.bytecode.microops import Program
from depyf.decompiler.bytecode.unstructured import Unstructured


def build_statements(
    program: Program, tree: Any, settings: Settings, generated: Collection[str] = ()
) -> List[s.Statement]:
    """Return the statements of a function, module or class body, docstring and declarations first.

    `generated`: locals that a code generator added to the user's.
    """
    frame = open_frame(program, settings, TABLES, generated=generated, unused=settings.unused_locals)
    return function_body(frame, tree)


def annotation_nodes(code: CodeType, settings: Settings) -> Dict[str, s.Expression]:
    """Return the annotations that the code of a function for annotations computes, by name. Raises Unstructured."""
    program, tree = settings.structure(code)
    node = as_expression(written_statements(open_frame(program, settings, TABLES), tree))
    if not isinstance(node, s.Dict):
        raise Unstructured("annotations of an unknown form")
    return {key.value: value for key, value in zip(node.keys, node.values) if isinstance(key, s.Constant)}


def standalone_comprehension(program: Program, tree: Any, settings: Settings) -> s.Expression:
    """Return the comprehension of a code object by itself: it runs over an iterator that it is given."""
    return comprehension_of(program, tree, settings, TABLES, s.Name("__iterator"))
