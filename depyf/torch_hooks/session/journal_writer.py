"""Keeps the journal of a session up to date: what a process that is killed leaves behind.

Each time something is known about a compilation, what changed is appended: the cost is that of the news, however long
the record has become.  The manifest itself is written anew only when there are four times as many frames, so all of
those together cost less than half of the last one; it says `"complete": false`.
"""

from __future__ import annotations

from typing import Any, Dict, List

from depyf.record.records import FrameRecord, GraphRecord
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.frames.compilations import Compilation
from depyf.torch_hooks.frames.functions import Functions
from depyf.torch_hooks.frames.transformed_code import Frames
from depyf.torch_hooks.graphs.stages import Graph


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

    def keep(self, compilation: Compilation, is_over: bool = False) -> None:
        """Append what is new about a compilation; `is_over`: Dynamo has come back, with or without a frame."""
        news: List[Dict[str, Any]] = []
        if compilation.frame is not None:
            news += self._functions_news()
            frame = self._frames.records[compilation.frame]
            if self._kept_frames.get(compilation.frame) is not frame:
                self._kept_frames[compilation.frame] = frame
                news.append({"frame": compilation.frame, "value": frame})
        if compilation.graph is not None:
            news += self._graph_news(compilation.graph)
        if is_over:
            news.append({"compiled": compilation.compile_id})
        self._folder.append_all(news)

    def keep_functions(self) -> None:
        """Append the functions that are new or changed."""
        self._folder.append_all(self._functions_news())

    def _functions_news(self) -> List[Dict[str, Any]]:
        return [{"function": function} for function in self._functions.take_changed()]

    def _graph_news(self, graph: Graph) -> List[Dict[str, Any]]:
        place = self._places.setdefault(id(graph), self._earlier_graphs + len(self._places))
        record = graph.record()
        if self._kept_graphs.get(place) == record:
            return []
        self._kept_graphs[place] = record
        return [{"graph": place, "value": record}]

    def is_manifest_due(self) -> bool:
        """Whether enough has been added since the manifest was last written."""
        if len(self._kept_frames) < self._due:
            return False
        self._due = 4 * len(self._kept_frames)
        return True
