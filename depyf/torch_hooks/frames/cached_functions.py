"""Add functions whose compiled versions are in Dynamo's caches to a record, like those that were seen compiling.

Used at the end of a session, for what was compiled before it, and by `inspect`, which has no session at all.

A session adds what no context of the process has recorded. Of what others have recorded it adds the versions of
functions that it records anyway, and all while they are few: the files of a small program are complete in each folder.
"""

from __future__ import annotations

from dataclasses import replace
from types import CodeType
from typing import Callable, Container, Dict, Iterable, List, Mapping, Sequence, Set, Tuple

from depyf.problems import Problems
from depyf.record import compile_ids
from depyf.record.records import ResumeCall
from depyf.torch_hooks.frames import cache_entries, identities
from depyf.torch_hooks.frames.cache_entries import CachedVersion
from depyf.torch_hooks.frames.compilations import CodePlace
from depyf.torch_hooks.frames.functions import Functions
from depyf.torch_hooks.frames.identities import Identity
from depyf.torch_hooks.frames.recorded_versions import RECORDED, RecordedVersions
from depyf.torch_hooks.frames.transformed_code import Frames
from depyf.torch_hooks.graphs import linking
from depyf.torch_hooks.graphs.graph_files import Graphs
from depyf.torch_hooks.graphs.recovered_graphs import recover
from depyf.torch_hooks.guards.guard_tree import describe_guards
from depyf.torch_hooks.internals.stable_names import GRAPH_NAME

_LITTLE = 20  # versions that earlier contexts have recorded


class CachedFunctions:
    """Adds cached versions to the parts of a record, unless the record has them already."""

    def __init__(
        self,
        functions: Functions,
        frames: Frames,
        graphs: Graphs,
        problems: Problems,
        link: bool = True,
        recorded: RecordedVersions | None = None,
        names: Mapping[int, Identity] = {},
    ) -> None:
        self._functions = functions
        self._frames = frames
        self._graphs = graphs
        self._problems = problems
        self._link = link  # whether graphs that run are linked to their files
        self._names = names  # id of a code -> what its function is called
        self._wrappers: Mapping[int, Identity] | None = None
        self._index = RecordedVersions() if recorded is None else recorded
        self._recorded_graphs = {graph.name for graph in graphs.records}
        self._recorded: Set[Tuple[CodePlace, str]] = set()  # function and compile id of each version
        # Versions of torch 2.4 and older, which keeps no compile ids, by the ids of their code, which so stay valid.
        self._without_id: Dict[int, CodeType] = {}
        for frame in frames.records:
            function = functions.get(frame.function)
            place = CodePlace(function.name, function.file, function.first_line)
            self._recorded.add((place, frame.compile_id))

    def add_all(self) -> None:
        """Add every function that Dynamo has met and that has a version which a call can find."""
        self._add_each(cache_entries.met_codes())

    def add_unrecorded(self) -> int:
        """Add what no context has recorded; return the number of versions that are left to the folders of others."""
        met = list(cache_entries.running_codes())
        others = recorded_elsewhere(met, self._is_recorded_elsewhere)
        self._add_each([code for code, _ in met if id(code) not in others])
        left = [code for code, _ in met if id(code) in others and not self._functions.has(code)]
        left = self._add_parents(left)
        return sum(others[id(code)] for code in left)

    def _is_recorded_elsewhere(self, code: CodeType, running: Sequence[CodeType]) -> bool:
        return not self._functions.has(code) and all(one in self._index for one in running)

    def _add_parents(self, left: List[CodeType]) -> List[CodeType]:
        """Add the functions that the recorded resume functions continue; return what is left."""
        while left:
            resumes = {id(code) for code in self._functions.resumes_without_parent()}
            parents = [code for code in left if _calls(code, resumes)] if resumes else []
            if not parents:
                return left
            self._add_each(parents)
            left = [code for code in left if not self._functions.has(code)]
        return left

    def _add_each(self, codes: Iterable[CodeType]) -> None:
        for code in codes:
            with self._problems.shield("showing a function that was compiled before"):
                self.add(code)

    def add(self, code: CodeType, parent: str = "") -> bool:
        """Add the cached versions of one function, and of its resume functions; return whether there were any.

        `parent` is the key of the function that it continues, if it is a resume function.
        """
        versions = cache_entries.versions_of(code)
        for version in versions:
            if compile_ids.is_unknown(version.compile_id):
                if id(version.new_code) in self._without_id:
                    continue
                self._without_id[id(version.new_code)] = version.new_code
                version = replace(version, compile_id=compile_ids.unknown(len(self._frames.records)))
            key = (CodePlace.of(code), version.compile_id)
            if key not in self._recorded:
                self._recorded.add(key)
                self._add_version(version, parent)
        return bool(versions)

    def _add_version(self, version: CachedVersion, parent: str) -> None:
        self._index.add(version.new_code)
        identity = RECORDED.identity_of(version.new_code) or self._names.get(id(version.code))
        if identity is None and identities.may_wrap(version.code) and not self._functions.has(version.code):
            identity = self._living().get(id(version.code))
        key = self._functions.key_of(version.code, identity, parent)
        self._frames.add_cached(version.code, version.new_code, version.compile_id, key)
        index = len(self._frames.records) - 1
        self._frames.update(index, **RECORDED.reasons_of(version.new_code)._asdict())
        with self._problems.shield("describing the guards of a frame"):
            self._frames.update(index, guards=describe_guards(version.guard_manager, version.new_code))
        with self._problems.shield("showing the graph of a frame that was compiled before"):
            self._add_graphs(version, index)
        with self._problems.shield("finding the resume functions of a frame"):
            self._add_resumes(version, index)

    def _living(self) -> Mapping[int, Identity]:
        """Return what wrappers are called whose functions are alive; found when it is first asked for."""
        if self._wrappers is None:
            self._wrappers = identities.of_living(cache_entries.met_codes())
        return self._wrappers

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
                self.add(code, parent)
        self._frames.update(index, resumes=tuple(calls))


def recorded_elsewhere(
    met: Sequence[Tuple[CodeType, List[CodeType]]], is_recorded: Callable[[CodeType, Sequence[CodeType]], bool]
) -> Dict[int, int]:
    """Return the functions that are left to the folders of other contexts, by id, with their number of versions."""
    others = {id(code): len(running) for code, running in met if is_recorded(code, running)}
    return others if sum(others.values()) > _LITTLE else {}


def _calls(code: CodeType, resumes: Container[int]) -> bool:
    """Return whether a version of `code` calls one of these resume functions, given by the ids of their code."""
    versions = cache_entries.versions_of(code)
    return any(id(resume) in resumes for one in versions for _, resume in cache_entries.resumes_of(one.new_code))
