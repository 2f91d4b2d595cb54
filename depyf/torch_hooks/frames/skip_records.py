"""Read why a frame was skipped, from torch's reason and from the compilation that failed, as a SkipRecord."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import replace
from types import CodeType
from typing import List

from depyf.record.records import AND_THEN, GraphBreak, SkipRecord
from depyf.record.vocabulary import (
    DISABLED,
    FAILED,
    GENERATOR,
    GRAPH_BREAK,
    GRAPH_BREAK_IN_LOOP,
    INTERRUPTED,
    NO_GRAPH,
    NO_TENSORS,
    OTHER,
    RECOMPILE_LIMIT,
    SKIP_LIST,
    SUPPRESSED_ERROR,
)
from depyf.text.lines import shortened
from depyf.torch_hooks.frames.compilations import Compilation
from depyf.torch_hooks.frames.graph_breaks import failure_reason, hints_in, reason_in

# A part of torch's reason -> the kind of the skip.
_KINDS = (
    ("skipfiles", SKIP_LIST),
    ("no tensor-related objects", NO_TENSORS),
    ("disabled", DISABLED),
    ("No ops traced", NO_GRAPH),
    ("no content in function call", NO_GRAPH),
    ("empty graph", NO_GRAPH),
)
# Kinds that explain themselves: torch's reason adds nothing.
_SELF_EXPLAINING = (SKIP_LIST, NO_GRAPH, NO_TENSORS, GENERATOR)
_LIMIT = re.compile(r"recompile limit|recompile_limit reached|cache_size_limit|cache limit", re.IGNORECASE)
_WHICH_LIMIT = re.compile(r"the (?P<name>\w+) cache size limit \(currently set to (?P<number>\d+)\)")
_IN_LOOP = "graph break in loop"
OLD_LOOP = "graph break in a for/while loop"  # torch 2.8 and older
SOFT_FAILURES = ("", "Unsupported", "UserError")  # these leave the frame to Python; others reach the program


def read_skip(reason: str, code: CodeType, attempt: Compilation | None) -> SkipRecord:
    """Return why `code` was skipped; `attempt` is the compilation of it that failed, if Dynamo began one."""
    compile_id = "" if attempt is None else attempt.compile_id
    kind = next((kind for part, kind in _KINDS if part in reason), "")
    if kind:
        return SkipRecord(kind, None if kind in _SELF_EXPLAINING else shortened(reason), compile_id)
    if attempt is not None and (attempt.failure is not None or attempt.breaks):
        return read_attempt(attempt, raised=False)
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        hint = "Call a generator from inside of a non-generator Python function and compile that function instead."
        return SkipRecord(GENERATOR, None, hints=(hint,))
    return SkipRecord(OTHER, shortened(reason), compile_id)


def _is_other(reason: str) -> bool:
    """Return whether a reason in Dynamo's log is another one than that there is nothing to compile."""
    return bool(reason) and not any(part in reason for part, kind in _KINDS if kind == NO_GRAPH)


def _old_limit(reason: str) -> str:
    """Return the limit on recompiles with its value, which torch 2.8 and older do not print."""
    name = reason.partition(" ")[0]
    value = getattr(sys.modules.get("torch._dynamo.config"), name, None) if name.isidentifier() else None
    return f"torch._dynamo.config.{name} is {value}" if isinstance(value, int) else reason


def read_attempt(attempt: Compilation, raised: bool) -> SkipRecord:
    """Return why a compilation gave no frame; `raised`: the program got an exception."""
    fail_type, fail_reason = attempt.failure or ("", "")
    if attempt.is_interrupted:
        return SkipRecord(INTERRUPTED, fail_type, attempt.compile_id, tuple(attempt.breaks))
    breaks: List[GraphBreak] = list(attempt.breaks)
    hints = tuple(dict.fromkeys(hints_in(fail_reason) + tuple(hint for one in breaks for hint in one.hints)))
    reason = reason_in(fail_reason) or AND_THEN.join(one.reason for one in breaks)
    kind: str = GRAPH_BREAK
    if _LIMIT.search(fail_reason):
        which = _WHICH_LIMIT.search(fail_reason)
        limit = f"torch._dynamo.config.{which['name']} is {which['number']}" if which else _old_limit(reason)
        if attempt.failures:
            unmet = attempt.unmet or tuple([failure.record() for failure in attempt.failures])
            skip = SkipRecord(RECOMPILE_LIMIT, limit, attempt.compile_id, tuple(breaks), hints, attempt.failed_at)
            return replace(skip, failed_guards=unmet, called_from=attempt.called_from)
        kind, reason = RECOMPILE_LIMIT, "; ".join([limit, *attempt.recompile_reasons])
    elif raised:
        kind, reason = FAILED, f"{fail_type}: {failure_reason(fail_reason)}"
    elif _IN_LOOP in fail_reason or any(_IN_LOOP in one.reason for one in breaks) or OLD_LOOP in attempt.skip_reason:
        kind, reason = GRAPH_BREAK_IN_LOOP, reason or attempt.skip_reason
    elif breaks and not fail_type:
        kind = GRAPH_BREAK_IN_LOOP  # torch 2.11 and older skip a frame without a failure for this reason alone
    elif fail_type not in SOFT_FAILURES:
        kind, reason = SUPPRESSED_ERROR, f"{fail_type}: {failure_reason(fail_reason)}"
    elif not fail_type and not breaks and _is_other(attempt.skip_reason):
        kind, reason = OTHER, attempt.skip_reason
    elif not fail_type and not breaks:
        return SkipRecord(NO_GRAPH, None, attempt.compile_id, (), hints, attempt.failed_at)
    calls = attempt.failed_calls if attempt.failed_at is not None else ()
    return SkipRecord(kind, shortened(reason), attempt.compile_id, tuple(breaks), hints, attempt.failed_at, calls)
