"""Where the ranks of a distributed job compiled different things, which is how such jobs hang.

Ranks are expected to compile the same functions, as often, in the same order, to the same graphs.  Where one of them
does not, it may run other collectives than the rest, or be busy compiling while they wait.  `compare` finds those
places in the records of the ranks; `render` lists them, most dangerous first.

Functions are the same on two ranks when they have the same name, file and line; graphs when their text is, apart from
the index of the device.  What a rank never did because it was killed first shows in how it ended.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import Dict, Iterable, Iterator, List, Mapping, Sequence, Tuple, TypeVar

from depyf.record.records import (
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    ProcessRecord,
    RankDifference,
    RankView,
    SessionRecord,
)
from depyf.record.vocabulary import CAPTURED_GRAPH
from depyf.report.call_chains import has_library_path
from depyf.report.closing_summary import PAGES
from depyf.report.graph_difference import first_difference
from depyf.report.reader_text import reader_text
from depyf.text import resume_names
from depyf.text.number_ranges import runs_of

# rank -> file name of a captured graph -> its text
GraphTexts = Mapping[int, Mapping[str, str]]
Identity = Tuple[str, str, int, int]  # name, file, first line, number among those that share these
T = TypeVar("T")

# Most dangerous first; a graph break comes before the versions and graphs that differ because of it.
KINDS = ("collectives", "ended", "graph breaks", "versions", "graph", "order")

_COLLECTIVE = re.compile(r"\b_?c10d_functional(?:_autograd)?\.(?P<name>\w+)")
_DEVICE = re.compile(r"\b(cuda|xpu|hpu|npu|mps):\d+|index=\d+")
_NUMBERS = ("never", "once", "twice")
_MOST_SHOWN = 50
_MOST_IN_SUMMARY = 5


def compare(
    records: Mapping[int, SessionRecord], texts: GraphTexts, world_size: int | None = None
) -> Tuple[RankDifference, ...]:
    """Return what the ranks did not do alike; `records` has one record for each rank that left one."""
    ranks = dict(zip(sorted(records), _ranks(records, texts)))
    found: List[RankDifference] = list(_ends(records, world_size))
    if len(ranks) > 1:
        every = list(dict.fromkeys(identity for rank in ranks.values() for identity in rank.functions))
        for identity in every:
            found += _versions(ranks, identity)
            found += _graphs(ranks, identity)
            found += _breaks(ranks, identity)
        found += _order(ranks)
    return tuple(sorted(found, key=lambda one: (KINDS.index(one.kind), has_library_path(one.place))))


def _ranks(records: Mapping[int, SessionRecord], texts: GraphTexts) -> Iterator[_Rank]:
    """Yield what `compare` needs of each rank, in order; ranks that share their record and texts share it, too."""
    known: Dict[Tuple[int, int, int], _Rank] = {}
    nothing: Dict[str, str] = {}
    for rank in sorted(records):
        record, own = records[rank], texts.get(rank, nothing)
        key = (id(record.functions), id(record.frames), id(own))
        if key not in known:
            known[key] = _Rank(record, own)
        yield known[key]


class _Rank:
    """One rank's record, by what is the same on every rank."""

    def __init__(self, record: SessionRecord, texts: Mapping[str, str]) -> None:
        self._graphs = {graph.name: graph for graph in reversed(record.graphs)}
        self._texts = texts
        self.functions: Dict[Identity, FunctionRecord] = {}
        self._identities: Dict[str, Identity] = {}
        seen: Counter[Tuple[str, str, int]] = Counter()
        for function in record.functions:
            place = (function.display_name, function.file, function.first_line)
            identity = (*place, seen[place])
            seen[place] += 1
            self.functions[identity] = function
            self._identities[function.key] = identity
        self.order: List[Tuple[Identity, int]] = []  # (function, version) as they were compiled
        self._frames: Dict[Identity, List[FrameRecord]] = {}
        self._lines: Dict[int, Tuple[str, ...]] = {}  # of the graphs of a frame, by its id
        for frame in record.frames:
            versions = self._frames.setdefault(self._identities[frame.function], [])
            self.order.append((self._identities[frame.function], len(versions)))
            versions.append(frame)

    def frames(self, identity: Identity) -> List[FrameRecord]:
        return self._frames.get(identity, [])

    def graph(self, frame: FrameRecord) -> Tuple[str, ...]:
        """Return the lines of the graphs that the frame runs, as Dynamo captured them; comments and devices apart."""
        if id(frame) not in self._lines:
            self._lines[id(frame)] = self._graph_lines(frame)
        return self._lines[id(frame)]

    def _graph_lines(self, frame: FrameRecord) -> Tuple[str, ...]:
        lines: List[str] = []
        for name in frame.graphs:
            stages = self._graphs[name].stages if name in self._graphs else ()
            for part in stages:
                if part.stage == CAPTURED_GRAPH:
                    lines += _code_lines(self._texts.get(part.file, ""))
        return tuple(lines)

    def breaks(self, identity: Identity) -> Dict[Tuple[str, str], GraphBreak]:
        frames = [one for frame in self.frames(identity) for one in frame.graph_breaks]
        function = self.functions.get(identity)
        skips = [one for skip in function.skips for one in skip.graph_breaks] if function is not None else []
        return {(_place_of(one), one.reason): one for one in frames + skips}


