"""Decode: a code object of one CPython version -> a `Program` of version-free micro-ops.

Nothing after this stage depends on the version. Three sequences of instructions are folded here: the send loop of
`await` and `yield from` (into YIELD_FROM), the creation of a generator at its first instruction, and the handler that
3.12 puts around a generator's body (both dropped).
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, compress
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Dict, List, Optional, Sequence, Tuple

from depyf.decompiler.bytecode.code_flags import CO_COROUTINE, GENERATORS
from depyf.decompiler.bytecode.code_objects import CODE_TYPES, facts_of
from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import AT_START, BRANCHES, CLOSURE, ENDS, OUTSIDE, Handler, Op, Program
from depyf.decompiler.bytecode.python_facts import PythonFacts, Version, facts_for
from depyf.decompiler.decode.block_stacks import unstacked
from depyf.decompiler.decode.block_unwinding import with_blocks_left
from depyf.decompiler.decode.constant_sizes import check_constants
from depyf.decompiler.decode.finally_copies import with_copies
from depyf.decompiler.decode.function_type_calls import fold_function_calls
from depyf.decompiler.decode.instructions import (
    ExceptionRange,
    Instructions,
    exception_ranges,
    has_extended_arguments,
    raw_instructions,
)
from depyf.decompiler.decode.opcodes import NO_CELL_USES, Translator, translated_opnames
from depyf.decompiler.decode.paired_entries import fold_pairs
from depyf.decompiler.decode.verifier import verify

__all__ = ["decode", "problem", "translated_opnames", "verified"]


def problem(code: CodeType, version: Optional[Version] = None) -> Optional[str]:
    """Return why the interpreter could not run `code` safely, in words; None if it is well formed.

    Checks this code object alone, not those among its constants.
    """
    try:
        decode(code, version)
    except ValueError as error:
        return str(error)
    return None


def verified(program: Program) -> Program:
    """Return a program whose code is well formed; raise Malformed if it is not."""
    if not program.is_verified:
        code, facts = program.code, facts_for(program.version)
        verify(code, _followed_instructions(code, facts), exception_ranges(code), facts)
        program.is_verified = True
    return program


def decode(
    code: CodeType, version: Optional[Version] = None, *, verifies: bool = True, is_compiled: bool = False
) -> Program:
    """Return the micro-ops of `code`, which CPython `version` (default: the one that it belongs to) compiled.

    Raises Malformed for code that is not well formed, and ValueError for opcodes that have no translation.
    Without `verifies`, most code is only translated, which may fail in any way if it is not well formed: the caller
    finds that out before anything is claimed about it. Cells and large arguments are always verified: the translation
    depends on the first, and the second bound the work of all stages. `is_compiled`: CPython's compiler made the code,
    which is well formed, then.
    """
    facts = facts_of(code) if version is None else facts_for(version)
    version = facts.version
    check_constants(code.co_consts)
    starts: Dict[int, int] = {}  # byte offset -> index of the first micro-op at or after it
    instructions = _followed_instructions(code, facts)
    ranges = exception_ranges(code)
    has_cells = bool(code.co_cellvars or code.co_freevars)
    verifies = has_cells or (not is_compiled and (verifies or has_extended_arguments(code, version)))
    translator = Translator(code, facts, verify(code, instructions, ranges, facts) if verifies else NO_CELL_USES)
    ops, plain, translate = translator.ops, translator.plain, translator.translate
    try:
        for fields in instructions.plain:
            offset, start, opname, arg, _ = fields
            starts[start] = len(ops)
            entry = plain[opname]
            if entry is None:
                translate(fields)
            else:  # as in `translate`: most instructions of long code
                kind, table = entry
                ops.append(Op(kind, None if table is None else table[arg], offset))
    except IndexError:
        raise Malformed(f"{opname} at {offset} uses entry {arg} of a shorter table") from None
    starts[instructions.plain[-1][4]] = len(ops)
    for op in translator.jumps:
        op.target = starts[op.target]
    handlers = _attach_handlers(ops, ranges, starts) if ranges else []
    if facts.blocks_are_stacked:
        ops, handlers = unstacked(ops, _GONE)
    elif handlers:
        _cover_jumps(ops, facts.branches_need_bool)
    if code.co_flags & (CO_COROUTINE | GENERATORS):
        _drop_generator_start(ops)
        _drop_generator_handler(ops, handlers)
        _fold_send_loops(ops)
    if facts.exits_have_receivers and any(op.kind in ("LOAD_SPECIAL", "PUSH_INDEX") for op in ops):
        fold_pairs(ops, handlers, _GONE, has_indices=facts.iterators_have_indices)
    if not {*map(type, code.co_consts)}.isdisjoint(CODE_TYPES):
        _fold_closure_reads(ops)
    if FunctionType in code.co_consts:
        fold_function_calls(ops, _GONE)
    if not translator.jumps and not handlers:
        program = Program(tuple(_straight(ops)), (), code, version, verifies or is_compiled)
    else:
        program = _compact(ops, handlers, code, version)
        program.is_verified = verifies or is_compiled
    return program


def _followed_instructions(code: CodeType, facts: PythonFacts) -> Instructions:
    """Return the instructions of a code object, with copies of what is a subroutine there."""
    instructions = raw_instructions(code, facts.version)
    if facts.loops_are_blocks:
        return Instructions([*with_blocks_left([*instructions], code, facts)])
    return Instructions([*with_copies([*instructions], facts)]) if facts.finally_is_subroutine else instructions


def _straight(ops: List[Op]) -> List[Op]:
    """Return the ops of code without jumps and handlers up to its end, without the GONE ones."""
    end = next(index for index, op in enumerate(ops) if op.kind in ENDS)
    return [op for op in ops[: end + 1] if op.kind != _GONE]


def _attach_handlers(ops: List[Op], ranges: List[ExceptionRange], starts: Dict[int, int]) -> List[Handler]:
    """Give each op the handler that covers it; equal handlers are one."""
    handlers: List[Handler] = []
    known: Dict[Tuple[int, int, bool], int] = {}
    before = 0
    for entry in ranges:
        if entry.start < before:
            raise Malformed(f"the exception table entry {tuple(entry)} is out of order")
        before = entry.end
        key = (starts[entry.target], entry.depth, entry.lasti)
        if key not in known:
            known[key] = len(handlers)
            handlers.append(Handler(*key))
        for index in range(starts[entry.start], starts[entry.end]):
            ops[index].handler = known[key]
    return handlers


def _cover_jumps(ops: List[Op], branches_cannot_raise: bool) -> None:
    """Give jumps the handler of the op before them: they cannot raise, so the exception table may omit them."""
    for before, op in zip(ops, ops[1:]):
        if op.handler < 0 <= before.handler and before.kind not in ENDS:
            if op.kind == "JUMP" or (op.kind in BRANCHES and (branches_cannot_raise or "NONE" in op.kind)):
                op.handler = before.handler


_GONE = "GONE"  # an op to be removed by _compact


def _drop_generator_start(ops: List[Op]) -> None:
    """Drop a generator's first instructions, which make the generator object and drop the value first sent in.

    Before them, generator expressions take the iterator that they loop over: 3.15.
    """
    for index, op in enumerate(ops):
        if op.kind == "RETURN_GENERATOR":
            op.kind = _GONE
            if index + 1 < len(ops) and ops[index + 1].kind == "POP":
                ops[index + 1].kind = _GONE
            for before in ops[:index]:
                if before.kind in ("GET_ITER", "GET_AITER"):
                    before.arg = AT_START


def _drop_generator_handler(ops: List[Op], handlers: List[Handler]) -> None:
    """Remove the handler around a generator's body that turns StopIteration into RuntimeError."""
    for number, handler in enumerate(handlers):
        first = ops[handler.target] if handler.target < len(ops) else None
        if first is not None and first.kind == "INTRINSIC" and first.arg == ("STOPITERATION_ERROR", 1):
            for op in ops:
                if op.handler == number:
                    op.handler = -1
                elif op.kind == "TO_BOOL" and op.handler < 0:
                    op.arg = OUTSIDE


