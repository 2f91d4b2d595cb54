"""Build: a region tree -> a syntax tree. The symbolic stack gives expressions, the tree gives statements."""

from .functions import Builder, Settings, docstring_of, parameters

__all__ = ["Builder", "Settings", "docstring_of", "parameters"]
