"""The line of the user's that asks for a guard, where torch records it only while somebody reads its log of guards.

Newer torch records it always, and appends it to each guard that it prints (`origins`). Up to torch 2.6 it leaves the
stack of a guard empty unless TORCH_LOGS has `guards`; here each guard gets it when Dynamo adds it to the others.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.dynamo_disabled import skipped_by_dynamo, with_dynamo_disabled


class _Sample:
    """What a set of guards reads of a guard that it is given."""

    stack: Any = None
    user_stack: Any = None
    originating_source = ""


def attach() -> Callable[[], None]:
    """Have torch record the stack of each guard, if it does not do so anyway; returns the function that stops it."""
    home, extract = private_hooks.find("guards_of_frame"), private_hooks.find("traced_stack")
    if home is None or extract is None or _records_stacks(home):
        return lambda: None
    original = home.add
    stack_now = with_dynamo_disabled(extract)

    @skipped_by_dynamo
    @functools.wraps(original)
    def add(guards: Any, guard: Any, *, skip: int = 0, **kwargs: Any) -> Any:
        if getattr(guard, "user_stack", "") is None and guard not in guards.inner:
            guard.user_stack = stack_now()
        return original(guards, guard, skip=skip + 1, **kwargs)  # this function is one more on torch's own stack

    def detach() -> None:
        if home.add is add:
            home.add = original

    home.add = add
    return detach


def _records_stacks(guards: Any) -> bool:
    """Return whether a set of guards records the stack of a guard though nobody reads the log."""
    sample = _Sample()
    try:
        guards().add(sample, collect_debug_stack=False)
    except Exception:
        return True  # unknown to us: leave it alone
    return sample.user_stack is not None
