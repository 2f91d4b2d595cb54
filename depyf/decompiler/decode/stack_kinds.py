"""Kinds of stack entries, as sets of bits: what an entry may be when an instruction runs.

The union of two kinds is what an entry may be where two paths join.
"""

from __future__ import annotations

from typing import Dict

(
    NULL, NONE, BOOL, INT, LIST, SET, DICT, ITERATOR, CELL, FUNCTION, EXCEPTION, OTHER,
    PREVIOUS,  # what PUSH_EXC_INFO saves: the exception handled before, or None
    LAST_INSTRUCTION,  # the offset that a handler with `lasti` finds below its exception
    OF_METHOD,
    EXCEPTION_TYPE, TRACEBACK,  # what a handler finds above and below the exception, before 3.11
    ITERATED,  # what GET_ITER pushes below an index: an iterator, or a list or tuple (3.15)
    INDEX,  # the index above it, or NULL
    MOVED,  # one of these two that is no longer beside the other
) = (1 << bit for bit in range(20))  # fmt: skip

# What a variable may hold, or an operation return: an object of whatever type.
ANY = NONE | BOOL | INT | LIST | SET | DICT | ITERATOR | CELL | FUNCTION | EXCEPTION | OTHER
MAYBE_NULL = ANY | NULL
RECEIVER = MAYBE_NULL | OF_METHOD  # what LOAD_SPECIAL pushes above a method: the object that it is of, or NULL
OF_LOOP = ITERATED | INDEX
NO_OBJECTS = NULL | PREVIOUS | OF_LOOP  # what no instruction may take for an object
NO_CELL = ANY & ~CELL  # and of a tuple: not all its elements are cells

_WORDS: Dict[int, str] = {
    NULL: "NULL", NONE: "None", BOOL: "a bool", INT: "an int", LIST: "a list", SET: "a set", DICT: "a dict",
    ITERATOR: "an iterator", CELL: "a cell", FUNCTION: "a function", EXCEPTION: "an exception",
    OTHER: "another object", PREVIOUS: "a saved exception", LAST_INSTRUCTION: "an instruction offset",
    EXCEPTION_TYPE: "the type of an exception", TRACEBACK: "a traceback",
    ITERATED: "what a loop is over", INDEX: "the index of a loop",
}  # fmt: skip


def in_words(kind: int) -> str:
    """Return what an entry may be, in words."""
    if kind == NO_CELL:
        return "what is no cell"
    if kind & ANY == ANY:
        return "any object or NULL" if kind & NULL else "any object"
    return " or ".join(word for bit, word in _WORDS.items() if kind & bit)
