"""A Program prepared for fast symbolic execution: flat arrays indexed by op.

Each op gets a small int, how it is run: the most frequent ops are cases in the loop of symbolic_machine.py, other
silent ops have a function in operations.py or display_operations.py, and every remaining op is a plain event,
described by how many stack entries are its operands and how many it pops and pushes. So an op that no table names
is an event: two codes must then agree on its kind, argument and operands.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Collection, Dict, FrozenSet, List, Optional, Sequence, Tuple

from depyf.decompiler.analysis.program_answers import answered_once
from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.microops import (
    BRANCHES,
    FROM_STACK,
    Handler,
    Op,
    Program,
    depth_needed,
    parameters,
    stack_effect,
)
from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.decode.function_names import made_functions
from depyf.decompiler.prove.terms import BOOL, GLOBAL, Terms

# How an op is run.
(
    LOAD_TEMP, LOAD_USER, CONST_OP, SUBSCR_OP, PLAIN_EVENT, STORE_TEMP, DELETE_TEMP, COPY_OP, STORE_USER, POP_OP,
    SWAP_OP, READ_SHARED, CALL_OP, BRANCH, JUMP_OP, SPECIAL,
) = range(16)  # fmt: skip

# How the machine continues after an event.
ADVANCE = 0  # pop the operands, push the results
TRUTH = 1  # replace the top entry by its truth and run the op again
BOUND = 2  # record that a name that may be unbound is bound, and run the op again
ITERATE = 3  # two outcomes: a value, or the end of the loop
LEAVE = 4  # the frame ends
RAISES = 5  # always raises: only handlers continue
RELEASED = 6  # the frame's last reference to a value is gone; never raises

# Events whose (single) result is True or False whatever the operands are.
_GIVES_BOOL = frozenset({"CONTAINS", "CHECK_EXC_MATCH", "MATCH_MAPPING", "MATCH_SEQUENCE"})


class Plan:
    """One program, ready to run."""

    __slots__ = (
        "arg",
        "code",
        "handlers",
        "labels",
        "offsets",
        "ops",
        "reads_are_events",
        "renewed",
        "run",
        "size",
        "slots",
    )

    def __init__(self, program: Program) -> None:
        ops = program.ops
        self.code: CodeType = program.code
        self.size = len(ops)
        self.slots = slots(program)
        self.reads_are_events = False  # of globals and shared cells, everywhere
        self.renewed: FrozenSet[str] = frozenset()  # variables that either code gives a new cell; set by the caller
        self.run: List[int] = []
        self.arg: List[Any] = []
        self.ops: List[Op] = list(ops)
        self.offsets: List[int] = [op.offset for op in ops]
        handlers: Tuple[Handler | None, ...] = program.handlers + (None,)  # -1 is the last
        self.handlers: List[Handler | None] = [None] * self.size
        if program.handlers:
            self.handlers = [handlers[op.handler] for op in ops]
        self.labels = bytearray(self.size + 1)
        for target in [op.target for op in ops if op.target >= 0]:
            self.labels[target] = 1
        for handler in program.handlers:
            self.labels[handler.target] = 1


@answered_once
def slots(program: Program) -> Tuple[str, ...]:
    """Return the variables that may have a value, in the order in which the frame gives up their values at its end."""
    code = program.code
    bound = {op.arg for op in program.ops if op.kind == "STORE_LOCAL"}.union(parameters(code), code.co_cellvars)
    names = [name for name in code.co_varnames if name in bound]
    return (*names, *[name for name in code.co_cellvars if name not in names])


class _Answers(Dict[str, bool]):
    """The answers to one question about names, each asked for once."""

    def __init__(self, question: Callable[[str], bool]) -> None:
        super().__init__()
        self._question = question

    def __missing__(self, name: str) -> bool:
        answer = self[name] = self._question(name)
        return answer


def make_plan(
    program: Program,
    terms: Terms,
    temps: Callable[[str], bool],
    installed: Callable[[str], bool],
    specials: Collection[str],
    reads_are_events: bool = False,
) -> Plan:
    """Prepare `program`.

    `temps` tests for names that a generator invented, `installed` for globals that are assumed constant;
    `specials` are the kinds of op that have a function of their own. `reads_are_events`: reads of globals and shared
    cells are, everywhere: it matters in which order values die if one raises.
    """
    plan = Plan(program)
    plan.reads_are_events = reads_are_events
    run, arg = plan.run, plan.arg
    const = terms.const
    constants: Dict[int, int] = {}
    is_temp = _Answers(temps)
    events: Dict[Any, Tuple[Tuple[Any, ...], int, int, int, int]] = {}
    reads: Dict[str, Tuple[Tuple[Any, ...], int, int, int, int]] = {}  # the events of attributes
    for index, op in enumerate(program.ops):
        kind = op.kind
        if kind == "LOAD_LOCAL":
            run.append(LOAD_TEMP if is_temp[op.arg] else LOAD_USER)
            arg.append(op.arg)
        elif kind == "CONST":
            run.append(CONST_OP)
            term = constants.get(id(op.arg))
            if term is None:
                term = constants[id(op.arg)] = const(op.arg)
            arg.append(term)
        elif kind == "STORE_LOCAL":
            run.append(STORE_TEMP if is_temp[op.arg] else STORE_USER)
            arg.append(op.arg)
        elif kind == "DELETE_LOCAL":
            run.append(DELETE_TEMP if is_temp[op.arg] else SPECIAL)
            arg.append((op.arg, is_temp[op.arg]))
        elif kind == "LOAD_ATTR" and op.arg in reads:
            run.append(PLAIN_EVENT)
            arg.append(reads[op.arg])
        elif kind in _DIRECT:
            run.append(_DIRECT[kind])
            arg.append(op.arg)
        elif kind in BRANCHES:
            run.append(BRANCH)
            arg.append(
                (
                    kind in ("BRANCH_NONE", "BRANCH_NOT_NONE"),
                    kind in ("BRANCH_TRUE", "BRANCH_NONE"),
                    op.target,
                )
            )
        elif kind == "LOAD_GLOBAL":
            _global_read(plan, op, terms, installed)
        elif kind == "JUMP":
            run.append(SPECIAL if _spins(program, index) else JUMP_OP)
            arg.append(op.target)
        elif kind == "LOAD_ATTR" and op.arg == "join" and _of_empty_string(program.ops, index):
            run.append(SPECIAL)
            arg.append(op.arg)
            plan.ops[index] = Op("LOAD_JOIN", op.arg, op.offset, -1, op.handler)
        elif kind == "CALL":
            argc, names, layout = op.arg
            run.append(SPECIAL if names is FROM_STACK else CALL_OP)
            arg.append((argc, ("CALL", names or ()), layout))
        elif kind == "MAKE_FUNCTION":
            run.append(SPECIAL)
            arg.append((op.arg or 0, _function_name(program, op)))
        elif kind in specials:
            run.append(SPECIAL)
            arg.append((op.arg, is_temp[op.arg]) if kind == "LOAD_LOCAL_AND_CLEAR" else op.arg)
        else:
            run.append(PLAIN_EVENT)
            key = (kind, op.arg)
            event = events.get(key)
            if event is None:
                event = events[key] = _plain_event(op, key)
            arg.append(event)
            if kind == "LOAD_ATTR" and op.arg != "join":
                reads[op.arg] = event
    if _stores_line(program):
        arg[4] = terms.line
    _add_propagation(plan)
    return plan


def _function_name(program: Program, op: Op) -> Optional[str]:
    """Return the qualified name that a function gets where it is made; None if its code has it."""
    if not facts_for(program.version).functions_are_named_where_made:
        return None
    return _function_names(program).get(op.offset, "")


@answered_once
def _function_names(program: Program) -> Dict[int, str]:
    return {made.make.offset: made.name for made in made_functions(program.code)}


def _stores_line(program: Program) -> bool:
    """Return whether a class body begins with the compiler's own store of the line where the class begins.

    Line numbers are the text's own and may differ. Only the compiler's store right after that of the qualified
    name counts, not a store that stands in the source.
    """
    is_function = program.code.co_flags & CO_OPTIMIZED
    if is_function or len(program.ops) < 6 or not facts_for(program.version).classes_store_their_line:
        return False
    stored = [op.arg for op in program.ops[1:6:2] if op.kind == "STORE_NAME"]
    line = program.ops[4]
    is_number = line.kind == "CONST" and type(line.arg) is int
    return stored == ["__module__", "__qualname__", "__firstlineno__"] and is_number


def _add_propagation(plan: Plan) -> None:
    """Append an op, at index `size`, where an exception continues that no handler catches."""
    plan.run.append(SPECIAL)
    plan.arg.append(0)
    plan.offsets.append(plan.offsets[-1] if plan.offsets else 0)
    plan.ops.append(Op("RERAISE", 0, plan.offsets[-1]))
    plan.handlers.append(None)


_DIRECT = {"POP": POP_OP, "COPY": COPY_OP, "SWAP": SWAP_OP, "SUBSCR": SUBSCR_OP}


def _global_read(plan: Plan, op: Op, terms: Terms, installed: Callable[[str], bool]) -> None:
    name = op.arg
    if installed(name):
        plan.run.append(CONST_OP)
        plan.arg.append(terms.installed(name))
    elif op.handler >= 0 or plan.reads_are_events:
        # Under a handler it matters when a read may raise, so the read is an event.
        plan.run.append(PLAIN_EVENT)
        plan.arg.append((("LOAD_GLOBAL", name), 0, 0, 1, GLOBAL))
    else:
        plan.run.append(READ_SHARED)
        plan.arg.append(name)


def _plain_event(op: Op, key: Tuple[Any, ...]) -> Tuple[Tuple[Any, ...], int, int, int, int]:
    """Return (key, number of operands, entries popped, entries pushed, properties of the results)."""
    pops, pushes = stack_effect(op)
    return key, depth_needed(op), pops, pushes, BOOL if op.kind in _GIVES_BOOL else 0


def _of_empty_string(ops: Sequence[Op], index: int) -> bool:
    """Return whether an attribute is read from the constant `''`: no program can change methods of `str`."""
    before = ops[index - 1] if index else ops[index]
    return before.kind == "CONST" and type(before.arg) is str and before.arg == ""


def _spins(program: Program, index: int) -> bool:
    """Return whether the jump at `index` leads only through jumps back to itself: `while True: pass`."""
    at, steps = program.ops[index].target, 0
    while program.ops[at].kind == "JUMP" and at != index and steps < 100:
        at, steps = program.ops[at].target, steps + 1
    return at == index
