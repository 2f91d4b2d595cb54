"""The decompiler: `decompile(function)` gives source text, proved equal to the bytecode or said not to be."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, List, Optional

from ..errors import UserError
from .pipeline import Decompilation, decompile_frame
from .prove import Assumption, Divergence, Grade, Verdict

__all__ = [
    "Assumption",
    "Decompilation",
    "DecompilationError",
    "Decompiler",
    "Divergence",
    "Grade",
    "Verdict",
    "decompile",
    "decompile_frame",
]


class DecompilationError(UserError):
    """No proved source could be given; the message says what stood in the way."""


def code_of(thing: Any) -> CodeType:
    """The code object of a function, method, class-level wrapper, generator or frame; TypeError if it has none."""
    seen = 0
    while not isinstance(thing, CodeType):
        for attribute in ("__func__", "__code__", "gi_code", "cr_code", "ag_code", "f_code"):
            found = getattr(thing, attribute, None)
            if found is not None:
                thing = found
                break
        else:
            raise TypeError(
                f"depyf can decompile functions, methods, generators and code objects, not {_describe(thing)}: "
                "it has no Python bytecode"
            )
        seen += 1
        if seen > 10:
            raise TypeError(f"no code object found in {_describe(thing)}")
    return thing


def _describe(thing: Any) -> str:
    kind = type(thing)
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    if isinstance(thing, type):
        return f"the class {thing.__qualname__}"
    return f"the {kind.__name__} {name}" if isinstance(name, str) else f"a {kind.__name__}"


def decompile(thing: Any, *, strict: bool = False) -> str:
    """Source text for a function, method or code object.

    The text is proved equal to the bytecode; where that fails, a comment at its top says so and why. With
    `strict`, that is a DecompilationError instead. Raises TypeError for what has no Python bytecode.
    """
    code = code_of(thing)
    function = getattr(thing, "__func__", thing)
    result = decompile_frame(
        code, constant_globals=None, function=function if isinstance(function, FunctionType) else None
    )
    if result.proved:
        return result.source
    if strict:
        raise DecompilationError(f"{code.co_name} was not decompiled: {result.verdict}")
    return result.source


class Decompiler:
    """Decompiles one code object."""

    def __init__(self, code: Any) -> None:
        self.code = code_of(code)

    def decompile(
        self, indentation: int = 4, temp_prefix: str = "__temp_", overwite_fn_name: Optional[str] = None
    ) -> str:
        """Source text; see `decompile`."""
        text = decompile(self.code)
        if overwite_fn_name is not None:
            text = text.replace(f"def {self.code.co_name}(", f"def {overwite_fn_name}(", 1)
        return text

    @staticmethod
    def supported_opnames() -> List[str]:
        """The opcodes, by name, that can be decoded."""
        from .decode import translated_opnames

        return translated_opnames()

    @staticmethod
    def decompile_and_compile_like(
        code_to_decompile: CodeType,
        reference_code: CodeType,
        indentation: int = 4,
        temp_prefix: str = "__temp_",
        filepath_template: Optional[str] = None,
    ) -> CodeType:
        """A code object recompiled from proved source that can stand in for `reference_code`.

        With `filepath_template`, the source is written to the first `filepath_template % n` that is free and the
        code refers to that file. Raises DecompilationError where there is no proof.
        """
        path = _free_path(filepath_template) if filepath_template else "<depyf>"
        result = decompile_frame(code_to_decompile, reference=reference_code, filename=path)
        if result.code is None:
            raise DecompilationError(f"{code_to_decompile.co_name} was not decompiled: {result.verdict}")
        if filepath_template:
            with open(path, "w", encoding="utf-8") as file:
                file.write(result.source)
        return result.code


def _free_path(template: str) -> str:
    import os

    number = 0
    while os.path.exists(template % number):
        number += 1
    return template % number



