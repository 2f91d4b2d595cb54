"""Build the table of lines of a folder: a pure function of its manifest and the texts of its files.

It is made when somebody asks for it, not when the program ends. All of it stands in files that are written anyway, so
the program does not pay for it, and a folder that a killed program left has one, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from depyf.line_table.graph_lines import NodeLine, read_graph
from depyf.line_table.kernel_lines import KernelCall, KernelModule, KernelNodes, read_kernels
from depyf.line_table.places import Calls, Places, Source
from depyf.line_table.rows import Row
from depyf.record.records import FrameRecord, GraphRecord, Location, SessionRecord, StageRecord
from depyf.record.vocabulary import (
    BY_COMMENT,
    BY_GRAPH_CALL,
    BY_PROVENANCE,
    BY_SOURCE_NODES,
    BY_STACK,
    CAPTURED_GRAPH,
    KERNEL,
    MADE_FOR_BACKWARD,
    POST_GRAD,
    TRANSFORMED_CODE,
)

ReadText = Callable[[str], str]  # name of a file in the folder -> its text; empty where it is missing
ReadLine = Callable[[str, int], str]  # file and line of the user's program -> the line; empty where it is missing


@dataclass(frozen=True)
class LineTable:
    """The links of one folder."""

    rows: Tuple[Row, ...]
    texts: Dict[str, List[str]]  # file in the folder -> its lines


def build(record: SessionRecord, read_text: ReadText, read_line: ReadLine) -> LineTable:
    """Return the table of a record and its files."""
    return _Builder(record, read_text, read_line).table()


class _Builder:
    def __init__(self, record: SessionRecord, read_text: ReadText, read_line: ReadLine) -> None:
        self._record = record
        self._read_text = read_text
        self._read_line = read_line
        self._texts: Dict[str, List[str]] = {}

    def table(self) -> LineTable:
        rows: List[Row] = []
        stacks: Dict[str, List[Calls]] = {}
        for graph in self._record.graphs:
            lines = _GraphRows(graph, self._text, self._is_now)
            rows += lines.rows()
            stacks[graph.name] = lines.stacks
        first = [row for frame in self._record.frames for row in self._of_frame(frame, stacks)]
        return LineTable((*first, *rows), self._texts)

    def _text(self, file: str) -> str:
        text = self._read_text(file)
        self._texts[file] = text.split("\n")
        return text

    def _is_now(self, place: Location) -> bool:
        return self._read_line(place.file, place.line).strip() in (place.code, "")

    def _of_frame(self, frame: FrameRecord, stacks: Dict[str, List[Calls]]) -> Iterator[Row]:
        self._text(frame.file)
        name = self._record.function(frame.function).name
        for link in frame.line_links:
            code = self._read_line(link.user_file, link.user_line).strip()
            source = Source((Location(link.user_file, link.user_line, name, code),))
            yield Row(frame.file, link.line, TRANSFORMED_CODE, "", link.found_by, source)
        for graph in frame.graphs:
            for number, line in enumerate(self._texts[frame.file], 1):
                if graph in line and _calls(line, graph):
                    for calls in stacks.get(graph, ()):
                        yield Row(frame.file, number, TRANSFORMED_CODE, graph, BY_GRAPH_CALL, Source(calls))


def _calls(line: str, name: str) -> bool:
    """Return whether a line calls this name; `x.name(` and `#name(` do not."""
    before, *after = f" {line}".split(f"{name}(")
    pieces = [before, *after][:-1]
    return any(not (piece[-1:].isalnum() or piece[-1:] in ("_", "#", ".")) for piece in pieces)


class _GraphRows:
    """The rows of one graph."""

    def __init__(self, graph: GraphRecord, text: ReadText, is_now: Callable[[Location], bool]) -> None:
        self._graph = graph
        self._text = text
        self._nodes: Dict[str, Tuple[NodeLine, ...]] = {part.file: read_graph(text(part.file)) for part in graph.stages}
        self._of_node: Dict[str, Source] = {}
        for one in graph.sources:
            self._of_node.update(dict.fromkeys(one.nodes, Source(one.calls)))
        self._recorded = set(self._of_node)
        captured = [node for part in graph.stages if part.stage == CAPTURED_GRAPH for node in self._nodes[part.file]]
        for node in captured:
            if node.place is not None:
                self._of_node.setdefault(node.name, Source((node.place,)))
        distinct = {id(source): source.calls for source in self._of_node.values()}  # hashing calls takes a while
        self.stacks: List[Calls] = list(dict.fromkeys(distinct.values()))
        self._places = Places(self.stacks, is_now)
        self._resolved = {file: self._places.resolve(_places_of(nodes)) for file, nodes in self._nodes.items()}

    def rows(self) -> Iterator[Row]:
        for part in self._graph.stages:
            for node in self._nodes[part.file]:
                yield from self._of_stage(part, node)
        for part in self._graph.kernels:
            if part.stage == KERNEL:
                yield from self._of_module(part, read_kernels(self._text(part.file)))

    @staticmethod
    def _row(part: StageRecord, line: int, name: str, basis: str, source: Optional[Source], last_line: int = 0) -> Row:
        return Row(part.file, line, part.stage, name, basis, source, part.made_for, last_line)

    # -- nodes

    @staticmethod
    def _node_row(part: StageRecord, node: NodeLine, basis: str, source: Optional[Source]) -> Row:
        return Row(part.file, node.line, part.stage, node.name, basis, source, part.made_for, end=node.end)

    def _of_stage(self, part: StageRecord, node: NodeLine) -> Iterator[Row]:
        if part.stage == CAPTURED_GRAPH and node.name in self._of_node:
            basis = BY_STACK if node.name in self._recorded else BY_COMMENT
            yield self._node_row(part, node, basis, self._of_node[node.name])
            return
        sources = self._sources(part, node)
        for one in sources:
            yield self._node_row(part, node, BY_COMMENT, one)
        if not sources:
            yield self._node_row(part, node, BY_COMMENT, None)

    def _sources(self, part: StageRecord, node: NodeLine) -> Tuple[Source, ...]:
        return () if node.place is None else self._resolved[part.file][node.place]

    # -- kernels

    def _of_module(self, part: StageRecord, module: KernelModule) -> Iterator[Row]:
        of_kernel: Dict[str, Dict[Source, str]] = {}
        for call in module.calls:
            basis, sources = self._of_call(part, call, module)
            of_kernel.setdefault(call.kernel, {}).update(dict.fromkeys(sources, basis))
            for source in sources or (None,):
                yield self._row(part, call.line, call.kernel, basis, source)
        for kernel, (first, last) in module.defined.items():
            for found, basis in of_kernel.get(kernel, {}).items():
                yield self._row(part, first, kernel, basis, found, last)
            if not of_kernel.get(kernel):
                yield self._row(part, first, kernel, BY_SOURCE_NODES, None, last)

    def _of_call(self, part: StageRecord, call: KernelCall, module: KernelModule) -> Tuple[str, List[Source]]:
        """Return the sources of a call of a kernel, and how they are known: the surest way that torch gives."""
        tracked = next((one for one in part.sources if call.handle and one.kernel == call.handle), None)
        if tracked is not None and tracked.calls:
            resolved = self._places.resolve([calls[-1] for one in part.sources for calls in one.calls])
            found = [self._places.choose(calls, resolved[calls[-1]]) for calls in tracked.calls]
            return BY_PROVENANCE, list(dict.fromkeys(one for one in found if one is not None))
        names = call.named if call.named.sources else module.named.get(call.kernel, KernelNodes())
        detailed = names.nodes or module.named.get(call.kernel, KernelNodes()).nodes
        sources: Dict[Source, None] = {}
        for name in detailed:
            sources.update(dict.fromkeys(self._of_post_grad(part, name, ())))
        if not detailed:
            for name in names.sources:
                sources.update(dict.fromkeys(self._of_source_node(part, name, names.atens)))
        return BY_SOURCE_NODES, list(sources)

    def _of_source_node(self, part: StageRecord, name: str, atens: Sequence[str]) -> Tuple[Source, ...]:
        """Return the sources of a node of the captured graph; of a backward it may be one of the post-grad graph."""
        found: Tuple[Source, ...] = (self._of_node[name],) if name in self._of_node else ()
        if part.made_for == MADE_FOR_BACKWARD or not found:
            others = self._of_post_grad(part, name, atens)
            if found and others and {one.calls[-1] for one in found} != {one.calls[-1] for one in others}:
                return tuple([one._replace(is_sure=False) for one in (*found, *others)])
            found = found or others
        return found

    def _of_post_grad(self, part: StageRecord, name: str, atens: Sequence[str]) -> Tuple[Source, ...]:
        """Return the sources of a node of the graph that a module of kernels was made of."""
        made_of = [one for one in self._graph.stages if one.stage == POST_GRAD and _same_piece(one, part)]
        others = [one for one in self._graph.stages if one.stage not in (POST_GRAD, CAPTURED_GRAPH)]
        for stage in (*made_of, *reversed(others)):
            for node in self._nodes[stage.file]:
                if node.name == name and (not atens or node.operation in atens or stage in made_of):
                    return self._sources(stage, node)
        return ()


def _same_piece(stage: StageRecord, kernel: StageRecord) -> bool:
    return (stage.made_for, stage.piece) == (kernel.made_for, kernel.piece)


def _places_of(nodes: Sequence[NodeLine]) -> List[Location]:
    return list(dict.fromkeys(node.place for node in nodes if node.place is not None))
