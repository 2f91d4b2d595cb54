"""Print a large graph as torch does, in half of the time: torch prints each form of its nodes, not each node.

The graph of a deep model has a few forms of nodes, each many times. The text of a node depends on its target, on those
of its arguments that are no nodes, on the type of its tensor, and on the line of the user's program; all else in it are
names. So torch prints a sample: two nodes of each form, the first and the last, with names that stand for any. Where
these two are the same, and the sample that is put together from its parts is what torch printed, the graph is put
together in the same way. Where anything in it is of a kind not known here, torch prints it as a whole.
"""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from dataclasses import dataclass, field
from types import CellType, FunctionType
from typing import Any, Callable, Dict, Hashable, Iterator, List, Tuple

from depyf.signal_handler_errors import is_from_signal_handler

_FEW = 60  # nodes; so few torch prints as fast
_MARGIN = " " * 8  # of a statement
# What Dynamo stores with a node, and torch prints as we expect or not at all.
_KNOWN_META = frozenset(
    (
        "example_value",
        "stack_trace",
        "nn_module_stack",
        "source_fn_stack",
        "tensor_dict",
        "grapharg",
        "creation_timestamp",
    )
)
_PLAIN_TENSORS = frozenset(("FakeTensor", "Tensor", "Parameter"))
_CONSTANTS = frozenset(
    ("int", "float", "bool", "str", "NoneType", "ellipsis", "dtype", "device", "layout", "memory_format")
)
_INTEGER = frozenset((int,))
# Names of something else in the text of a graph; torch gives no node such a name.
_TAKEN = frozenset((*keyword.kwlist, *dir(builtins), "self", "torch", "device", "inf", "nan"))

_SAMPLE = "Sample"
_NODE, _ARGUMENT, _INPUT = "z_n{}_", "z_a{}_", "z_i{}_"  # names in a sample; short ones, which torch checks each time
_TARGET = re.compile(r'\b(z_n\d+_)((?:: "[^"\\]*")?) = ')
_OTHER = re.compile(r"\bz_a\d+_\b")
_WORDS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<![\w.])[A-Za-z_]\w*")


class _UnknownForm(Exception):
    """A graph has something of a kind that is not known here."""


# A node, and what its text depends on: the type of its tensor, its form, and the names of the nodes it uses.
_Row = Tuple[Any, Hashable, Hashable, List[str]]


@dataclass
class _Parts:
    """What the text of a graph is put together from."""

    types: Dict[Hashable, str] = field(default_factory=dict)  # ': "f32[4][1]cpu"'
    forms: Dict[Hashable, str] = field(default_factory=dict)  # "{0} = torch.add({1}, {2})"
    comments: Dict[Any, str] = field(default_factory=dict)  # stack -> "# File: ..."
    blank: str = ""  # an empty line


class GraphPrinter:
    """Prints graphs; what it has learned of one of them it uses for the next."""

    def __init__(self) -> None:
        self._parts: Dict[str, _Parts] = {}  # by the options of printing

    def payload(self, format_payload: Callable[[], Any]) -> Any:
        """Return what `format_payload` returns, which most often is the text of the one graph in its closure."""
        text = None
        try:
            text = _text_of(format_payload, self)
        except Exception as error:
            if is_from_signal_handler(error):
                raise
        return format_payload() if text is None else text

    def printed(self, module: Any, options: Dict[str, Any]) -> str | None:
        """Return what `module.print_readable(**options)` returns; None where that is not certain."""
        key = repr(sorted(options.items()))
        parts = self._parts.pop(key, None) or _Parts()
        try:
            text = _printed(module, options, parts)
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            return None  # torch prints it
        self._parts[key] = parts  # as long as all of them are as torch prints them
        return text


def _text_of(format_payload: Any, printer: GraphPrinter) -> str | None:
    """Return the text of the graph that the function prints, and returns; None where that is not all it does."""
    cells: Tuple[Any, ...] = getattr(format_payload, "__closure__", None) or ()
    graph_module = getattr(sys.modules.get("torch.fx"), "GraphModule", None)
    if len(cells) != 1 or graph_module is None or not isinstance(cells[0].cell_contents, graph_module):
        return None
    asked = _Asked(cells[0].cell_contents, printer)
    # Where it does something else with the graph, this fails, or returns something else.
    found = FunctionType(format_payload.__code__, format_payload.__globals__, closure=(CellType(asked),))()
    return asked.text if found is asked.text else None


class _Asked:
    """Stands for a graph module where nothing but its text is asked for."""

    def __init__(self, module: Any, printer: GraphPrinter) -> None:
        self._module = module
        self._printer = printer
        self.text: str | None = None

    def print_readable(self, *, print_output: bool, **options: Any) -> Any:
        """Return the text of the module, and keep it; None where torch is to print it."""
        if not print_output:
            self.text = self._printer.printed(self._module, {"print_output": False, **options})
        return self.text


