"""Search for code objects: in functions, modules, files, and inside other code objects."""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
from types import CodeType, ModuleType
from typing import Any, Iterator, List, Optional, Tuple

from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.python_facts import supported_versions
from depyf.errors import UserError
from depyf.text.lines import shortened
from depyf.text.quiet_compile import compile_quietly

LARGEST_FILE = 1 << 24  # bytes; the largest files in common packages have a third of it


class NotFound(UserError):
    """There is no code object by that name."""


def code_of(thing: Any) -> CodeType:
    """Return the code object of a function, method, module, class, generator or frame; TypeError if it has none.

    Of the path of a `.py` or `.pyc` file, that is the module's code; NotFound, with the reason, if there is none.
    """
    if is_path(thing):
        return code_of_file(os.fspath(thing))
    seen = 0
    while not isinstance(thing, CODE_TYPES):
        if isinstance(thing, ModuleType):
            found: Any = _code_of_module(thing.__name__)
        elif isinstance(thing, type):
            path = path_to_class(thing)
            found = path[-1] if path else None
        else:
            names = ("__func__", "__code__", "gi_code", "cr_code", "ag_code", "f_code")
            found = next((value for value in (getattr(thing, name, None) for name in names) if value is not None), None)
        if found is None and isinstance(thing, type):
            raise TypeError(
                f"depyf cannot decompile {describe(thing)}: no Python bytecode of its body was found. Classes do not "
                "keep it, and its module has none of a class by that name with these functions (was the file changed?)"
            )
        if found is None or seen > 10:
            raise TypeError(
                "depyf can decompile functions, methods, classes, modules, generators and code objects, "
                f"not {describe(thing)}: it has no Python bytecode"
            )
        thing = found
        seen += 1
    return thing


def is_path(thing: Any) -> bool:
    """Return whether a thing is the path of a `.py` or `.pyc` file."""
    if isinstance(thing, os.PathLike):
        thing = os.fspath(thing)
    return isinstance(thing, str) and thing.endswith((".py", ".pyc"))


def describe(thing: Any) -> str:
    """Describe a thing for a message."""
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    if isinstance(thing, type):
        return f"the class {thing.__qualname__}"
    kind = type(thing).__name__
    return f"the {kind} {name}" if isinstance(name, str) else f"a {kind}"


def code_of_file(path: str) -> CodeType:
    """Return the module code of a `.py` or `.pyc` file; raise NotFound, with the reason, if there is none."""
    from depyf.decompiler.pyc import DamagedFile, OtherVersion, read_code  # which no session needs

    data = _content(path)
    try:
        return read_code(data) if path.endswith(".pyc") else compile_quietly(data, path)
    except OtherVersion as error:
        raise NotFound(f"{path} was made by {error.made_by}: depyf reads files of {_supported()}") from error
    except DamagedFile as error:
        raise NotFound(f"{path} is damaged, {error}") from error
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise NotFound(f"{path} does not compile: {shortened(str(error)) or type(error).__name__}") from error


def _supported() -> str:
    """Return the versions whose code can be decoded, in words."""
    names = [f"{major}.{minor}" for major, minor in supported_versions()]
    return f"Python {', '.join(names[:-1])} and {names[-1]}"


def _content(path: str) -> bytes:
    """Return the bytes of a file; raise NotFound for one that cannot be read as a whole."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):  # reading a device or a pipe may never end
            what = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
            raise NotFound(f"{path} cannot be read: it is {what}")
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # a null byte in the path
        raise NotFound(f"{path!a} cannot be read: {error}") from error
    if len(data) > LARGEST_FILE:
        raise NotFound(f"{path} cannot be read: it has more than {LARGEST_FILE >> 20} MB")
    return data


def _code_of_module(name: str) -> Optional[CodeType]:
    """Return the code of an importable module, or None; the module is not executed (its packages are)."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if spec is None and module is not None:  # a script: Python runs it without a spec
        file = getattr(module, "__file__", None)
        try:
            return code_of_file(file) if isinstance(file, str) and file.endswith((".py", ".pyc")) else None
        except NotFound:
            return None
    spec = spec or importlib.util.find_spec(name)
    get_code = getattr(getattr(spec, "loader", None), "get_code", None)
    try:
        return None if get_code is None or spec is None else get_code(spec.name)
    except (ImportError, OSError, SyntaxError):
        return None


def code_of_module(name: str) -> CodeType:
    """Return the code of an importable module; raise NotFound if there is none."""
    try:
        code = _code_of_module(name)
    except (ImportError, ValueError) as error:
        raise NotFound(f"there is no module {name}: {error}") from error
    if code is None:
        raise NotFound(f"{name} is not a module that has Python code")
    return code


def below(code: CodeType) -> Iterator[Tuple[CodeType, ...]]:
    """Yield the code objects nested in `code`, each as the path that leads to it."""
    work: List[Tuple[CodeType, ...]] = [(code,)]
    while work:
        path = work.pop()
        inner = [(*path, const) for const in path[-1].co_consts if isinstance(const, CODE_TYPES)]
        yield from inner
        work.extend(reversed(inner))


def qualified_name(path: Tuple[CodeType, ...]) -> str:
    """Return the qualified name of the last code object of a path; before 3.11, what the code around it shows of it."""
    if hasattr(path[-1], "co_qualname"):
        return path[-1].co_qualname
    names = [path[1].co_name] if len(path) > 1 else []
    for around, code in zip(path[1:], path[2:]):
        names += ["<locals>", code.co_name] if around.co_flags & CO_OPTIMIZED else [code.co_name]
    return ".".join(names)


def nested(code: CodeType, qualified: str) -> CodeType:
    """Return the function or class of that qualified name in a module's code (the last, if there are several)."""
    found = [path[-1] for path in below(code) if qualified_name(path) == qualified]
    if not found:
        raise NotFound(f"there is nothing called {qualified} in it")
    return found[-1]


def path_to_class(cls: type) -> Optional[Tuple[CodeType, ...]]:
    """Return the code objects from the module to the body of a class, or None; a class does not keep its body."""
    module = _code_of_module(cls.__module__) if cls.__module__ in sys.modules else None
    if module is None:
        return None
    candidates = [
        path
        for path in below(module)
        if qualified_name(path) == cls.__qualname__ and not path[-1].co_flags & CO_OPTIMIZED
    ]
    first_line = vars(cls).get("__firstlineno__")  # 3.13 and newer
    if first_line is not None:
        candidates = [path for path in candidates if path[-1].co_firstlineno == first_line]
    own = [code for code in (_own_code(value, cls) for value in vars(cls).values()) if code is not None]
    for path in candidates:
        if any(code in path[-1].co_consts for code in own):
            return path
    # None of its functions: the file has changed since, or it is another class of that name.
    return candidates[0] if len(candidates) == 1 and not own else None


def _own_code(value: Any, cls: type) -> Optional[CodeType]:
    """Return the code of a function that a class body defined, also of a static or class method or a property."""
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    code = getattr(function, "__code__", None)
    if not isinstance(code, CODE_TYPES):
        return None
    name = getattr(code, "co_qualname", None) or getattr(function, "__qualname__", "")
    return code if str(name).startswith(cls.__qualname__ + ".") else None
