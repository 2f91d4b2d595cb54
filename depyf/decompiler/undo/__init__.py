"""Undo the compiler: find the protected regions again and fold the copies that it made of clean-up code;
take inlined comprehensions out."""

from .async_loops import undo_async_loops
from .comprehensions import Comprehension, fold_comprehensions
from .copies import Unstructured, same_op, undo_copies
from .ends import merge_ends
from .exception_groups import undo_exception_groups
from .regions import Region, add_members, assign_regions
from .tails import merge_copied_tails

__all__ = [
    "Comprehension",
    "Region",
    "Unstructured",
    "add_members",
    "assign_regions",
    "fold_comprehensions",
    "merge_copied_tails",
    "merge_ends",
    "same_op",
    "undo_async_loops",
    "undo_copies",
    "undo_exception_groups",
]
