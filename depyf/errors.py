"""Errors that depyf raises: one base, two families.

A UserError says what happened, where, and what to do about it. A BugError is a mistake in depyf itself:
it carries what is needed to report it, and never reaches the user's compiled program.
"""

from __future__ import annotations


class DepyfError(Exception):
    """Base of every exception that depyf raises on purpose."""


class UserError(DepyfError):
    """Something the user can put right: the message says what happened and what to do."""


class BugError(DepyfError):
    """A mistake inside depyf: the message says what to report."""


class OutputFolderError(UserError, OSError):
    """The folder for the dumped files cannot be made or written."""


class NestedSessionError(UserError, RuntimeError):
    """A debugging context was entered where another one is active already."""
