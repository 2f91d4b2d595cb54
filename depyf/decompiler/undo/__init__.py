"""Undo the compiler: find the protected regions again and fold the copies that it made of clean-up code;
take inlined comprehensions out."""

from depyf.decompiler.undo.async_loops import undo_async_loops
from depyf.decompiler.undo.body_ends import merge_ends
from depyf.decompiler.undo.cleanup_copies import undo_copies
from depyf.decompiler.undo.copied_tails import merge_copied_tails
from depyf.decompiler.undo.exception_groups import undo_exception_groups
from depyf.decompiler.undo.inlined_comprehensions import Comprehension, fold_comprehensions
from depyf.decompiler.undo.protected_regions import Region, add_members, assign_regions

__all__ = [
    "Comprehension",
    "Region",
    "add_members",
    "assign_regions",
    "fold_comprehensions",
    "merge_copied_tails",
    "merge_ends",
    "undo_async_loops",
    "undo_copies",
    "undo_exception_groups",
]
