"""Programs and region trees made by hand, and the text that the stage `build` makes of them."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build import Settings, build_statements
from depyf.decompiler.bytecode.microops import PLAIN, Handler, Op, Program
from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION
from depyf.decompiler.printer import SyntaxLimits, print_source
from depyf.decompiler.structure import Sequence as Region

RETURN_NONE = (Op("CONST", None), Op("RETURN"))


def function(a, b, c, x, y):
    # Lends its code object to programs made by hand: five parameters, four globals, no docstring.
    return f, g, h, G  # noqa: F821


def local(name: str) -> Op:
    return Op("LOAD_LOCAL", name)


def store(name: str) -> Op:
    return Op("STORE_LOCAL", name)


def const(value: Any) -> Op:
    return Op("CONST", value)


def call(argc: int, names: Tuple[str, ...] = ()) -> Op:
    return Op("CALL", (argc, names or None, PLAIN))


def called(name: str) -> List[Op]:
    """Return the ops of `name()`, a global function: an event whose result is on the stack."""
    return [Op("LOAD_GLOBAL", name), call(0)]


def flat(*parts: Any) -> List[Any]:
    """Return one list of ops and nodes from ops, nodes and lists of them."""
    found: List[Any] = []
    for part in parts:
        found += flat(*part) if isinstance(part, (list, tuple)) else [part]
    return found


def region(*parts: Any) -> Region:
    return Region(flat(*parts))


def text(
    *parts: Any,
    code: Any = function.__code__,
    handlers: Sequence[Handler] = (),
    nested: Optional[Mapping[Any, Tuple[Program, Region]]] = None,
    constant_globals: Sequence[str] = (),
    generated: Sequence[str] = (),
    is_generated: bool = False,
) -> str:
    """Return the text of the body that `build` makes of ops and nodes of the region tree."""
    tree = region(*parts)
    settings = Settings((nested or {}).__getitem__, {}, lambda name: name in constant_globals, {})
    settings.is_generated = is_generated
    body = build_statements(program(tree, code, handlers), tree, settings, generated)
    return shown(s.Module(body or [s.Pass()])).rstrip("\n")


def program(tree: Region, code: Any = function.__code__, handlers: Sequence[Handler] = ()) -> Program:
    """Return a program that has the ops of a region tree, in the order of the tree, each at an offset of its own."""
    ops = list(ops_of(tree.items))
    for offset, op in enumerate(ops):
        op.offset = 2 * offset
    return Program(tuple(ops), tuple(handlers), code, RUNNING_VERSION)


def ops_of(part: Any) -> Iterator[Op]:
    if isinstance(part, Op):
        yield part
    elif isinstance(part, (list, tuple)):
        for item in part:
            yield from ops_of(item)
    else:
        for name in getattr(part, "__slots__", ()):
            if name not in ("region", "block"):
                yield from ops_of(getattr(part, name))


def shown(node: s.Node) -> str:
    return print_source(node, features=SyntaxLimits.of(RUNNING_VERSION), width=120).text
