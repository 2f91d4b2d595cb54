"""Names that programs written for depyf 0.20 import from here: instructions that can be changed, and text of functions.

Of 0.20's module these are left out on purpose, as they worked on its way of decompiling: `simplify_finally_statement`,
`remove_some_temp`, `IdentifierReplacer`, the transformers of syntax trees and the helpers of all these.
"""

from __future__ import annotations

import ast
import dis
import textwrap
from dataclasses import dataclass
from types import CodeType
from typing import Any, Sequence, Union

from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.decompiler.decode.instructions import read_exception_table
from depyf.decompiler.printer.parsed_trees import text_of
from depyf.text.quiet_compile import compile_quietly
from depyf.utils import collect_all_code_objects

__all__ = [
    "ExceptionTableEntry",
    "Instruction",
    "add_indentation",
    "convert_instruction",
    "fix_irregular_code",
    "nop_instruction",
    "nop_unreachable_bytecode",
    "parse_exception_table",
    "propagate_line_nums",
    "remove_indentation",
]

_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])
_NEVER_CONTINUE = frozenset(
    ["RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"]
    + ["JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"]
)


# -- instructions


@dataclass(eq=False)
class Instruction:
    """An instruction as `dis` describes it, which can be changed; equal to itself only."""

    opcode: int
    opname: str
    arg: int | None
    argval: Any
    argrepr: str
    offset: int | None = None
    starts_line: int | None = None  # the line of the source that starts here, if one does
    is_jump_target: bool = False

    def short_inst_repr(self) -> str:
        """Return a short text for messages."""
        return f"Instruction(opname={self.opname}, offset={self.offset})"

    def is_jump(self) -> bool:
        """Return whether this may continue elsewhere than behind it."""
        return self.opcode in _JUMPS

    def get_jump_target(self) -> int:
        """Return the offset to which this jumps; ValueError for anything but a jump."""
        if not self.is_jump():
            raise ValueError(f"{self.opname} is no jump")
        return int(self.argval)  # `dis` makes offsets absolute


def convert_instruction(i: dis.Instruction) -> Instruction:
    """Return an instruction of `dis` as one that can be changed."""
    # from Python 3.13 on `starts_line` is whether a line starts, and another field has its number
    line = getattr(i, "line_number", i.starts_line) if i.starts_line else None
    return Instruction(i.opcode, i.opname, i.arg, i.argval, i.argrepr, i.offset, line, bool(i.is_jump_target))


def nop_instruction(inst: Instruction) -> Instruction:
    """Make an instruction one that does nothing, at the same place; return it."""
    inst.opcode, inst.opname = dis.opmap["NOP"], "NOP"
    inst.arg, inst.argval, inst.argrepr = 0, 0, ""
    inst.is_jump_target = False
    return inst


def propagate_line_nums(instructions: Sequence[Instruction]) -> None:
    """Give every instruction the number of its line, not only the first of each line."""
    line = None
    for instruction in instructions:
        line = instruction.starts_line or line
        instruction.starts_line = line


