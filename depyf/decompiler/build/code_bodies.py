"""The body of one code object, with everything nested in it; and comprehensions."""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.analysis.local_name_access import sees_local_names
from depyf.decompiler.analysis.unbound_locals import captured_from, maybe_unbound, never_set, unread_before_store
from depyf.decompiler.build.comprehensions import COMPREHENSIONS, Element, comprehension_node
from depyf.decompiler.build.constants import Placeholders
from depyf.decompiler.build.control_flow import trampoline
from depyf.decompiler.build.finish import (
    finish_body,
    named_after,
    rename,
    resolve,
    spell_assertion_errors,
    telling_names,
)
from depyf.decompiler.build.forms import AiterOf, CoroutineComprehension, IterOf
from depyf.decompiler.build.generics import Generics
from depyf.decompiler.build.names import Names
from depyf.decompiler.build.namespaces import drop_returns, future_imports
from depyf.decompiler.build.private import class_around
from depyf.decompiler.build.signature import docstring_of
from depyf.decompiler.build.values import FunctionValue, Marker, Value
from depyf.decompiler.bytecode.code_flags import CO_COROUTINE, GENERATORS
from depyf.decompiler.bytecode.microops import Op, Program, parameters
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.identifiers import spelled
from depyf.decompiler.undo import Comprehension

USES_OF_LOCALS = frozenset({
    "LOAD_LOCAL", "STORE_LOCAL", "DELETE_LOCAL", "LOAD_LOCAL_AND_CLEAR", "LOAD_CELL", "STORE_CELL", "DELETE_CELL",
    "SAVE_CELL", "RENEW_CELL", "LOAD_CLOSURE",
})  # fmt: skip
READS_OF_CELLS = frozenset({"LOAD_CELL", "LOAD_CLOSURE", "LOAD_CLASS_CELL", "LOAD_FROM_MAPPING_OR_CELL"})


class Settings:
    """What the whole decompilation shares."""

    def __init__(
        self,
        structure: Callable[[CodeType], Any],
        renames: Mapping[str, str],
        constant_globals: Callable[[str], bool],
        hints: Mapping[str, Sequence[str]],
    ) -> None:
        self.structure = structure  # code -> (program, region tree)
        self.renames = renames
        self.constant_globals = constant_globals
        self.hints = {renames.get(name, name): parameters for name, parameters in hints.items()}
        self.placeholders = Placeholders()
        self.listings: Mapping[CodeType, Sequence[str]] = {}  # functions inside that are shown as instructions
        self.annotations_are_strings = False  # whether the text says `from __future__ import annotations`


