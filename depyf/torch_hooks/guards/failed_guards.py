"""Which guard of which earlier version failed, so that Dynamo compiled again, and the values then and now.

Torch names the first guard that fails for each earlier version, in words that differ from guard to guard.  What a value
is now is often not among them; it is read from the frame that Dynamo is about to compile, which is a local of the
function of Dynamo's that reports the reasons.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Mapping, Sequence, Tuple

from depyf.record.records import FailedGuard, GuardRecord
from depyf.text.lines import shortened
from depyf.torch_hooks.guards.frame_values import Unreadable, describe, read
from depyf.torch_hooks.guards.grouped_reasons import Alike, alike
from depyf.torch_hooks.guards.origins import Origin, origins_in, split_origin, told_apart
from depyf.torch_hooks.guards.source_names import A_SOURCE, readable
from depyf.torch_hooks.internals.stable_names import stable_text
from depyf.torch_hooks.internals.torch_text import is_expression, scrub, type_from_repr, with_sorted_sets


@dataclass(frozen=True)
class Variables:
    """Those of the frame that Dynamo compiles again."""

    file: str = ""
    local: Mapping[str, Any] = ()  # type: ignore[assignment]
    of_module: Mapping[str, Any] = ()  # type: ignore[assignment]

    def describe(self, expression: str) -> str:
        """What the value of the expression is now, in short; empty where that cannot be told."""
        try:
            return describe(read(expression, self.local, self.of_module))
        except Unreadable:
            return ""


def variables_now() -> Variables:
    """Of the frame that Dynamo reports about at this moment, in this thread; empty ones where it is not found."""
    caller: Any = sys._getframe(1)
    while caller is not None:
        if str(caller.f_globals.get("__name__", "")).startswith("torch._dynamo."):
            frame = caller.f_locals.get("frame")
            code = getattr(frame, "f_code", None)
            if code is not None:
                return Variables(code.co_filename, dict(frame.f_locals), frame.f_globals)
        caller = caller.f_back
    return Variables(local={}, of_module={})


def read_failed_guards(payload: str, variables: Variables) -> Tuple[FailedGuard, ...]:
    """The guards in the payload of a `recompile_reasons` event, newest version first.

    Each is of one earlier version; where the same one failed for others, with another value, it says so for all.
    """
    return tuple(dict.fromkeys(_of_all(reason, variables) for reason in alike(payload) if reason.version))


def _of_all(reason: Alike, variables: Variables) -> FailedGuard:
    failed = _read(reason.version, reason.text, variables)
    if not reason.some:
        return failed
    thens = [_read(reason.version, text, variables).then for text in reason.some]
    said = "" if set(thens) == {failed.then} else reason.listed(thens)
    return replace(failed, others=reason.others, then_of_others=said)


def _read(version: str, text: str, variables: Variables) -> FailedGuard:
    condition, comment = split_origin(text)
    condition = with_sorted_sets(stable_text(condition))
    bounds = told_apart(condition, origins_in(comment, variables.file))
    failed = [_failed(version, bound, origin, variables) for bound, origin in bounds]
    if len(failed) == 1 or not failed[0].now:
        return failed[-1]
    # Of a range only the one bound can have failed that the value now is beyond.
    value, lower = failed[0].now.rpartition(" is ")[2], bounds[0][0].partition(" <= ")[0]
    return failed[0] if value.isdecimal() and int(value) < int(lower) else failed[-1]


def with_guards(
    failed: Tuple[FailedGuard, ...], guards_of: Callable[[str], Sequence[GuardRecord]]
) -> Tuple[FailedGuard, ...]:
    """The failed guards with what torch left out and the guards of those versions tell: lines and types.

    Torch does not say which line asked for the guard on a tensor, nor which class a tensor was of.  `guards_of` gives
    the guards of the version with that compile id.
    """
    return tuple(_with_guard(one, guards_of(one.version)) for one in failed)


def _with_guard(failed: FailedGuard, guards: Sequence[GuardRecord]) -> FailedGuard:
    if failed.condition.startswith(_STATE):
        switches = [guard.condition for guard in guards if guard.kind == "GLOBAL_STATE" and guard.is_python]
        asked = [call for name, call in _SWITCHES.items() if name in failed.condition]
        then = [one for text in switches for one in text.split(" and ") if any(call in one for call in asked)]
        return replace(failed, then=", ".join(then))
    name = re.match(r"(.+?)(?:\.(?:size|stride|dim|dtype|requires_grad)\b| has the )", failed.condition)
    if name is None:
        return failed
    for guard in guards:
        test = re.match(re.escape(f"type({name.group(1)}) is ") + r"(?P<type>[\w.]+)", guard.condition)
        if guard.kind in ("TENSOR_MATCH", "TYPE_MATCH") and test is not None:
            failed = replace(failed, location=failed.location or guard.location)
            if failed.condition.endswith(_SAME_TYPE):
                return replace(failed, condition=test.group(), then=test["type"])
            return failed
    return failed


def _failed(version: str, text: str, origin: Origin, variables: Variables) -> FailedGuard:
    for pattern, reader in _FORMS:
        match = pattern.match(text)
        if match is not None:
            condition, then, now = reader(match, variables)
            said = (shortened(scrub(condition)), shortened(then), shortened(now))
            return FailedGuard(version, *said, origin.location, of_sizes=origin.of_sizes)
    condition, now = readable(text) if is_expression(text) else text, _parts_now(text, variables)
    return FailedGuard(version, shortened(scrub(condition)), "", now, origin.location, of_sizes=origin.of_sizes)


# ---------------------------------------------------------------- the forms in which torch says it

_STATE = "torch's global state is what it was"
_SWITCHES = {
    "grad_mode": "torch.is_grad_enabled()",
    "default_dtype": "torch.get_default_dtype()",
    "num_threads": "torch.get_num_threads()",
}
_MOST_PARTS = 6  # values that are told of one condition
_SAME_TYPE = " has the type it had"
_Said = Tuple[str, str, str]  # the condition that failed, the value then, the value now
_DTYPES = {
    "Float": "torch.float32",
    "Double": "torch.float64",
    "Half": "torch.float16",
    "BFloat16": "torch.bfloat16",
    "Long": "torch.int64",
    "Int": "torch.int32",
    "Short": "torch.int16",
    "Char": "torch.int8",
    "Byte": "torch.uint8",
    "Bool": "torch.bool",
}


def _dimension(match: re.Match[str], variables: Variables) -> _Said:
    value = f"{readable(match['name'])}.{match['what']}({match['axis']})"
    return f"{value} == {match['then']}", match["then"], match["now"]


def _rank(match: re.Match[str], variables: Variables) -> _Said:
    return f"{readable(match['name'])}.dim() == {match['then']}", match["then"], match["now"]


def _dtype(match: re.Match[str], variables: Variables) -> _Said:
    then, now = (_DTYPES.get(match[which], match[which]) for which in ("then", "now"))
    return f"{readable(match['name'])}.dtype is {then}", then, now


def _requires_grad(match: re.Match[str], variables: Variables) -> _Said:
    then = match["then"] == "1"
    return f"{readable(match['name'])}.requires_grad is {then}", str(then), str(not then)


def _keys(match: re.Match[str], variables: Variables) -> _Said:
    name = readable(match["name"])
    return f"{name} has the dispatch keys {match['then']}", match["then"], match["now"]


def _not_a_tensor(match: re.Match[str], variables: Variables) -> _Said:
    return f"{readable(match['name'])}{_SAME_TYPE}", "", type_from_repr(match["now"])


def _duplicates(match: re.Match[str], variables: Variables) -> _Said:
    names = [readable(name.strip().strip("\"'")) for name in match["names"].split(",")]
    return f"{', '.join(names)} are different tensors", "different tensors", "one tensor"


def _global_state(match: re.Match[str], variables: Variables) -> _Said:
    torch: Any = sys.modules["torch"]
    values = {
        "grad_mode": "torch.is_grad_enabled()" if torch.is_grad_enabled() else "not torch.is_grad_enabled()",
        "default_dtype": f"torch.get_default_dtype() is {torch.get_default_dtype()}",
        "num_threads": f"torch.get_num_threads() == {torch.get_num_threads()}",
    }
    names = match["names"].split()
    now = ", ".join(values[name] for name in names if name in values)
    return f"{_STATE} ({', '.join(names)} changed)", "", now


def _type(match: re.Match[str], variables: Variables) -> _Said:
    name, then = readable(match["name"]), re.sub(r"^(?:builtins|__main__)\.", "", type_from_repr(match["type"] or ""))
    condition = f"type({name}) is {then}" if then else f"{name}{_SAME_TYPE}"
    return condition, then, variables.describe(f"type({match['name']})")


def _object(match: re.Match[str], variables: Variables) -> _Said:
    name = readable(match["name"])
    now = variables.describe(match["name"])
    return f"{name} is the object it was", "the object it was compiled with", now or "another object"


def _length(match: re.Match[str], variables: Variables) -> _Said:
    """Torch says the opposite here: how the dictionary is found to differ."""
    name = readable(match["name"])
    return f"len({name}) == {match['then']}", match["then"], variables.describe(f"len({match['name']})")


def _backend(match: re.Match[str], variables: Variables) -> _Said:
    """Torch goes on with advice, and says no more of two backends that are of one class."""
    then, now = match["then"] or "", match["now"] or ""
    now = f"another {now}, or one with other options" if now and now == then else now or "another one"
    return "torch.compile is given the same backend", then, now


def _equal(match: re.Match[str], variables: Variables) -> _Said:
    if A_SOURCE.search(match["then"]):  # two values that vary: none of them is the one that was asked for
        return readable(match.string), "", _parts_now(match.string, variables)
    now = variables.describe(match["name"]) or _parts_now(match.string, variables)
    return readable(match.string), match["then"], now


_FORMS = tuple(
    (re.compile(pattern, re.DOTALL), reader)
    for pattern, reader in (
        (r"tensor '(?P<name>.+)' (?P<what>size|stride) mismatch at index (?P<axis>\d+)\. expected (?P<then>.+), "
         r"actual (?P<now>.+)$", _dimension),
        (r"tensor '(?P<name>.+)' rank mismatch\. expected (?P<then>\d+), actual (?P<now>\d+)$", _rank),
        (r"tensor '(?P<name>.+)' dtype mismatch\. expected (?P<then>\w+), actual (?P<now>\w+)$", _dtype),
        (r"tensor '(?P<name>.+)' requires_grad mismatch\. expected requires_grad=(?P<then>\d)", _requires_grad),
        (r"tensor '(?P<name>.+)' dispatch key set mismatch\. expected DispatchKeySet\((?P<then>.*?)\), "
         r"actual DispatchKeySet\((?P<now>.*?)\)", _keys),
        (r"expected type of '(?P<name>.+?)' to be (?:a tensor type|<class '[\w.]+'>),.* but found (?P<now>.+)$",
         _not_a_tensor),
        (r"BACKEND_MATCH failure:.*?different backend callables\.?"
         r"(?: Cached backend: (?P<then>\S+) .*?New backend: (?P<now>\S+) )?", _backend),
        (r"Duplicate tensors? found: \[(?P<names>.*)\]$", _duplicates),
        (r"GLOBAL_STATE changed: (?P<names>.*)$", _global_state),
        (r"___check_type_id\((?P<name>.+), (?:\d+|\.\.\.)\)(?:, type=(?P<type>.+))?$", _type),
        (r"___check_obj_id\((?P<name>.+), (?:\d+|\.\.\.)\)", _object),
        (r"len\((?P<name>.+)\) != (?P<then>\d+)$", _length),
        (r"(?P<name>[^=<>!]+?) == (?P<then>.+)$", _equal),
    )
)  # fmt: skip


def _parts_now(condition: str, variables: Variables) -> str:
    """The values now of what a condition compares: `x.size()[0] is 1`."""
    try:
        tree = ast.parse(condition, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    said: Dict[str, None] = {}
    _gather_values(tree, condition, variables, said)
    return ", ".join(said)


def _gather_values(node: ast.expr, condition: str, variables: Variables, said: Dict[str, None]) -> None:
    """What can be told of a part of a condition as a whole, else of the parts that it is computed from."""
    if isinstance(node, ast.Constant) or len(said) >= _MOST_PARTS:
        return
    if not isinstance(node, ast.Compare):
        text = ast.get_source_segment(condition, node) or ""
        value = variables.describe(text)
        if value:
            said[f"{readable(text)} is {value}"] = None
            return
    if isinstance(node, (ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp)):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                _gather_values(part, condition, variables, said)
