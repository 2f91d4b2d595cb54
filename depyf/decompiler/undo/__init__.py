"""Undo the compiler: find the protected regions again and fold the copies that it made of clean-up code."""

from .copies import Unstructured, undo_copies
from .regions import Region, assign_regions

__all__ = ["Region", "Unstructured", "assign_regions", "undo_copies"]
