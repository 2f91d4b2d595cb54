"""Text compiler: compile source text to a code object that can replace the original.

The compiler reads the text that is shown; what no text can spell is put back afterwards (restoration.py). Free
variables need a function around the text; line numbers stay those of the text that is shown.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.bytecode.code_flags import CO_FUTURE_ANNOTATIONS, CO_METHOD, CO_NESTED, FUTURE_FLAGS
from depyf.decompiler.bytecode.code_objects import CODE_TYPES, facts_of
from depyf.decompiler.decode.global_reads import reads_global
from depyf.decompiler.printer import SyntaxLimits, print_source
from depyf.decompiler.recompile.cells import with_cells
from depyf.decompiler.recompile.module_context import module_context
from depyf.decompiler.recompile.restoration import CannotRecompile, Restorer, stand_in, with_empty_fromlists
from depyf.text.quiet_compile import compile_quietly

# What compiles text: the text, a file name, the mode of `compile`, and the flags of `from __future__` statements that
# hold for it -> the code object of a module. Raises SyntaxError, and what else `compile` raises.
Compiler = Callable[[str, str, str, int], CodeType]


def running_compiler(text: str, filename: str, mode: str, flags: int) -> CodeType:
    """Compile text with the running Python."""
    return compile_quietly(text, filename, mode, flags=flags, optimize=0)


def compile_like(
    tree: s.Module,
    original: CodeType,
    *,
    filename: str,
    mode: str = "exec",
    shown_line: int,
    constants: Mapping[str, Any] = {},
    names: Mapping[str, str] = {},
    print_width: Optional[int] = None,
    shown: Optional[str] = None,
    has_scope: bool = False,
    kept: Collection[CodeType] = (),
    is_generated: bool = False,
    annotations_are_strings: bool = False,
    compiler: Compiler = running_compiler,
) -> CodeType:
    """Compile the text, one definition or a whole module, to a code object like `original`.

    `shown_line` is the line of the `def` in the text that is shown. `names` maps shown names to real ones and
    `constants` placeholders to their values. `shown` is the text of `tree` if it was already printed: it is compiled
    without printing it again. With `has_scope`, it includes a function that binds the free variables.
    `kept` are code objects inside `original` that the text does not spell; they are put back unchanged.
    `is_generated`: a code generator made the original. Then the code must make every cell that the original makes
    (torch refuses any other), and does not show what the module around it imports.
    `annotations_are_strings`: those of the text are by the flag of `from __future__ import annotations`.
    `compiler`: of the Python that the original belongs to.
    """
    facts = facts_of(original)
    limits = SyntaxLimits.of(facts.version)
    body: List[s.Statement] = tree.body
    is_generic = ".type_params" in original.co_freevars  # the compiler itself wraps such a class in a function
    wrapped = bool(original.co_freevars) and not is_generic
    if wrapped:
        empty = s.Assign([s.Name(_shown(name, names)) for name in original.co_freevars], s.Constant(None))
        body = [s.FunctionDef("__around__", s.arguments(), [*global_statement(body, original), empty, *body])]
        if shown is not None and not has_scope and not constants:
            shown = _indented_in(s.Module(body), tree, shown, limits)
    width = None if print_width is None else print_width + (4 if wrapped and not has_scope else 0)
    text = shown
    if text is None or constants:
        text = print_source(_with_stand_ins(s.Module(body), constants), features=limits, width=width).text
    # Not `annotations` where the text spells string annotations as strings.
    flags = original.co_flags & FUTURE_FLAGS
    if not annotations_are_strings:
        flags &= ~CO_FUTURE_ANNOTATIONS
    depth = 0 if original.co_name == "<module>" else 1 + wrapped + is_generic
    around = ""
    if depth and mode == "exec":
        around = module_context(original, {real: name for name, real in names.items()}, has_imports=not is_generated)
    code = _compiled(compiler, text + around, filename, mode, flags, depth)
    free = [_shown(name, names) for name in original.co_freevars if name not in code.co_freevars]
    cells = [_shown(name, names) for name in original.co_cellvars if is_generated and name not in code.co_cellvars]
    if depth and (free or cells):
        capturing = _with_capture(body, wrapped, free, cells)
        tree = _with_stand_ins(s.Module(capturing), constants)
        text = print_source(tree, features=limits, width=width).text
        code = _compiled(compiler, text + around, filename, mode, flags, depth)
    shift = shown_line - code.co_firstlineno
    stand_ins = {stand_in(name): value for name, value in constants.items()}
    prefix = (getattr(code, "co_qualname", ""), getattr(original, "co_qualname", ""))
    restorer = Restorer(dict(names), stand_ins, shift, prefix, original, kept)
    code = restorer.code(code, original)
    return _like(with_empty_fromlists(code, original), original, is_generated)


def _compiled(compiler: Compiler, text: str, filename: str, mode: str, flags: int, depth: int) -> CodeType:
    """Compile a text and return the code object that many definitions down in it."""
    code = compiler(text, filename, mode, flags)
    for _ in range(depth):
        code = _only_code(code)
    return code


def _with_capture(
    body: List[s.Statement], wrapped: bool, free: Sequence[str], cells: Sequence[str]
) -> List[s.Statement]:
    """Return the definition with dead code at its end that captures free variables, and variables of its own.

    Code that the text does not spell, because it was dropped or replaced, made cells of these variables. The compiler
    drops the dead code, too, and makes the cells.
    """
    variables = [s.Name(name) for name in (*free, *cells)]
    (outer,) = body[-1:]
    function = outer.body[-1] if wrapped and isinstance(outer, s.FunctionDef) else outer
    if not isinstance(function, (s.FunctionDef, s.AsyncFunctionDef)) or not all(
        name.id.isidentifier() for name in variables
    ):
        raise CannotRecompile("the text makes fewer cells")
    dead: List[s.Statement] = [s.Assign([s.Name(name)], s.Constant(None)) for name in cells]
    dead.append(s.Expr(s.Lambda(s.arguments(), s.Tuple(variables))))
    longer = [*function.body, s.If(s.Constant(False), dead)]
    new = type(function)(
        function.name, function.args, longer, function.decorator_list, function.returns, function.type_params
    )
    if function is outer:
        return [*body[:-1], new]
    assert isinstance(outer, s.FunctionDef)
    return [*body[:-1], s.FunctionDef(outer.name, outer.args, [*outer.body[:-1], new])]


def _indented_in(around: s.Module, inner: s.Module, shown: str, limits: SyntaxLimits) -> Optional[str]:
    """Return the text of a definition inside the function around it; None if a string constant may span lines."""
    if '"""' in shown or "'''" in shown:
        return None
    (function,) = around.body
    assert isinstance(function, s.FunctionDef)
    head = s.FunctionDef(function.name, function.args, function.body[: -len(inner.body)])
    text = print_source(s.Module([head]), features=limits).text
    return text + "".join([f"    {line}\n" for line in shown[:-1].split("\n")])


