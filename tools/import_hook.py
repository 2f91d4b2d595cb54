"""The import hook: every module imported under it is run from its decompiled text. `decompiled_run.py` starts this.

    python -S tools/import_hook.py FROM TO PROGRAM [ARGUMENTS]

Here only the texts are compiled and run. They come from the process at the other end of two pipes: a path of a source
file is written to TO, the path of its text (or nothing, if there is none) is read from FROM. So nothing of depyf is
imported here, and modules that depyf itself imports are run from their texts, too. Imports nothing but what CPython has
loaded when it starts.
"""

from __future__ import annotations

import _frozen_importlib_external as external
import _thread
import posix
import sys

LOCK = _thread.allocate_lock()  # one question at a time


class Texts:
    """Ask where the texts of source files are."""

    def __init__(self, answers: int, questions: int) -> None:
        self.answers = answers
        self.questions = questions
        self.process = posix.getpid()
        for pipe in (answers, questions):
            posix.set_inheritable(pipe, False)

    def place_of(self, path: str) -> str:
        """Return the file with the decompiled text of another; empty if there is none, or in a forked process."""
        if posix.getpid() != self.process:
            return ""
        with LOCK:
            posix.write(self.questions, path.encode("utf-8", "surrogateescape") + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                piece = posix.read(self.answers, 4096)
                if not piece:
                    return ""
                answer += piece
        return answer[:-1].decode("utf-8", "surrogateescape")


class DecompilingLoader(external.SourceFileLoader):  # type: ignore[misc, name-defined]
    """Load a module from its decompiled text."""

    texts: Texts

    def get_code(self, fullname: str):
        own = super().get_code(fullname)
        return own if own is None else decompiled(own, self.get_filename(fullname), self.texts)


def decompiled(own, path: str, texts: Texts):
    """Return what the text of a file compiles to; `own`, the code of the file, if it has no text."""
    place = texts.place_of(path)
    if not place:
        return own
    with open(place, encoding="utf-8") as file:
        return with_own_lines(compile(file.read(), place, "exec", dont_inherit=True), own)


def with_own_lines(code, own):
    """Return code with the lines and the file of the source, wherever it has the very same instructions as that.

    Tests read their own lines in tracebacks. Code with other instructions has the lines and the file of its text.
    """
    if len(code.co_consts) != len(own.co_consts):
        return code
    kind = type(code)
    consts = [
        with_own_lines(one, other) if type(one) is kind and type(other) is kind else one
        for one, other in zip(code.co_consts, own.co_consts)
    ]
    if "__firstlineno__" in code.co_names:
        code = with_own_line(code, own, consts)
    changes = {"co_consts": tuple(consts)}
    if (code.co_code, code.co_names, code.co_name) == (own.co_code, own.co_names, own.co_name):
        table = "co_linetable" if hasattr(own, "co_linetable") else "co_lnotab"
        changes.update({"co_filename": own.co_filename, "co_firstlineno": own.co_firstlineno})
        changes[table] = getattr(own, table)
    return code.replace(**changes)


def with_own_line(code, own, consts: list):
    """Return the body of a class that stores the line of its source (3.13 and newer), a constant or a small integer."""
    lines = (code.co_firstlineno, own.co_firstlineno)
    for index, both in enumerate(zip(consts, own.co_consts)):
        if type(both[0]) is int and both == lines:
            consts[index] = lines[1]
    place = code.co_names.index("__firstlineno__")
    differ = [at for at, (one, other) in enumerate(zip(code.co_code, own.co_code)) if one != other]
    is_line = len(differ) == 1 and (code.co_code[differ[0]], own.co_code[differ[0]]) == lines
    if is_line and len(code.co_code) == len(own.co_code) and code.co_code[differ[0] + 2] == place:
        return code.replace(co_code=own.co_code)
    return code


def install(texts: Texts) -> None:
    """Make every later import of a source file load its decompiled text."""
    DecompilingLoader.texts = texts
    loaders = [
        (external.ExtensionFileLoader, external._imp.extension_suffixes()),
        (DecompilingLoader, external.SOURCE_SUFFIXES),
        (external.SourcelessFileLoader, external.BYTECODE_SUFFIXES),
    ]
    others = [hook for hook in sys.path_hooks if "FileFinder" not in repr(hook)]
    sys.path_hooks[:] = [*others, external.FileFinder.path_hook(*loaders)]
    sys.path_importer_cache.clear()


def run_program(path: str, arguments: list[str], texts: Texts | None) -> None:
    """Run a program as the main module, from its decompiled text if there is one."""
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    if texts is not None:
        code = decompiled(code, path, texts)
    sys.argv[:] = [path, *arguments]
    sys.path[0] = path.rpartition("/")[0] or "."
    main = type(sys)("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__, __annotations__={})
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


if __name__ == "__main__":
    answers, questions = int(sys.argv[1]), int(sys.argv[2])
    own = None if answers < 0 else Texts(answers, questions)
    if own is not None:
        install(own)
    run_program(sys.argv[3], sys.argv[4:], own)
