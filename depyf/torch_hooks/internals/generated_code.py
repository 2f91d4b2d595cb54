"""What Dynamo adds to the code that it generates, for the decompiler. Needs no torch: all of it is known by name."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Tuple

from depyf.code_generator import CodeGenerator


def is_installed_global(name: str) -> bool:
    """Return whether Dynamo put this global into the function's module for the frames that it makes."""
    return name.startswith(("__compiled_fn_", "__resume_at_", "__import_", "__comprehension_"))


def tracing_marks(code: CodeType) -> Tuple[str, ...]:
    """Return the locals that Dynamo sets in resume functions for itself, while it traces them: no code reads them."""
    return tuple([name for name in code.co_varnames[code.co_argcount :] if name == "__is_tracing_resume_prologue"])


def short_name(name: str) -> str:
    """Return a better name for a local that would be called so after its value; empty where there is none.

    A module that Dynamo put into the globals, `__import_torch_dot__dynamo_dot_utils`, is `dynamo_utils`; the clock that
    it keeps in every frame and stops when the graph starts is `pregraph_timer`.
    """
    if name == "record_pregraph_bytecode_enter_result":
        return "pregraph_timer"
    parts = name[len("import_") :].split("_dot_") if name.startswith("import_") else []
    return "_".join(part.strip("_") for part in parts[-2:])


def original_function(thing: Any) -> Any:
    """Return what torch put a wrapper around: the function that torch.compile was given, the `forward` of a module.

    Any other thing is returned as it is. functools.wraps copies the attributes to wrappers of the user's: only a
    function of torch's own is one.
    """
    if isinstance(thing, FunctionType):
        attributes = thing.__dict__ if _is_of_torch(thing) else {}
        return _first_of(attributes.get("_torchdynamo_orig_callable"), attributes.get("__wrapped__"), thing)
    call = next((vars(cls)["__call__"] for cls in type(thing).__mro__ if "__call__" in vars(cls)), None)
    if not isinstance(call, FunctionType) or call.__globals__.get("__name__") not in _MODULE_CALLS:
        return thing
    modules = thing.__dict__.get("_modules")
    original = modules.get("_orig_mod") if isinstance(modules, dict) else None  # what torch.compile(module) was given
    return _first_of(original, thing.__dict__.get("forward"), type(thing).forward)


# Where torch defines the `__call__` of its modules, of compiled ones and of graphs.
_MODULE_CALLS = ("torch.nn.modules.module", "torch._dynamo.eval_frame", "torch.fx.graph_module")


def _first_of(*values: Any) -> Any:
    """Return the first that is not None: an empty Sequential is false."""
    return next(value for value in values if value is not None)


def _is_of_torch(function: FunctionType) -> bool:
    return str(function.__globals__.get("__name__", "")).split(".")[0] == "torch"


# A frame that Dynamo transformed, or a resume function, while it is being compiled.
DYNAMO = CodeGenerator(constant_globals=is_installed_global, own_locals=tracing_marks, short_name=short_name)
# Code that Dynamo may have made, on its own: nothing is known about the globals that it will run with.
MAYBE_DYNAMO = CodeGenerator(own_locals=tracing_marks, short_name=short_name)
