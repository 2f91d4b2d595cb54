"""Add functions whose compiled versions are in Dynamo's caches to a record, like those that were seen compiling.

Used at the end of a session, for what was compiled before it, and by `inspect`, which has no session at all.
"""

from __future__ import annotations

from types import CodeType
from typing import Set, Tuple

from depyf.problems import Problems
from depyf.record.records import ResumeCall
from depyf.torch_hooks.frames import cache_entries
from depyf.torch_hooks.frames.cache_entries import CachedVersion
from depyf.torch_hooks.frames.compilations import CodePlace
from depyf.torch_hooks.frames.functions import Functions
from depyf.torch_hooks.frames.transformed_code import Frames
from depyf.torch_hooks.graphs import linking
from depyf.torch_hooks.graphs.graph_files import Graphs
from depyf.torch_hooks.graphs.recovered_graphs import recover
from depyf.torch_hooks.guards.guard_tree import describe_guards
from depyf.torch_hooks.internals.stable_names import GRAPH_NAME


class CachedFunctions:
    """Adds cached versions to the parts of a record, unless the record has them already."""

    def __init__(
        self, functions: Functions, frames: Frames, graphs: Graphs, problems: Problems, link: bool = True
    ) -> None:
        self._functions = functions
        self._frames = frames
        self._graphs = graphs
        self._problems = problems
        self._link = link  # whether graphs that run are linked to their files
        self._recorded_graphs = {graph.name for graph in graphs.records}
        self._recorded: Set[Tuple[CodePlace, str]] = set()  # function and compile id of each version
        for frame in frames.records:
            function = functions.get(frame.function)
            place = CodePlace(function.name, function.file, function.first_line)
            self._recorded.add((place, frame.compile_id))

    def add_all(self) -> None:
        """Add every function that Dynamo has met and that has a version which a call can find."""
        for code in cache_entries.met_codes():
            with self._problems.shield("showing a function that was compiled before"):
                self.add(code)

    def add(self, code: CodeType) -> bool:
        """Add the cached versions of one function, and of its resume functions; return whether there were any."""
        versions = cache_entries.versions_of(code)
        for version in versions:
            key = (CodePlace.of(code), version.compile_id)
            if key not in self._recorded:
                self._recorded.add(key)
                self._add_version(version)
        return bool(versions)

    def _add_version(self, version: CachedVersion) -> None:
        self._frames.add_cached(version.code, version.new_code, version.compile_id)
        index = len(self._frames.records) - 1
        with self._problems.shield("describing the guards of a frame"):
            self._frames.update(index, guards=describe_guards(version.guards, version.new_code))
        with self._problems.shield("showing the graph of a frame that was compiled before"):
            self._add_graphs(version, index)
        with self._problems.shield("finding the resume functions of a frame"):
            self._add_resumes(version, index)

    def _add_graphs(self, version: CachedVersion, index: int) -> None:
        shown = self._frames.shown_names(version.new_code)
        names = {name: shown.get(name, name) for name in version.new_code.co_names}
        graphs = {name: graph for name, graph in names.items() if GRAPH_NAME.match(graph)}
        self._frames.update(index, graphs=tuple(graphs.values()))
        for name, shown_name in graphs.items():
            entry = cache_entries.installed_global(name)
            if entry is None or shown_name in self._recorded_graphs:
                continue
            self._recorded_graphs.add(shown_name)
            graph = self._graphs.new(shown_name, version.compile_id)
            recover(self._graphs, graph, entry)
            if self._link:
                linking.link(self._graphs, graph, entry)

    def _add_resumes(self, version: CachedVersion, index: int) -> None:
        parent = self._frames.records[index].function
        calls = []
        for name, code in cache_entries.resumes_of(version.new_code):
            key = None if code is None else self._functions.add_resume(code, name, parent)
            calls.append(ResumeCall(name, key))
            if code is not None:
                self.add(code)
        self._frames.update(index, resumes=tuple(calls))
