"""The map of the house: every room of the package, every module in it, and which rooms it may import.

    python tools/house.py            write docs/house.md
    python tools/house.py --check    exit 1 when docs/house.md is not what the source gives

ROOMS is written by hand: the rooms in order, and what each may import. Everything else is read from the source; the
line of a module on the map is the first paragraph of its docstring. `tests/house/` compares the source with it.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

ROOT = Path(__file__).resolve().parent.parent
MAP = ROOT / "docs" / "house.md"

_BOTTOM = ("depyf.version", "depyf.errors", "depyf.signal_handler_errors", "depyf.text")
_PROGRAM = ("depyf.decompiler.bytecode", "depyf.decompiler.analysis")  # what every stage may ask about a program
_GRAPH = (*_PROGRAM, "depyf.decompiler.flow", "depyf.decompiler.clean_graph", "depyf.decompiler.fold")
_DATA = ("depyf.problems", "depyf.record", "depyf.report")
_FILES = ("depyf.torch_hooks.internals", "depyf.torch_hooks.disk")

# room -> the rooms that it may import, besides itself; a room is a package, or a module that is in none.
# A room may import only rooms that are listed before it.
ROOMS: Dict[str, Tuple[str, ...]] = {
    "depyf.version": (),
    "depyf.errors": (),
    "depyf.signal_handler_errors": (),
    "depyf.code_generator": (),
    "depyf.text": (),
    "depyf.problems": ("depyf.version", "depyf.signal_handler_errors"),
    "depyf.decompiler.bytecode": (),
    "depyf.decompiler.decode": ("depyf.decompiler.bytecode",),
    # Of the decoder only the opcode tables: what no table has is never made into a code object.
    "depyf.decompiler.pyc": ("depyf.errors", "depyf.decompiler.bytecode", "depyf.decompiler.decode"),
    "depyf.decompiler.analysis": ("depyf.decompiler.bytecode", "depyf.text"),
    "depyf.decompiler.clean_program": _PROGRAM,
    "depyf.decompiler.flow": _PROGRAM,
    "depyf.decompiler.clean_graph": _GRAPH[:3],
    "depyf.decompiler.fold": _GRAPH[:4],
    "depyf.decompiler.structure": _GRAPH,
    "depyf.decompiler.syntax": (),
    "depyf.decompiler.build": (
        *_GRAPH,
        "depyf.decompiler.decode",
        "depyf.decompiler.structure",
        "depyf.decompiler.syntax",
    ),
    # Of the decoder only the tables of instructions, for listings of code that has no source.
    "depyf.decompiler.printer": (
        "depyf.decompiler.bytecode",
        "depyf.decompiler.decode",
        "depyf.decompiler.syntax",
        "depyf.text",
    ),
    "depyf.decompiler.recompile": (
        "depyf.decompiler.bytecode",
        "depyf.decompiler.decode",
        "depyf.decompiler.syntax",
        "depyf.decompiler.printer",
        "depyf.text",
    ),
    # A text of another version is compiled by an interpreter of it: what comes back is read like a file.
    "depyf.decompiler.other_pythons": (
        "depyf.errors",
        "depyf.decompiler.bytecode",
        "depyf.decompiler.pyc",
        "depyf.decompiler.recompile",
    ),
    # The prover shares the decoder with the stages that it judges, and nothing that writes the text.
    "depyf.decompiler.prove": (*_PROGRAM, "depyf.decompiler.decode", "depyf.decompiler.clean_program"),
    "depyf.decompiler.code_search": (
        "depyf.errors",
        "depyf.text",
        "depyf.decompiler.bytecode",
        "depyf.decompiler.pyc",
    ),
    "depyf.decompiler.callables": ("depyf.text", "depyf.decompiler.bytecode", "depyf.decompiler.code_search"),
    "depyf.decompiler.attempt": (
        *_GRAPH,
        "depyf.code_generator",
        "depyf.text",
        *(f"depyf.decompiler.{stage}" for stage in ("decode", "clean_program", "structure", "syntax", "build")),
        *(f"depyf.decompiler.{stage}" for stage in ("printer", "recompile", "prove")),
    ),
    "depyf.decompiler.pipeline": ("depyf.code_generator", "depyf.signal_handler_errors", "depyf.decompiler.*"),
    "depyf.record": ("depyf.text",),
    "depyf.line_table": ("depyf.errors", "depyf.text", "depyf.record"),
    "depyf.report": ("depyf.problems", "depyf.record", "depyf.line_table", "depyf.text"),
    # A page is made of a record and the texts of its folder: nothing here imports torch, or reads anything else.
    "depyf.page": ("depyf.text", "depyf.record", "depyf.line_table", "depyf.report"),
    "depyf.torch_hooks": (),
    "depyf.torch_hooks.internals": (
        "depyf.signal_handler_errors",
        "depyf.text",
        "depyf.problems",
        "depyf.record",  # only the compile ids: they are read where torch's trace is read
        "depyf.code_generator",  # the form in which it describes Dynamo to the decompiler
    ),
    # The public door: it alone asks the torch side for the names that Dynamo invents, so no stage has to.
    "depyf.decompiler": (
        "depyf.errors",
        "depyf.signal_handler_errors",
        "depyf.decompiler.*",
        "depyf.torch_hooks.internals",
    ),
    "depyf.torch_hooks.disk": (*_BOTTOM, *_DATA, "depyf.page", "depyf.torch_hooks.internals"),
    "depyf.torch_hooks.guards": (*_BOTTOM, "depyf.record", "depyf.torch_hooks.internals"),
    "depyf.torch_hooks.graphs": (*_BOTTOM, *_DATA, "depyf.decompiler.*", *_FILES),
    "depyf.torch_hooks.frames": (
        *_BOTTOM,
        *_DATA,
        "depyf.decompiler.*",
        *_FILES,
        "depyf.torch_hooks.guards",
        "depyf.torch_hooks.graphs",
    ),
    "depyf.torch_hooks.session": (
        *_BOTTOM,
        *_DATA,
        "depyf.page",
        *_FILES,
        "depyf.torch_hooks.guards",
        "depyf.torch_hooks.graphs",
        "depyf.torch_hooks.frames",
    ),
    # Reads a log as if it were a program that runs now: the modules that read torch's events are the same.
    "depyf.torch_hooks.trace_logs": (
        *_BOTTOM,
        *_DATA,
        "depyf.line_table",
        "depyf.page",
        *_FILES,
        "depyf.torch_hooks.guards",
        "depyf.torch_hooks.graphs",
        "depyf.torch_hooks.frames",
    ),
    "depyf.torch_hooks.stepping": (
        "depyf.errors",
        "depyf.record",
        "depyf.line_table",
        "depyf.torch_hooks.internals",
        "depyf.torch_hooks.graphs",
    ),
    "depyf.torch_hooks.numerics": (
        "depyf.errors",
        "depyf.record",
        "depyf.line_table",
        "depyf.torch_hooks.internals",
        "depyf.torch_hooks.graphs",
        "depyf.torch_hooks.frames",
    ),
    "depyf.torch_hooks.entry_points": (
        *_BOTTOM,
        *_DATA,
        "depyf.line_table",
        "depyf.page",
        "depyf.decompiler.*",
        "depyf.torch_hooks.*",
    ),
    "depyf.explain": ("depyf.errors", "depyf.torch_hooks.*"),
    "depyf.optimization": ("depyf.torch_hooks.entry_points",),
    "depyf.utils": ("depyf.errors", "depyf.decompiler.*"),
    "depyf.code_transform": ("depyf.text", "depyf.decompiler.*", "depyf.utils"),
    # A program that is run is not to import torch before it does so itself: nothing here imports it at the top.
    "depyf.commands": (
        "depyf.version",
        "depyf.errors",
        "depyf.text",
        "depyf.record",
        "depyf.line_table",
        "depyf.report",
        "depyf.page",
        "depyf.decompiler.*",
        "depyf.torch_hooks.internals",
        "depyf.torch_hooks.trace_logs",
        "depyf.torch_hooks.entry_points",
    ),
    "depyf.__main__": (
        "depyf.version",
        "depyf.errors",
        "depyf.commands",
        "depyf.text",
        "depyf.decompiler.*",
        "depyf.line_table",
        "depyf.report",
        "depyf.torch_hooks.entry_points",
    ),
    "depyf": ("depyf.version", "depyf.decompiler.*", "depyf.torch_hooks.*"),
}


def modules() -> Dict[str, Path]:
    """Return the path of every module of the package by its dotted name."""
    found = {}
    for path in sorted((ROOT / "depyf").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room_of(module: str) -> str:
    """Return the innermost room that holds the module; empty if none does."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        room = ".".join(parts[:length])
        if room in ROOMS and (room == module or room not in _OUTER):
            return room
    return ""