def _printed(module: Any, options: Dict[str, Any], parts: _Parts) -> str | None:
    from torch import fx

    graph, sample = module.graph, fx.Graph()
    nodes = list(graph.nodes)
    if (
        len(nodes) < _FEW
        or type(graph) is not fx.Graph
        or type(module).print_readable is not fx.GraphModule.print_readable
    ):
        return None
    codegen, usual = graph._codegen, sample._codegen
    if type(codegen) is not type(usual) or vars(codegen) != vars(usual):
        return None
    if any(isinstance(child, fx.GraphModule) for child in module.children()) or not _have_plain_names(nodes):
        return None
    rows = [_row(node) for node in nodes]
    samples = _samples(rows, parts)
    if samples:
        _add_samples(sample, samples, len(rows[-1][3]), options, parts)
    return _assembled(module._get_name(), rows, parts)


def _have_plain_names(nodes: List[Any]) -> bool:
    """Return whether each node is printed under its own name: torch renames those that mean something else."""
    names = [node.name for node in nodes]
    inputs = [node.target for node in nodes if node.op == "placeholder"]
    return (
        len(set(names)) == len(names)
        and "".join(names).isascii()
        and all(map(str.isidentifier, names))
        and all(map(str.isidentifier, inputs))
        and _TAKEN.isdisjoint(names)
        and _TAKEN.isdisjoint(inputs)
    )


# -- what the text of a node depends on


def _row(node: Any) -> _Row:
    meta, op = node.meta, node.op
    if not _KNOWN_META.issuperset(meta):
        raise _UnknownForm
    names: List[str] = []
    if op == "placeholder":
        if node.args or node.kwargs:
            raise _UnknownForm
        form: Hashable = (op, node.name == node.target)
    elif op == "output":
        (returned,) = node.args
        form = None
        if node.type is not None or type(returned) is not tuple or {type(one) for one in returned} != {type(node)}:
            raise _UnknownForm
        names += [one.name for one in returned]
    else:
        arguments = [_form(argument, names) for argument in node.args]
        options = [(name, _form(argument, names)) for name, argument in node.kwargs.items()]
        form = (op, node.target, tuple(arguments), tuple(options))
    return (node, _type(node, meta.get("example_value")), form, names)


def _type(node: Any, value: Any) -> Hashable:
    if value is None or isinstance(value, (tuple, list)):
        if node.type is not None:
            raise _UnknownForm
        return type(value), node.op == "placeholder"
    if type(value).__name__ not in _PLAIN_TENSORS:
        raise _UnknownForm
    shape, stride = value.shape, value.stride()
    if not _INTEGER.issuperset(map(type, (*shape, *stride))):
        raise _UnknownForm  # a size that is not fixed: to compare it could add a guard
    return type(value), value.dtype, shape, stride, value.device, node.type, node.op == "placeholder"


def _form(argument: Any, names: List[str]) -> Any:
    """Return the argument without the names of the nodes in it, which are added to `names`."""
    kind = type(argument)
    if kind.__name__ == "Node":
        names.append(argument.name)
        return kind
    if kind.__name__ in _CONSTANTS:
        return kind, repr(argument)
    return (kind, *[_form(one, names) for one in _inside(argument)])


def _inside(argument: Any) -> Tuple[Any, ...]:
    if type(argument) is slice:
        return argument.start, argument.stop, argument.step
    if type(argument) is tuple or type(argument).__name__ in ("list", "immutable_list"):
        return tuple(argument)
    raise _UnknownForm


def _with_nodes(argument: Any, others: Iterator[Any]) -> Any:
    """Return the argument with the next of `others` in the place of each node."""
    kind = type(argument)
    if kind.__name__ == "Node":
        return next(others)
    if kind.__name__ in _CONSTANTS:
        return argument
    inside = [_with_nodes(one, others) for one in _inside(argument)]
    return slice(*inside) if kind is slice else tuple(inside) if kind is tuple else inside


# -- the sample


class _Sample:
    """What torch needs of a graph module to print it."""

    def __init__(self, graph: Any) -> None:
        self.graph = self._graph = graph

    def _get_name(self) -> str:
        return _SAMPLE

    def named_children(self) -> Tuple[Any, ...]:
        """Return no modules."""
        return ()


def _samples(rows: List[_Row], parts: _Parts) -> List[_Row]:
    """Return the first and the last row of each form that is not known, and the first one of each type and stack."""
    first: Dict[Hashable, _Row] = {}
    last: Dict[Hashable, _Row] = {}
    types, forms, comments = parts.types, parts.forms, parts.comments
    for row in rows[:-1]:
        node, kind, form, _ = row
        if form not in forms:
            first.setdefault(form, row)
            last[form] = row
        if kind not in types:
            first.setdefault(("type", kind), row)
        if node.op != "placeholder" and node.stack_trace not in comments:
            first.setdefault(("stack", node.stack_trace), row)
    found = {id(row) for row in (*first.values(), *last.values())}
    return [row for row in rows if id(row) in found] if found else []


