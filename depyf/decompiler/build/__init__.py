"""Build: a region tree -> a syntax tree. The symbolic stack gives expressions, the tree gives statements."""

from .functions import (
    COMPREHENSIONS,
    Builder,
    Settings,
    as_expression,
    docstring_of,
    parameters,
    standalone_comprehension,
)

__all__ = [
    "COMPREHENSIONS",
    "Builder",
    "Settings",
    "as_expression",
    "docstring_of",
    "parameters",
    "standalone_comprehension",
]
