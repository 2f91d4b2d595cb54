"""Precedence: how tightly nodes bind. A node whose level is below the one that its place requires gets parentheses."""

from __future__ import annotations

# The levels that places require. The first three are not ordered like the rest: a bare `yield` or tuple is legal
# only where YIELD or TUPLE is required, and a bare `:=` only where exactly NAMED is.
# The operands of `or` require OR_CHAIN and those of `and` require AND: an operand of the same kind joins the chain.
YIELD, TUPLE, NAMED, TEST, OR, OR_CHAIN, AND, NOT, COMPARE = range(9)
BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, TERM, FACTOR, POWER, AWAIT, ATOM = range(9, 19)

BINARY = {
    "|": BIT_OR,
    "^": BIT_XOR,
    "&": BIT_AND,
    "<<": SHIFT,
    ">>": SHIFT,
    "+": SUM,
    "-": SUM,
    "*": TERM,
    "/": TERM,
    "//": TERM,
    "%": TERM,
    "@": TERM,
    "**": POWER,
}

# The same for patterns: `p as n` is legal anywhere but in `|`, and `|` anywhere but in `|`.
ANY_PATTERN, OR_PATTERN, CLOSED_PATTERN = range(3)
