"""Build: a region tree -> a syntax tree. The symbolic stack gives expressions, the tree gives statements."""

from .comprehensions import COMPREHENSIONS
from .definitions import as_expression
from .finish import own_statements
from .functions import Builder, Settings, standalone_comprehension
from .generics import type_parameters
from .signature import docstring_of, parameters

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
