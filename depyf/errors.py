"""Errors that depyf raises: one base, two families.

The message of a UserError has what happened, where, and what to do about it. A BugError is a mistake in depyf itself:
it carries what is needed to report it, and never reaches the user's compiled program.
"""

from __future__ import annotations


class DepyfError(Exception):
    """Base of every exception that depyf raises on purpose."""


class UserError(DepyfError):
    """Something the user can fix: the message has what happened and what to do."""


class BugError(DepyfError):
    """A mistake inside depyf: the message has what to report."""


class OutputFolderError(UserError, OSError):
    """The folder for the dumped files cannot be created or written."""


class NestedSessionError(UserError, RuntimeError):
    """A `prepare_debug` context was entered while another one is active."""
