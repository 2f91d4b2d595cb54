"""The decompiler: `decompile(function)` returns source text, proved equal to the bytecode or marked as unproved.

This is the public door, which users call with functions that torch compiled as well as with others: so it alone, of
all rooms of the decompiler, asks the torch side how to recognise Dynamo's code. That needs no torch.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

from depyf.decompiler.attempt import Decompilation
from depyf.decompiler.attempt.stage_order import FUTURE_ANNOTATIONS, print_tree
from depyf.decompiler.bytecode.code_flags import CO_FUTURE_ANNOTATIONS
from depyf.decompiler.bytecode.code_objects import CODE_TYPES, facts_of, is_foreign
from depyf.decompiler.callables import Behind, behind, note_on_wrapper
from depyf.decompiler.code_search import code_of, path_to_class
from depyf.decompiler.pipeline import decompile_frame
from depyf.decompiler.prove import Assumption, Divergence, Grade, Verdict
from depyf.decompiler.syntax import ClassDef, Module, walk
from depyf.errors import UserError
from depyf.signal_handler_errors import is_from_signal_handler
from depyf.torch_hooks.internals.generated_code import DYNAMO, MAYBE_DYNAMO, original_function

__all__ = [
    "Assumption",
    "Decompilation",
    "DecompilationError",
    "Decompiler",
    "Divergence",
    "Grade",
    "Verdict",
    "decompilation_of",
    "decompile",
    "decompile_frame",
    "get_code_owner",
    "source_with_note",
]


class DecompilationError(UserError):
    """There is no proved source; the message has the reason."""


def decompile(thing: Any, *, strict: bool = False, python: Optional[str] = None) -> str:
    """Return source text for a function, method, class, module, code object, or path of a `.py` or `.pyc` file.

    Of any other object that can be called it is the first Python function that a call runs: the one inside a
    `functools.partial`, an `lru_cache` or a class method, the `__call__` of an object, the `forward` of a torch module;
    of a property, its functions one after another. What the standard library and torch wrap around a function is
    skipped, also what `torch.compile` returns. Any other wrapper is a function like others: it is shown itself, below a
    comment that names what it wraps.

    The text is proved equal to the bytecode; where that fails, a comment at its top states so and why. A text that is
    proved may still not be self-contained: code that no compiler made can hold constants that no literal spells, and
    a default value can be such an object; `__constant_0` stands for it then, and comments at the top describe it.
    A function inside for which there is no source is shown as instructions, and the comments state that, too.
    With `strict`, either is a DecompilationError instead: the text can be run as it is, given the globals that it
    names; a method that calls `super()` is inside a function then that takes the class. Raises TypeError for what has
    no Python bytecode, such as a function written in C, and UserError, in one line, for a file that cannot be read; a
    `.pyc` file need not be trusted, nothing in it is run.

    A `.pyc` file of another Python, from 3.7 to 3.15, is proved with an interpreter of that version, which compiles the
    text: `python`, a path or a command, or else one of pyenv's or on the PATH. Without one, the text is below a first
    line that states that it is not proved.
    """
    result = decompilation_of(thing, stands_alone=strict, python=python)
    if strict and not result.proved:
        raise DecompilationError(f"{_name(thing)} was not decompiled: {result.verdict}")
    if strict and result.stand_ins:
        what = "; ".join(result.stand_ins)
        raise DecompilationError(f"{_name(thing)} has values that no literal spells: {what}")
    return source_with_note(thing, result)


def source_with_note(thing: Any, result: Decompilation) -> str:
    """Return the text of a result for `thing`, below a comment where `thing` is a wrapper around something else."""
    return note_on_wrapper(_behind(thing)) + result.source


def decompilation_of(thing: Any, *, stands_alone: bool = False, python: Optional[str] = None) -> Decompilation:
    """Return the text of whatever `decompile` takes, with the verdict on it; raise what that raises.

    `stands_alone`: the text will be run as it is (see `decompile_frame`). `python`: see `decompile`.
    """
    things = _behind(thing).things
    results = [_decompilation_of(one, stands_alone, python) for one in things]
    if stands_alone and len({_imports_annotations(result) for result in results}) > 1:
        raise DecompilationError(f"{_name(thing)}: its functions have different `from __future__` statements")
    return results[0] if len(results) == 1 else _one_after_another(results)


def _decompilation_of(thing: Any, stands_alone: bool, python: Optional[str]) -> Decompilation:
    code, function, class_path = _found(thing)
    if is_foreign(code):
        from depyf.decompiler.other_pythons import compiler_for  # which no session needs

        with compiler_for(facts_of(code).version, python) as compiler:
            return decompile_frame(code, generator=MAYBE_DYNAMO, stands_alone=stands_alone, compiler=compiler)
    statement = _class_statement(class_path, stands_alone) if class_path is not None else None
    if statement is not None:
        return statement
    return decompile_frame(code, generator=MAYBE_DYNAMO, function=function, stands_alone=stands_alone)


def _one_after_another(results: List[Decompilation]) -> Decompilation:
    """Return one result for several functions: all their texts, and the verdict on the first that is least certain."""
    worst = min(results, key=lambda result: (result.proved, not result.shows_instructions))
    sources = [result.source for result in results]
    for place, result in enumerate(results):
        if place and _imports_annotations(result):  # it has to be the first statement
            sources[place] = sources[place].split("\n", 1)[1].lstrip("\n")
    return replace(
        worst,
        source="\n".join(sources),
        code=None,
        lines=(),
        stand_ins=tuple(dict.fromkeys(what for result in results for what in result.stand_ins)),
        tree=None,
    )


def _imports_annotations(result: Decompilation) -> bool:
    """Return whether a text begins with `from __future__ import annotations`."""
    return result.source.startswith(print_tree(Module([FUTURE_ANNOTATIONS])).text)


def get_code_owner(thing: Any) -> Any:
    """Return the function whose `__code__` can be replaced so that calling `thing` runs the new code.

    Every wrapper is skipped, whoever wrote it; `thing` itself where there is none, or more than one function.
    """
    owners = _behind(thing, through_wrappers=True).things
    return owners[0] if len(owners) == 1 else thing


class _Found(NamedTuple):
    """What there is of a thing to decompile."""

    code: CodeType
    function: Any  # the FunctionType, if it is one; for mypy a descriptor
    class_path: Optional[Tuple[CodeType, ...]]  # from the module to the body of a class


def _found(thing: Any) -> _Found:
    """Find the code of a thing; an object whose own attributes raise has none."""
    with _attributes_may_raise(thing):
        path = path_to_class(thing) if isinstance(thing, type) else None
        code = path[-1] if path is not None else code_of(thing)
        return _Found(code, thing if isinstance(thing, FunctionType) else None, path)


def _behind(thing: Any, through_wrappers: bool = False) -> Behind:
    """Find what is behind a thing that can be called; an object whose own attributes raise has nothing."""
    with _attributes_may_raise(thing):
        return behind(thing, original_function, through_wrappers=through_wrappers)


@contextmanager
def _attributes_may_raise(thing: Any) -> Iterator[None]:
    """Raise TypeError for whatever the attributes of a thing raise."""
    try:
        yield
    except (UserError, TypeError, MemoryError):
        raise
    except Exception as error:
        if is_from_signal_handler(error):
            raise
        kind = type(thing).__name__
        raise TypeError(f"depyf cannot read the code of this {kind}: {type(error).__name__}: {error}") from error


def _name(thing: Any) -> str:
    return _found(_behind(thing).things[0]).code.co_name


def _class_statement(path: Tuple[CodeType, ...], stands_alone: bool) -> Optional[Decompilation]:
    """Return the class statement with its bases and decorators, or None if the code around it is not proved."""
    around = next(code for code in reversed(path[:-1]) if not code.co_name.startswith("<generic"))
    name = path[-1].co_name
    same_name = [const for const in around.co_consts if isinstance(const, CODE_TYPES) and const.co_name == name]
    result = decompile_frame(around, generator=MAYBE_DYNAMO)
    if not result.proved or result.tree is None or result.stand_ins or len(same_name) > 1:
        return None
    found = [node for node in walk(result.tree) if isinstance(node, ClassDef) and node.name == name]
    if len(found) != 1:
        return None
    future = [FUTURE_ANNOTATIONS] if stands_alone and around.co_flags & CO_FUTURE_ANNOTATIONS else []
    return replace(result, source=print_tree(Module([*future, found[0]])).text, code=None, lines=(), tree=None)


class Decompiler:
    """Decompile one code object."""

    def __init__(self, code: Any) -> None:
        self.code = _found(_behind(code).things[0]).code

    def decompile(
        self, indentation: int = 4, temp_prefix: str = "__temp_", overwite_fn_name: Optional[str] = None
    ) -> str:
        """Return source text; see the function `decompile`.

        `indentation` and `temp_prefix` are accepted and have no effect: texts are indented by four, and temporaries
        are named after their values. `overwite_fn_name` (spelled as callers spell it) is the name of the function in
        the text; a lambda becomes a function of that name.
        """
        return decompile(self.code if overwite_fn_name is None else self.code.replace(co_name=overwite_fn_name))

    @staticmethod
    def supported_opnames() -> List[str]:
        """Return the names of the opcodes that can be decoded."""
        from depyf.decompiler.decode import translated_opnames

        return translated_opnames()

    @staticmethod
    def decompile_and_compile_like(
        code_to_decompile: CodeType,
        reference_code: CodeType,
        indentation: int = 4,
        temp_prefix: str = "__temp_",
        filepath_template: Optional[str] = None,
    ) -> CodeType:
        """Return a code object recompiled from proved source that can replace `reference_code`.

        With `filepath_template`, the source is written to the first `filepath_template % n` that is free and the
        code refers to that file. Raises DecompilationError where there is no proof.
        """
        path = _free_path(filepath_template) if filepath_template else "<depyf>"
        result = decompile_frame(code_to_decompile, reference=reference_code, filename=path, generator=DYNAMO)
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