# Packages whose modules are all in rooms of their own: as a room, the name means their __init__ alone.
_OUTER = ("depyf", "depyf.decompiler", "depyf.torch_hooks")


def may_import(room: str, target: str) -> bool:
    """Return whether a module of `room` may import one of the room `target`, which has to be listed before it."""
    if target == room:
        return True
    allowed, order = ROOMS[room], list(ROOMS)
    package = ".".join(target.split(".")[:2])
    return order.index(target) < order.index(room) and (target in allowed or f"{package}.*" in allowed)


def imports_of(path: Path, known: Dict[str, Path]) -> Iterator[Tuple[str, int]]:
    """Yield (module of depyf, line) for each import in the file, those in functions and for type checkers included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    importers = importing_functions(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in importers:
            name = imported_by_call(path, node)
            if name.split(".")[0] == "depyf":
                yield name, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.split(".")[0] == "depyf")
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path}:{node.lineno}: imports are absolute, so that this map can be checked")
            if node.module and node.module.split(".")[0] == "depyf":
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    yield (name if name in known else node.module), node.lineno


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` of a name or an attribute of one; empty for anything else."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""


def importing_functions(tree: ast.Module) -> Set[str]:
    """Return the names under which a module can call `import_module` and `__import__`."""
    found = {"__import__", "importlib.import_module", "importlib.__import__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "importlib" and alias.asname:
                    found.add(f"{alias.asname}.import_module")
        elif isinstance(node, ast.ImportFrom) and node.module == "importlib":
            found.update(alias.asname or alias.name for alias in node.names)
    return found


def imported_by_call(path: Path, call: ast.Call) -> str:
    """Return the module that a call imports; empty where the name is computed."""
    name = call.args[0] if call.args else next((one.value for one in call.keywords if one.arg == "name"), None)
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return ""
    if name.value.startswith("."):
        raise ValueError(f"{path}:{call.lineno}: imports are absolute, so that this map can be checked")
    return name.value


def against_the_direction() -> List[str]:
    """Return the imports that ROOMS does not allow, one line each."""
    known = modules()
    found = []
    for module, path in known.items():
        for target, line in imports_of(path, known):
            if not may_import(room_of(module), room_of(target)):
                found.append(f"{path.relative_to(ROOT)}:{line}: {room_of(module)} may not import {target}")
    return found


def import_cycles() -> List[str]:
    """Return the modules that import each other, directly or through others: `a -> b -> a`."""
    known = modules()
    edges: Dict[str, Set[str]] = {name: {to for to, _ in imports_of(path, known)} for name, path in known.items()}
    found: List[str] = []
    done: Set[str] = set()
    for start in known:
        path: List[str] = []
        work: List[Tuple[str, bool]] = [(start, False)]
        while work:
            name, is_left = work.pop()
            if is_left:
                done.add(path.pop())
            elif name in path:
                found.append(" -> ".join([*path[path.index(name) :], name]))
            elif name not in done:
                path.append(name)
                work.append((name, True))
                work.extend((target, False) for target in sorted(edges.get(name, ())))
    return found


def first_sentence(path: Path) -> str:
    """Return the first paragraph of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