def global_statement(body: Sequence[s.Statement], original: CodeType) -> List[s.Statement]:
    """Return the `global` statement that a function around a definition needs, if any.

    The function would make the definition's name a local; code inside that reads a global of that name needs it.
    """
    definition = body[0] if len(body) == 1 else None
    if not isinstance(definition, (s.FunctionDef, s.AsyncFunctionDef, s.ClassDef)):
        return []
    is_needed = definition.name not in original.co_freevars and reads_global(original, definition.name)
    return [s.Global([definition.name])] if is_needed else []


def _shown(name: str, names: Mapping[str, str]) -> str:
    for shown, real in names.items():
        if real == name:
            return shown
    return name


def _only_code(code: CodeType) -> CodeType:
    found = [const for const in code.co_consts if isinstance(const, CODE_TYPES)]
    if len(found) > 1:  # the annotations of a function have a code object of their own (3.14)
        found = [const for const in found if const.co_name != "__annotate__"]
    if len(found) != 1:
        raise CannotRecompile(f"{len(found)} code objects where one was expected")
    return found[0]


def _with_stand_ins(module: s.Module, constants: Mapping[str, Any]) -> s.Module:
    """Return a copy of the tree with bytes literals instead of placeholders; the tree itself if it has none."""
    if not constants:
        return module
    replaced: s.Module = _replace(
        module, lambda node: s.Constant(stand_in(node.name)) if isinstance(node, s.Placeholder) else node
    )
    return replaced


def _replace(root: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of a tree with some of its nodes changed; iterative."""
    copies: Dict[int, Any] = {}
    work: List[Tuple[Any, bool]] = [(root, False)]
    while work:
        node, is_ready = work.pop()
        if not is_ready:
            work.append((node, True))
            work.extend((child, False) for child in s.children(node))
            continue
        changed = change(node)
        if changed is node:
            new = object.__new__(type(node))
            for slot in node.__slots__:
                value = getattr(node, slot)
                if isinstance(value, s.Node):
                    value = copies[id(value)]
                elif isinstance(value, (list, tuple)) and not isinstance(node, s.Constant):
                    value = [copies[id(item)] if isinstance(item, s.Node) else item for item in value]
                setattr(new, slot, value)
            changed = new
        copies[id(node)] = changed
    return copies[id(root)]


def _like(code: CodeType, original: CodeType, keeps_cells: bool) -> CodeType:
    """Return the code with the name, flags and cells of the original."""
    changes: Dict[str, Any] = {"co_name": original.co_name}
    if hasattr(original, "co_qualname"):
        changes["co_qualname"] = original.co_qualname
    both = code.co_flags ^ original.co_flags
    if both & ~(CO_NESTED | CO_METHOD | FUTURE_FLAGS) == 0:
        changes["co_flags"] = original.co_flags
    code = code.replace(**changes)
    if code.co_cellvars != original.co_cellvars or code.co_freevars != original.co_freevars:
        code = with_cells(code, original.co_cellvars, original.co_freevars)
    if keeps_cells and code.co_cellvars != original.co_cellvars:
        raise CannotRecompile("the text makes fewer cells")
    return code
