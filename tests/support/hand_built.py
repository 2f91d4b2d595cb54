"""Programs written by hand as micro-ops, and graphs and region trees as lines of text: for the tests of one stage."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Dict, List, Sequence, Tuple

from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.microops import JUMPS, Handler, Op, Program
from depyf.decompiler.clean_graph import clean_graph
from depyf.decompiler.flow import build_graph
from depyf.decompiler.flow.graph import Both, Branch, Graph, Guarded, Keep, Simple
from depyf.decompiler.flow.regions import ProtectedGraph
from depyf.decompiler.structure import IfNode, LoopNode, MachineNode, TryNode, WithNode


def program(
    text: str,
    *,
    parameters: Sequence[str] = (),
    handlers: Dict[str, Tuple[str, int, bool]] = {},  # noqa: B006  (it is only read)
    is_function: bool = True,
) -> Program:
    """Assemble a program.

    One op a line: `KIND argument`, the argument a literal, a name, or the label of a jump; `label:` on a line of its
    own. `!h` after an op: exceptions go to handlers["h"] = (label, depth, lasti). `@n`: it comes from source line n.
    """
    labels: Dict[str, int] = {}
    rows: List[Tuple[str, str, str, int]] = []
    for line in text.split("\n"):
        words = line.split("#")[0].split()
        if len(words) == 1 and words[0].endswith(":"):
            labels[words[0][:-1]] = len(rows)
        elif words:
            source = next((int(word[1:]) for word in words if word.startswith("@")), -1)
            handler = next((word[1:] for word in words if word.startswith("!")), "")
            words = [word for word in words if not word.startswith(("@", "!"))]
            rows.append((words[0], " ".join(words[1:]), handler, source))
    numbers = {name: number for number, name in enumerate(handlers)}
    ops = []
    for index, (kind, argument, handler, _) in enumerate(rows):
        target = labels[argument] if kind in JUMPS else -1
        arg = None if kind in JUMPS else _value(argument)
        ops.append(Op(kind, arg, 2 * index, target, numbers.get(handler, -1)))
    code = SimpleNamespace(
        co_name="f",
        co_flags=CO_OPTIMIZED if is_function else 0,
        co_argcount=len(parameters),
        co_kwonlyargcount=0,
        co_varnames=tuple(parameters),
        co_cellvars=(),
        co_freevars=(),
        co_names=(),
        co_consts=(),
        co_code=bytes(2 * len(rows)),
        co_exceptiontable=b"",
        co_linetable=b"",  # whole, as far as `location_table` can check
        co_lines=lambda: iter([(2 * i, 2 * i + 2, row[3] if row[3] >= 0 else None) for i, row in enumerate(rows)]),
        # Only ops with a line have columns: the same for all of one line.
        co_positions=lambda: iter([(row[3], row[3], 0, 9) if row[3] >= 0 else (None,) * 4 for row in rows]),
    )
    found = tuple(Handler(labels[label], depth, lasti) for label, depth, lasti in handlers.values())
    return Program(tuple(ops), found, code, (3, 12))


def _value(text: str) -> object:
    if not text:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def undone(text: str, **arguments: object) -> ProtectedGraph:
    """Take an assembled program through flow and clean_graph; it has no comprehension."""
    return clean_graph(build_graph(program(text, **arguments)), no_tree)  # type: ignore[arg-type]


def no_tree(part: Graph) -> object:
    raise AssertionError("there is no comprehension")


def test_text(test: object) -> str:
    """Spell a test as an expression; an operand that a block computes is the op that it ends in."""
    if isinstance(test, Simple):
        text = "top" if test.kind == "true" else "top is None"
    elif isinstance(test, Both):
        rest = [f"{ops_text(ops)}:{test_text(inner)}" for ops, inner in reversed(test.rest)]
        text = "(" + f" {test.op} ".join([test_text(test.first), *rest]) + ")"
    else:
        text = f"({test_text(test.then[1])} if {test_text(test.first)} else {test_text(test.orelse[1])})"
    return f"not {text}" if test.negate else text


test_text.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it


def ops_text(ops: Sequence[Op]) -> str:
    """Spell ops on one line."""
    return "; ".join(op.kind if op.arg is None and op.kind != "CONST" else f"{op.kind} {_argument(op)}" for op in ops)


def _argument(op: Op) -> str:
    if op.kind == "SELECT":
        test, then, orelse = op.arg
        return f"({ops_text(then)} if {test_text(test)} else {ops_text(orelse)})"
    if op.kind == "BOOL":
        operator, test, rest, _ = op.arg
        return f"({operator} {test_text(test)}: {', '.join(ops_text(one) for one in reversed(rest))})"
    if op.kind == "CHAIN":
        operator, rest = op.arg
        return f"({operator} {', '.join(f'{ops_text(ops)} {after}' for ops, after in reversed(rest))})"
    return str(op.arg)


def graph_text(graph: Graph) -> List[str]:
    """Spell the blocks that are reached, in reverse postorder: `number: ops -> terminator`."""
    order = graph.reachable()
    number = {block: place for place, block in enumerate(order)}
    lines = []
    for block in order:
        term = block.term
        names = [number[target] for target in block.successors()]
        shown = type(term).__name__
        if isinstance(term, (Branch, Keep)):
            shown += f" {test_text(term.test)}"
        elif isinstance(term, Guarded):
            shown += f" {term.region.kind}"
        lines.append(f"{number[block]}: {ops_text(block.ops)} -> {shown} {names}")
    return lines


def tree_text(sequence: object, indent: str = "") -> List[str]:
    """Spell a region tree: a line for each op and each statement, nested by indentation."""
    lines: List[str] = []
    for item in sequence.items:  # type: ignore[attr-defined]
        if isinstance(item, Op):
            lines.append(indent + ops_text([item]))
        elif isinstance(item, IfNode):
            lines += [f"{indent}if {test_text(item.test)}:", *tree_text(item.then, indent + "    ")]
            lines += [f"{indent}else:", *tree_text(item.orelse, indent + "    ")] if item.orelse.items else []
        elif isinstance(item, LoopNode):
            head = f" {ops_text(item.head)}: {test_text(item.test)}" if item.test is not None else ""
            lines += [f"{indent}{item.kind}{head}:", *tree_text(item.body, indent + "    ")]
            lines += [f"{indent}else:", *tree_text(item.orelse, indent + "    ")] if item.orelse.items else []
        elif isinstance(item, TryNode):
            lines += [f"{indent}try:", *tree_text(item.body, indent + "    ")]
            for clause in item.clauses:
                kind = "" if clause.type_ops is None else " " + ops_text(clause.type_ops)
                lines += [f"{indent}except{kind}:", *tree_text(clause.body, indent + "    ")]
            lines += [f"{indent}finally:", *tree_text(item.final, indent + "    ")] if item.final.items else []
        elif isinstance(item, WithNode):
            lines += [f"{indent}with:", *tree_text(item.body, indent + "    ")]
        elif isinstance(item, MachineNode):
            lines.append(f"{indent}machine of {len(item.arms)}:")
            for _, arm in item.arms:
                lines += [f"{indent}    arm:", *tree_text(arm, indent + "        ")]
        else:
            lines.append(indent + getattr(item, "kind", type(item).__name__.lower()))
    return lines
