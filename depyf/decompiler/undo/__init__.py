"""Undo the compiler: find the protected regions again and fold the copies that it made of clean-up code."""

from .async_loops import undo_async_loops
from .copies import Unstructured, same_op, undo_copies
from .regions import Region, assign_regions

__all__ = ["Region", "Unstructured", "assign_regions", "same_op", "undo_async_loops", "undo_copies"]
