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
    """Return the function that torch.compile was given, for what it returned; any other thing as it is.

    functools.wraps copies the attribute to wrappers of the user's: only a function of torch's own is one.
    """
    home = getattr(thing, "__globals__", {}).get("__name__", "") if isinstance(thing, FunctionType) else ""
    inner = getattr(thing, "_torchdynamo_orig_callable", None)
    if inner is not None and str(home).split(".")[0] == "torch":
        return inner
    return thing


# A frame that Dynamo transformed, or a resume function, while it is being compiled.
DYNAMO = CodeGenerator(constant_globals=is_installed_global, own_locals=tracing_marks, short_name=short_name)
# Code that Dynamo may have made, on its own: nothing is known about the globals that it will run with.
MAYBE_DYNAMO = CodeGenerator(own_locals=tracing_marks, short_name=short_name)
