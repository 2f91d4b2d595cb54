"""Whether values are finite: tensors, and numbers among the arguments of an operator."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any, ContextManager, Iterator, Tuple

from depyf.torch_hooks.internals import private_hooks


@dataclass(frozen=True)
class TensorSummary:
    """What a tensor held."""

    dtype: str
    shape: Tuple[int, ...]
    elements: int
    nans: int
    infinities: int
    least: float  # of the finite elements; NaN where there are none
    greatest: float

    def __str__(self) -> str:
        text = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        if not math.isnan(self.least):
            text += f", from {self.least:.6g} to {self.greatest:.6g}"
        odd = [f"{count} {name}" for count, name in ((self.nans, "NaN"), (self.infinities, "Inf")) if count]
        return text + (f", {' and '.join(odd)} of {self.elements}" if odd else "")


def leaves_in(value: Any) -> Iterator[Any]:
    """Yield what stands in nested lists, tuples and dicts, in order."""
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, (list, tuple)):
            stack.extend(reversed(current))
        elif isinstance(current, dict):
            stack.extend(reversed(list(current.values())))
        else:
            yield current


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors in nested lists, tuples and dicts."""
    import torch

    return (leaf for leaf in leaves_in(value) if isinstance(leaf, torch.Tensor))


def are_finite(value: Any) -> bool:
    """Return whether all tensors and numbers in nested lists, tuples and dicts are finite."""
    return all(
        _is_finite_number(leaf) if isinstance(leaf, (float, complex)) else is_finite(leaf) for leaf in leaves_in(value)
    )


def is_finite(tensor: Any) -> bool:
    """Return whether a tensor holds neither NaN nor Inf; what is no tensor, or holds no data, does not."""
    values = _data_of(tensor)
    if values is None:
        return True
    import torch

    with torch.no_grad():
        return bool(torch.isfinite(values).all())


def is_finite_elsewhere(tensor: Any, other: Any) -> bool:
    """Return whether a tensor is finite somewhere where another of its shape is not."""
    import torch

    values, others = _data_of(tensor), _data_of(other)
    if values is None or others is None or values.shape != others.shape:
        return is_finite(tensor)
    with torch.no_grad():
        return bool((torch.isfinite(values) & ~torch.isfinite(others)).any())


def kind_of(tensor: Any) -> str:
    """Return "NaN", "Inf" or "-Inf", by the worst that a tensor holds."""
    import torch

    values = _data_of(tensor)
    if values is None or bool(torch.isnan(values).any()):
        return "NaN"
    if values.is_complex() or bool((values == math.inf).any()):
        return "Inf"
    return "-Inf"


def summary_of(tensor: Any) -> TensorSummary:
    """Return what a tensor holds, in few numbers."""
    import torch

    with torch.no_grad(), unwatched():
        shape = tuple(int(size) for size in tensor.shape)
        dtype = str(tensor.dtype).replace("torch.", "")
        values = _data_of(tensor)
        if values is None:
            values = tensor.detach() if _has_data(tensor) else torch.empty(0)
        nans = int(torch.isnan(values).sum())
        finite = values[torch.isfinite(values)]
        odd = values.numel() - finite.numel() - nans
        reals = finite.abs() if finite.is_complex() else finite
        ends = (math.nan, math.nan) if not reals.numel() else (float(reals.min()), float(reals.max()))
        return TensorSummary(dtype, shape, values.numel(), nans, odd, *ends)


def is_recording() -> bool:
    """Return whether a CUDA graph is recorded now: nothing can be read then, and each operation becomes part of it."""
    import torch

    return bool(torch.cuda.is_available() and torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())


def unwatched() -> ContextManager[Any]:
    """Return a context in which no dispatch mode, of ours or the program's, sees what is computed."""
    disabled = private_hooks.find("disabled_modes")
    context: ContextManager[Any] = contextlib.nullcontext() if disabled is None else disabled()
    return context


def _is_finite_number(number: Any) -> bool:
    return math.isfinite(abs(number)) if isinstance(number, complex) else math.isfinite(number)


def _data_of(tensor: Any) -> Any:
    """Return the elements of a tensor in a type that torch can compare; None where it has none."""
    import torch

    if not isinstance(tensor, torch.Tensor) or not (tensor.is_floating_point() or tensor.is_complex()):
        return None
    if not _has_data(tensor):
        return None
    values = tensor.detach()
    if values.layout is not torch.strided:
        values = values.coalesce().values() if values.layout is torch.sparse_coo else values.values()
    if values.dtype.itemsize == 1:  # the operators for finiteness do not take the types of 8 bits
        values = values.to(torch.float32)
    return values


def _has_data(tensor: Any) -> bool:
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    if tensor.is_meta or isinstance(tensor, FakeTensor) or torch._is_functional_tensor(tensor):
        return False
    return bool(tensor.numel())
