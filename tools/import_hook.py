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
    """Ask for the texts of source files."""

    def __init__(self, answers: int, questions: int) -> None:
        self.answers = answers
        self.questions = questions
        self.process = posix.getpid()
        for pipe in (answers, questions):
            posix.set_inheritable(pipe, False)

    def text_of(self, path: str) -> str | None:
        """Return the decompiled text of a file; None if there is none, or in a process that was forked."""
        if posix.getpid() != self.process:
            return None
        with LOCK:
            posix.write(self.questions, path.encode("utf-8", "surrogateescape") + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                piece = posix.read(self.answers, 4096)
                if not piece:
                    return None
                answer += piece
        place = answer[:-1].decode("utf-8", "surrogateescape")
        if not place:
            return None
        with open(place, encoding="utf-8") as file:
            return file.read()


class DecompilingLoader(external.SourceFileLoader):  # type: ignore[misc, name-defined]
    """Load a module from its decompiled text, under the name of its own file."""

    texts: Texts

    def get_code(self, fullname: str):
        path = self.get_filename(fullname)
        text = self.texts.text_of(path)
        return super().get_code(fullname) if text is None else compile(text, path, "exec", dont_inherit=True)


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
    text = None if texts is None else texts.text_of(path)
    if text is None:
        with open(path, "rb") as file:
            text = file.read()
    sys.argv[:] = [path, *arguments]
    sys.path[0] = path.rpartition("/")[0] or "."
    main = type(sys)("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__, __annotations__={})
    sys.modules["__main__"] = main
    exec(compile(text, path, "exec", dont_inherit=True), main.__dict__)


if __name__ == "__main__":
    answers, questions = int(sys.argv[1]), int(sys.argv[2])
    own = None if answers < 0 else Texts(answers, questions)
    if own is not None:
        install(own)
    run_program(sys.argv[3], sys.argv[4:], own)