def _code_lines(text: str) -> List[str]:
    lines = (line.split("#")[0].rstrip() if "#" in line else line.rstrip() for line in text.splitlines())
    return [_DEVICE.sub("device", line) for line in lines if line.strip()]


# ---------------------------------------------------------------- the kinds of differences


def _ends(records: Mapping[int, SessionRecord], world_size: int | None) -> Iterable[RankDifference]:
    missing = [rank for rank in range(world_size or 0) if rank not in records]
    if missing:
        who = f"{_names(missing).capitalize()} left no record"
        text = f"{who}: killed before the first compilation, or the context was not entered there"
        yield RankDifference("ended", "", "", (RankView(tuple(missing), "left no record"),), text)
    ended = {rank: record for rank, record in records.items() if not record.complete}
    for what, ranks in _groups({rank: record.compiling for rank, record in ended.items()}):
        doing = f"was compiling {', '.join(what)}" if what else "was not compiling"
        text = f"{_names(ranks).capitalize()} did not leave the context (killed, or still running) and {doing}"
        yield RankDifference("ended", "", "", (RankView(ranks, f"did not leave the context, {doing}"),), text)


def _versions(ranks: Mapping[int, _Rank], identity: Identity) -> Iterable[RankDifference]:
    counts = {rank: len(ranks[rank].frames(identity)) for rank in ranks}
    if len(set(counts.values())) == 1:
        return
    fewest = min(counts.values())
    views: List[RankView] = []
    times: List[str] = []
    for count, members in _groups(counts):
        why: List[str] = []
        for rank in members:
            for frame in ranks[rank].frames(identity)[max(fewest, 1) :]:
                why += [str(failed) for failed in frame.failed_guards] or frame.recompile_reasons
            function = ranks[rank].functions.get(identity)
            why += [skip.reason for skip in function.skips] if function is not None and not count else []
        times.append(_times(count))
        what = f"compiled it {times[-1]}" if count else "did not compile it"
        views.append(RankView(members, what, tuple(dict.fromkeys(why))))
    yield _difference("versions", identity, views, "compiled {0} {1}", times)