def _fold_send_loops(ops: List[Op]) -> None:
    """Fold `SEND; YIELD; JUMP back` (and 3.12's END_SEND and CLEANUP_THROW) into one YIELD_FROM.

    SEND leaves the receiver below the result in 3.12 and pops it in 3.11: the SWAP, POP of END_SEND at its target
    are dropped as well.
    """
    for index, op in enumerate(ops):
        if op.kind != "SEND":
            continue
        target = op.target
        after = index + 3  # SEND, YIELD, JUMP
        if target > after and ops[after].kind != "CLEANUP_THROW":  # 3.11 may put a copy of what follows in between
            ops[index + 1].kind, ops[index + 2].target = _GONE, target
            op.kind, op.target = "YIELD_FROM", -1
            continue
        for inside in range(index + 1, target):
            if ops[inside].kind in ("YIELD", "JUMP", "CLEANUP_THROW"):
                ops[inside].kind = _GONE
        op.kind, op.target = "YIELD_FROM", -1
        end = [o for o in ops[target : target + 3] if o.offset == ops[target].offset]
        if [o.kind for o in end] in (["SWAP", "POP"], ["SWAP", "POP", "POP"]):  # END_SEND
            for o in end:
                o.kind = _GONE


def _fold_closure_reads(ops: List[Op]) -> None:
    """Fold `(lambda: x).__closure__` into the tuple of cells that the function would be made with.

    Source has no other spelling of a cell; Dynamo's code handles cells as values.
    """
    for index in [index for index, op in enumerate(ops) if op.kind == "MAKE_FUNCTION" and op.arg == CLOSURE]:
        if 0 < index < len(ops) - 1:
            code, make, read = ops[index - 1 : index + 2]
            if code.kind == "CONST" and read.kind == "LOAD_ATTR" and read.arg == "__closure__":
                code.kind = make.kind = read.kind = _GONE


