"""Whether a frame may read its own local names: then the text keeps exactly those.

`locals()`, `vars()` and `dir()` do, and `eval` and `exec` of a text that reads them. `vars(x)`, `dir(x)` and `exec`
with a namespace of its own do not. Dynamo reads builtins from a dictionary: `__builtins_dict___1['locals']`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Set

from depyf.decompiler.bytecode.microops import (
    ENDS,
    JUMPS,
    NULL_FIRST,
    NULL_SECOND,
    PLAIN,
    Op,
    Program,
    depth_needed,
    stack_effect,
)
from depyf.decompiler.bytecode.nested_code import with_nested
from depyf.text.quiet_compile import compile_quietly

# Builtins that read the names, and with how many arguments they do not.
_ARGUMENTS_ENOUGH = {"locals": 1, "vars": 1, "dir": 1, "eval": 2, "exec": 2}
_READS_LOCALS = frozenset({*_ARGUMENTS_ENOUGH, "super"})  # `super` reads a parameter and a cell
_GIVES_A_FRAME = frozenset({"_getframe", "currentframe"})
_READS_A_NAME = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_MAPPING_OR_GLOBAL"})
_BELOW = 64  # stack entries that are tracked below the builtin


def sees_local_names(program: Program) -> bool:
    """Return whether the frame may call something that reads its local names."""
    code, ops = program.code, program.ops
    names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    if not _READS_LOCALS.isdisjoint(code.co_names):
        for index, op in enumerate(ops):
            if op.kind in _READS_A_NAME and op.arg in _READS_LOCALS:
                if not _reads_elsewhere(ops, index, op.arg, names):
                    return True
    if not _GIVES_A_FRAME.isdisjoint(code.co_names):
        if any(op.arg in _GIVES_A_FRAME for op in ops if op.kind == "LOAD_ATTR"):
            return True
    if not any(isinstance(const, str) and const in _ARGUMENTS_ENOUGH for const in code.co_consts):
        return False
    return any(
        ops[index].kind == "SUBSCR"
        and ops[index - 2].kind != "LOAD_ATTR"  # `f.__kwdefaults__['locals']` is none
        and not _reads_elsewhere(ops, index, key.arg, names)
        for index, key in enumerate(ops[1:], 2)
        if index < len(ops) and key.kind == "CONST" and isinstance(key.arg, str) and key.arg in _ARGUMENTS_ENOUGH
    )


def _reads_elsewhere(ops: Sequence[Op], index: int, name: str, names: Set[str]) -> bool:
    """Return whether the builtin that op `index` pushes is called only once, with arguments that keep it off the frame.

    `names` are those of the frame.
    """
    if name not in _ARGUMENTS_ENOUGH:
        return False
    if name in ("eval", "exec") and _reads_none_of(_text(ops, index), names):
        return True
    arguments = _arguments(ops, index)
    if arguments is None:
        return False
    if name not in ("eval", "exec"):
        return len(arguments) >= _ARGUMENTS_ENOUGH[name]
    where = arguments[1] if len(arguments) > 1 else None
    return where is not None and where.kind in ("BUILD_MAP", "BUILD_CONST_KEY_MAP")  # None would mean this frame


def _arguments(ops: Sequence[Op], index: int) -> Optional[Sequence[Optional[Op]]]:
    """Return the ops that pushed the positional arguments of the call of what op `index` pushes.

    None if it is not called before the next jump, is used in another way, or is called with keywords.
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


def _text(ops: Sequence[Op], index: int) -> Any:
    """Return the constant that is pushed next after the builtin: what `eval` or `exec` is to run."""
    following = [op for op in ops[_pushed_again(ops, index) + 1 :][:2] if op.kind != "PUSH_NULL"]
    return following[0].arg if following and following[0].kind == "CONST" else None


def _pushed_again(ops: Sequence[Op], index: int) -> int:
    """Return where a value that goes into a local is read again, if the local is read once; else `index`."""
    store = ops[index + 1] if index + 1 < len(ops) else ops[index]
    if store.kind != "STORE_LOCAL" or sum(op.kind == "STORE_LOCAL" and op.arg == store.arg for op in ops) > 1:
        return index
    reads = [place for place, op in enumerate(ops) if op.kind == "LOAD_LOCAL" and op.arg == store.arg]
    return reads[0] if len(reads) == 1 else index


def _reads_none_of(text: Any, names: Set[str]) -> bool:
    """Return whether this text, an argument of eval or exec, looks up no name of the frame, such as `import math`."""
    try:
        code = compile_quietly(text, "<text>")
    except (SyntaxError, ValueError, TypeError):
        return False
    looked_up = {name for current in with_nested(code) for name in (*current.co_names, *current.co_freevars)}
    return looked_up.isdisjoint(names | _READS_LOCALS | _GIVES_A_FRAME)