def _graphs(ranks: Mapping[int, _Rank], identity: Identity) -> Iterable[RankDifference]:
    most = max(len(rank.frames(identity)) for rank in ranks.values())
    for version in range(most):
        have = {rank: ranks[rank].frames(identity)[version:] for rank in ranks}
        graphs = {rank: ranks[rank].graph(frames[0]) for rank, frames in have.items() if frames}
        if len(set(graphs.values())) < 2:
            continue
        collectives = {rank: tuple(_collectives(lines)) for rank, lines in graphs.items()}
        number = f"version {version} of {{0}}"
        if len(set(collectives.values())) > 1:
            views = [RankView(members, ", ".join(what) or "none") for what, members in _groups(collectives)]
            form = f"captured other collectives in {number}: {{1}}"
            yield _difference("collectives", identity, views, form, version=version)
            continue
        groups = _groups(graphs)
        lines = first_difference([lines for lines, _ in groups])
        views = [RankView(members, line) for line, (_, members) in zip(lines, groups)]
        yield _difference("graph", identity, views, f"captured another graph in {number}: {{1}}", version=version)


def _breaks(ranks: Mapping[int, _Rank], identity: Identity) -> Iterable[RankDifference]:
    by_rank = {rank: ranks[rank].breaks(identity) for rank in ranks}
    every = {key: one for breaks in by_rank.values() for key, one in breaks.items()}
    for key, one in every.items():
        has = {rank: key in breaks for rank, breaks in by_rank.items()}
        if not all(has.values()):
            where = f"breaks the graph at {_place_of(one)}: {one.reason}"
            groups = _groups(has)
            views = [RankView(members, where if broke else "no break there") for broke, members in groups]
            broken = next(members for broke, members in groups if broke)
            text = f"{_names(broken).capitalize()} alone: {_label(identity)} {where}"
            yield RankDifference("graph breaks", _label(identity), _place(identity), tuple(views), text)


def _order(ranks: Mapping[int, _Rank]) -> Iterable[RankDifference]:
    common = set.intersection(*(set(rank.order) for rank in ranks.values()))
    orders = {rank: tuple(one for one in ranks[rank].order if one in common) for rank in ranks}
    groups = _groups(orders)
    if len(groups) < 2:
        return
    place = next(place for place, ones in enumerate(zip(*(order for order, _ in groups))) if len(set(ones)) > 1)
    views = [RankView(members, f"{_label(order[place][0])} (version {order[place][1]})") for order, members in groups]
    first = "; ".join(f"{_names(view.ranks)}: {view.what}" for view in views)
    text = f"The ranks compile in different order; they part at compilation {place + 1} of those they share: {first}"
    yield RankDifference("order", "", "", tuple(views), text)


def _difference(
    kind: str,
    identity: Identity,
    views: Sequence[RankView],
    form: str,
    short: Sequence[str] = (),
    version: int | None = None,
) -> RankDifference:
    """Describe what some ranks do by `form`: {0} is the function, {1} what differs, by default `what` of the view."""
    short = short or [view.what for view in views]
    text = f"{_names(views[-1].ranks).capitalize()} {form.format(_label(identity), short[-1])}"
    text += "".join(f"; {_names(view.ranks)}: {what}" for view, what in zip(views[:-1], short))
    for view in reversed(views):
        if view.why:
            text += f". Why, on {_names(view.ranks)}: {'; '.join(view.why)}"
    return RankDifference(kind, _label(identity), _place(identity), tuple(views), text, version)


# ---------------------------------------------------------------- small parts


def _groups(values: Mapping[int, T]) -> List[Tuple[T, Tuple[int, ...]]]:
    """Return (value, the ranks that have it), most ranks first; of two equal groups that of the lower rank first."""
    groups: Dict[T, List[int]] = {}
    for rank in sorted(values):
        groups.setdefault(values[rank], []).append(rank)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[1][0]))
    return [(value, tuple(members)) for value, members in ordered]


def _collectives(lines: Iterable[str]) -> Iterable[str]:
    return (match["name"] for line in lines for match in _COLLECTIVE.finditer(line))


