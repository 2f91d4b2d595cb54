"""Every private name of torch that depyf uses, in one table: a torch that renamed a hook is a change of this table.

`find` returns the object behind a row, or None where this torch does not have it: the caller continues without it, at
the price in the last column.  No other module spells these names.  The tests have also run on 2.10 and 2.11, which lie
between versions that were checked (docs/test-runs.md has the runs).
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from dataclasses import dataclass
from typing import Any, Tuple

from depyf.torch_hooks.internals import torch_behaviours


@dataclass(frozen=True)
class PrivateHook:
    """One private name of torch: what it is for, which versions have it, and what is lost without it."""

    name: str  # depyf's own name for it, as `find` takes it
    module: str
    attribute: str  # may be dotted
    purpose: str
    holds_for: str  # a range of torch in which it works (2.4 to 2.4, 2.6 and newer), then what was checked
    without: str  # what is lost where torch does not have it


HOOKS: Tuple[PrivateHook, ...] = (
    PrivateHook(
        "on_compile_start",
        "torch._dynamo",
        "on_compile_start",
        "draw a line on the terminal while torch compiles (`depyf run`)",
        "2.3 and newer (2.13 checked)",
        "`depyf run` draws no line while torch compiles",
    ),
    PrivateHook(
        "on_compile_end",
        "torch._dynamo",
        "on_compile_end",
        "erase that line before the program continues",
        "2.3 and newer (2.13 checked)",
        "`depyf run` draws no line while torch compiles",
    ),
    PrivateHook(
        "register_bytecode_hook",
        "torch._dynamo.convert_frame",
        "register_bytecode_hook",
        "see each frame that Dynamo compiles, and return the code to run",
        "2.0 and newer (2.9, 2.13, 2.15 checked)",
        "no frames: no transformed code, no full_code",
    ),
    PrivateHook(
        "bytecode_hooks",
        "torch._dynamo.convert_frame",
        "_bytecode_hooks",
        "let hooks that others register later see Dynamo's own code, as they do without depyf",
        "2.2 and newer (2.9, 2.13, 2.15 checked)",
        "such hooks see the code that depyf returned",
    ),
    PrivateHook(
        "trace_logger",
        "torch._logging._internal",
        "trace_log",
        "the structured trace: graphs at every stage, kernels, guards, graph breaks, timings, by compile id",
        "2.5 and newer, a part of it from 2.3 on (2.6, 2.9, 2.13, 2.14, 2.15 checked)",
        "events are made from functions that torch calls anyway: no graph before the pre-grad passes, no pieces "
        "into which DDP splits a graph, no cache hits, no timings",
    ),
    PrivateHook(
        "raise_event",
        "torch._logging",
        "trace_structured",
        "not to have torch format what nobody reads: events that Dynamo raises",
        "2.3 and newer (2.13 checked)",
        "torch formats them as long as a context is open",
    ),
    PrivateHook(
        "relational_guards",
        "torch._C._dynamo.guards",
        "RelationalGuard",
        "read guard trees without having torch print them: guards on several values hang on each of them",
        "2.7 and newer (2.8, 2.13 checked)",
        "torch prints them, which takes several times as long",
    ),
    PrivateHook(
        "raise_tensor_event",
        "torch._subclasses.meta_utils",
        "trace_structured",
        "not to have torch format what nobody reads: three events for each tensor",
        "2.4 and newer (2.13 checked)",
        "torch formats them as long as a context is open",
    ),
    PrivateHook(
        "raise_symbol_event",
        "torch.fx.experimental.symbolic_shapes",
        "trace_structured",
        "not to have torch format what nobody reads: events for symbolic sizes",
        "2.5 and newer (2.13 checked)",
        "torch formats them as long as a context is open",
    ),
    PrivateHook(
        "raise_aot_event",
        "torch._functorch._aot_autograd.graph_capture",
        "trace_structured",
        "not to have torch format what nobody reads: AOTAutograd's description of a graph",
        "2.9 and newer (2.13 checked)",
        "torch formats them as long as a context is open",
    ),
    PrivateHook(
        "raise_inductor_event",
        "torch._inductor.compile_fx",
        "trace_structured",
        "not to have torch format what nobody reads: graphs between Inductor's passes",
        "2.5 and newer (2.13 checked)",
        "torch formats them as long as a context is open",
    ),
    PrivateHook(
        "compilation_callbacks",
        "torch._dynamo.callback",
        "callback_handler",
        "switch the trace on again, when a compilation starts, where the program's `logging.config` disabled it",
        "2.4 and newer (2.9, 2.11, 2.13, 2.15 checked)",
        "what is compiled first after that has no graphs, guards or graph breaks",
    ),
    PrivateHook(
        "current_compile_id",
        "torch._guards",
        "CompileContext.current_compile_id",
        "tie a frame to the graphs, kernels and guards of the same compilation",
        "2.1 and newer (2.9, 2.13, 2.15 checked)",
        "frames are numbered by depyf and have no graphs",
    ),
    PrivateHook(
        "modes_set_aside",
        "torch._dynamo.variables.torch_function",
        "torch_function_mode_stack_state_mgr",
        "name the torch function modes under which a version was compiled, while Dynamo traces",
        "2.6 and newer (2.13 checked)",
        "a recompile for other modes does not name them",
    ),
    PrivateHook(
        "current_modes",
        "torch.overrides",
        "_get_current_function_mode_stack",
        "name the torch function modes under which a version was compiled, before Dynamo traces",
        "2.0 and newer (2.13 checked)",
        "a recompile for other modes does not name them",
    ),
    PrivateHook(
        "traced_stack",
        "torch._guards",
        "TracingContext.extract_stack",
        "the calls that led to a graph break, where the exception does not hold them",
        "2.1 and newer (2.13 checked)",
        "the calls are read from torch's text, which merges neighbouring calls of functions with one name",
    ),
    PrivateHook(
        "guards_of_frame",
        "torch._guards",
        "GuardsSet",
        "record the user's line that asks for a guard, which torch 2.6 and older do only for their log",
        "2.1 and newer (2.6 checked; not needed in 2.9 and newer, which record it always)",
        "guards and recompiles do not name the line that asked for them",
    ),
    PrivateHook(
        "cleanup_manager",
        "torch._dynamo.utils",
        "CleanupManager.instance",
        "the globals that Dynamo installed for a frame: the compiled graph and the resume functions",
        "2.0 and newer (2.9, 2.13, 2.15 checked)",
        "graphs and kernels are on disk but not linked; resume functions have no parent",
    ),
    PrivateHook(
        "resume_code_cache",
        "torch._dynamo.resume_execution",
        "ContinueExecutionCache.cache",
        "parameter names of the resume functions that a frame calls, to name its temporaries",
        "2.0 and newer (2.9, 2.13, 2.15 checked)",
        "temporaries get plain names",
    ),
    PrivateHook(
        "resume_prefix",
        "torch._dynamo.resume_execution",
        "TORCH_DYNAMO_RESUME_IN_PREFIX",
        "recognise resume functions by their names",
        "2.3 and newer (2.6, 2.13 checked)",
        "their names begin with `resume_in_`, as those of functions of the user's might",
    ),
    PrivateHook(
        "force_recompile",
        "torch.fx._lazy_graph_module",
        "_LazyGraphModule.force_recompile",
        "generate the forward of a graph module now instead of at its first call, to link it",
        "2.3 and newer (2.9, 2.13, 2.15 checked)",
        "such a graph module is linked only after it has run once inside the context",
    ),
    PrivateHook(
        "fx_sources",
        "torch.fx.graph_module",
        "_loader.eval_cache",
        "the text of fx code that belongs to no graph, when the user asks for it",
        "2.0 and newer (2.9, 2.13, 2.15 checked)",
        "no files for such code",
    ),
    PrivateHook(
        "graph_formatter",
        "torch._dynamo.utils",
        "lazy_format_graph_code",
        "stages that a custom backend announces by calling this function",
        "2.0 and newer (2.9, 2.13, 2.15 checked)",
        "no files for the stages of custom backends",
    ),
    PrivateHook(
        "graph_formatter_of_fx",
        "torch.fx._utils",
        "lazy_format_graph_code",
        "the same function at its other home",
        "2.4 and newer (2.9, 2.13, 2.15 checked)",
        "no files for stages announced through this module",
    ),
    PrivateHook(
        "line_announcer",
        "torch._guards",
        "TracingContext.set_current_loc",
        "the lines that Dynamo traces, so that the page marks those that it never reached",
        "2.2 and newer (2.13 checked); only where the line changes",
        "lines that Dynamo never reached have no mark, like those that it evaluated while tracing",
    ),
    PrivateHook(
        "shape_reader",
        "torch._dynamo.variables.tensor",
        "TensorVariable.method_attr_shape",
        "the first line that reads a size as a number, for which the graph has no node",
        "2.4 and newer (2.4, 2.6, 2.8, 2.13 checked)",
        "the line that first uses a size is that of the first operation on the tensor",
    ),
    PrivateHook(
        "size_reader",
        "torch._dynamo.variables.tensor",
        "TensorVariable.method_size",
        "the same for `x.size()` and `len(x)`",
        "2.4 and newer (2.4, 2.6, 2.8, 2.13 checked)",
        "the line that first uses a size is that of the first operation on the tensor",
    ),
    PrivateHook(
        "element_counter",
        "torch._dynamo.variables.tensor",
        "TensorVariable.method_numel",
        "the same for `x.numel()`",
        "2.4 and newer (2.4, 2.6, 2.8, 2.13 checked)",
        "the line that first uses a size is that of the first operation on the tensor",
    ),
    PrivateHook(
        "tensor_methods",
        "torch._dynamo.variables.tensor",
        "TensorVariable.tp_methods",
        "the same where Dynamo calls the methods of a tensor by a table of functions, not by their names",
        "2.14 and newer (2.14 checked)",
        "older torch calls them by their names",
    ),
    PrivateHook(
        "captured_graph_formatter",
        "torch._dynamo.output_graph",
        "lazy_format_graph_code",
        "each graph that Dynamo captures, while its nodes have the stacks of the user's lines",
        "2.0 and newer (2.13 checked)",
        "a node leads to its innermost line alone, not to the lines that called the function around it",
    ),
    PrivateHook(
        "cache_entries",
        "torch._dynamo.eval_frame",
        "_debug_get_cache_entry_list",
        "the compiled versions of a function that a call can find: their code and guards",
        "2.1 and newer (2.9, 2.13, 2.15 checked)",
        "inspect() finds nothing, and what was compiled before the session is not shown",
    ),
    PrivateHook(
        "input_codes",
        "torch._dynamo.convert_frame",
        "input_codes",
        "the code objects that Dynamo has met since its last reset: only those can have compiled versions",
        "2.0 and newer (2.9, 2.13, 2.15 checked)",
        "what was compiled before the session is not shown; inspect() without a function finds nothing",
    ),
    PrivateHook(
        "output_codes",
        "torch._dynamo.convert_frame",
        "output_codes",
        "the code objects that Dynamo takes for its own work and does not compile again: an original that another "
        "program's hook returns becomes one, also if its text runs from a file of depyf's",
        "2.0 and newer (2.9, 2.13, 2.15 checked)",
        "an original that is returned runs as it is, not from its file",
    ),
    PrivateHook(
        "skip_reasons",
        "torch._dynamo.convert_frame",
        "add_skip_reason",
        "each frame that Dynamo leaves to Python, and why",
        "2.12 and newer (2.13, 2.15 checked; 2.11 has no such function)",
        "the reasons are those of the structured trace; frames that never began to compile are listed without one",
    ),
    PrivateHook(
        "frame_logger",
        "torch._dynamo.convert_frame",
        "log",
        "where torch does not report skipped frames: it hands the reason to this log, whether or not anybody reads it",
        "2.0 and newer (2.2, 2.4, 2.6, 2.8 checked; not needed in 2.12 and newer)",
        "a frame that Dynamo skips is taken to have no operations on tensors",
    ),
    PrivateHook(
        "trace_file_names",
        "torch._logging.structured",
        "INTERN_TABLE",
        "the file of a function that Dynamo tried to compile, from its number in the structured trace",
        "2.3 and newer (2.9, 2.13, 2.15 checked)",
        "functions that were not compiled have no file of their own",
    ),
    PrivateHook(
        "set_eval_frame",
        "torch._C._dynamo.eval_frame",
        "set_eval_frame",
        "disable Dynamo in depyf's own functions, which run while a backward is compiled",
        "2.0 and newer (2.9, 2.11, 2.13, 2.15 checked)",
        "functions of depyf's are among those compiled when a training step is compiled as a whole",
    ),
    PrivateHook(
        "set_callback",
        "torch._dynamo.eval_frame",
        "set_eval_frame",
        "where there is no stance of torch.compile: run cached code and compile nothing (`debug()`)",
        "2.2 to 2.5 (2.2, 2.4 checked; newer torch has `torch.compiler.set_stance`)",
        "what is not compiled yet is compiled inside `debug()`",
    ),
    PrivateHook(
        "skip_code",
        "torch._dynamo.eval_frame",
        "skip_code",
        "the same for the function that disables Dynamo",
        "2.1 and newer (2.9, 2.11, 2.13, 2.15 checked)",
        "that one function is listed among those that Dynamo skipped",
    ),
    PrivateHook(
        "disable_torch_function",
        "torch._C",
        "DisableTorchFunction",
        "read the shape of a tensor without calling torch function modes and subclasses of the user's",
        "2.0 and newer (2.13 checked)",
        "a torch function mode of the user's may see shapes being read at a recompile",
    ),
    PrivateHook(
        "name_counter",
        "torch._dynamo.bytecode_transformation",
        "_unique_id_counter",
        "the number of the graph that is being compiled, for programs that ask depyf for it",
        "2.0 and newer (2.9, 2.13, 2.15 checked)",
        "explain.utils.get_current_compiled_fn_name() raises UserError",
    ),
    PrivateHook(
        "load_by_key_path",
        "torch._inductor.codecache",
        "PyCodeCache.load_by_key_path",
        "link a module of kernels when it is loaded, which may be when a graph is first called; and for programs that "
        "import it from depyf.explain",
        "2.1 and newer (2.9, 2.13, 2.15 checked)",
        "kernels that are compiled after the backend has returned are linked at the end; "
        "explain.enable_debugging.patched_load_by_key_path cannot be called",
    ),
    PrivateHook(
        "forward_from_source",
        "torch.fx.graph_module",
        "_forward_from_src",
        "link the forward of a graph module when it is generated, which may be when a graph is first called",
        "2.0 and newer (2.13 checked)",
        "graph modules that a backend makes after it has returned have no file",
    ),
    PrivateHook(
        "forward_from_source_in_dynamo",
        "torch._dynamo.convert_frame",
        "original_forward_from_src",
        "the same, while Dynamo compiles: it replaces that function by one of its own, which calls this",
        "2.2 and newer (2.2, 2.4, 2.6, 2.8, 2.13 checked)",
        "graph modules that a backend makes, and keeps where no way from the compiled graph leads to, have no file",
    ),
    PrivateHook(
        "record_cuda_graphs",
        "torch._inductor.compile_fx",
        "cudagraphify",
        "recognise, by its name, the function that calls a kernel only to record a CUDA graph",
        "2.0 and newer (2.11, 2.13 checked)",
        "a kernel that ran while a CUDA graph was recorded is shown as one that every call runs",
    ),
    PrivateHook(
        "record_cuda_graph_trees",
        "torch._inductor.cudagraph_trees",
        "cudagraphify",
        "recognise the same function where a backend calls it without Inductor, as `cudagraphs` does",
        "2.1 and newer (2.13 checked)",
        "a graph that ran while a CUDA graph was recorded is shown as one that every call runs",
    ),
    PrivateHook(
        "value_sources",
        "torch._guards",
        "ChainedSource",
        "leave out, in the search for the code that a graph leads to, the descriptions of its inputs",
        "2.1 and newer (2.13 checked)",
        "a graph of many layers leads to thousands of these, and the search may end before all code is found",
    ),
    PrivateHook(
        "backward_to_compile",
        "torch._functorch._aot_autograd.runtime_wrappers",
        "AutogradLazyBackwardCompileInfo",
        "distinguish the backward graph that waits to be compiled from the copy of it that runs",
        "2.4 and newer (2.4, 2.6, 2.8, 2.9, 2.11, 2.13, 2.15 checked)",
        "a backward that has not run yet is shown as running, and one that aot_eager of torch 2.9 interprets as linked",
    ),
    PrivateHook(
        "backward_maker",
        "torch._functorch._aot_autograd.jit_compile_runtime_wrappers",
        "aot_dispatch_autograd",
        "the same where the backward itself holds that graph, as `bw_module`",
        "2.2 to 2.3 (2.2 checked)",
        "a backward that has not run yet is shown as running, and one that aot_eager of torch 2.9 interprets as linked",
    ),
    PrivateHook(
        "suppress_errors",
        "torch._dynamo.config",
        "suppress_errors",
        "whether the program got the error of a compilation that failed (where torch does not report skips)",
        "2.0 and newer (2.9, 2.13, 2.15 checked)",
        "such an error is taken to have reached the program",
    ),
    PrivateHook(
        "bytecode_logger",
        "torch._dynamo.convert_frame",
        "bytecode_log",
        "the log of TORCH_LOGS='+bytecode', to write decompiled source to it (install)",
        "2.9 and newer (2.9, 2.13, 2.15 checked)",
        "install() writes nothing",
    ),
    PrivateHook(
        "autotuning_choices",
        "torch._inductor.select_algorithm",
        "get_algorithm_selector_cache",
        "what autotuning tried for an operation: the selector calls the savers in its feedback_saver_fns",
        "2.9 and newer (2.9, 2.13, 2.15 checked)",
        "no lists of what was tried; choices that are graphs of their own are still in the structured trace",
    ),
    PrivateHook(
        "reset_code",
        "torch._dynamo",
        "reset_code",
        "take out of Dynamo's caches what a comparison compiled",
        "2.0 and newer (2.13 checked)",
        "what `compare` compiled stays in the caches",
    ),
    PrivateHook(
        "disabled_modes",
        "torch.utils._python_dispatch",
        "_disable_current_modes",
        "to read values unseen by dispatch modes, the program's and depyf's own",
        "2.0 and newer (2.13 checked)",
        "the program's dispatch modes see how `debug(stop_on_nan=True)` reads values",
    ),
    PrivateHook(
        "open_transforms",
        "torch._C._functorch",
        "get_interpreter_stack",
        "which transforms of torch.func are open",
        "2.4 and newer (2.4, 2.6, 2.8, 2.9, 2.11, 2.13 checked)",
        "a program that catches `NumericError` out of a torch.func transform stays inside the transform",
    ),
    PrivateHook(
        "leave_vmap",
        "torch._C._functorch",
        "_vmap_decrement_nesting",
        "leave one that an error has interrupted",
        "2.1 and newer (2.9, 2.11, 2.13 checked)",
        "a program that catches `NumericError` out of a torch.func transform stays inside the transform",
    ),
    PrivateHook(
        "leave_grad",
        "torch._C._functorch",
        "_grad_decrement_nesting",
        "leave one that an error has interrupted",
        "2.1 and newer (2.9, 2.11, 2.13 checked)",
        "a program that catches `NumericError` out of a torch.func transform stays inside the transform",
    ),
    PrivateHook(
        "leave_jvp",
        "torch._C._functorch",
        "_jvp_decrement_nesting",
        "leave one that an error has interrupted",
        "2.1 and newer (2.9, 2.11, 2.13 checked)",
        "a program that catches `NumericError` out of a torch.func transform stays inside the transform",
    ),
    PrivateHook(
        "saved_hooks_refusal",
        "torch._C._autograd",
        "_saved_tensors_hooks_get_disabled_error_message",
        "whether hooks on saved tensors are refused, as transforms do",
        "2.1 and newer (2.13 checked)",
        "a program that catches `NumericError` out of a torch.func transform stays inside the transform",
    ),
    PrivateHook(
        "disable_saved_hooks",
        "torch._C._autograd",
        "_saved_tensors_hooks_disable",
        "refuse them again",
        "2.1 and newer (2.13 checked)",
        "a program that catches `NumericError` out of a torch.func transform stays inside the transform",
    ),
    PrivateHook(
        "enable_saved_hooks",
        "torch._C._autograd",
        "_saved_tensors_hooks_enable",
        "accept them again",
        "2.1 and newer (2.13 checked)",
        "a program that catches `NumericError` out of a torch.func transform stays inside the transform",
    ),
    PrivateHook(
        "higher_order_operators",
        "torch._ops",
        "_higher_order_ops",
        "to give operators such as `cond` a rule for depyf's dispatch mode, where the mode is not asked",
        "2.0 and newer (2.13 checked)",
        "`debug(stop_on_nan=True)` fails in graphs with `cond` and the like before torch 2.9",
    ),
    PrivateHook(
        "current_autograd_node",
        "torch._C",
        "_current_autograd_node",
        "which operation's gradient is computed now",
        "2.1 and newer (2.13 checked)",
        "a NaN in a backward that runs operator by operator has no line",
    ),
    PrivateHook(
        "autograd_number",
        "torch.autograd",
        "_get_sequence_nr",
        "which node of autograd's belongs to the operation that runs now",
        "2.1 and newer (2.13 checked)",
        "a NaN in a backward that runs operator by operator has no line",
    ),
    PrivateHook(
        "compile_frame",
        "torch._dynamo.convert_frame",
        "_compile",
        "where there is no structured trace: which frame is compiled, and how that ended",
        "2.1 and newer (2.2 checked; newer torch has the trace)",
        "failed compilations are not reported",
    ),
    PrivateHook(
        "break_graph",
        "torch._dynamo.output_graph",
        "OutputGraph.compile_subgraph",
        "where there is no structured trace: graph breaks",
        "2.0 and newer (2.2 checked; newer torch has the trace)",
        "no graph breaks",
    ),
    PrivateHook(
        "break_in_user_code",
        "torch._dynamo.symbolic_convert",
        "InstructionTranslatorBase",
        "its module logs graph breaks to the structured trace, if torch does so at all",
        "2.0 and newer (2.2, 2.4, 2.6, 2.13 checked)",
        "no graph breaks",
    ),
    PrivateHook(
        "build_guards",
        "torch._dynamo.guards",
        "CheckFunctionManager.compile_check_fn",
        "where there is no structured trace: the guards of a frame",
        "2.1 and newer (2.2 checked; newer torch has the trace)",
        "no guards, and graphs are linked at the end",
    ),
    PrivateHook(
        "guards_logger",
        "torch._dynamo.guards",
        "guards_log",
        "where there is no structured trace: torch hands each guard to this log, whether or not anybody reads it",
        "2.1 and newer (2.2 checked; newer torch has the trace)",
        "no guards, and graphs are linked at the end",
    ),
    PrivateHook(
        "explain_guard",
        "torch._dynamo.guards",
        "get_guard_fail_reason",
        "where there is no structured trace: why a frame is compiled again",
        "2.1 and newer (2.2 checked; newer torch has the trace)",
        "recompiles have no reasons",
    ),
    PrivateHook(
        "explain_recompile",
        "torch._dynamo.convert_frame",
        "get_and_maybe_log_recompilation_reason",
        "where the structured trace has no recompiles: the reasons of one recompile together",
        "2.2 to 2.4 (both checked; newer torch has them in the trace)",
        "recompiles have no reasons",
    ),
    PrivateHook(
        "exceeds_limit",
        "torch._dynamo.convert_frame",
        "exceeds_cache_size_limit",
        "where there is no structured trace: a function that has as many versions as torch allows",
        "2.2 to 2.4 (2.2 checked; newer torch begins the compilation, and it fails)",
        "a function at its limit of recompiles is missing in the record",
    ),
    PrivateHook(
        "trace_operator",
        "torch._dynamo.variables.higher_order_ops",
        "speculate_subgraph",
        "where there is no structured trace: the line of a graph break inside a higher-order operator",
        "2.2 to 2.4 (2.2 checked; newer torch raises what broke the graph itself)",
        "such a graph break has the line that calls the operator",
    ),
    PrivateHook(
        "tracing_context",
        "torch._guards",
        "TracingContext.try_get",
        "where there is no structured trace: tie a backward, which is compiled when it first runs, to its graph",
        "2.2 and newer (2.2 checked; newer torch has the trace)",
        "kernels of a backward belong to no frame",
    ),
    PrivateHook(
        "inference_graph_formatter",
        "torch._functorch._aot_autograd.dispatch_and_compile_graph",
        "lazy_format_graph_code",
        "where there is no structured trace: AOTAutograd's graph for inference",
        "2.2 to 2.4 (2.2 checked; newer torch has the trace)",
        "no forward graph of what needs no gradient",
    ),
    PrivateHook(
        "training_graph_formatter",
        "torch._functorch._aot_autograd.jit_compile_runtime_wrappers",
        "lazy_format_graph_code",
        "where there is no structured trace: AOTAutograd's joint, forward and backward graphs",
        "2.2 to 2.4 (2.2 checked; newer torch has the trace)",
        "no joint, forward and backward graphs",
    ),
    PrivateHook(
        "inductor_graph_formatter",
        "torch._inductor.compile_fx",
        "lazy_format_graph_code",
        "where there is no structured trace: the graph after Inductor's post-grad passes",
        "2.1 and newer (2.2 checked; newer torch has the trace)",
        "no graph after the post-grad passes",
    ),
    PrivateHook(
        "backward_tracker",
        "torch._functorch._aot_autograd.runtime_wrappers",
        "track_graph_compiling",
        "when a backward has been compiled, which is at its first run; newer torch has an event for that",
        "2.4 to 2.4 (2.4 checked)",
        "the code of a backward is linked to its file when the context ends",
    ),
    PrivateHook(
        "backward_tracker_of_2_2",
        "torch._functorch._aot_autograd.jit_compile_runtime_wrappers",
        "track_graph_compiling",
        "the same, where the function that compiles it stands in another module",
        "2.2 to 2.3 (2.2 checked)",
        "the same",
    ),
    PrivateHook(
        "write_kernels",
        "torch._inductor.graph",
        "GraphLowering.compile_to_module",
        "where there is no structured trace: the modules of kernels that Inductor writes",
        "2.1 and newer (2.2 checked; newer torch has the trace)",
        "no kernels",
    ),
    PrivateHook(
        "template_folder",
        "torch.distributed.nn.jit.instantiator",
        "INSTANTIATED_TEMPLATE_DIR_PATH",
        "leave out of the folders that Python imports from the temporary one that torch adds",
        "2.2 to 2.8",
        "newer torch adds none",
    ),
)

# Events of the structured trace that torch has renamed: old name -> new name.  The graph after the post-grad passes:
# 2.9 gives it the old name on a cold cache and the new one on a warm one, 2.13 and 2.15 only the new one.
RENAMED_EVENTS = {"after_post_grad_graph": "inductor_post_grad_graph"}


# Events that came to the structured trace late -> the module that logs them, and what is lost without them.
_LATE_EVENTS = {
    "before_pre_grad_graph": ("torch._inductor.compile_fx", "no graph before the pre-grad passes"),  # 2.7
    "graph break in loop": (  # 2.13
        "torch._dynamo.symbolic_convert",
        "a graph break that a function cannot resume from has its line, but neither the line that raised first nor "
        "the block around it",
    ),
}


# Without these only time is lost, or names are recognised in another way.
_ONLY_TIME = frozenset(
    (
        "raise_event",
        "raise_tensor_event",
        "raise_symbol_event",
        "raise_aot_event",
        "raise_inductor_event",
        "relational_guards",
        "template_folder",
        "set_callback",
        "resume_prefix",
        "on_compile_end",  # comes with on_compile_start
        "tensor_methods",  # replaces calls by name
    )
)
# These are used where there is no structured trace.
_STAND_INS = frozenset(
    (
        "compile_frame",
        "break_graph",
        "break_in_user_code",
        "build_guards",
        "guards_logger",
        "explain_guard",
        "explain_recompile",
        "exceeds_limit",
        "trace_operator",
        "tracing_context",
        "inference_graph_formatter",
        "training_graph_formatter",
        "inductor_graph_formatter",
        "write_kernels",
        "backward_tracker",
        "backward_tracker_of_2_2",
    )
)

# Of these, torch has one of each two.
_EITHER = {
    "backward_to_compile": "backward_maker",
    "backward_maker": "backward_to_compile",
    "backward_tracker": "backward_tracker_of_2_2",
    "backward_tracker_of_2_2": "backward_tracker",
}

_BY_NAME = {row.name: row for row in HOOKS}


def hook(name: str) -> PrivateHook:
    """Return the row of that name; KeyError when there is none."""
    return _BY_NAME[name]


def find(name: str) -> Any:
    """Return the object behind a row of the table, or None where this torch does not have it."""
    row = hook(name)
    try:
        value = sys.modules.get(row.module) or _module(row.module)
        for part in row.attribute.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError):
        return None
    return value


def _module(name: str) -> Any:
    """Return a module, which is imported if it is not loaded."""
    return torch_behaviours.loaded_module(name) or importlib.import_module(name)


def find_holder(name: str) -> Tuple[Any, str]:
    """Return the object whose attribute a row is, and the attribute; AttributeError where this torch lacks it."""
    row = hook(name)
    *path, last = row.attribute.split(".")
    value = _module(row.module)
    for part in path:
        value = getattr(value, part)
    return value, last


def find_loaded(name: str) -> Any:
    """Return what `find` does, but None as long as the program has not imported the module.

    Importing one costs as much as a small compilation: AOTAutograd's take a third of a second.
    """
    return find(name) if hook(name).module in sys.modules else None


def not_offered() -> Tuple[str, ...]:
    """Return what is lost with this torch, one line for each hook that it does not have.

    Modules that are not loaded are not imported for it: nothing of theirs was used. Hooks without which only time is
    lost are left out, and so are those that stand in for a trace that this torch has.
    """
    has_trace = find("trace_logger") is not None
    rows = [row for row in HOOKS if row.name not in _ONLY_TIME and not (has_trace and row.name in _STAND_INS)]
    missing = [row for row in rows if row.module in sys.modules and find(row.name) is None]
    missing = [row for row in missing if row.name not in _EITHER or find_loaded(_EITHER[row.name]) is None]
    lines = [f"torch has no {row.module}.{row.attribute}: {row.without}" for row in missing]
    loaded = tuple([name for name, (module, _) in _LATE_EVENTS.items() if module in sys.modules])
    lines += torch_behaviours.lacking()
    return (*lines, *_events_not_offered(loaded)) if has_trace else tuple(lines)


@functools.lru_cache(maxsize=2)
def _events_not_offered(names: Tuple[str, ...]) -> Tuple[str, ...]:
    missing = [(name, lost) for name, (module, lost) in _LATE_EVENTS.items() if not logs_event(module, name)]
    return tuple([f"torch logs no {name}: {lost}" for name, lost in missing if name in names])


def logs_event(module_name: str, event: str) -> bool:
    """Return whether a module logs an event of that kind; True where it is not loaded, or its text cannot be read."""
    module = sys.modules.get(module_name)
    loader: Any = getattr(module, "__loader__", None)
    file = getattr(module, "__file__", None) or ""
    if not file.endswith(".py") or not hasattr(loader, "get_data"):
        return True
    try:  # bytes: to decode these long files takes longer than all the rest
        return f'"{event}"'.encode() in loader.get_data(file)
    except OSError:
        return True


def newest_number() -> int | None:
    """Return the number that Dynamo gave to a name last; None where it cannot be read."""
    match = re.match(r"count\((\d+)", repr(find("name_counter")))  # copying an itertools.count is deprecated
    return int(match.group(1)) - 1 if match else None
