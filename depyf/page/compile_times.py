"""Compile times: what torch measured of each compilation, from `timings.json`, by phases that do not overlap.

Torch's counters are nested: the backend is part of the whole, Inductor part of the backend, generating code part of
Inductor. A phase here is what its part takes less the parts inside it, so the phases of a compilation add up to it.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List

Data = Dict[str, Any]

# phase -> the counter that it begins from, and the counters of what is inside it and has a phase of its own
_PHASES = {
    "dynamo": ("dynamo_cumulative_compile_time_us", ("aot_autograd_cumulative_compile_time_us",)),
    "aot_autograd": ("aot_autograd_cumulative_compile_time_us", ("inductor_cumulative_compile_time_us",)),
    "inductor": ("inductor_cumulative_compile_time_us", ("inductor_code_gen_cumulative_compile_time_us",)),
    "code_generation": ("inductor_code_gen_cumulative_compile_time_us", ("triton_compile_time_us",)),
    "kernels": ("triton_compile_time_us", ()),  # the name is torch's, for kernels of any language
}
_CACHES = (
    ("fx_graph", "inductor_fx_local_cache_hit_count", "inductor_fx_local_cache_miss_count"),
    ("fx_graph_remote", "inductor_fx_remote_cache_hit_count", "inductor_fx_remote_cache_miss_count"),
    ("aot_autograd", "aotautograd_local_cache_hit_count", "aotautograd_local_cache_miss_count"),
    ("aot_autograd_remote", "aotautograd_remote_cache_hit_count", "aotautograd_remote_cache_miss_count"),
)
_EVENTS = {"compilation_metrics": "forward", "bwd_compilation_metrics": "backward"}
_MOST = 20_000  # compilations


def times_data(text: str) -> Data:
    """Return the times in the text of a timings.json; empty where it has none, or is no such text."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return times_of(found) if isinstance(found, dict) else {}


def times_of(found: Data) -> Data:
    """Return the times that a timings.json holds as `found`."""
    compilations = found.get("compilations")
    if not isinstance(compilations, list):
        return {}
    rows = [row for one in compilations[:_MOST] if isinstance(one, dict) for row in _rows(one)]
    begins = [row["start"] for row in rows if row["start"]]
    first = min(begins, default=0)
    for row in rows:
        row["start"] = max(0, row["start"] - first)
        for span in row.get("spans", ()):
            span[1] = max(0, span[1] - first)
    return {"compilations": rows, "started": found.get("started"), "ended": found.get("ended")}


def _rows(compilation: Data) -> List[Data]:
    rows = []
    for event, kind in _EVENTS.items():
        measured = compilation.get(event)
        if isinstance(measured, dict):
            numbers = {str(name): value for name, value in measured.items() if type(value) in (int, float)}
            rows.append(_row(str(compilation.get("compile_id", "")), kind, numbers))
    if rows:
        rows[0]["spans"] = _spans(compilation.get("phases"))
    return rows


def _spans(found: Any) -> List[List[Any]]:
    """Return torch's own timers, where the run asked for them: name, start, microseconds, depth."""
    rows = found[:_MOST] if isinstance(found, list) else []
    return [
        [str(one[0])[:200], *one[1:]]
        for one in rows
        if isinstance(one, list) and len(one) == 4 and all(type(number) is int for number in one[1:])
    ]


def _row(compile_id: str, kind: str, numbers: Dict[str, float]) -> Data:
    phases = {}
    for name, (whole, parts) in _PHASES.items():
        took = numbers.get(whole, 0) - sum(numbers.get(part, 0) for part in parts)
        if took > 0:
            phases[name] = round(took)
    rest = numbers.get("duration_us", 0) - max([numbers.get(whole, 0) for whole, _ in _PHASES.values()])
    if rest > 0 and kind == "backward":
        phases["backward"] = round(rest)
    start, end = round(numbers.get("start_time_us", 0)), round(numbers.get("end_time_us", 0))
    took = round(numbers.get("duration_us", 0)) or max(0, end - start)
    return {
        "id": compile_id,
        "kind": kind,
        "start": start or max(0, end - took),
        "took": took,
        "phases": phases,
        "caches": {name: [round(numbers.get(hit, 0)), round(numbers.get(miss, 0))] for name, hit, miss in _CACHES},
        "numbers": {name: numbers[name] for name in sorted(numbers) if not name.startswith("co_")},
    }
