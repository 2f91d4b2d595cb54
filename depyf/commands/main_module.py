"""Run a script or a module as the program, as `python script.py` and `python -m module` do.

The program finds what it finds under `python`: a `__main__` of its own, `sys.argv`, `sys.path[0]`, a real module for
pickle and for children that multiprocessing starts.  An exception that it does not catch ends the process as under
`python`, and its traceback begins with the program's own line.
"""

from __future__ import annotations

import builtins
import os
import pkgutil
import runpy
import sys
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from importlib.util import MAGIC_NUMBER
from types import CodeType, ModuleType, TracebackType
from typing import Any, List, NoReturn, Type

from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION
from depyf.errors import UserError

_replaced: List[ModuleType] = []  # the `__main__` of the command; dropping it would clear its globals


def run_script(path: str, arguments: List[str]) -> None:
    """Run the program in a file, or the `__main__` of a folder or a zip file; UserError where it cannot be read."""
    if not os.path.exists(path):
        raise UserError(f"{path} does not exist: give the script to run, or -m and the name of a module")
    full = _absolute(path)
    if os.path.isdir(path) or _is_archive(path):
        _begin([path, *arguments], full)
        _run(lambda: runpy._run_module_as_main("__main__", False))  # type: ignore[attr-defined]
        return
    loader, code = _read(full)
    module = _begin([path, *arguments], os.path.dirname(os.path.realpath(path)))
    vars(module).update(__file__=full, __loader__=loader)
    if "__cached__" in vars(_replaced[-1]):  # up to 3.14
        vars(module)["__cached__"] = None
    _run(lambda: exec(code, vars(module)))


def run_module(name: str, arguments: List[str]) -> None:
    """Run a module by its name."""
    _begin(["-m", *arguments], os.getcwd())
    _run(lambda: runpy._run_module_as_main(name))  # type: ignore[attr-defined]


def _absolute(path: str) -> str:
    """Return a path as Python writes it for a script: as it was given before 3.9, else from the root as it is."""
    if os.path.isabs(path) or RUNNING_VERSION < (3, 9):
        return path
    return os.path.join(os.getcwd(), path)


def _is_archive(path: str) -> bool:
    """Return whether Python imports from the file, as it does from a zip file."""
    return pkgutil.get_importer(path) is not None and not os.path.isdir(path)


def _read(path: str) -> tuple[Any, CodeType]:
    """Return the loader of a script and its code, compiled from source or read from a .pyc."""
    try:
        with open(path, "rb") as file:
            is_compiled = file.read(4) == MAGIC_NUMBER
        if is_compiled:
            compiled = SourcelessFileLoader("__main__", path)
            code = compiled.get_code("__main__")
            assert code is not None
            return compiled, code
        loader = SourceFileLoader("__main__", path)
        return loader, _compiled(loader.get_data(path), path)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error


def _compiled(text: bytes, path: str) -> CodeType:
    """Return the code of a script; an error in its syntax ends the process as under `python`."""
    try:
        return compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        _end_with(error)


def _begin(argv: List[str], first_path: str) -> ModuleType:
    """Give the program its arguments, the first folder that it imports from, and a new `__main__`; return that."""
    sys.argv[:] = argv
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated and sys.path:
        sys.path[0] = first_path
    module = ModuleType("__main__")
    _replaced.append(sys.modules["__main__"])
    vars(module)["__builtins__"] = builtins
    if "__annotations__" in vars(_replaced[-1]):  # up to 3.13
        vars(module)["__annotations__"] = {}
    sys.modules["__main__"] = module
    return module


def _run(program: Any) -> None:
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        _end_with(error)


def _end_with(error: BaseException) -> NoReturn:
    """Raise the exception of the program's, which ends the process; its traceback is shown without depyf's frames."""
    shown = sys.excepthook

    def hook(kind: Type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
        own = traceback
        while own is not None:
            if own.tb_frame.f_code.co_filename == __file__:
                traceback = own.tb_next
            own = own.tb_next
        shown(kind, value.with_traceback(traceback), traceback)

    sys.excepthook = hook
    raise error
