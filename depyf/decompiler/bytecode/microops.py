"""The version-free instruction set that every stage after decoding works on.

A code object of any supported CPython becomes a `Program`: a flat tuple of `Op`. Jump targets and
exception handlers are indices into that tuple. What differs between versions only in spelling
(`LOAD_FAST_BORROW`, `PRECALL`, `LOAD_METHOD`, `RETURN_CONST`, two-in-one instructions, caches) is gone.

Notation below: the stack before -> after, top at the right.

Stack           POP            a ->                    COPY n         pushes the n-th entry from the top (1 is the top)
                SWAP n         exchanges the top with the n-th from the top
                PUSH_NULL      -> NULL                 CONST value    -> value
Locals          LOAD_LOCAL x, STORE_LOCAL x, DELETE_LOCAL x   (reads and deletes raise when x is unbound)
                LOAD_LOCAL_AND_CLEAR x  -> the value or NULL; x is unbound afterwards, never raises
                STORE_LOCAL of NULL unbinds
Cells           LOAD_CELL x, STORE_CELL x, DELETE_CELL x   contents of a cell or free variable
                SAVE_CELL x      -> the cell itself; x is a local without a value afterwards
                RENEW_CELL x     -> the cell itself; x has a new, empty cell afterwards
                RESTORE_CELL x   cell ->  x has this cell again
                LOAD_CLOSURE x   -> the cell itself    LOAD_CLASS_CELL x   class body: namespace, then the cell
Names           LOAD_GLOBAL, STORE_GLOBAL, DELETE_GLOBAL; LOAD_NAME, STORE_NAME, DELETE_NAME
                LOAD_LOCALS -> mapping
                LOAD_FROM_MAPPING_OR_GLOBAL x, LOAD_FROM_MAPPING_OR_CELL x   m -> value
Attributes      LOAD_ATTR n    o -> o.n                STORE_ATTR n   v o ->            DELETE_ATTR n  o ->
                LOAD_SUPER_ATTR (name, zero_argument)  super cls self -> attribute
Items           SUBSCR         o k -> o[k]             STORE_SUBSCR   v o k ->          DELETE_SUBSCR  o k ->
Operators       UNARY op, BINARY op, INPLACE op (op without the "="), COMPARE op
                IS invert, CONTAINS invert             TO_BOOL  v -> bool(v)
                TO_BOOL OUTSIDE: not under the handler of a generator that turns StopIteration into RuntimeError
Displays        BUILD_TUPLE n, BUILD_LIST n, BUILD_SET n, BUILD_MAP n (n pairs), BUILD_STRING n, BUILD_SLICE n (2 or 3)
                BUILD_CONST_KEY_MAP n   v1..vn keys -> dict
                LIST_TO_TUPLE; LIST_APPEND i, SET_ADD i, LIST_EXTEND i, SET_UPDATE i, DICT_UPDATE i, DICT_MERGE i:
                pop one and change the entry that is then i-th from the top; MAP_ADD i pops key and value
                MAP_ADD_VALUE_FIRST i   the same, with the key on top: 3.7
                BUILD_UNPACKED (what, n)   n iterables or mappings -> one of the elements of all of them
                (3.8; what: list, tuple, set, dict, or arguments, keywords of the CALL_EX that follows)
Strings         CONVERT "s"|"r"|"a"    FORMAT (conversion, has_spec)   value [spec] -> str
                BUILD_INTERPOLATION (conversion, has_spec)   value text [spec] -> interpolation
                BUILD_TEMPLATE         strings interpolations -> template
Unpacking       UNPACK n       seq -> vn .. v1 (first on top)      UNPACK_EX (before, after)
Calls           CALL (argc, kwnames, layout)     kwnames: tuple, None, or FROM_STACK (a constant tuple on top)
                layout: where the callable is. PLAIN   callable args
                                               NULL_FIRST   NULL callable args (or: callable self args)
                                               NULL_SECOND  callable NULL args
                CALL_EX (has_kwargs, layout)     callable args-tuple [kwargs]
                MAKE_FUNCTION flags   [defaults][kwdefaults][annotations][closure] code -> function
                (flag bits 1, 2, 4, 8 in that order; 16: annotate function)
                LOAD_BUILD_CLASS, LOAD_ASSERTION_ERROR
Iteration       GET_ITER, GET_YIELD_FROM_ITER
                GET_ITER and GET_AITER with the argument AT_START happen before the generator is made
                FOR_ITER ->target   it -> it value; exhausted: it is popped and control goes to target
                GET_AITER, GET_ANEXT, END_ASYNC_FOR, GET_AWAITABLE
                GET_ANEXT n: n operations of the assignment behind it are under its handler, too (3.7)
                YIELD v -> sent    YIELD_FROM   it value -> result   (the whole send loop)
Branches        JUMP ->t;  BRANCH_TRUE, BRANCH_FALSE, BRANCH_NONE, BRANCH_NOT_NONE ->t: pop, jump if so, else continue
Ends            RETURN v ->    RAISE n    RERAISE lasti
Exceptions      PUSH_EXC_INFO  e -> previous e         POP_EXCEPT  previous ->
                CHECK_EXC_MATCH  e t -> e bool         CHECK_EG_MATCH  e t -> rest match
                PREP_RERAISE_STAR  orig list -> exception or None
                On entry of a handler the stack is cut to its depth, [lasti is pushed,] the exception is pushed.
With            BEFORE_WITH  m -> exit result          BEFORE_ASYNC_WITH  m -> exit awaitable
                WITH_EXCEPT_START  exit lasti previous e -> exit lasti previous e result
Imports         IMPORT_NAME n  level fromlist -> module    IMPORT_FROM n  m -> m attr    IMPORT_STAR  m ->
                LAZY_IMPORT_NAME n: at the first use; IMPORT_NAME_BY_MODE n: now or then, by the mode of the interpreter
Matching        GET_LEN, MATCH_MAPPING, MATCH_SEQUENCE  o -> o x    MATCH_KEYS  o keys -> o keys values-or-None
                MATCH_CLASS n  o cls names -> attrs-or-None
Other           SETUP_ANNOTATIONS, PRINT_EXPR v ->, INTRINSIC (name, n)  pops n, pushes 1
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, FrozenSet, Tuple

from depyf.decompiler.bytecode.budget import Budget
from depyf.decompiler.bytecode.code_flags import CO_VARARGS, CO_VARKEYWORDS

# Where the callable of a CALL or CALL_EX is (see above).
PLAIN = "plain"
NULL_FIRST = "null first"
NULL_SECOND = "null second"

FROM_STACK = "names from the stack"
AT_START = "at start"
OUTSIDE = "outside"

BRANCHES: FrozenSet[str] = frozenset({"BRANCH_TRUE", "BRANCH_FALSE", "BRANCH_NONE", "BRANCH_NOT_NONE"})
JUMPS: FrozenSet[str] = BRANCHES | {"JUMP", "FOR_ITER"}
# After these control does not continue with the next op.
ENDS: FrozenSet[str] = frozenset({"JUMP", "RETURN", "RAISE", "RERAISE"})

# The stores that bind a name.
STORES: FrozenSet[str] = frozenset({"STORE_LOCAL", "STORE_CELL", "STORE_GLOBAL", "STORE_NAME"})

# Flag bits of MAKE_FUNCTION.
DEFAULTS, KWDEFAULTS, ANNOTATIONS, CLOSURE, ANNOTATE = 1, 2, 4, 8, 16


class Op:
    """One micro-op. `offset` is where it came from in the code object's bytes."""

    __slots__ = ("kind", "arg", "target", "handler", "offset")

    def __init__(self, kind: str, arg: Any = None, offset: int = -1, target: int = -1, handler: int = -1) -> None:
        self.kind = kind
        self.arg = arg
        self.target = target  # index of the op jumped to, or -1
        self.handler = handler  # index into Program.handlers, or -1
        self.offset = offset

    def __repr__(self) -> str:
        text = self.kind if self.arg is None and self.kind != "CONST" else f"{self.kind} {self.arg!r}"
        if self.target >= 0:
            text += f" ->{self.target}"
        return text if self.handler < 0 else f"{text} !{self.handler}"


