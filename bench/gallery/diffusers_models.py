"""Models of diffusers with random weights: U-Nets, transformers and autoencoders of a few channels."""

from __future__ import annotations

from typing import List

from bench.gallery.cases import Case
from bench.zoo_models import DIFFUSERS, diffusers_inputs


def architectures() -> List[str]:
    """Return the names of the classes."""
    return list(DIFFUSERS)


def build(name: str) -> Case:
    """Return a model of that class."""
    import diffusers

    return Case(getattr(diffusers, name)(**DIFFUSERS[name]), lambda batch: diffusers_inputs(name, batch))
