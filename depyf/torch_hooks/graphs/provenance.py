"""What torch's provenance tracking records of the kernels of a module: the nodes and lines that each implements.

It is off unless the program turns it on (`INDUCTOR_PROVENANCE=1`): torch would compile anew what its caches hold. Two
artifacts of the trace come after the text of a module, on a warm cache too. The lists of torch 2.13 grow from backward
to backward, and its mapping of nodes is empty for a backward; hence both are read, and only for kernels of this module.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Dict, List, Tuple

from depyf.record.records import KernelSource
from depyf.record.stack_text import read_stack

NODES_EVENT = "inductor_provenance_tracking_node_mappings"
STACKS_EVENT = "inductor_provenance_tracking_kernel_stack_traces"
PROVENANCE_EVENTS = frozenset((NODES_EVENT, STACKS_EVENT))

_HANDLE = "[Provenance debug handles] "  # before each call of a kernel, with its name and number


def with_artifact(
    known: Tuple[KernelSource, ...], kind: str, payload: str, module_text: str
) -> Tuple[KernelSource, ...]:
    """Return `known` completed by an artifact about the kernels of a module; unchanged for one that has none."""
    try:
        data = json.loads(payload) if payload else None
    except ValueError:
        return known
    found: Dict[str, KernelSource] = {source.kernel: source for source in known}
    kernels = data.get("cppCodeToPost") if kind == NODES_EVENT and isinstance(data, dict) else data
    for kernel, values in kernels.items() if isinstance(kernels, dict) else ():
        if _is_in(module_text, kernel) and isinstance(values, list):
            source = found.get(kernel, KernelSource(kernel, (), ()))
            found[kernel] = _completed(source, kind, values)
    return tuple(found.values())


def _completed(source: KernelSource, kind: str, values: List[Any]) -> KernelSource:
    if kind == NODES_EVENT:
        return replace(source, nodes=tuple(map(str, values)))
    return replace(source, calls=tuple(filter(None, dict.fromkeys(read_stack(str(text)) for text in values))))


def _is_in(module_text: str, kernel: str) -> bool:
    """Return whether a module calls a kernel; other modules may have one of the same name, with another number."""
    if _HANDLE in module_text:
        return f"{_HANDLE}{kernel}\n" in module_text
    return kernel.rpartition(":")[0] in module_text if ":" in kernel else kernel in module_text
