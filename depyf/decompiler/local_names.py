"""Whether a frame may look at its own local names: then the text keeps exactly those.

`locals()`, `vars()` and `dir()` do, and `eval` and `exec` of a text that reads names. `vars(x)`, `dir(x)` and `exec`
with a namespace of its own look elsewhere. Dynamo reads builtins from a dictionary: `__builtins_dict___1['locals']`.
"""

from __future__ import annotations

from opcode import opmap
from types import CodeType
from typing import Any, Dict, List, Optional, Sequence

from .microops import ENDS, JUMPS, NULL_FIRST, NULL_SECOND, PLAIN, Op, Program, depth_needed, stack_effect

# Builtins that look at the names, and how many arguments it takes to make them look elsewhere.
_ARGUMENTS_ENOUGH = {"locals": 1, "vars": 1, "dir": 1, "eval": 2, "exec": 2}
_LOOKS_AT_LOCALS = frozenset({*_ARGUMENTS_ENOUGH, "super"})  # the last looks at a parameter and a cell
_GIVES_A_FRAME = frozenset({"_getframe", "currentframe"})
_READS_A_NAME = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_MAPPING_OR_GLOBAL"})
_BELOW = 64  # entries of the stack that are followed below what a builtin is pushed on


def sees_local_names(program: Program) -> bool:
    """Whether the frame may call something that looks at its local names."""
    code, ops = program.code, program.ops
    if not _LOOKS_AT_LOCALS.isdisjoint(code.co_names):
        for index, op in enumerate(ops):
            if op.kind in _READS_A_NAME and op.arg in _LOOKS_AT_LOCALS and not _looks_elsewhere(ops, index, op.arg):
                return True
    if not _GIVES_A_FRAME.isdisjoint(code.co_names):
        if any(op.arg in _GIVES_A_FRAME for op in ops if op.kind == "LOAD_ATTR"):
            return True
    if not any(isinstance(const, str) and const in _ARGUMENTS_ENOUGH for const in code.co_consts):
        return False
    return any(
        ops[index].kind == "SUBSCR"
        and ops[index - 2].kind != "LOAD_ATTR"  # `f.__kwdefaults__['locals']` is none
        and not _looks_elsewhere(ops, index, key.arg)
        for index, key in enumerate(ops[1:], 2)
        if index < len(ops) and key.kind == "CONST" and isinstance(key.arg, str) and key.arg in _ARGUMENTS_ENOUGH
    )


def _looks_elsewhere(ops: Sequence[Op], index: int, name: str) -> bool:
    """Whether the builtin that op `index` pushes is only called once, with arguments that keep it from the frame."""
    arguments = _arguments(ops, index) if name in _ARGUMENTS_ENOUGH else None
    if arguments is None:
        return False
    if name not in ("eval", "exec"):
        return len(arguments) >= _ARGUMENTS_ENOUGH[name]
    if not arguments:
        return True
    what, where = arguments[0], arguments[1] if len(arguments) > 1 else None
    if what is not None and what.kind == "CONST" and _reads_no_name(what.arg):
        return True
    return where is not None and where.kind in ("BUILD_MAP", "BUILD_CONST_KEY_MAP")  # None would mean this frame


def _arguments(ops: Sequence[Op], index: int) -> Optional[Sequence[Optional[Op]]]:
    """What the value that op `index` pushes is called with: for each positional argument the op that pushed it.

    None where it is not called before the next jump, is used in another way, or is called with keywords.
    """
    value = ops[index]
    stack: List[Optional[Op]] = [None] * _BELOW + [value]
    named: Dict[str, Optional[Op]] = {}
    for op in ops[index + 1 :]:
        if op.kind in JUMPS or op.kind in ENDS or op.handler != value.handler or depth_needed(op) > len(stack):
            return None
        popped, pushed = stack_effect(op)
        used = stack[len(stack) - popped :]
        if op.kind == "SWAP":
            stack[-1], stack[-op.arg] = stack[-op.arg], stack[-1]
        elif op.kind == "COPY":
            stack.append(stack[-op.arg])
        elif op.kind == "STORE_LOCAL":
            named[op.arg] = stack.pop()
        elif op.kind == "LOAD_LOCAL":
            stack.append(named.get(op.arg, op))
        elif any(entry is value for entry in used):
            del stack[len(stack) - popped :]
            names = [name for name, entry in named.items() if entry is value]
            reads = sum(op.kind == "LOAD_LOCAL" and op.arg in names for op in ops)
            is_last = reads == bool(names) and not any(entry is value for entry in stack)
            return _called_with(op, used, value) if is_last else None
        else:
            del stack[len(stack) - popped :]
            stack.extend([op] * pushed)
    return None


def _called_with(op: Op, used: Sequence[Optional[Op]], value: Op) -> Optional[Sequence[Optional[Op]]]:
    if op.kind != "CALL" or op.arg[1]:
        return None
    layout = op.arg[2]
    place = {PLAIN: 0, NULL_FIRST: 1, NULL_SECOND: 0}[layout]
    arguments = used[1 if layout is PLAIN else 2 :]
    return None if used[place] is not value or any(entry is value for entry in arguments) else arguments


def _reads_no_name(text: Any) -> bool:
    """Whether running this text, an argument of exec, looks up nothing: `import math` does not."""
    try:
        code = compile(text, "<text>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, TypeError):
        return False
    inner = any(isinstance(const, CodeType) for const in code.co_consts)
    return not inner and opmap["LOAD_NAME"] not in code.co_code[::2]
