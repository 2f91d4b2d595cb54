"""The last rung of the ladder: a listing of instructions that is a valid Python file.

Each instruction is one statement, a string, on a line of its own. Running the file does nothing; but a debugger
can set a breakpoint on each line (not on comments), and code that is relabelled to such a file can be stepped
instruction by instruction. It is made of any code object, malformed ones included.
"""

from __future__ import annotations

from types import CodeType
from typing import List, Mapping, Set, Tuple

from depyf.decompiler.bytecode.code_flags import CO_VARARGS, CO_VARKEYWORDS
from depyf.decompiler.bytecode.docstrings import docstring_in
from depyf.decompiler.bytecode.location_table import lines_of
from depyf.decompiler.printer.instruction_text import InstructionTexts
from depyf.decompiler.syntax.identifiers import shown_name, spelled
from depyf.text.lines import printable

Lines = Tuple[Tuple[int, int], ...]
DOCSTRING = "Instructions as they run; no source was found that is proved to equal them."


def annotated_disassembly(code: CodeType, renames: Mapping[str, str], reason: str = "") -> Tuple[str, Lines]:
    """Return the text of the listing, and (offset, line) for each instruction.

    `reason`, why there is no source, becomes the first line. `renames` maps a name in the code to the one to
    show. Names and constants are shown without addresses, so that two runs give the same text.
    """
    text: List[str] = ["# Not source: " + printable(" ".join(reason.split()))] if reason else []
    text.append(signature_line(code))
    docstring = docstring_in(code)
    if docstring is not None and not code.co_name.startswith("<"):
        text.append(f"    {docstring!r}")
    text.append(f'    """{DOCSTRING}"""')
    texts = InstructionTexts(code, renames)
    if texts.problem:
        text.append(f"    # {texts.problem}")
    starts = {start: line for start, _, line in lines_of(code) if line is not None}
    lines: List[Tuple[int, int]] = []
    source_line = None
    for offset, instruction in texts:
        if starts.get(offset, source_line) != source_line:
            source_line = starts[offset]
            text.append(f"    # line {source_line} of the original file")
        text.append("    " + repr(instruction))
        lines.append((offset, len(text)))
    return "\n".join(text) + "\n", tuple(lines)


def instructions_as_text(code: CodeType, renames: Mapping[str, str]) -> List[str]:
    """Return the strings that replace the statements of a nested function in a listing, its docstring first."""
    return [DOCSTRING, *[text for _, text in InstructionTexts(code, renames)]]


def signature_line(code: CodeType) -> str:
    """Return a `def` line with the parameters of the code; names that no source can spell get a stand-in."""
    names: List[str] = []
    taken: Set[str] = set()
    for index, name in enumerate(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2]):
        if spelled(name) != name or name in taken or name == "__debug__":
            name = f"_{index}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
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
    name = shown_name(code.co_name) if code.co_name != "__debug__" else "function"
    return f"def {name}({', '.join(positional + star + keywords + double)}):"
