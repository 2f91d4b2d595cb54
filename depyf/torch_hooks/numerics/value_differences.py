"""Differences of values: whether what compiled code computed is what eager code did, within the rounding of its type.

Rounding differs wherever operations are fused: a kernel in half precision keeps more digits between two operations
than eager code does. So where two values are further apart than the tolerance of their type, a run in float64 decides:
a value that is not much further from it than eager's is no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Sequence, Tuple

from depyf.torch_hooks.numerics.finite_values import tensors_in

# relative, absolute
_TOLERANCES: Dict[str, Tuple[float, float]] = {
    "float64": (1e-9, 1e-10),
    "complex128": (1e-9, 1e-10),
    "float32": (1e-4, 1e-5),
    "complex64": (1e-4, 1e-5),
    "float16": (5e-3, 1e-3),
    "bfloat16": (3e-2, 1e-2),
}
_MOST_TIMES = 4.0  # as far from float64 as eager's value: still rounding
_EAGER, _COMPILED, _BOTH = "eager", "compiled", "neither"


@dataclass(frozen=True)
class ValueDifference:
    """How two tensors differ."""

    dtype: str
    shape: Tuple[int, ...]
    greatest: float  # absolute difference; NaN where one of the two is NaN alone
    elements: int  # beyond the tolerance
    closer: str = ""  # "eager" or "compiled": which is closer to the values of float64, where that was computed
    compiled: str = ""  # type and shape of the compiled value, where these are others

    def __str__(self) -> str:
        if self.compiled:
            return f"{self.compiled} in the place of {self.dtype}{list(self.shape)}"
        text = f"{self.elements} elements of {self.dtype}{list(self.shape)} differ, at most by {self.greatest:.3g}"
        return text + (f"; {self.closer} is closer to float64" if self.closer else "")


def difference(compiled: Any, eager: Any, exact: Any = None) -> ValueDifference | None:
    """Return how two tensors differ beyond the rounding of their type; None if they do not.

    `exact` is the same value computed in float64, None where it is not known.
    """
    import torch

    if not isinstance(compiled, torch.Tensor) or not isinstance(eager, torch.Tensor):
        return None
    dtype, shape = str(eager.dtype).replace("torch.", ""), tuple(int(size) for size in eager.shape)
    if compiled.dtype != eager.dtype or tuple(compiled.shape) != tuple(eager.shape):
        other = f"{str(compiled.dtype).replace('torch.', '')}{[int(size) for size in compiled.shape]}"
        return ValueDifference(dtype, shape, float("inf"), eager.numel(), compiled=other)
    with torch.no_grad():
        ours, theirs = _wide(compiled), _wide(eager)
        apart = ~_close(ours, theirs, *_TOLERANCES.get(dtype, (0.0, 0.0)))
        if not bool(apart.any()):
            return None
        distance = (ours - theirs).abs()[apart]
        greatest = float(distance.max())
        closer = ""
        if isinstance(exact, torch.Tensor) and exact.shape == eager.shape:
            closer = _closer(ours[apart], theirs[apart], _wide(exact)[apart])
        return None if closer == _BOTH else ValueDifference(dtype, shape, greatest, int(apart.sum()), closer)


def first_difference(
    compiled: Sequence[Any], eager: Sequence[Any], exact: Sequence[Any] | None = None
) -> Tuple[int, ValueDifference] | None:
    """Return the first place at which two lists of tensors differ, and how."""
    for index, (ours, theirs) in enumerate(zip(compiled, eager)):
        found = difference(ours, theirs, exact[index] if exact is not None and index < len(exact) else None)
        if found is not None:
            return index, found
    return None


def flat(values: Any) -> Tuple[Any, ...]:
    """Return the tensors of a result in order."""
    return tuple(tensors_in(values))


def _wide(tensor: Any) -> Any:
    import torch

    values = tensor.detach()
    if values.layout is not torch.strided:
        values = values.to_dense()
    return values.to(torch.complex128 if values.is_complex() else torch.float64)


def _close(ours: Any, theirs: Any, relative: float, absolute: float) -> Any:
    import torch

    return torch.isclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)


def _closer(ours: Any, theirs: Any, exact: Any) -> str:
    """Return which of two values is closer to the exact one; "neither" where rounding explains the difference."""
    ours_off, theirs_off = _root_mean_square(ours - exact), _root_mean_square(theirs - exact)
    if ours_off != ours_off or theirs_off != theirs_off:  # NaN in one of them
        return _EAGER if theirs_off == theirs_off else _COMPILED if ours_off == ours_off else ""
    return _BOTH if ours_off <= _MOST_TIMES * theirs_off else _EAGER


def _root_mean_square(values: Any) -> float:
    return float((values.abs() ** 2).mean() ** 0.5)