INTRODUCTION = """\
# The map of the house

Generated by `python tools/house.py`: the text is the first paragraph of each docstring. A *room* is a package, or a
module that is in none. A room imports only rooms that are listed before it, and of these only the ones named under
"May import"; `tests/house/` checks that. `a.*` stands for all rooms of the package `a`.

![The packages, and which import which](pictures/house.svg)

The list goes from the bottom up. How one frame travels through it is drawn in [CONTRIBUTING](../CONTRIBUTING.md).
"""


def render() -> str:
    """Return the text of docs/house.md."""
    known = modules()
    lines = [INTRODUCTION, "| room | what it is for |", "|---|---|"]
    for room in ROOMS:
        anchor = _shown(room).replace(".", "")
        lines += [f"| [`{_shown(room)}`](#{anchor}) | {first_sentence(known[room])} |"]
    for room, allowed in ROOMS.items():
        members = [name for name in known if room_of(name) == room]
        lines += ["", f"## `{_shown(room)}`", ""]
        lines += [first_sentence(known[room]), ""]
        names = ", ".join(f"`{_shown(name)}`" for name in allowed) or "nothing of depyf"
        lines += [f"May import: {names}."]
        inner = [name for name in members if name != room]
        if inner:
            lines += ["", "| module | what it is for |", "|---|---|"]
            lines += [f"| `{name[len(room) + 1 :]}` | {first_sentence(known[name])} |" for name in inner]
    return "\n".join(lines) + "\n"


def _shown(room: str) -> str:
    return room if room == "depyf" else room[len("depyf.") :]


def main() -> int:
    """Write the map, or compare it with the source."""
    text = render()
    if "--check" not in sys.argv[1:]:
        MAP.write_text(text, encoding="utf-8")
        return 0
    if MAP.read_text(encoding="utf-8") != text:
        print("docs/house.md is not what the source gives: run python tools/house.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