def _compact(ops: List[Op], handlers: List[Handler], code: CodeType, version: Version) -> Program:
    """Drop the GONE ops and unreachable ops; renumber jump targets and handlers."""
    reachable = _reachable(ops, handlers)
    new_index: Sequence[int] = range(len(ops) + 1)
    kept = ops
    if not all(reachable) or _GONE in map(_KIND, ops):
        stays = [reached and op.kind != _GONE for op, reached in zip(ops, reachable)]
        kept = [*compress(ops, stays)]
        new_index = [0, *accumulate(stays)]
        for op in kept:
            if op.target >= 0:
                op.target = new_index[op.target]
    if not handlers:
        return Program(tuple(kept), (), code, version)
    used: Dict[int, int] = {}
    for op in kept:
        if op.handler >= 0:
            op.handler = used.setdefault(op.handler, len(used))
    final = [Handler(new_index[handlers[n].target], handlers[n].depth, handlers[n].lasti) for n in used]
    return Program(tuple(kept), tuple(final), code, version)


_KIND = attrgetter("kind")


def _reachable(ops: List[Op], handlers: List[Handler]) -> List[bool]:
    """Return for each op whether control comes to it."""
    # From one of these on, control may go elsewhere than to the next op.
    leaves = [index for index, op in enumerate(ops) if op.target >= 0 or op.handler >= 0 or op.kind in ENDS]
    seen = [False] * len(ops)
    work = [0]
    while work:
        first = work.pop()
        if first >= len(ops) or seen[first]:
            continue
        for place in range(bisect_left(leaves, first), len(leaves)):
            index = leaves[place]
            op = ops[index]
            if op.handler >= 0 and op.kind != _GONE:
                work.append(handlers[op.handler].target)
            if op.target >= 0:
                work.append(op.target)
            if op.kind in ENDS or seen[index]:
                break
        else:
            index = len(ops) - 1
        seen[first : index + 1] = [True] * (index + 1 - first)
    return seen
