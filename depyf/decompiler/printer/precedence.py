"""How tightly things bind. A node whose own level is below the level its place asks for gets parentheses."""

from __future__ import annotations

# The levels that places ask for. The first three are no steps of one ladder: a bare `yield` or tuple stands
# only where YIELD or TUPLE is asked for, and `:=` stands bare only where exactly NAMED is asked for.
YIELD, TUPLE, NAMED, TEST, OR, AND, NOT, COMPARE = range(8)
BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, TERM, FACTOR, POWER, AWAIT, ATOM = range(8, 18)

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

# The same for patterns: `p as n` stands anywhere but in `|`, and `|` in anything but `|`.
ANY_PATTERN, OR_PATTERN, CLOSED_PATTERN = range(3)
