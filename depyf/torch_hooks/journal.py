"""Keeps the journal of a session up to date: what a process that is killed leaves behind.

Each time something is known about a compilation, what changed is appended: the cost is that of the news, however long
the record has become.  The manifest itself is written anew only when the number of frames has doubled, so all of those
together cost about as much as the last one; it says `"complete": false`.
"""

from __future__ import annotations

from typing import Dict

from depyf.record import FrameRecord, GraphRecord
from depyf.torch_hooks.compiles import Compilation
from depyf.torch_hooks.folder import OutputFolder
from depyf.torch_hooks.frames import Frames
from depyf.torch_hooks.functions import Functions
from depyf.torch_hooks.graphs import Graph


class Journal:
    """What has been appended so far; records are frozen, so that the same object is no news."""

    def __init__(self, folder: OutputFolder, frames: Frames, functions: Functions, earlier_graphs: int) -> None:
        self._folder = folder
        self._frames = frames
        self._functions = functions
        self._kept_frames: Dict[int, FrameRecord] = {}
        self._kept_graphs: Dict[int, GraphRecord] = {}
        self._places: Dict[int, int] = {}  # id of a graph, which the session keeps alive -> its place in the record
        self._earlier_graphs = earlier_graphs
        self._due = 1

    def compiling(self, compilation: Compilation) -> None:
        """Dynamo starts on a frame, and may never come back."""
        what = "a frame"
        if compilation.function is not None:
            name, file, first_line = compilation.function
            what = f"{name} ({file}:{first_line})"
        self._folder.append(compiling=compilation.compile_id, what=what)

    def compiled(self, compilation: Compilation) -> None:
        """Dynamo has come back, with or without a frame."""
        self._folder.append(compiled=compilation.compile_id)

    def keep(self, compilation: Compilation) -> None:
        """Append what is new about a compilation."""
        if compilation.frame is not None:
            self._keep_frame(compilation.frame)
        if compilation.graph is not None:
            self._keep_graph(compilation.graph)

    def keep_functions(self) -> None:
        """Append the functions that are new or changed."""
        for function in self._functions.take_changed():
            self._folder.append(function=function)

    def _keep_frame(self, place: int) -> None:
        self.keep_functions()
        frame = self._frames.records[place]
        if self._kept_frames.get(place) is not frame:
            self._kept_frames[place] = frame
            self._folder.append(frame=place, value=frame)

    def _keep_graph(self, graph: Graph) -> None:
        place = self._places.setdefault(id(graph), self._earlier_graphs + len(self._places))
        record = graph.record()
        if self._kept_graphs.get(place) != record:
            self._kept_graphs[place] = record
            self._folder.append(graph=place, value=record)

    def is_manifest_due(self) -> bool:
        """Whether enough has been added since the manifest was last written."""
        if len(self._kept_frames) < self._due:
            return False
        self._due = 2 * len(self._kept_frames)
        return True
