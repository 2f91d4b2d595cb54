"""Read Dynamo's cache entries: the compiled versions of functions that a call can still find.

Dynamo keeps the compiled versions of a function with its code object: the transformed code, the guards, the compile
id.  So what was compiled before the session can still be shown.  How the parts are found:

- All code objects that Dynamo has met since its last reset are in its own list of inputs (`input_codes`), by which
  it resets its caches: no other code object can have an entry.
- A transformed frame calls its graph and its resume functions by global names; Dynamo's clean-up manager has the
  namespaces that it put them into.

What torch does not keep is lost: the graphs between the captured one and the kernels, the reasons of graph breaks,
recompiles and skips.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Any, Iterator, List, Tuple

from depyf.record import compile_ids
from depyf.torch_hooks.frames.functions import code_behind
from depyf.torch_hooks.frames.recorded_versions import RECORDED
from depyf.torch_hooks.guards.flat_guards import as_tree
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.stable_names import RESUME_FUNCTION, RESUME_NAME, without_random_id


@dataclass(frozen=True)
class CachedVersion:
    """One compiled version of a function that a call can still find."""

    code: CodeType  # of the function
    new_code: CodeType  # that runs instead
    compile_id: str
    guard_manager: Any = ""


def met_codes() -> Iterator[CodeType]:
    """Yield the code objects that Dynamo has met since its last reset, compiled or not, in that order."""
    inputs = private_hooks.find("input_codes")
    for reference in list(getattr(inputs, "seen", ())):
        code = reference()
        if isinstance(code, CodeType):
            yield code


def running_codes() -> Iterator[Tuple[CodeType, List[CodeType]]]:
    """Yield the functions that have compiled versions, in the order of `met_codes`, with the code of each version."""
    entries = private_hooks.find("cache_entries")
    for code in met_codes() if entries is not None else ():
        running = [entry.code for entry in entries(code)]
        if running:
            yield code, running


def versions_of(code: CodeType) -> List[CachedVersion]:
    """Return the versions of a function that a call can find, oldest first; Dynamo itself sorts by last use."""
    entries = private_hooks.find("cache_entries")
    found = []
    for entry in reversed(entries(code) if entries is not None else []):
        known = getattr(entry, "compile_id", None) or RECORDED.compile_id_of(entry.code)
        found.append(CachedVersion(code, entry.code, str(known or compile_ids.unknown()), _guards_of(entry)))
    return sorted(found, key=lambda version: compile_ids.sort_key(version.compile_id))


def _guards_of(entry: Any) -> Any:
    """Return the guards of an entry as `describe_guards` reads them; torch 2.2 keeps a function and its expressions."""
    manager = getattr(entry, "guard_manager", None)
    if manager is not None:
        return manager
    checks = getattr(entry, "check_fn", None)
    if hasattr(checks, "root"):
        return checks  # torch 2.4 has another name for the guard manager
    return as_tree(getattr(checks, "verbose_code_parts", None) or (), are_new=False)


def resumes_of(new_code: CodeType) -> Iterator[Tuple[str, CodeType | None]]:
    """Yield the names by which a frame of Dynamo's calls resume functions, as they are shown, with their code if any.

    They are globals.  In older torch (2.11 and before) one that shares variables with the function is made in the frame
    itself, of code among its constants, and has no other name than its own.
    """
    for name in new_code.co_names:
        if RESUME_NAME.match(name):
            yield without_random_id(name), code_behind(installed_global(name))
    for constant in new_code.co_consts:
        if isinstance(constant, CodeType) and RESUME_FUNCTION.match(constant.co_name):
            yield constant.co_name, constant


def installed_global(name: str) -> Any:
    """Return the value of a global that Dynamo installed for some frame; None when it is gone or cannot be found."""
    manager = private_hooks.find("cleanup_manager")
    if manager is None or not name:
        return None
    for cleanups in reversed(list(manager.values.values())):
        for cleanup in cleanups:
            if getattr(cleanup, "name", None) == name:
                return cleanup.scope.get(name)
    return None
