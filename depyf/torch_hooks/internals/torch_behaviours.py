"""What newer torch does and older does not, shown by a name that the newer one has: what the record lacks without it.

Nothing here is used; `private_hooks` lists the names that are.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Tuple


class Behaviour(NamedTuple):
    """Something that torch does since some version."""

    name: str  # depyf's own name for it
    module: str
    attribute: str  # may be dotted; missing in a torch that does not do it
    without: str = ""  # what is lost then; empty: nothing, depyf finds it in another way


BEHAVIOURS: Tuple[Behaviour, ...] = (
    Behaviour(  # 2.4
        "guard_trees",
        "torch._C._dynamo.guards",
        "RootGuardManager",
        "of what was compiled before a context, guards on tensors and classes name neither properties nor classes",
    ),
    Behaviour(  # 2.4
        "named_switches",
        "torch._C._dynamo.guards",
        "GlobalStateGuard.reason",
        "of what was compiled before a context, a recompile for a global switch of torch does not name the switch",
    ),
    Behaviour(  # 2.5
        "guards_on_weights",
        "torch._dynamo.variables.nn_module",
        "UnspecializedBuiltinNNModuleVariable",
        "versions differ in which object a module is, not in its weights and attributes",
    ),
    Behaviour(  # 2.6
        "guards_on_function_modes",
        "torch._dynamo.utils",
        "get_torch_function_mode_stack",
        "no function is compiled again where a torch function mode or the default device has changed",
    ),
    Behaviour(  # 2.5
        "guards_on_subclass_metadata",
        "torch._dynamo.guards",
        "GuardBuilder.TENSOR_SUBCLASS_METADATA_MATCH",
        "no function is compiled again where the metadata of a tensor subclass has changed",
    ),
    Behaviour(  # 2.6
        "lines_of_size_guards",
        "torch._guards",
        "SLoc",
        "a condition on a size that is not fixed does not name the line that asked for it",
    ),
    Behaviour(  # 2.4
        "typed_graphs",
        "torch.fx.graph",
        "_FindNodesLookupTable",
        "captured graphs do not state the types and sizes of their tensors, and the page lists no symbolic sizes",
    ),
    Behaviour(  # 2.3
        "traced_collectives",
        "torch.distributed._functional_collectives",
        "all_reduce_inplace",
        "collectives that change their tensor, such as all_reduce, break the graph and are not compared between ranks",
    ),
    Behaviour(  # 2.6: the trace has an event for each backward that was compiled, whatever the backend
        "metrics_of_backwards",
        "torch._dynamo.metrics_context",
        "MetricsContext",
    ),
    Behaviour(  # 2.14: of an exception that a `finally` raises again, it reports the line that raised it first
        "reported_first_raises",
        "torch._dynamo.symbolic_convert",
        "InstructionTranslatorBase._raise_observed_exception",
    ),
)


def has(name: str) -> bool:
    """Return whether this torch does it; False, too, as long as its module is not loaded."""
    row = next(row for row in BEHAVIOURS if row.name == name)
    return _is_there(row)


def lacking() -> Tuple[str, ...]:
    """Return a line on each behaviour without which something is lost, where its module is loaded and lacks it."""
    rows = [row for row in BEHAVIOURS if row.without and loaded_module(row.module) and not _is_there(row)]
    return tuple([f"torch has no {row.module}.{row.attribute}: {row.without}" for row in rows])


def loaded_module(name: str) -> Any:
    """Return a module that is loaded, or None; up to torch 2.4, one in C++ is only an attribute of the one above it."""
    found = sys.modules.get(name)
    if found is None:
        above, _, last = name.rpartition(".")
        found = getattr(sys.modules.get(above), last, None)
    return found


def _is_there(row: Behaviour) -> bool:
    value = loaded_module(row.module)
    for part in row.attribute.split("."):
        value = getattr(value, part, None)
    return value is not None
