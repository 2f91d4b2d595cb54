"""A code object and those nested in it."""

from __future__ import annotations

from types import CodeType
from typing import Iterator


def with_nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all that are nested in it, each before those inside it, in the order of the source."""
    work = [code]
    while work:
        current = work.pop()
        yield current
        work.extend([const for const in reversed(current.co_consts) if isinstance(const, CodeType)])
