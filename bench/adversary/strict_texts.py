"""Judge the text of `decompile(function, strict=True)`: it must run as it is, given the globals that it names."""

from __future__ import annotations

import re
from types import CodeType, FunctionType
from typing import Any, Dict, List, Optional

from bench.adversary.differences import difference
from bench.adversary.runs import Subject, function_of, namespace_of, run
from bench.adversary.world import REPLACED, Entry, Schedule, World
from depyf.decompiler import DecompilationError, decompile
from depyf.decompiler.bytecode.code_flags import CO_FUTURE_ANNOTATIONS

# Text alone has no enclosing class or function, so names of what is inside of it are shorter.
FUTURE = "from __future__ import annotations\n"
AROUND = re.compile(r"\b(?:around\.<locals>\.|__enclosing_scope_of_\w+\.<locals>\.|Owner\.)")


def failure_of_text(subject: Subject, schedules: List[Schedule]) -> Optional[str]:
    """Return what is wrong with the text of a function that is a method or has free variables, or None."""
    world = World(schedules[0], subject.names)
    namespace = namespace_of(world)
    exec(subject.module, namespace)
    function = function_of(namespace)
    try:
        text = decompile(function, strict=True)
    except DecompilationError:
        return None
    try:
        module = compiled(text)
        made = from_text(module, function, namespace)
    except Exception as error:
        return f"the text cannot be run: {type(error).__name__}: {error}"
    if made is None:
        return None
    for schedule in schedules:
        logs = [run(subject, None, schedule), run(subject, None, schedule, lambda f, n: from_text(module, f, n) or f)]
        found = difference(*[comparable(log) for log in logs])
        if found is not None:
            return f"the text alone does something else: {', '.join(sorted(found.kinds))}"
    return None


def compiled(text: str) -> CodeType:
    """Compile a text; its `from __future__` statement acts as a flag, since imports are traced here."""
    flags = CO_FUTURE_ANNOTATIONS if text.startswith(FUTURE) else 0
    return compile(text.replace(FUTURE, "", 1) if flags else text, REPLACED, "exec", flags, dont_inherit=True)


def from_text(module: CodeType, function: FunctionType, namespace: Dict[str, Any]) -> Optional[FunctionType]:
    """Return the function that a text defines, in the place of `function`; None if its variables have no values."""
    variables: Dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            variables[name] = cell.cell_contents
        except ValueError:
            return None
    exec(module, namespace)
    scope = namespace.pop("__enclosing_scope_of_f", None)
    if scope is not None:
        made = scope(**variables)
    else:
        made = namespace["f"]
        namespace.update({name: value for name, value in variables.items() if name != "__class__"})
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made if isinstance(made, FunctionType) else None


def comparable(log: List[Entry]) -> List[Entry]:
    """Return a log without what a text alone cannot have: cells, the names around it, deaths of what they hold."""
    left = [entry for entry in log if entry[0] not in ("cell", "global", "dies", "traceback", "names")]
    return [(entry[0], AROUND.sub("", repr(entry[1:]))) for entry in left]