def _add_samples(graph: Any, rows: List[_Row], results: int, options: Dict[str, Any], parts: _Parts) -> None:
    """Have torch print copies of the nodes, in an empty graph with so many results, and add the parts of the text."""
    from torch import fx

    arguments = [graph.placeholder(_ARGUMENT.format(number)) for number in range(max(len(row[3]) for row in rows))]
    copies = [_copy(graph, number, row[0], arguments) for number, row in enumerate(rows)]
    graph.output(tuple(copies[-results:][:2]))
    try:
        text = fx.GraphModule.print_readable(_Sample(graph), **options)
        found = [_row(node) for node in graph.nodes]
        parts.blank = text.rpartition("\n")[2]
        _read_sample(text, {row[0].name: row for row in found}, parts)
        if _assembled(_SAMPLE, found, parts) != text:
            raise _UnknownForm
    finally:
        for copy in copies:
            copy.meta.clear()  # nodes and their graph refer to each other: tensors in there would live on


def _copy(graph: Any, number: int, node: Any, arguments: List[Any]) -> Any:
    """Add a copy of a node to a graph, with names that stand for any."""
    name = _NODE.format(number)
    if node.op == "placeholder":
        target = name if node.name == node.target else _INPUT.format(number)
        copy = graph.create_node("placeholder", target, name=name, type_expr=node.type)
    else:
        waiting = iter(arguments)
        args = tuple([_with_nodes(argument, waiting) for argument in node.args])
        kwargs = {key: _with_nodes(argument, waiting) for key, argument in node.kwargs.items()}
        copy = graph.create_node(node.op, node.target, args, kwargs, name=name, type_expr=node.type)
    copy.meta = dict(node.meta)
    return copy


def _read_sample(text: str, rows: Dict[str, _Row], parts: _Parts) -> None:
    """Add the parts of a sample's text to `parts`."""
    comment = ""
    for line in text.split("\n"):
        line = line.strip(" ")
        target = _TARGET.search(line)
        if line.startswith("#"):
            comment = line
        elif line.startswith("def "):
            for node, kind, _, _ in rows.values():
                if node.op == "placeholder":
                    typed = re.search(rf'\b{node.target}((?:: "[^"\\]*")?)[,)]', line)
                    _set(parts.types, kind, typed and typed[1])
        elif target is not None and rows[target[1]][0].op != "placeholder":
            row = rows[target[1]]
            _set(parts.types, row[1], target[2])
            _set(parts.comments, row[0].stack_trace, comment)
            _set(parts.forms, row[2], _template(line, target[0][: -len(" = ")], row))


def _template(line: str, typed: str, row: _Row) -> str:
    """Return the line of a node as a format string: of its name with the type, and of its arguments' names."""
    before, _, released = line.rpartition(";  ")
    if before and released.endswith(" = None"):
        line = before
    node, _, _, names = row
    known = _TAKEN.union(names, node.kwargs, [node.name])
    if not all(word[0] in "'\"" or word in known for word in _WORDS.findall(line.replace(typed, node.name, 1))):
        raise _UnknownForm  # a global of a name that another graph may give to a node
    numbers = {name: number for number, name in enumerate(names, 1)}
    line = line.replace(typed, "\0", 1).replace("{", "{{").replace("}", "}}")
    return _OTHER.sub(lambda found: f"{{{numbers[found[0]]}}}", line).replace("\0", "{0}")


def _set(found: Dict[Any, str], key: Any, value: str | None) -> None:
    if value is None or found.setdefault(key, value) != value:
        raise _UnknownForm  # the text depends on something else, too


# -- the text


def _assembled(title: str, rows: List[_Row], parts: _Parts) -> str:
    """Return the text of a graph of that name."""
    types, forms, comments, blank = parts.types, parts.forms, parts.comments, parts.blank
    parameters, lines = ["self"], []  # type: List[str], List[str]
    shown = None
    released = _released(rows)
    for node, kind, form, names in rows:
        if node.op == "placeholder":
            parameters.append(node.target + types[kind])
            if node.name != node.target:
                lines.append(f"{node.name} = {node.target}")
        elif node.op == "output":
            lines.append(f"return ({', '.join(names)}{',' if len(names) == 1 else ''})")
        else:
            comment = comments[node.stack_trace]
            if comment != shown:
                lines += ("", comment) if lines else (comment,)
                shown = comment
            line = forms[form].format(node.name + types[kind], *names)
            last = released.get(node.name)
            lines.append(f"{line};  {' = '.join(last)} = None" if last else line)
    body = f"\n{_MARGIN}".join(lines).replace(f"\n{_MARGIN}\n", f"\n{blank}\n")
    return f"class {title}(torch.nn.Module):\n    def forward({', '.join(parameters)}):\n{_MARGIN}{body}\n{blank}"


def _released(rows: List[_Row]) -> Dict[str, List[str]]:
    """Return the nodes that are used for the last time by each node, in torch's order."""
    found: Dict[str, List[str]] = {}
    seen = set()
    for row in reversed(rows):
        node = row[0]
        for one in node.all_input_nodes:
            if one not in seen:
                seen.add(one)
                found.setdefault(node.name, []).append(one.name)
        if not node.users:
            found.setdefault(node.name, []).append(node.name)
    return found
