"""The last rung of the ladder: a listing of instructions that is a valid Python file.

Each instruction is one statement, a string, on a line of its own. Running the file does nothing; but a debugger
can set a breakpoint on each line (not on comments), and code that is relabelled to such a file can be stepped
instruction by instruction.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import List, Mapping, Tuple

from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from depyf.decompiler.syntax.identifiers import shown_name
from depyf.text.stable_repr import stable_repr

Lines = Tuple[Tuple[int, int], ...]
DOCSTRING = "Instructions as they run; no source was found that is proved to equal them."


def annotated_disassembly(code: CodeType, renames: Mapping[str, str], reason: str = "") -> Tuple[str, Lines]:
    """Return the text of the listing, and (offset, line) for each instruction.

    `reason`, why there is no source, becomes the first line. `renames` maps a name in the code to the one to
    show. Names and constants are shown without addresses, so that two runs give the same text.
    """
    text: List[str] = ["# Not source: " + reason.replace("\n", " ")] if reason else []
    text.append(_signature(code))
    first = code.co_consts[0] if code.co_consts else None
    if isinstance(first, str) and code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<"):
        text.append(f"    {first!r}")
    text.append(f'    """{DOCSTRING}"""')
    lines: List[Tuple[int, int]] = []
    source_line = None
    for instruction in dis.get_instructions(code):
        if instruction.starts_line is not None and instruction.starts_line is not source_line:
            source_line = _line_number(instruction)
            text.append(f"    # line {source_line} of the original file")
        text.append("    " + repr(_shown(instruction, renames)))
        lines.append((instruction.offset, len(text)))
    return "\n".join(text) + "\n", tuple(lines)


def instructions_as_text(code: CodeType, renames: Mapping[str, str]) -> List[str]:
    """Return the strings that replace the statements of a nested function in a listing, its docstring first."""
    return [DOCSTRING, *[_shown(instruction, renames) for instruction in dis.get_instructions(code)]]


def _shown(instruction: dis.Instruction, renames: Mapping[str, str]) -> str:
    mark = ">>" if instruction.is_jump_target else "  "
    text = f"{mark} {instruction.offset:4d} {instruction.opname:<24} {_argument(instruction, renames)}"
    return text.rstrip()


def _line_number(instruction: dis.Instruction) -> object:
    """Return the source line; from 3.13 on `starts_line` is a bool and the number has its own field."""
    return getattr(instruction, "line_number", instruction.starts_line)


def _argument(instruction: dis.Instruction, renames: Mapping[str, str]) -> str:
    if instruction.arg is None:
        return ""
    if isinstance(instruction.argval, str) and instruction.opname != "LOAD_CONST":
        return renames.get(instruction.argval, instruction.argval)
    if instruction.argrepr.startswith("to "):
        return instruction.argrepr
    if instruction.argval is instruction.arg:
        return instruction.argrepr or str(instruction.arg)
    return stable_repr(instruction.argval)


def _signature(code: CodeType) -> str:
    """Return a `def` line with the parameters of the code; names that no source can spell get a stand-in."""
    names = [name if name.isidentifier() else f"_{index}" for index, name in enumerate(code.co_varnames)]
    positional = names[: code.co_argcount]
    if code.co_posonlyargcount:
        positional.insert(code.co_posonlyargcount, "/")
    position = code.co_argcount + code.co_kwonlyargcount
    keywords = names[code.co_argcount : position]
    star: List[str] = []
    if code.co_flags & CO_VARARGS:
        star = ["*" + names[position]]
        position += 1
    elif keywords:
        star = ["*"]
    double = ["**" + names[position]] if code.co_flags & CO_VARKEYWORDS else []
    name = shown_name(code.co_name)
    return f"def {name}({', '.join(positional + star + keywords + double)}):"