class Handler:
    """Where an exception continues: the stack is cut to `depth`, lasti is pushed if `lasti`, then the exception."""

    __slots__ = ("target", "depth", "lasti")

    def __init__(self, target: int, depth: int, lasti: bool) -> None:
        self.target = target
        self.depth = depth
        self.lasti = lasti

    def __repr__(self) -> str:
        return f"Handler(->{self.target}, depth={self.depth}, lasti={self.lasti})"


class Program:
    """A code object as micro-ops."""

    __slots__ = ("ops", "handlers", "code", "version", "is_verified", "budget", "answers")

    def __init__(
        self,
        ops: Tuple[Op, ...],
        handlers: Tuple[Handler, ...],
        code: CodeType,
        version: Tuple[int, int],
        is_verified: bool = True,
    ) -> None:
        self.ops = ops
        self.handlers = handlers
        self.code = code
        self.version = version
        self.is_verified = is_verified  # whether the code is known to be well formed
        self.budget = Budget(len(ops))
        self.answers: Dict[str, Any] = {}  # of questions about the program that are asked again (analysis/)

    def listing(self) -> str:
        """Return the program as text, one op a line, for error reports."""
        lines = [f"{i:4} @{op.offset:<5} {op!r}" for i, op in enumerate(self.ops)]
        lines += [f"handler {i}: {handler!r}" for i, handler in enumerate(self.handlers)]
        return "\n".join(lines)


