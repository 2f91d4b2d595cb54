"""Read the text of a module that Inductor generated: where its kernels are defined and called, and from which nodes.

Torch writes the nodes beside most kernels, as comments above their definition and their calls:

    # Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.addmm, aten.sin]
    # Source node to ATen node mapping:
    #   z => sin
    # Graph fragment:
    #   %sin : [num_users=1] = call_function[target=torch.ops.aten.sin.default](args = (%addmm,), kwargs = {})
    triton_poi_fused_sin_0 = async_compile.triton('triton_poi_fused_sin_0', '''

The source nodes are those of the captured graph; of a backward, nodes that no captured one stands for have the names
that they have in the post-grad graph. Beside fused C++ kernels torch writes nothing, unless its provenance tracking is
on: then a comment above each call has the number under which it is tracked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, List, Tuple

_SOURCE_NODES = re.compile(r"# (?:\w+ )*Source Nodes: \[(?P<nodes>[^\]]*)\], Original ATen: \[(?P<atens>[^\]]*)\]")
_MAPPING = re.compile(r"#   (?P<source>\w+) => (?P<nodes>[\w, ]+)$")
_FRAGMENT = re.compile(r"#   %(?P<node>\w+) : .*= call_function\[")
_HANDLE = re.compile(r"# \[Provenance debug handles\] (?P<handle>\S+)")
_DEFINED = re.compile(r"(?P<name>\w+) = async_compile\.\w+\(")
_EXTERN = re.compile(r"(?:\w+ = )?(?P<name>(?:extern_kernels|torch\.ops|aten|fallback_op)\.[\w.]+)\(")
_CALLED = re.compile(r"(?:\w+ = )?(?P<name>\w+)(?:\.run)?\(")


@dataclass(frozen=True)
class KernelNodes:
    """The nodes that a comment names."""

    sources: Tuple[str, ...] = ()  # of the captured graph, or of the post-grad graph of a backward
    atens: Tuple[str, ...] = ()  # the operations: "addmm"
    nodes: Tuple[str, ...] = ()  # of the post-grad graph, where the comment has them


@dataclass(frozen=True)
class KernelCall:
    """A line that calls a kernel."""

    line: int
    kernel: str  # "cpp_fused_gelu_0", "extern_kernels.mm"
    named: KernelNodes = KernelNodes()
    handle: str = ""  # under which provenance tracking has it: "cpp_fused_gelu_0:2"


@dataclass(frozen=True)
class KernelModule:
    """The kernels of a module."""

    defined: Dict[str, Tuple[int, int]]  # kernel -> first and last line of its definition, with the comments above it
    named: Dict[str, KernelNodes]  # kernel -> the nodes that the comments above its definition name
    calls: Tuple[KernelCall, ...]


@dataclass
class _Comment:
    """The comments since the last statement."""

    sources: List[str] = field(default_factory=list)
    atens: List[str] = field(default_factory=list)
    nodes: Dict[str, None] = field(default_factory=dict)
    handle: str = ""
    first_line: int = 0

    def add(self, number: int, line: str) -> None:
        named, handle = _SOURCE_NODES.search(line), _HANDLE.search(line)
        mapping, fragment = _MAPPING.search(line), _FRAGMENT.search(line)
        if named is not None:
            self.sources = _split(named["nodes"])
            self.atens = [name.rpartition(".")[2] for name in _split(named["atens"])]
            self.first_line = number
        elif handle is not None:
            self.handle = handle["handle"]
        elif mapping is not None:
            self.nodes.update(dict.fromkeys(_split(mapping["nodes"])))
        elif fragment is not None:
            self.nodes[fragment["node"]] = None

    def named(self) -> KernelNodes:
        return KernelNodes(tuple(self.sources), tuple(self.atens), tuple(self.nodes))


def read_kernels(text: str) -> KernelModule:
    """Return the kernels of a module's text."""
    defined: Dict[str, Tuple[int, int]] = {}
    named: Dict[str, KernelNodes] = {}
    calls: List[KernelCall] = []
    comment, inside = _Comment(), ""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.lstrip()
        if inside:
            defined[inside] = (defined[inside][0], number)
            inside = "" if line.startswith("'''") else inside
        elif stripped.startswith("#"):
            comment.add(number, stripped)
        elif line[:1].isalpha():
            opened = _DEFINED.match(line)
            if opened is not None:
                name = opened["name"]
                defined[name], named[name] = (comment.first_line or number, number), comment.named()
                inside = "" if line.count("'''") != 1 else name
            comment = _Comment()
        elif stripped:
            called = _call(number, stripped, comment, defined)
            if called is not None:
                calls.append(called)
                comment = _Comment()
            elif stripped.startswith(("def ", "class ", "return")):
                comment = _Comment()
    return KernelModule(defined, named, tuple(calls))


def _call(number: int, line: str, comment: _Comment, defined: Dict[str, Tuple[int, int]]) -> KernelCall | None:
    """Return the kernel that a statement calls; None for others, such as allocations between a comment and its call."""
    called = _CALLED.match(line)
    if called is None or called["name"] not in defined:
        called = _EXTERN.match(line)
        if called is None or not (comment.sources or comment.handle):
            return None
    return KernelCall(number, called["name"], comment.named(), comment.handle)


def _split(names: str) -> List[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