class Builder(Generics):
    """Builds the body of one code object."""

    def __init__(
        self,
        program: Program,
        settings: Settings,
        class_name: Optional[str] = None,
        invented: Collection[str] = (),
    ) -> None:
        """`invented`: locals that a code generator added to the user's."""
        self.program = program
        self.generated = frozenset(invented)
        self.code = program.code
        self.settings = settings
        self.placeholders = settings.placeholders
        self.declared = {}
        super().__init__(Names(self.code, settings.renames.values()))
        self.better_names: Dict[str, str] = {}  # temporary -> what a function that takes it calls it
        self.class_name = class_name
        self.is_in_class = False  # whether the text of that class is around: then names in it are mangled
        if self.is_namespace and self.code.co_name != "<module>":
            self.class_name = self.code.co_name
            self.is_in_class = True
        elif class_name is None:
            self.class_name = class_around(getattr(self.code, "co_qualname", ""))
        self.given, self.made, self.type_parameters = {}, None, ()
        self.annotations_are_strings = settings.annotations_are_strings
        self.captured = captured_from(program)
        self.maybe_unbound = maybe_unbound(program)
        self.unread_before_store = unread_before_store(program)

    def build(self, tree: Any) -> List[s.Statement]:
        """The statements of the function, docstring and declarations first."""
        body = self.statements(tree)
        head: List[s.Statement] = []
        docstring = docstring_of(self.code)
        if docstring is not None:
            head.append(s.Expr(s.Constant(docstring)))
        if self.is_namespace:
            body = self.namespace_body(body)
            start = future_imports(body)
            head, body = body[:start], body[start:]
        free = [name for name in self.code.co_freevars if self.rebinds(name) or not self.mentions(name)]
        free += [name for name in self.code.co_freevars if name not in free and self.is_set_inside(name)]
        if self.declared.get("global"):
            head.append(s.Global(self.declared["global"]))
        if free:
            head.append(s.Nonlocal(free))
        if self.code.co_flags & GENERATORS and not any(op.kind in ("YIELD", "YIELD_FROM") for op in self.program.ops):
            head.append(s.If(s.Constant(False), [s.Expr(s.Yield())]))  # a generator that never yields
        head.extend(s.AnnAssign(s.Name(name), s.Constant(...)) for name in self.unset_cells())
        unused = self.unused_locals()
        if unused:
            nothing: List[s.Statement] = [s.Assign([s.Name(name) for name in unused], s.Constant(None))]
            head.append(s.If(s.Constant(False), nothing))
        return head + body

    def statements(self, tree: Any) -> List[s.Statement]:
        """The statements of a region tree."""
        trampoline(self.sequence(tree))
        if self.values and self.falls:
            raise Unstructured("values are left on the stack")
        body = resolve(self.out, self.placeholders)
        if self.is_namespace:
            drop_returns(body)
        finish_body(body)
        if any(op.kind == "LOAD_ASSERTION_ERROR" for op in self.program.ops):
            spell_assertion_errors(body, self.placeholders)
        wanted = {**telling_names(body, self.generated), **self.better_names}
        wanted = {**named_after(self.temporaries, wanted), **wanted}
        rename(body, {old: self.names.like(name) for old, name in wanted.items()})
        return body

    def unset_cells(self) -> List[str]:
        """Variables that are captured but never set here: an annotation makes them this function's own."""
        if self.is_namespace:
            return []
        stored = {op.arg for op in self.program.ops if op.kind in ("STORE_CELL", "DELETE_CELL")}
        locals_ = self.code.co_varnames
        own = [name for name in self.code.co_cellvars if name in self.captured and name not in locals_]
        return [name for name in own if name not in stored and not self.is_set_inside(name)]

    def is_set_inside(self, name: str) -> bool:
        """Whether a comprehension sets the variable with `:=`, which makes it this function's own as well.

        Only those that the program makes count: code that Dynamo wrote still has the constants of what it was made of.
        """
        work = [self.program]
        while work:
            inner = [op.arg for op in work.pop().ops if op.kind == "CONST" and isinstance(op.arg, CodeType)]
            for code in inner:
                if code.co_name in COMPREHENSIONS and name in code.co_freevars:
                    program = self.settings.structure(code)[0]
                    if any(op.kind == "STORE_CELL" and op.arg == name for op in program.ops):
                        return True
                    work.append(program)
        return False

    def unused_locals(self) -> List[str]:
        """Locals that only dropped code sets: those that are read, and all if the function looks at its own names."""
        if self.is_namespace:
            return []
        found = set(never_set(self.program, self.maybe_unbound))
        if sees_local_names(self.program):
            used = {op.arg for op in self.program.ops if op.kind in USES_OF_LOCALS}.union(parameters(self.code))
            found.update(set(self.code.co_varnames) - used)
        return [spelled(name) for name in dict.fromkeys(self.code.co_varnames) if name in found]

    def suggest_names(self, call: Sequence[s.Expression]) -> None:
        callee = call[0]
        if not isinstance(callee, s.Name):
            return
        for argument, parameter in zip(call[1:], self.settings.hints.get(callee.id, ())):
            if isinstance(argument, s.Name) and argument.id in self.temporaries and not parameter.startswith("__"):
                self.better_names.setdefault(argument.id, parameter)

    def mentions(self, name: str) -> bool:
        """Whether the text mentions a free variable without a declaration."""
        ops = self.program.ops
        if name == "__class__" and any(op.kind in ("LOAD_GLOBAL", "LOAD_NAME") and op.arg == "super" for op in ops):
            return True
        return any(op.arg == name for op in ops if op.kind in READS_OF_CELLS)

    def rebinds(self, name: str) -> bool:
        """Whether the function assigns to a free variable."""
        return any(op.kind in ("STORE_CELL", "DELETE_CELL") and op.arg == name for op in self.program.ops)

    # -- names

    def variable(self, name: str) -> str:
        return spelled(name)

    def global_name(self, name: str) -> str:
        return self.settings.renames.get(name) or spelled(name)

    def is_constant_global(self, name: str) -> bool:
        return self.settings.constant_globals(name)

    def is_private_cell(self, name: str) -> bool:
        return name in self.code.co_cellvars and self.offset < self.captured.get(name, self.offset + 1)

    # -- making functions

    def inner(self, code: CodeType, is_lazy: bool = False) -> List[s.Statement]:
        if code in self.settings.listings:
            texts = [s.Expr(s.Constant(text)) for text in self.settings.listings[code]]
            free = [spelled(name) for name in code.co_freevars]
            return [texts[0], *([s.Nonlocal(free)] if free else []), *texts[1:]]
        program, tree = self.settings.structure(code)
        builder = Builder(program, self.settings, self.class_name)
        builder.is_in_class = builder.is_in_class or self.is_in_class
        return builder.statements(tree) if is_lazy else builder.build(tree)

    def hidden_builder(self, code: CodeType) -> Tuple[Generics, Any]:
        program, tree = self.settings.structure(code)
        builder = Builder(program, self.settings, self.class_name)
        builder.is_in_class = builder.is_in_class or self.is_in_class
        return builder, tree

    def call_comprehension(self, function: FunctionValue, arguments: List[Value]) -> bool:
        """A comprehension: a function made, called with an iterator, and gone."""
        code = function.code
        if code.co_name not in COMPREHENSIONS or len(arguments) != 1 or function.refs:
            return False
        _, source = self.take(function, arguments[0])
        if isinstance(source, (IterOf, AiterOf)):
            source = source.args[0]
        program, tree = self.settings.structure(code)
        node = comprehension_of(program, tree, self.settings, source)
        self.event(CoroutineComprehension(node) if code.co_flags & CO_COROUTINE else node)
        return True

    def op_comprehension(self, op: Op) -> None:
        """A comprehension that was inlined: its loops are built apart, with the iterator to run over given."""
        found: Comprehension = op.arg
        (source,) = self.take(self.pop())
        for name in sorted(found.rebound):
            self.before_rebinding(name)
        inner = ComprehensionBuilder(self.program, self.settings)
        inner.names, inner.declared = self.names, self.declared
        inner.push(Marker("collection"))
        inner.push(Value(source))
        over = source.args[0] if isinstance(source, (IterOf, AiterOf)) else source
        self.event(comprehension_node(found.kind, inner.build(found.tree), over))


