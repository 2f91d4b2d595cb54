"""Behaviour of the installed torch where versions differ, probed in torch itself.

A test of something that not every torch offers is marked with `needs(PROBE)`; what is lost then is in the manifest
(`not_offered`) or in docs/torch-versions.md.
"""

from __future__ import annotations

import dis
import functools
import importlib.util
import inspect
import types
from typing import Callable

import pytest
import torch
from torch._dynamo import bytecode_transformation, guards, symbolic_convert
from torch._dynamo.backends import debugging
from torch._functorch import aot_autograd

from depyf.torch_hooks.internals import private_hooks, torch_behaviours

TORCH = tuple(int(number) for number in torch.__version__.split(".")[:2])


def source_of(module_name: str) -> str:
    """Return the text of a module of torch's, without importing it; empty where there is none."""
    try:
        spec = importlib.util.find_spec(module_name)
    except ModuleNotFoundError:
        return ""
    return "" if spec is None or spec.loader is None else spec.loader.get_source(module_name) or ""


def needs(probe: bool, what: str) -> pytest.MarkDecorator:
    """Skip a test where this torch does not have `what`."""
    return pytest.mark.skipif(not probe, reason=f"this torch has no {what}")


# torch 2.8 and older, and 2.9: aot_eager interprets its graphs node by node; 2.13: it calls their forward
AOT_EAGER_INTERPRETS = "Interpreter(fx_g).boxed_run" in inspect.getsource(debugging)
# torch 2.13: the reason of a skipped frame includes the first graph break; 2.9: it does not
NAMES_FIRST_BREAK = "graph break in loop" in inspect.getsource(symbolic_convert)
# torch 2.13: a guard on a type prints its name; 2.9: only its id
NAMES_TYPES = "type=" in inspect.getsource(guards.GuardBuilder.TYPE_MATCH)
# torch 2.13: a hit in AOTAutograd's cache skips the pre-grad passes; 2.9 and 2.11 run them before the lookup
SKIPS_PRE_GRAD = "pre_grad_passes" in inspect.signature(aot_autograd.aot_module_simplified).parameters
# torch 2.7: a graph break has a heading, an explanation and hints; before that a few words
EXPLAINS_BREAKS = importlib.util.find_spec("torch._dynamo.graph_break_hints") is not None
# torch 2.7: the copied instructions have the positions of the user's (which Python has from 3.11 on)
COPIES_POSITIONS = hasattr(bytecode_transformation.Instruction, "copy_positions") and hasattr(
    types.CodeType, "co_positions"
)
# torch 2.3: the structured trace; 2.5: graph breaks and recompiles in it
HAS_TRACE = private_hooks.find("trace_logger") is not None
# torch 2.4: tensors in it; 2.5: symbolic sizes in it
TRACES_TENSORS = None not in [private_hooks.find(f"raise_{kind}event") for kind in ("", "tensor_", "symbol_")]
# torch 2.7: the graph before the pre-grad passes is in the trace
LOGS_PRE_GRAD = '"before_pre_grad_graph"' in source_of("torch._inductor.compile_fx")
# torch 2.7: Inductor's cache keeps the text of the post-grad graph
CACHE_KEEPS_POST_GRAD = '"inductor_post_grad_graph"' in source_of("torch._inductor.codecache")
# torch 2.9: a guard manager has the types of its values, and is read without printing it
READS_GUARD_TREES = hasattr(getattr(torch._C._dynamo.guards, "RootGuardManager", None), "get_type_of_guarded_value")
# torch 2.4: guards are a tree in C++, which can be read later
HAS_GUARD_TREES = torch_behaviours.has("guard_trees")
# torch 2.4: the global switch that changed is named
NAMES_SWITCHES = torch_behaviours.has("named_switches")
# torch 2.5: modules are guarded by their weights and attributes, not by which object they are
GUARDS_WEIGHTS = torch_behaviours.has("guards_on_weights")
# torch 2.6: a function mode or default device that changed makes Dynamo compile again
GUARDS_MODES = torch_behaviours.has("guards_on_function_modes")
# torch 2.5: so does the metadata of a tensor subclass
GUARDS_METADATA = torch_behaviours.has("guards_on_subclass_metadata")
# torch 2.6: a guard on a symbolic size has the line that asked for it
SIZES_HAVE_LINES = torch_behaviours.has("lines_of_size_guards")
# torch 2.4: captured graphs state the types and sizes of their tensors
TYPES_GRAPHS = torch_behaviours.has("typed_graphs")
# torch 2.3: all_reduce and the like are part of the graph
TRACES_COLLECTIVES = "all_reduce_inplace" in source_of("torch.distributed._functional_collectives")
# torch 2.3: the start of a compilation is announced
ANNOUNCES_COMPILATIONS = private_hooks.find("on_compile_start") is not None
# torch 2.4: Dynamo reads sizes in methods of their own, so the lines that do so can be noted
NOTES_SIZE_READS = private_hooks.find("shape_reader") is not None
# torch 2.11: the calls that led to the line that asked for a guard are in the reason of a recompile
GUARDS_HAVE_STACKS = "User stack trace:" in source_of("torch._dynamo.guards")
# torch 2.11: torch's global switches are in the guard on them, with their values
PRINTS_SWITCHES = "___check_global_state() against " in source_of("torch._dynamo.guards")
# torch 2.11: a graph break inside a higher-order operator names the operator
NAMES_OPERATORS = "Higher Order Operator: " in source_of("torch._dynamo.exc")
# torch 2.8: functions under contextlib.contextmanager are traced
TRACES_CONTEXT_MANAGERS = hasattr(torch._dynamo.config, "enable_trace_contextlib")
# Inductor records which lines a kernel implements
HAS_PROVENANCE = "provenance_tracking_level" in source_of("torch._inductor.config")
# torch 2.8 and older: guards fail while a dispatch mode watches, so functions run uncompiled then
RUNS_UNDER_MODES = hasattr(torch._C._dynamo.guards, "set_is_in_mode_without_ignore_compile_internals")
# torch 2.12: each frame that Dynamo skips is reported
REPORTS_SKIPS = private_hooks.find("skip_reasons") is not None
# torch 2.7: torch.compiler.disable(reason=...)
DISABLE_HAS_REASON = "reason" in inspect.signature(torch._dynamo.disable).parameters
# torch 2.7: the time before a graph is measured in each frame, and values of a frame are kept in locals of Dynamo's
TIMES_FRAMES = "record_pregraph_bytecode_enter" in source_of("torch._dynamo.utils")
# torch 2.5: the compile id of a cached version is kept with it; before that depyf numbers what was compiled earlier
CACHED_ID = "0/0" if hasattr(getattr(torch._C._dynamo.eval_frame, "_CacheEntry", None), "compile_id") else "?/0"
# every private name of torch that depyf uses is there: nothing is in `not_offered`
IS_WHOLE = not private_hooks.not_offered()
# torch 2.7: a run of compiled autograd has a number, which is part of the compile ids inside it
COMPILED_AUTOGRAD_HAS_IDS = "compiled_autograd_id" in source_of("torch._guards")
# torch 2.8: torch.compiler.nested_compile_region
HAS_REGIONS = hasattr(torch.compiler, "nested_compile_region")
# torch 2.7: torch._inductor.standalone_compile
COMPILES_STANDALONE = hasattr(torch._inductor, "standalone_compile")
# torch 2.6: torch._inductor.aoti_compile_and_package
HAS_AOT_INDUCTOR = hasattr(torch._inductor, "aoti_compile_and_package")
# torch 2.5: torch.nn.attention.flex_attention; 2.3: torch._higher_order_ops.while_loop
HAS_FLEX_ATTENTION = bool(source_of("torch.nn.attention.flex_attention"))
HAS_WHILE_LOOP = bool(source_of("torch._higher_order_ops.while_loop"))
# torch 2.7: torch.export traces without Dynamo, by default
EXPORTS_WITHOUT_DYNAMO = inspect.signature(torch.export.export).parameters["strict"].default is False
# torch 2.3: the name of a resume function has the line; before, `reset` also leaves its code to the next compilation
RESUME_NAMES_LINE = private_hooks.find("resume_prefix") is not None
# torch 2.2: while one thread traces a graph again, as aot_eager does, torch.compile fails in all others
TRACES_IN_THREADS = "is_fx_symbolic_tracing" in source_of("torch._dynamo.eval_frame")
# torch 2.11: an error that leaves a compiled function inside a transform of torch.func becomes an internal one of torch's
LEAVES_TRANSFORMS = TORCH[:2] != (2, 11)
# torch 2.14: of an exception that is raised again, the line that raised it first is reported; 2.13: the last such line
REPORTS_FIRST_RAISE = torch_behaviours.has("reported_first_raises")
# torch 2.8 and older: a graph break in an instruction that calls nothing by name, such as `+`, is logged as a step only
EXPLAINS_OPERATORS = 'log.debug("step triggered compile", exc_info=True)' not in inspect.getsource(symbolic_convert)
# torch 2.5: a function of Dynamo's reads the sizes that a graph takes; before, the frame does
CALLS_SIZE = hasattr(torch._dynamo.utils, "call_size")
# torch 2.7 renamed the option
RECOMPILE_LIMIT = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"


