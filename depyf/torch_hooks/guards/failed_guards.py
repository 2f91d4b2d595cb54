"""The guards of earlier versions that failed, so that Dynamo compiled again: records made of torch's reasons.

`failures` reads them while Dynamo reports, when the values of the frame can be read; `failed_guards` makes the records
once the guards of those versions are known, which hold the lines and types that torch leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Sequence, Tuple

from depyf.record.guard_conditions import TensorTest, TorchState, TypeTest
from depyf.record.records import FailedGuard, GuardRecord
from depyf.text.lines import shortened
from depyf.torch_hooks.guards.frame_values import Variables
from depyf.torch_hooks.guards.mismatches import TORCH_STATE, TYPE, Mismatch, read_mismatch, switches_in
from depyf.torch_hooks.guards.origins import Bound, Origin, origins_in, split_range
from depyf.torch_hooks.guards.recompile_reasons import Cause, Reason
from depyf.torch_hooks.internals.torch_text import scrub, with_sorted_sets


@dataclass(frozen=True)
class Failure:
    """One guard that failed for one version, or in the same way for several."""

    version: str  # compile id of the newest one
    mismatch: Mismatch
    origin: Origin
    others: str = ""  # the other versions: "0/0 to 0/57"
    expected_of_others: str = ""  # the values that those were compiled for, where they are others

    def record(self) -> FailedGuard:
        """Return what the record of the session holds of it."""
        return FailedGuard(
            self.version,
            shortened(scrub(self.mismatch.condition)),
            self.mismatch.expected,
            self.mismatch.actual,
            self.origin.location,
            self.others,
            self.origin.of_sizes,
            self.expected_of_others,
        )


def failures(reasons: Sequence[Reason], variables: Variables) -> Tuple[Failure, ...]:
    """Return the guards that failed, newest version first, with the values that `variables` hold now."""
    return tuple(dict.fromkeys(_of_all(reason, variables) for reason in reasons if reason.version))


def _of_all(reason: Reason, variables: Variables) -> Failure:
    failure = _of_one(reason.version, reason.cause, variables)
    if not reason.some:
        return failure
    values = [_of_one(reason.version, cause, variables).mismatch.expected for cause in reason.some]
    listed = "" if set(values) == {failure.mismatch.expected} else reason.listed(values)
    return replace(failure, others=reason.others, expected_of_others=listed)


def _of_one(version: str, cause: Cause, variables: Variables) -> Failure:
    bounds = split_range(with_sorted_sets(cause.condition), origins_in(cause.comment, variables.file))
    failed = [Failure(version, read_mismatch(bound.condition, variables), bound.origin) for bound in bounds]
    return failed[0] if len(failed) > 1 and _is_below(failed[0].mismatch, bounds[0]) else failed[-1]


def _is_below(mismatch: Mismatch, lower: Bound) -> bool:
    """Return whether it is the lower bound of a range that failed: the value is less than it."""
    value = mismatch.parts[-1][1] if mismatch.parts else ""
    return value.isdecimal() and lower.least is not None and int(value) < lower.least


def failed_guards(
    found: Sequence[Failure], guards_of: Callable[[str], Sequence[GuardRecord]]
) -> Tuple[FailedGuard, ...]:
    """Return the records, with what the guards of those versions add: lines and types.

    Torch names no line for the guard on a tensor, nor the class that a tensor was of.  `guards_of` returns the guards
    of the version with that compile id.
    """
    return tuple(dict.fromkeys(_completed(one, guards_of(one.version)).record() for one in found))


def _completed(failure: Failure, guards: Sequence[GuardRecord]) -> Failure:
    mismatch = failure.mismatch
    if mismatch.aspect == TORCH_STATE:
        states = [guard.test for guard in guards if isinstance(guard.test, TorchState)]
        changed = [[name for name in state.switches() if name in mismatch.switches] for state in states]
        expected = [test for state, names in zip(states, changed) for test in switches_in(state, names)]
        return replace(failure, mismatch=replace(mismatch, expected=", ".join(expected)))
    guard = _guard_on(mismatch.subject, guards) if mismatch.is_of_tensor else None
    if guard is None:
        return failure
    if failure.origin.location is None:
        failure = replace(failure, origin=failure.origin._replace(location=guard.location))
    if mismatch.aspect == TYPE and isinstance(guard.test, (TensorTest, TypeTest)):
        failure = replace(failure, mismatch=replace(mismatch, expected=guard.test.type_name))
    return failure


def _guard_on(subject: str, guards: Sequence[GuardRecord]) -> GuardRecord | None:
    """Return the guard on the type of a value; None where there is none that names the type."""
    for guard in guards:
        if isinstance(guard.test, (TensorTest, TypeTest)) and guard.test.subject == subject and guard.test.names_type:
            return guard
    return None
