"""Build: a region tree -> a syntax tree. The symbolic stack gives expressions, the tree gives statements."""

from depyf.decompiler.build.builder import build_statements, standalone_comprehension
from depyf.decompiler.build.comprehension_nodes import COMPREHENSIONS
from depyf.decompiler.build.constant_nodes import value_node
from depyf.decompiler.build.expression_forms import as_expression
from depyf.decompiler.build.parameter_lists import docstring_of, parameters
from depyf.decompiler.build.private_names import mangled
from depyf.decompiler.build.scope import Settings
from depyf.decompiler.build.tidying import own_statements
from depyf.decompiler.build.type_parameter_scopes import type_parameters

__all__ = [
    "COMPREHENSIONS",
    "Settings",
    "as_expression",
    "build_statements",
    "docstring_of",
    "mangled",
    "own_statements",
    "parameters",
    "standalone_comprehension",
    "type_parameters",
    "value_node",
]
