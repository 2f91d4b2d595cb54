"""The report of a first NaN or Inf: data, and the text of the error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

from depyf.errors import DepyfError
from depyf.record.records import Location
from depyf.torch_hooks.numerics.finite_values import TensorSummary

FORWARD, BACKWARD = "forward", "backward"


@dataclass(frozen=True)
class NumericReport:
    """The operation that made a NaN or Inf of finite inputs."""

    kind: str  # "NaN", "Inf" or "-Inf"
    direction: str  # FORWARD or BACKWARD
    operator: str  # empty where only the compiled code shows it
    user: Location | None  # the line of the user's; None where it is not known
    graph: Location | None = None  # the line of the file of depyf's that ran, or of the captured graph's
    inputs: Tuple[TensorSummary, ...] = ()
    outputs: Tuple[TensorSummary, ...] = ()
    kernel: Location | None = None  # the call that wrote it, where only the compiled code shows it
    only_compiled: bool = False  # the captured graph, run operator by operator on the same inputs, is finite

    def __str__(self) -> str:
        lines = [f"{self.kind} from finite inputs ({self.direction})"]
        if self.only_compiled:
            lines[0] += ", in compiled code alone: the captured graph is finite on the same inputs"
        lines.append("  at " + (_text(self.user) if self.user else "a line that is not known"))
        lines += [f"  graph: {_text(self.graph)}"] if self.graph else []
        lines += [f"  kernel: {_text(self.kernel)}"] if self.kernel else []
        lines += [f"  operator: {self.operator}"] if self.operator else []
        lines += [f"  input {index}: {summary}" for index, summary in enumerate(self.inputs)]
        lines += [f"  output: {summary}" for summary in self.outputs]
        return "\n".join(lines)


class NumericError(DepyfError, ArithmeticError):
    """A NaN or Inf came of finite inputs; `report` has the details."""

    __module__ = "depyf"  # where programs catch it; tracebacks print this name

    def __init__(self, report: NumericReport) -> None:
        super().__init__(str(report))
        self.report = report

    def __str__(self) -> str:
        return str(self.report)  # torch adds words to the arguments of what passes a graph that it interprets


def _text(place: Location) -> str:
    function = f" in {place.function}" if place.function else ""
    return f"{place.file}:{place.line}{function}" + (f": {place.code}" if place.code else "")
