"""How tightly things bind. A node whose own level is below the level its place asks for gets parentheses."""

from __future__ import annotations

# The levels that places ask for. The first three are no steps of one ladder: a bare `yield` or tuple stands
# only where YIELD or TUPLE is asked for, and `:=` stands bare only where exactly NAMED is asked for.
# OR_CHAIN is what the operands of `or` ask for, AND what those of `and` do: one of the same kind joins in.
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

# The same for patterns: `p as n` stands anywhere but in `|`, and `|` in anything but `|`.
ANY_PATTERN, OR_PATTERN, CLOSED_PATTERN = range(3)
