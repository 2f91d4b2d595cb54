"""The catalogue: families of architectures, and the variants in which each is compiled."""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Tuple

from bench.gallery.cases import Case, made_finite

# A family -> the module that builds it, and the library without which it has no models.
FAMILIES: Dict[str, Tuple[str, str]] = {
    "torch": ("bench.gallery.torch_models", "torch"),
    "loops": ("bench.gallery.training_loops", "torch"),
    "timm": ("bench.gallery.timm_models", "timm"),
    "diffusers": ("bench.gallery.diffusers_models", "diffusers"),
    "transformers": ("bench.gallery.transformers_models", "transformers"),
}


@dataclass(frozen=True)
class Variant:
    """One way to compile a model."""

    name: str
    training: bool = False  # with gradients, in training mode; else without, in evaluation mode
    breaks: bool = False  # with a graph break after each layer
    backend: str = "eager"


VARIANTS: Dict[str, Variant] = {
    variant.name: variant
    for variant in (
        Variant("forward"),
        Variant("forward-breaks", breaks=True),
        Variant("training", training=True),
        Variant("training-breaks", training=True, breaks=True),
        Variant("inductor", backend="inductor"),
    )
}


@dataclass(frozen=True)
class Exhibit:
    """A model in one variant: what one child process compiles."""

    family: str
    name: str
    variant: str

    @property
    def model(self) -> str:
        """The model, as the command line names it."""
        return f"{self.family}/{self.name}"

    @property
    def folder(self) -> str:
        """The folder of its files, relative to that of the gallery."""
        return f"{self.family}/{self.name.replace('/', '_')}/{self.variant}"


def _module(family: str) -> Any:
    return importlib.import_module(FAMILIES[family][0])


def build(family: str, name: str) -> Case:
    """Return a model with random weights: the same ones each time."""
    import torch

    torch.manual_seed(0)
    case: Case = _module(family).build(name)
    made_finite(case.model)
    return case


def exhibits(only: List[str], variants: List[str]) -> Iterator[Exhibit]:
    """Yield what is to be compiled, variant by variant; `only` has families and models, with `*` for any text.

    A training loop has no forward pass of its own: its variants are those of training. Families whose library is not
    installed are left out.
    """
    missing = missing_libraries()
    for variant in variants:
        for family, (_, library) in FAMILIES.items():
            if library in missing or (family == "loops" and not VARIANTS[variant].training):
                continue
            for name in _module(family).architectures():
                if not only or any(fnmatch.fnmatchcase(f"{family}/{name}", one) or family == one for one in only):
                    yield Exhibit(family, name, variant)


def missing_libraries() -> List[str]:
    """Return the libraries that are not installed."""
    return sorted({library for _, library in FAMILIES.values() if importlib.util.find_spec(library) is None})
