"""Build: a region tree -> a syntax tree. The symbolic stack gives expressions, the tree gives statements."""

from depyf.decompiler.build.code_bodies import Builder, Settings, standalone_comprehension
from depyf.decompiler.build.comprehensions import COMPREHENSIONS
from depyf.decompiler.build.definitions import as_expression
from depyf.decompiler.build.finish import own_statements
from depyf.decompiler.build.generics import type_parameters
from depyf.decompiler.build.signature import docstring_of, parameters

__all__ = [
    "COMPREHENSIONS",
    "Builder",
    "Settings",
    "as_expression",
    "docstring_of",
    "own_statements",
    "parameters",
    "standalone_comprehension",
    "type_parameters",
]
