"""Records as a reader is shown them: with short paths."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional, Tuple

from depyf.record.records import (
    FailedGuard,
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    Location,
    SessionRecord,
    SkipRecord,
)
from depyf.report.call_chains import is_own, line_of
from depyf.text import short_paths


class ShortPaths(short_paths.ShortPaths):
    """Shortens the paths in the records of one session; guards keep theirs: there are thousands of them."""

    @classmethod
    def of_session(cls, session: SessionRecord) -> ShortPaths:
        """Return the short paths of a session."""
        return cls(session.import_folders)

    def location(self, location: Optional[Location]) -> Optional[Location]:
        """Return the location with a short path."""
        return None if location is None else replace(location, file=self.of(location.file))

    def function(self, function: FunctionRecord) -> FunctionRecord:
        """Return the function with short paths."""
        original = function.original
        return replace(
            function,
            file=self.of(function.file),
            skips=tuple([self._skip(skip) for skip in function.skips]),
            decorators=tuple([replace(one, file=self.of(one.file)) for one in function.decorators]),
            original=None if original is None else replace(original, file=self.of(original.file)),
        )

    def frame(self, frame: FrameRecord) -> FrameRecord:
        """Return the frame with short paths where it broke and why it was compiled."""
        if not frame.graph_breaks and not frame.failed_guards:
            return frame
        failed = tuple([self._failed(one) for one in frame.failed_guards])
        called = self.location(frame.called_from)
        return replace(frame, graph_breaks=self._breaks(frame.graph_breaks), failed_guards=failed, called_from=called)

    def _failed(self, failed: FailedGuard) -> FailedGuard:
        """Return the guard with short paths; of the calls that led to it, those of the program."""
        own = [call for call in failed.stack if is_own(call.file)]
        stack = tuple([replace(call, file=self.of(call.file)) for call in own])
        place = self.location(line_of(failed))
        return replace(failed, location=place, stack=stack)

    def _skip(self, skip: SkipRecord) -> SkipRecord:
        return replace(
            skip,
            location=self.location(skip.location),
            graph_breaks=self._breaks(skip.graph_breaks),
            called_from=self.location(skip.called_from),
        )

    def _breaks(self, breaks: Tuple[GraphBreak, ...]) -> Tuple[GraphBreak, ...]:
        return tuple([self._break(one) for one in breaks])

    def _break(self, one: GraphBreak) -> GraphBreak:
        stack = tuple([replace(call, file=self.of(call.file)) for call in one.stack])
        raised = self.location(one.raised_at)
        return replace(one, location=self.location(one.location), stack=stack, raised_at=raised)
