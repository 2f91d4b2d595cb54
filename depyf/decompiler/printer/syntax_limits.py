"""Syntax limits: which syntax the printed text may use, by the Python that is to read it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class SyntaxLimits:
    """Where Pythons differ in how the same tree can be written. The defaults are legal in all of them."""

    nested_quotes_in_fstrings: bool = False  # 3.12, PEP 701: and backslashes
    bare_tuples: bool = False  # 3.8: return *a, b and x: t = a, b without parentheses
    any_decorator: bool = False  # 3.9, PEP 614: not only dotted names and calls of them
    starred_in_index: bool = False  # 3.11, PEP 646: x[*a]
    bare_walrus_in_index: bool = False  # 3.10: x[a := b] and {a := b}
    docstrings_are_dedented: bool = False  # 3.13: the compiler strips the indentation that a docstring shares
    # 3.10, 3.11: `a and (b and c)` tests the value of `b and c` again if it is on other lines (jump_thread, compile.c).
    lines_decide_jumps: bool = False

    # Strings show the characters that are printable in this version; None: in the running one.
    characters_of: tuple[int, int] | None = None

    @staticmethod
    def of(version: tuple[int, int]) -> SyntaxLimits:
        """Return the limits of CPython `version`, given as (major, minor)."""
        return SyntaxLimits(
            nested_quotes_in_fstrings=version >= (3, 12),
            bare_tuples=version >= (3, 8),
            any_decorator=version >= (3, 9),
            starred_in_index=version >= (3, 11),
            bare_walrus_in_index=version >= (3, 10),
            docstrings_are_dedented=version >= (3, 13),
            lines_decide_jumps=version in ((3, 10), (3, 11)),
            characters_of=version,
        )