@dataclass
class ExceptionTableEntry:
    """Instructions whose exceptions are handled at `target`: those at `start` and `end`, and all between."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


def parse_exception_table(exntab: bytes) -> list[ExceptionTableEntry]:
    """Return the entries of `co_exceptiontable` (Python 3.11 and newer)."""
    ranges = read_exception_table(exntab)
    return [ExceptionTableEntry(one.start, one.end - 2, one.target, one.depth, one.lasti) for one in ranges]


def nop_unreachable_bytecode(code: CodeType, instructions: list[Instruction]) -> list[Instruction]:
    """Make the instructions of `code` that cannot be reached do nothing; return the list."""
    places = {instruction.offset: index for index, instruction in enumerate(instructions)}
    handlers = parse_exception_table(getattr(code, "co_exceptiontable", b""))
    reached: set[int] = set()
    work = [0]
    while work:
        index = work.pop()
        if index in reached or index >= len(instructions):
            continue
        reached.add(index)
        instruction = instructions[index]
        offset = instruction.offset or 0
        targets = [one.target for one in handlers if one.start <= offset <= one.end]
        targets += [instruction.get_jump_target()] if instruction.is_jump() else []
        work += [places[target] for target in targets if target in places]
        if instruction.opname not in _NEVER_CONTINUE:
            work.append(index + 1)
    for index, instruction in enumerate(instructions):
        if index not in reached:
            nop_instruction(instruction)
    return instructions


# -- text


def add_indentation(code: str, indentation: int = 4) -> str:
    """Return a text with every line indented; it ends with a newline."""
    return "".join([" " * indentation + line + "\n" for line in code.splitlines()])


def remove_indentation(code: str, indentation: int = 4) -> str:
    """Return a text with that many characters removed from the start of every line; it ends with a newline."""
    return "".join([line[indentation:] + "\n" for line in code.splitlines()])


_Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef]


def fix_irregular_code(
    old_bytecode: CodeType,
    src_code: str,
    add_local_variables: Sequence[str] | None = None,
    add_cellvars: Sequence[str] | None = None,
) -> str:
    """Return the text of a function such that its code, compiled from it, can replace `old_bytecode`.

    A text that compiles to fewer variables gets what is missing: a function around it that binds the free variables,
    and at its end an `if False` with the locals and cells, also those of the two other arguments (before Python 3.10,
    whose compiler forgets what is under `if False`, a `return` before them). A text that lacks nothing, or has no
    definition, is returned as it is. SyntaxError for what is no Python.
    """
    tree = ast.parse(src_code)
    definitions = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if not definitions or definitions[-1].name.startswith("__enclosing_scope_of_"):
        return src_code
    function = definitions[-1]
    wraps = bool(old_bytecode.co_freevars)
    if wraps:
        tree.body[tree.body.index(function)] = _enclosing(function, old_bytecode)
    code = _code_named(function.name, tree)
    captured = [name for name in old_bytecode.co_freevars if name not in code.co_freevars]
    cells = [name for name in (*old_bytecode.co_cellvars, *(add_cellvars or ())) if name not in code.co_cellvars]
    plain = [name for name in (*old_bytecode.co_varnames, *(add_local_variables or ())) if name not in code.co_varnames]
    plain = [name for name in plain if name not in code.co_cellvars and name not in cells]
    if captured or cells or plain:
        function.body.extend(_never(plain, cells, captured))
    elif not wraps:
        return src_code
    return text_of(tree)


def _enclosing(function: _Definition, code: CodeType) -> ast.FunctionDef:
    """Return a function whose parameters are the free variables of the one that it holds."""
    text = f"def __enclosing_scope_of_{function.name}({', '.join(code.co_freevars)}):\n    return {function.name}\n"
    outer = ast.parse(text).body[0]
    assert isinstance(outer, ast.FunctionDef)
    own = [ast.Global([function.name])] if function.name in set(code.co_names) - set(code.co_freevars) else []
    outer.body[:0] = [*own, function]
    return outer


def _never(plain: Sequence[str], cells: Sequence[str], captured: Sequence[str]) -> list[ast.stmt]:
    """Return statements that never run and use these variables, so that the compiler makes them."""
    lines = [f"{name} = None" for name in dict.fromkeys((*plain, *cells)) if name.isidentifier()]
    inner = [name for name in dict.fromkeys((*cells, *captured)) if name.isidentifier()]
    lines += [f"lambda: ({', '.join(inner)},)"] if inner else []
    text = "\n".join(lines) or "pass"
    return ast.parse(
        f"if False:\n{textwrap.indent(text, '    ')}" if RUNNING.dropped_code_leaves_names else f"return\n{text}"
    ).body


def _code_named(name: str, tree: ast.Module) -> CodeType:
    """Return the first code object of that name that the tree compiles to."""
    compiled = compile_quietly(text_of(tree), "<depyf>")
    return next(code for code in collect_all_code_objects(compiled) if code.co_name == name)