class ComprehensionBuilder(Builder):
    """Builds the body of a comprehension: what it collects becomes `Element` statements."""

    @property
    def is_namespace(self) -> bool:
        """A comprehension is like a function, even where it is inlined into a module."""
        return False

    def collects(self, op: Any, popped: int) -> bool:
        """Whether an op adds to the collection itself, which is at the bottom of the stack."""
        return bool(op.arg == len(self.values) - popped)

    def op_list_append(self, op: Any) -> None:
        if not self.collects(op, 1):
            super().op_list_append(op)
            return
        (node,) = self.take(self.pop(), final=True)
        self.emit(s.Expr(Element(node)))

    def op_set_add(self, op: Any) -> None:
        if not self.collects(op, 1):
            super().op_set_add(op)
            return
        (node,) = self.take(self.pop(), final=True)
        self.emit(s.Expr(Element(node)))

    def op_build_set(self, op: Any) -> None:
        if op.arg or self.values:
            super().op_build_set(op)
        else:  # the collection itself
            self.silent(s.Set([]))

    def op_map_add(self, op: Any) -> None:
        if not self.collects(op, 2):
            super().op_map_add(op)
            return
        key, value = self.take(*self.pop_many(2), final=True)
        self.emit(s.Expr(Element(value, key)))

    def op_yield(self, op: Any) -> None:
        (node,) = self.take(self.pop(), final=True)
        self.emit(s.Expr(Element(node)))
        self.silent(s.Constant(None))

    def build(self, tree: Any) -> List[s.Statement]:
        trampoline(self.sequence(tree))
        return resolve(self.out, self.placeholders)

    def unmentioned(self) -> List[str]:
        """Free variables that only code mentions which the compiler dropped."""
        return [spelled(name) for name in self.code.co_freevars if not self.rebinds(name) and not self.mentions(name)]


def comprehension_of(program: Program, tree: Any, settings: Settings, source: s.Expression) -> s.Expression:
    """The comprehension that a code object of its own computes."""
    builder = ComprehensionBuilder(program, settings)
    return comprehension_node(program.code.co_name, builder.build(tree), source, builder.unmentioned())


def standalone_comprehension(program: Program, tree: Any, settings: Settings) -> s.Expression:
    """A comprehension's code object by itself: it runs over an iterator that it is given."""
    return comprehension_of(program, tree, settings, s.Name("__iterator"))


__all__ = ["Builder", "Settings"]
