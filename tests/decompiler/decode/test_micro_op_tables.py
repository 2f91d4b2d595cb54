"""Every micro-op that the decoder emits is in every table that needs it, or the first code that has it fails far away."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Iterator, Set

import pytest
from repository import ROOT

from depyf.decompiler.build.op_handlers import FUNCTION
from depyf.decompiler.bytecode import microops
from depyf.decompiler.bytecode.microops import JUMPS, STRUCTURED
from depyf.decompiler.decode import opcodes

DECODE = ROOT / "depyf" / "decompiler" / "decode"
# The decoder folds these into other ops before it returns the program.
FOLDED = {
    "SEND", "CLEANUP_THROW", "RETURN_GENERATOR", "LOAD_SPECIAL", "PUSH_INDEX",
    "SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH", "POP_BLOCK", "EXC_MATCH", "ROTATE", "REST_OF_MAPPING",
    "JUMP_IF_SWALLOWED",
}  # fmt: skip
EMITTING = {"emit", "jump", "local", "_pair", "Op"}


def emitted() -> Set[str]:
    """Return the kinds of op that the decoder's tables and functions name."""
    kinds = {kind for kind, _ in opcodes._SIMPLE.values()} | set(opcodes._JUMPS.values())
    for path in DECODE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called in EMITTING:
                    kinds.update(kind for argument in node.args for kind in kinds_in(argument))
    return kinds - FOLDED


def kinds_in(argument: ast.expr) -> Iterator[str]:
    """Return the op kinds that an argument may be: an upper-case string, or one of two."""
    if isinstance(argument, ast.IfExp):
        yield from kinds_in(argument.body)
        yield from kinds_in(argument.orelse)
    elif isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        if re.fullmatch("[A-Z_]{2,}", argument.value):
            yield argument.value


EMITTED = sorted(emitted())


def test_the_decoders_ops_were_found() -> None:
    assert {"LOAD_LOCAL", "CALL", "BINARY", "INPLACE", "BRANCH_NONE", "FORMAT", "LOAD_SUPER_ATTR"} <= set(EMITTED)


@pytest.mark.parametrize("kind", EMITTED)
def test_an_op_is_in_the_table_at_the_head_of_microops(kind: str) -> None:
    assert re.search(rf"\b{kind}\b", microops.__doc__ or ""), "add a line to the table in bytecode/microops.py"


@pytest.mark.parametrize("kind", EMITTED)
def test_an_op_has_a_stack_effect(kind: str) -> None:
    by_argument = f'"{kind}"' in inspect.getsource(microops.stack_effect)
    assert kind in microops._FIXED or by_argument, "add it to _FIXED or stack_effect in bytecode/microops.py"


@pytest.mark.parametrize("kind", [kind for kind in EMITTED if kind not in JUMPS])
def test_an_op_has_a_handler_in_the_builder(kind: str) -> None:
    assert kind in FUNCTION, "add it to FUNCTION in build/op_handlers.py"


def test_the_builder_has_no_handler_for_an_op_that_does_not_exist() -> None:
    assert {kind for kind in FUNCTION if kind not in EMITTED and kind not in STRUCTURED} <= {
        "YIELD_FROM",  # the decoder makes it of SEND loops
        "CLEANUP_THROW",
        "SAVE_CELL",
        "RENEW_CELL",
        "RESTORE_CELL",  # these three of LOAD_FAST_AND_CLEAR on a cell
        *opcodes._IMPORTS,
    }