def _label(identity: Identity) -> str:
    found = resume_names.read(identity[0])
    if found is None or not found.is_certain:
        return identity[0]
    return f"the rest of {found.function} after {'a graph break' if found.line is None else f'line {found.line}'}"


def _place(identity: Identity) -> str:
    return f"{identity[1]}:{identity[2]}"


def _place_of(graph_break: GraphBreak) -> str:
    where = graph_break.location
    return "an unknown place" if where is None else f"{where.file}:{where.line}"


def _times(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count} times"


def _names(ranks: Sequence[int]) -> str:
    """Spell ranks: `rank 1`, `ranks 0, 2 and 3`, `ranks 0-62`, `ranks 0-8 and 10-63`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    parts: List[str] = []
    for first, last in runs_of(ranks):
        parts += [f"{first}-{last}"] if last - first > 1 else map(str, range(first, last + 1))
    return "ranks " + (", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else parts[0])


# ---------------------------------------------------------------- for people


def render(processes: Sequence[ProcessRecord], differences: Sequence[RankDifference]) -> str:
    """Return the text of `ranks.txt`: each process, and every difference with what each rank did."""
    lines = [headline(processes, differences), ""]
    rows: List[Tuple[str, ...]] = [("folder", "rank", "frames", "graphs", "graph breaks", "ended")]
    rows += [_row(process) for process in processes]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    for number, difference in enumerate(differences[:_MOST_SHOWN], 1):
        lines += ["", f"{number}. {_title(difference)}"]
        for view in difference.views if difference.function else ():
            lines.append(f"     {_names(view.ranks)}: {view.what}")
            lines += [f"         {reason}" for reason in view.why]
    if len(differences) > _MOST_SHOWN:
        lines += ["", f"... and {len(differences) - _MOST_SHOWN} more, see manifest.json"]
    return reader_text(lines) + "\n"


_TITLES = {
    "collectives": "other collectives in",
    "graph breaks": "a graph break in",
    "versions": "another number of compilations of",
    "graph": "another graph of",
}


def _title(difference: RankDifference) -> str:
    """Return what it is about; what each rank did stands below it, or is all there is."""
    if not difference.function:
        return difference.text
    which = "" if difference.version is None else f", version {difference.version}"
    where = f" ({difference.place})" if difference.place else ""
    return f"{_TITLES.get(difference.kind, difference.kind)} {difference.function}{which}{where}"


def headline(processes: Sequence[ProcessRecord], differences: Sequence[RankDifference]) -> str:
    """Return one line: whether the ranks did the same."""
    ranks = [process for process in processes if process.rank is not None]
    if not differences:
        return f"All {len(ranks)} ranks compiled the same."
    count = "one thing" if len(differences) == 1 else f"{len(differences)} things"
    return f"{len(ranks)} {'rank' if len(ranks) == 1 else 'ranks'}, and {count} that they did not do alike:"


def summary(
    processes: Sequence[ProcessRecord], differences: Sequence[RankDifference], folder: str, files: Sequence[str] = ()
) -> str:
    """Return a few lines for a terminal; `files` are the names of depyf's files in the folder."""
    table = next((name for name in files if name.endswith("ranks.txt")), "ranks.txt")
    lines = ["depyf: " + headline(processes, differences)]
    lines += [f"  {difference.text}" for difference in differences[:_MOST_IN_SUMMARY]]
    if len(differences) > _MOST_IN_SUMMARY:
        lines.append(f"  ... and {len(differences) - _MOST_IN_SUMMARY} more")
    lines.append(f"  side by side: {folder}{os.sep}{table}")
    lines += [f"  page: {folder}{os.sep}{name}" for name in files if name in PAGES]
    return reader_text(lines)


def _row(process: ProcessRecord) -> Tuple[str, ...]:
    rank = "-" if process.rank is None else str(process.rank)
    numbers = (process.frames, process.graphs, process.graph_breaks)
    return (process.folder, rank, *map(str, numbers), "yes" if process.complete else "no: killed, or still running")
