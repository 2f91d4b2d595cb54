"""One code object being executed symbolically: the objects that handlers work on, and the tables of handlers."""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Collection, Dict, Generator, NamedTuple, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.lookahead import Upcoming
from depyf.decompiler.build.operand_stack import OperandStack
from depyf.decompiler.build.scope import Scope, Settings
from depyf.decompiler.build.statement_output import Output
from depyf.decompiler.build.symbolic_values import FunctionValue, Pattern, Value
from depyf.decompiler.build.variable_names import FreshNames
from depyf.decompiler.bytecode.microops import Op, Program
from depyf.decompiler.flow.graph import Block

# The compiler's name for the function that makes the type parameters of `f` is this, `f` and `>`.
GENERIC_PARAMETERS = "<generic parameters of "

Steps = Generator[Any, None, None]
Handler = Callable[["Frame", Op], None]
Handlers = Dict[str, Handler]


class Tables(NamedTuple):
    """Who executes what. Handlers reach those that are built on top of them through these tables alone."""

    function: Handlers  # micro-op -> handler, in functions
    namespace: Handlers  # in modules and class bodies
    generic: Handlers  # in the functions that make type parameters
    comprehension: Handlers
    annotations: Handlers  # in the functions that compute the annotations of a class or a module
    regions: Dict[type, Callable[[Frame, Any], Steps]]  # node of the region tree -> the statement's generator
    name_slots: Callable[[Frame, Pattern], None]  # give elements that are used before they are stored names
    write_definition: Callable[[Frame, FunctionValue], bool]  # define a function that is used without being stored


class GenericScope:
    """What the function that makes type parameters is given and makes."""

    __slots__ = ("given", "made", "type_parameters")

    def __init__(self) -> None:
        self.given: Dict[str, s.Expression] = {}  # parameter -> default value handed to it
        self.made: Optional[FunctionValue] = None  # what it returns
        self.type_parameters: Sequence[s.TypeParameter] = ()


class StateNames:
    """The names that state machines use in one function, and what is on the stack where an arm begins."""

    __slots__ = ("variables", "slots", "numbers", "special")

    def __init__(self) -> None:
        self.variables: Dict[int, str] = {}  # number of a state variable -> its name
        self.slots: Dict[int, str] = {}  # position on the stack -> the name of what crosses there from arm to arm
        self.numbers: Dict[Block, int] = {}  # block -> the state that stands for it
        self.special: Dict[Block, Dict[int, Value]] = {}  # stack entries that no variable can hold, by position


class Frame:
    """The state of one code object's execution; each part has one job."""

    __slots__ = ("scope", "stack", "output", "tables", "handlers", "upcoming", "states", "generic")

    def __init__(self, scope: Scope, output: Output, tables: Tables, handlers: Handlers) -> None:
        self.scope = scope
        self.stack = OperandStack()
        self.output = output
        self.tables = tables
        self.handlers = handlers  # the one of `tables` for this kind of code object
        self.upcoming = Upcoming(())
        self.states = StateNames()
        self.generic = GenericScope()


def open_frame(
    program: Program,
    settings: Settings,
    tables: Tables,
    class_name: Optional[str] = None,
    generated: Collection[str] = (),
    unused: Collection[str] = (),
) -> Frame:
    """Return a frame for a function, a module or a class body.

    `class_name`: the class around. `generated`: locals that a code generator added to the user's. `unused`: locals that
    the text may use for values of its own.
    """
    scope = Scope(program, settings, class_name, is_function=False)
    output = Output(FreshNames(program.code, settings.renames.values(), unused), generated)
    if scope.is_namespace:
        return Frame(scope, output, tables, tables.namespace)
    is_generic = program.code.co_name.startswith(GENERIC_PARAMETERS)
    return Frame(scope, output, tables, tables.generic if is_generic else tables.function)


def open_comprehension(program: Program, settings: Settings, tables: Tables) -> Frame:
    """Return a frame for a comprehension; `program` is that of a function or module if it is inlined there."""
    scope = Scope(program, settings, None, is_function=True)
    output = Output(FreshNames(program.code, settings.renames.values()))
    return Frame(scope, output, tables, tables.comprehension)


def open_nested(frame: Frame, code: CodeType) -> Tuple[Frame, Any]:
    """Return a frame for a code object inside that of `frame`, and its region tree."""
    scope = frame.scope
    program, tree = scope.settings.structure(code)
    inner = open_frame(program, scope.settings, frame.tables, scope.class_name)
    inner.scope.is_in_class = inner.scope.is_in_class or scope.is_in_class
    inner.scope.locals_around = scope.locals_inside()
    return inner, tree


def run_ops(frame: Frame, ops: Sequence[Op]) -> None:
    """Execute micro-ops one after the other."""
    handlers, output = frame.handlers, frame.output
    outer, upcoming = frame.upcoming, Upcoming(ops)
    frame.upcoming = upcoming
    count = len(ops)
    frame.scope.program.budget.charge(count)
    while upcoming.position < count:
        op = ops[upcoming.position]
        upcoming.position += 1
        output.offset = op.offset
        handlers[op.kind](frame, op)
    frame.upcoming = outer
