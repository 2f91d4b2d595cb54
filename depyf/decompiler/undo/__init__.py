"""Undo the compiler: find the protected regions again and fold the copies that it made of clean-up code."""

from .async_loops import undo_async_loops
from .copies import Unstructured, undo_copies
from .regions import Region, assign_regions

__all__ = ["Region", "Unstructured", "assign_regions", "undo_async_loops", "undo_copies"]
