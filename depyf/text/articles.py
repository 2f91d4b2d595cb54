"""Nouns with the article that English puts before them."""

from __future__ import annotations


def with_article(noun: str) -> str:
    """Return `a Conv2d`, `an Embedding`."""
    return f"{'an' if noun[:1].lower() in tuple('aeio') else 'a'} {noun}"
