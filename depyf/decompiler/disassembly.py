"""The last rung of the ladder: a code object as annotated disassembly, in a file that is valid Python."""

from __future__ import annotations

from types import CodeType
from typing import List, Tuple

from . import syntax as s
from .build import docstring_of, parameters
from .decode.raw import raw_instructions
from .printer import SyntaxLimits, print_source
from .python_facts import RUNNING_VERSION


def disassembly(code: CodeType, reason: str, renames: dict[str, str] | None = None) -> Tuple[str, Tuple[Tuple[int, int], ...]]:
    """(text, lines): a `def` with the instructions as comments; `lines` maps offsets to lines of the text.

    The text says that it is not source and why; running it raises.
    """
    name = code.co_name if code.co_name.isidentifier() else "function"
    header = s.FunctionDef(name, parameters(code), [s.Pass()])
    signature = print_source(header, features=SyntaxLimits.of(RUNNING_VERSION)).text.splitlines()[0]
    lines: List[str] = [
        "# This function is shown as instructions, not as source: no text was proved to be equal to it.",
        *(f"# {line}" for line in reason.splitlines()[:5]),
        signature,
    ]
    if docstring_of(code):
        lines.append("    # (the function has a docstring)")
    where: List[Tuple[int, int]] = []
    for raw in raw_instructions(code, RUNNING_VERSION):
        where.append((raw.offset, len(lines) + 1))
        lines.append(f"    # {raw.offset:5} {raw.opname:30} {_argument(code, raw.opname, raw.arg, renames or {})}".rstrip())
    lines.append(f"    raise NotImplementedError({name!r} ' is shown as instructions only')")
    return "\n".join(lines) + "\n", tuple(where)


def _argument(code: CodeType, opname: str, arg: int, renames: dict[str, str]) -> str:
    if opname in ("LOAD_CONST", "RETURN_CONST", "KW_NAMES"):
        const = code.co_consts[arg]
        plain = isinstance(const, (int, float, str, bytes, bool, tuple, type(None)))
        return ascii(const) if plain else f"<{type(const).__name__}>"
    if opname == "LOAD_GLOBAL" or (opname == "LOAD_ATTR" and RUNNING_VERSION >= (3, 12)):
        name = code.co_names[arg >> 1]
        return renames.get(name, name)
    if opname.endswith(("_NAME", "_ATTR", "_METHOD", "_GLOBAL")) and arg < len(code.co_names):
        return code.co_names[arg]
    if opname.endswith("_FAST") and arg < len(code.co_varnames):
        return code.co_varnames[arg]
    return str(arg) if arg else ""