# kind -> (entries popped, entries pushed) for ops whose effect does not depend on the argument; see `FIXED_EFFECTS`.
_FIXED: Dict[str, Tuple[int, int]] = {
    "POP": (1, 0), "PUSH_NULL": (0, 1), "CONST": (0, 1),
    "LOAD_LOCAL": (0, 1), "STORE_LOCAL": (1, 0), "DELETE_LOCAL": (0, 0), "LOAD_LOCAL_AND_CLEAR": (0, 1),
    "LOAD_CELL": (0, 1), "STORE_CELL": (1, 0), "DELETE_CELL": (0, 0), "LOAD_CLOSURE": (0, 1),
    "SAVE_CELL": (0, 1), "RENEW_CELL": (0, 1), "RESTORE_CELL": (1, 0), "LOAD_CLASS_CELL": (0, 1),
    "LOAD_GLOBAL": (0, 1), "STORE_GLOBAL": (1, 0), "DELETE_GLOBAL": (0, 0),
    "LOAD_NAME": (0, 1), "STORE_NAME": (1, 0), "DELETE_NAME": (0, 0), "LOAD_LOCALS": (0, 1),
    "LOAD_FROM_MAPPING_OR_GLOBAL": (1, 1), "LOAD_FROM_MAPPING_OR_CELL": (1, 1),
    "LOAD_ATTR": (1, 1), "STORE_ATTR": (2, 0), "DELETE_ATTR": (1, 0), "LOAD_SUPER_ATTR": (3, 1),
    "SUBSCR": (2, 1), "STORE_SUBSCR": (3, 0), "DELETE_SUBSCR": (2, 0),
    "UNARY": (1, 1), "BINARY": (2, 1), "INPLACE": (2, 1), "COMPARE": (2, 1), "IS": (2, 1), "CONTAINS": (2, 1),
    "TO_BOOL": (1, 1), "LIST_TO_TUPLE": (1, 1), "CONVERT": (1, 1),
    "LIST_APPEND": (1, 0), "SET_ADD": (1, 0), "MAP_ADD": (2, 0), "MAP_ADD_VALUE_FIRST": (2, 0),
    "LIST_EXTEND": (1, 0), "SET_UPDATE": (1, 0), "DICT_UPDATE": (1, 0), "DICT_MERGE": (1, 0),
    "LOAD_BUILD_CLASS": (0, 1), "LOAD_ASSERTION_ERROR": (0, 1),
    "GET_ITER": (1, 1), "GET_YIELD_FROM_ITER": (1, 1), "FOR_ITER": (0, 1),
    "GET_AITER": (1, 1), "GET_ANEXT": (0, 1), "END_ASYNC_FOR": (2, 0), "GET_AWAITABLE": (1, 1),
    "YIELD": (1, 1), "YIELD_FROM": (2, 1), "JUMP": (0, 0), "RETURN": (1, 0),
    "BRANCH_TRUE": (1, 0), "BRANCH_FALSE": (1, 0), "BRANCH_NONE": (1, 0), "BRANCH_NOT_NONE": (1, 0),
    "PUSH_EXC_INFO": (1, 2), "POP_EXCEPT": (1, 0), "CHECK_EXC_MATCH": (1, 1), "CHECK_EG_MATCH": (2, 2),
    "PREP_RERAISE_STAR": (2, 1), "BEFORE_WITH": (1, 2), "BEFORE_ASYNC_WITH": (1, 2), "WITH_EXCEPT_START": (0, 1),
    "IMPORT_NAME": (2, 1), "LAZY_IMPORT_NAME": (2, 1), "IMPORT_NAME_BY_MODE": (2, 1), "IMPORT_FROM": (0, 1),
    "IMPORT_STAR": (1, 0),
    "GET_LEN": (0, 1), "MATCH_MAPPING": (0, 1), "MATCH_SEQUENCE": (0, 1), "MATCH_KEYS": (0, 1), "MATCH_CLASS": (3, 1),
    "BUILD_TEMPLATE": (2, 1),
    "SETUP_ANNOTATIONS": (0, 0), "PRINT_EXPR": (1, 0), "COPY": (0, 1), "SWAP": (0, 0), "RERAISE": (1, 0),
}  # fmt: skip


