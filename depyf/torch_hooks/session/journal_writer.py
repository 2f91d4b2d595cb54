"""Write the journal of a session: what a process that is killed leaves behind.

Each time something becomes known about a compilation, only what changed is appended, so that the cost does not grow
with the record.  The manifest itself is written anew only when there are four times as many frames, so that all of
those together cost less than half of the last one; it has `"complete": false`.
"""

from __future__ import annotations

from typing import Any, Dict, List

from depyf.record.records import FrameRecord, GraphRecord
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.frames.compilations import Compilation
from depyf.torch_hooks.frames.functions import Functions
from depyf.torch_hooks.frames.transformed_code import Frames
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph


class Journal:
    """Appends records that have changed since they were last appended; records are frozen, so identity decides."""

    def __init__(self, folder: OutputFolder, frames: Frames, functions: Functions, earlier_graphs: int) -> None:
        self._folder = folder
        self._frames = frames
        self._functions = functions
        self._saved_frames: Dict[int, FrameRecord] = {}
        self._saved_graphs: Dict[int, GraphRecord] = {}
        self._places: Dict[int, int] = {}  # id of a graph, which the session keeps alive -> its place in the record
        self._earlier_graphs = earlier_graphs
        self._due = 1  # number of frames at which the manifest is written next

    def compiling(self, compilation: Compilation) -> None:
        """Append that Dynamo starts on a frame, on which it may hang."""
        what = "a frame"
        if compilation.function is not None:
            name, file, first_line = compilation.function
            what = f"{name if compilation.call is None else compilation.call.identity.title} ({file}:{first_line})"
        self._folder.append(compiling=compilation.compile_id, what=what)

    def save(self, compilation: Compilation, is_over: bool = False) -> None:
        """Append what has changed about a compilation; `is_over`: Dynamo has ended it, with or without a frame."""
        changes: List[Dict[str, Any]] = []
        if compilation.frame is not None:
            changes += self._changed_functions()
            frame = self._frames.records[compilation.frame]
            if self._saved_frames.get(compilation.frame) is not frame:
                self._saved_frames[compilation.frame] = frame
                changes.append({"frame": compilation.frame, "value": frame})
        if compilation.graph is not None:
            changes += self._changed_graph(compilation.graph)
        if is_over:
            changes.append({"compiled": compilation.compile_id})
        self._folder.append_all(changes)

    def save_functions(self) -> None:
        """Append the functions that are new or changed."""
        self._folder.append_all(self._changed_functions())

    def _changed_functions(self) -> List[Dict[str, Any]]:
        return [{"function": function} for function in self._functions.take_changed()]

    def _changed_graph(self, graph: CompiledGraph) -> List[Dict[str, Any]]:
        place = self._places.setdefault(id(graph), self._earlier_graphs + len(self._places))
        record = graph.record()
        if self._saved_graphs.get(place) == record:
            return []
        self._saved_graphs[place] = record
        return [{"graph": place, "value": record}]

    def is_manifest_due(self) -> bool:
        """Return whether enough has been added since the manifest was last written."""
        if len(self._saved_frames) < self._due:
            return False
        self._due = 4 * len(self._saved_frames)
        return True
