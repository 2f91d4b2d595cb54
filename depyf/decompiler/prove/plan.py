"""A Program prepared for fast symbolic execution: flat arrays indexed by op.

Each op gets a small int that says how it is run: the most frequent ones are spelled out in the loop of
symbolic_machine.py, other silent ones have a function there, and plain events are described here by how many stack
entries they look at, pop and push.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Collection, Dict, FrozenSet, List, Sequence, Tuple

from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.microops import BRANCHES, FROM_STACK, Handler, Op, Program, stack_effect
from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.prove.terms import BOOL, GLOBAL, Terms

# How an op is run.
(
    CONST_OP, LOAD_USER, LOAD_TEMP, STORE_USER, STORE_TEMP, PLAIN_EVENT, READ_SHARED, BRANCH, JUMP_OP,
    POP_OP, COPY_OP, SWAP_OP, CALL_OP, SPECIAL,
) = range(14)  # fmt: skip

# How it goes on after an event.
ADVANCE = 0  # operands are popped, results pushed
TRUTH = 1  # the entry on top is replaced by its truth and the op is run again
BOUND = 2  # a name that may be unbound is bound; the op is run again
ITERATE = 3  # two ways: a value, or the end of the loop
LEAVE = 4  # the frame ends
RAISES = 5  # always raises: only handlers go on

# Events that look at more entries than they pop.
_LOOKS = {
    "FOR_ITER": 1, "GET_ANEXT": 1, "IMPORT_FROM": 1, "GET_LEN": 1, "MATCH_MAPPING": 1, "MATCH_SEQUENCE": 1,
    "MATCH_KEYS": 2, "CHECK_EXC_MATCH": 2, "WITH_EXCEPT_START": 4,
}  # fmt: skip
# Events whose (single) result is True or False whatever the operands are.
_GIVES_BOOL = frozenset({"CONTAINS", "CHECK_EXC_MATCH", "MATCH_MAPPING", "MATCH_SEQUENCE"})


class Plan:
    """One program, ready to run."""

    __slots__ = (
        "arg",
        "code",
        "handlers",
        "kinds",
        "labels",
        "offsets",
        "renewed",
        "run",
        "size",
        "targets",
    )

    def __init__(self, program: Program) -> None:
        ops = program.ops
        self.code: CodeType = program.code
        self.size = len(ops)
        self.renewed: FrozenSet[str] = frozenset()  # variables that get another cell; set when both sides are known
        self.run: List[int] = []
        self.arg: List[Any] = []
        self.kinds: List[str] = [op.kind for op in ops]
        self.offsets: List[int] = [op.offset for op in ops]
        self.targets: List[int] = [op.target for op in ops]
        handlers: Tuple[Handler | None, ...] = program.handlers + (None,)  # -1 is the last
        self.handlers: List[Handler | None] = [handlers[op.handler] for op in ops]
        self.labels = bytearray(self.size + 1)
        for target in self.targets:
            if target >= 0:
                self.labels[target] = 1
        for handler in program.handlers:
            self.labels[handler.target] = 1


def make_plan(
    program: Program,
    terms: Terms,
    temps: Callable[[str], bool],
    installed: Callable[[str], bool],
    specials: Collection[str],
) -> Plan:
    """Prepare `program`. `temps` tells invented names, `specials` are kinds with a function of their own."""
    plan = Plan(program)
    run, arg = plan.run, plan.arg
    const = terms.const
    constants: Dict[int, int] = {}
    events: Dict[Any, Tuple[Tuple[Any, ...], int, int, int, int]] = {}
    for index, op in enumerate(program.ops):
        kind = op.kind
        if kind == "LOAD_LOCAL":
            run.append(LOAD_TEMP if temps(op.arg) else LOAD_USER)
            arg.append(op.arg)
        elif kind == "CONST":
            run.append(CONST_OP)
            term = constants.get(id(op.arg))
            if term is None:
                term = constants[id(op.arg)] = const(op.arg)
            arg.append(term)
        elif kind == "STORE_LOCAL":
            run.append(STORE_TEMP if temps(op.arg) else STORE_USER)
            arg.append(op.arg)
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
            plan.kinds[index] = "LOAD_JOIN"
        elif kind == "CALL":
            argc, names, layout = op.arg
            run.append(SPECIAL if names is FROM_STACK else CALL_OP)
            arg.append((argc, ("CALL", names or ()), layout))
        elif kind in specials:
            run.append(SPECIAL)
            arg.append((op.arg, temps(op.arg)) if kind in _NAMES_A_LOCAL else op.arg)
        else:
            run.append(PLAIN_EVENT)
            key = (kind, op.arg)
            event = events.get(key)
            if event is None:
                event = events[key] = _plain_event(op, key)
            arg.append(event)
    if _stores_line(program):
        arg[4] = terms.line
    _add_propagation(plan)
    return plan


def _stores_line(program: Program) -> bool:
    """Whether a class body begins as the compiler makes it, with the store of the line where the class begins.

    That line is the text's own, as all lines are; only the compiler's store right after that of the qualified name
    is meant, not one that the source says.
    """
    is_function = program.code.co_flags & CO_OPTIMIZED
    if is_function or len(program.ops) < 6 or not facts_for(program.version).classes_store_their_line:
        return False
    stored = [op.arg for op in program.ops[1:6:2] if op.kind == "STORE_NAME"]
    line = program.ops[4]
    is_number = line.kind == "CONST" and type(line.arg) is int
    return stored == ["__module__", "__qualname__", "__firstlineno__"] and is_number


def _add_propagation(plan: Plan) -> None:
    """One more op, at index `size`: where an exception goes that no handler catches."""
    plan.run.append(SPECIAL)
    plan.arg.append(0)
    plan.kinds.append("RERAISE")
    plan.offsets.append(plan.offsets[-1] if plan.offsets else 0)
    plan.targets.append(-1)
    plan.handlers.append(None)


_DIRECT = {"POP": POP_OP, "COPY": COPY_OP, "SWAP": SWAP_OP}
_NAMES_A_LOCAL = frozenset({"DELETE_LOCAL", "LOAD_LOCAL_AND_CLEAR"})


def _global_read(plan: Plan, op: Op, terms: Terms, installed: Callable[[str], bool]) -> None:
    name = op.arg
    if installed(name):
        plan.run.append(CONST_OP)
        plan.arg.append(terms.installed(name))
    elif op.handler >= 0:
        # Under a handler the moment at which a read may raise counts.
        plan.run.append(PLAIN_EVENT)
        plan.arg.append((("LOAD_GLOBAL", name), 0, 0, 1, GLOBAL))
    else:
        plan.run.append(READ_SHARED)
        plan.arg.append(name)


def _plain_event(op: Op, key: Tuple[Any, ...]) -> Tuple[Tuple[Any, ...], int, int, int, int]:
    """(key, entries looked at, popped, pushed, properties of the results)."""
    pops, pushes = stack_effect(op)
    return key, _LOOKS.get(op.kind, pops), pops, pushes, BOOL if op.kind in _GIVES_BOOL else 0


def _of_empty_string(ops: Sequence[Op], index: int) -> bool:
    """Whether an attribute is read from the constant `''`: nobody can have changed what strings do."""
    before = ops[index - 1] if index else ops[index]
    return before.kind == "CONST" and type(before.arg) is str and before.arg == ""


def _spins(program: Program, index: int) -> bool:
    """Whether the jump at `index` leads only to jumps and back to itself: `while True: pass`."""
    at, steps = program.ops[index].target, 0
    while program.ops[at].kind == "JUMP" and at != index and steps < 100:
        at, steps = program.ops[at].target, steps + 1
    return at == index