# (popped, pushed) of the structured ops, with which `clean_graph` and `fold` replace blocks: see those packages.
STRUCTURED: Dict[str, Tuple[int, int]] = {
    "NOWHERE": (0, 0), "SELECT": (1, 1), "BOOL": (1, 1), "CHAIN": (2, 1), "COMPREHENSION": (1, 1),
}  # fmt: skip
FIXED_EFFECTS: Dict[str, Tuple[int, int]] = {**STRUCTURED, **_FIXED}


def parameters(code: CodeType) -> Tuple[str, ...]:
    """Return the names of all parameters, `*args` and `**kwargs` last."""
    return code.co_varnames[: parameter_count(code)]


def parameter_count(code: CodeType) -> int:
    """Return how many parameters there are, `*args` and `**kwargs` included."""
    flags = code.co_flags
    return code.co_argcount + code.co_kwonlyargcount + bool(flags & CO_VARARGS) + bool(flags & CO_VARKEYWORDS)


def stack_effect(op: Op) -> Tuple[int, int]:
    """Return (popped, pushed) when control continues with the next op.

    Entries that an op only reads (COPY, SWAP, LIST_APPEND's list, ...) are not counted as popped.
    """
    fixed = FIXED_EFFECTS.get(op.kind)
    if fixed is not None:
        return fixed
    kind, arg = op.kind, op.arg
    if kind == "CALL":
        argc, kwnames, layout = arg
        return argc + (kwnames is FROM_STACK) + (1 if layout is PLAIN else 2), 1
    if kind == "CALL_EX":
        has_kwargs, layout = arg
        return 2 + has_kwargs + (layout is not PLAIN), 1
    if kind in ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_STRING", "BUILD_SLICE"):
        return arg, 1
    if kind == "BUILD_MAP":
        return 2 * arg, 1
    if kind == "BUILD_UNPACKED":
        return arg[1], 1
    if kind == "BUILD_CONST_KEY_MAP":
        return arg + 1, 1
    if kind == "FORMAT":
        return 1 + arg[1], 1
    if kind == "BUILD_INTERPOLATION":
        return 2 + arg[1], 1
    if kind == "UNPACK":
        return 1, arg
    if kind == "UNPACK_EX":
        return 1, arg[0] + 1 + arg[1]
    if kind == "MAKE_FUNCTION":
        return 1 + bin(arg).count("1"), 1
    if kind == "RAISE":
        return arg, 0
    if kind == "INTRINSIC":
        return arg[1], 1
    raise AssertionError(f"no stack effect for {op!r}")


# kind -> entries read, for ops that read more than they pop whatever their argument.
_READ: Dict[str, int] = {
    "FOR_ITER": 1, "GET_ANEXT": 1, "IMPORT_FROM": 1, "GET_LEN": 1, "MATCH_MAPPING": 1, "MATCH_SEQUENCE": 1,
    "MATCH_KEYS": 2, "CHECK_EXC_MATCH": 2, "WITH_EXCEPT_START": 4,
}  # fmt: skip


_READ_BY_ARGUMENT = frozenset(
    {"COPY", "SWAP", "LIST_APPEND", "SET_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE", "MAP_ADD",
     "MAP_ADD_VALUE_FIRST"}
)  # fmt: skip
_NEEDED: Dict[str, int] = {
    **{kind: popped for kind, (popped, _) in FIXED_EFFECTS.items() if kind not in _READ_BY_ARGUMENT},
    **_READ,
}


def depth_needed(op: Op) -> int:
    """Return how many stack entries `op` pops or reads."""
    kind = op.kind
    known = _NEEDED.get(kind)
    if known is not None:
        return known
    if kind in ("COPY", "SWAP"):
        return int(op.arg)
    if kind in ("LIST_APPEND", "SET_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"):
        return int(op.arg) + 1
    if kind in ("MAP_ADD", "MAP_ADD_VALUE_FIRST"):
        return int(op.arg) + 2
    return stack_effect(op)[0]
