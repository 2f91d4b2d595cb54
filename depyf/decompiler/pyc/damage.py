"""What is wrong with a `.pyc` file."""

from __future__ import annotations

from depyf.errors import UserError


class DamagedFile(UserError):
    """The file is no whole `.pyc` file; the message has the byte at which that was found."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(f"byte {at}: {what}")
        self.at = at


class OtherVersion(UserError):
    """The file was made by another version of Python than the one that is needed to read it."""

    def __init__(self, made_by: str) -> None:
        super().__init__(f"it was made by {made_by}")
        self.made_by = made_by