def has_store() -> bool:
    """Return whether the store that torchrun asks for is built in; Debian's torch has none (`built without libuv`)."""
    try:
        torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    except RuntimeError:
        return False
    return True


def traces_partial_methods() -> bool:
    """Return whether Dynamo gets through a functools.partialmethod; that of 2.14 fails on Python 3.14, without depyf."""

    class Partial:
        def scaled(self, by: int, x: torch.Tensor) -> torch.Tensor:
            return x * by

        doubled = functools.partialmethod(scaled, 2)

    torch._dynamo.reset()
    try:
        torch.compile(lambda x: Partial().doubled(x), backend="eager")(torch.ones(2))
    except torch._dynamo.exc.InternalTorchDynamoError:
        return False
    return True


class Constants:
    number = 2


def follows(function: Callable[[torch.Tensor], torch.Tensor], change: Callable[[], object]) -> bool:
    """Return whether a compiled function computes what it should after a change to what it reads."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager")
    compiled(torch.ones(2))
    change()
    return torch.equal(compiled(torch.ones(2)), function(torch.ones(2)))


def guards_class_constants() -> bool:
    """Return whether Dynamo compiles again where a number in a class has changed; not so with 2.4, 2.6 and 2.8."""
    return follows(lambda x: x * Constants.number, lambda: setattr(Constants, "number", Constants.number + 1))


NAMES = {"one"}


def guards_sets() -> bool:
    """Return whether Dynamo compiles again where a global set has changed; not so with 2.4."""
    return follows(lambda x: x + len(NAMES), lambda: NAMES.add(str(len(NAMES))))


def formats_sizes() -> bool:
    """Return whether a size that is not fixed is formatted as its number; up to 2.4 it is as its symbol."""

    def text_of(x: torch.Tensor) -> object:
        text = f"{x.shape[0]}"
        torch._dynamo.graph_break()
        return text, x + 1

    torch._dynamo.reset()
    return torch.compile(text_of, backend="eager", dynamic=True)(torch.ones(3))[0] == "3"


@functools.lru_cache(maxsize=None)
def calls_sequences_by_keyword() -> bool:
    """Return whether a compiled nn.Sequential takes a keyword argument; up to 2.4 Dynamo fails, without depyf, too."""
    torch._dynamo.reset()
    try:
        torch.compile(torch.nn.Sequential(torch.nn.ReLU()), backend="eager")(input=torch.ones(2))
    except AssertionError:
        return False
    return True


def keeps_what_is_there(code: types.CodeType) -> bool:
    """Return whether the first handler in a resume function, that of a `with`, keeps no more than is on the stack.

    Not so with torch 2.14 on Python 3.14: Dynamo counts the NULL of the call before it. It only traces such code.
    """
    entries = dis._parse_exception_table(code) if hasattr(code, "co_exceptiontable") else []
    return not entries or entries[0].depth <= (2 if "LOAD_SPECIAL" in dis.opmap else 1)


def resume_name(function: str, line: int) -> str:
    """Return the name of the function that continues another one at a line."""
    return f"torch_dynamo_resume_in_{function}_at_{line}" if RESUME_NAMES_LINE else f"resume_in_{function}"
