"""Fresh marks for what was compiled before the session, so that its end shows what ran inside it.

CPython's marks show that code ran, not when (`execution_marks`). So on entering a context each generated function of an
earlier graph gets a copy of its code, which has no marks yet. Only functions whose versions the session would add at
its end are changed; a program that compiles nothing before the context pays nothing.
"""

from __future__ import annotations

from types import FunctionType
from typing import Iterator, List

from depyf.torch_hooks.frames import cache_entries
from depyf.torch_hooks.frames.cached_functions import recorded_elsewhere
from depyf.torch_hooks.frames.recorded_versions import RecordedVersions
from depyf.torch_hooks.graphs.execution_marks import FreshCodes
from depyf.torch_hooks.graphs.generated_functions import forward_of, functions_of, is_compiled_by_dynamo
from depyf.torch_hooks.graphs.kernel_modules import read_kernels
from depyf.torch_hooks.graphs.reachability import ReachableCode, reachable_code

_GRAPH = "__compiled_fn_"  # the names of compiled graphs begin so, before and after the random part is removed


def renew(fresh: FreshCodes, recorded: RecordedVersions) -> None:
    """Give the functions of earlier graphs fresh code, and add that to `fresh`."""
    met = list(cache_entries.running_codes())
    others = recorded_elsewhere(met, lambda _, running: all(one in recorded for one in running))
    versions = [new_code for code, running in met if id(code) not in others for new_code in running]
    for name in dict.fromkeys(name for code in versions for name in code.co_names if name.startswith(_GRAPH)):
        fresh.is_needed = True
        entry = cache_entries.installed_global(name)
        for function in _generated(reachable_code(entry)) if entry is not None else ():
            if not is_compiled_by_dynamo(function.__code__):
                fresh.renew(function)


def _generated(found: ReachableCode) -> Iterator[FunctionType]:
    """Yield the forwards of graph modules, and the functions of Inductor's modules."""
    for module in found.modules:
        forward = forward_of(module, generate=False)
        if forward is not None:
            yield forward
    files: List[str] = [""]
    for function in found.functions:
        file = str(function.__globals__.get("__file__", ""))
        if file not in files:
            files.append(file)
            yield from functions_of(function.__globals__) if read_kernels(file) else ()
