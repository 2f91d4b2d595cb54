"""Reports print the words of a record and decide nothing by them: other words in it change those words alone.

Which fields hold words stands on the fields of the records (`PROSE`).  Each character of theirs is replaced by one that
occurs nowhere else, so lines break at the same places; a view of such a record, replaced back, must be the view of the
original, byte for byte.
"""

from __future__ import annotations

import dataclasses
import json

import pytest

torch = pytest.importorskip("torch")

import depyf  # noqa: E402
from depyf.record import journal  # noqa: E402
from depyf.record.records import LostFiles, SessionRecord  # noqa: E402
from depyf.record.saved_form import from_json, to_json  # noqa: E402
from depyf.report import full_code, manifest, overview, rank_differences, summary  # noqa: E402

OTHER_WORDS = {code: 0x2800 + code for code in range(33, 127)}
SAME_WORDS = {other: code for code, other in OTHER_WORDS.items()}


def with_other_words(record, found=None):
    """Return the record with each prose text replaced; `found`: gathers the fields that had one."""
    changes = {}
    for one in dataclasses.fields(record):
        value = getattr(record, one.name)
        if one.metadata.get("prose"):
            if value and found is not None:
                found.add((type(record).__name__, one.name))
            is_one = value is None or isinstance(value, str)
            changes[one.name] = replaced(value) if is_one else tuple(map(replaced, value))
        elif dataclasses.is_dataclass(value):
            changes[one.name] = with_other_words(value, found)
        elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
            changes[one.name] = tuple(with_other_words(item, found) for item in value)
    return dataclasses.replace(record, **changes)


def replaced(text):
    return None if text is None else text.translate(OTHER_WORDS)


# ---------------------------------------------------------------- programs


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
        self.scale = 3

    def forward(self, x):
        for layer in self.layers:
            x = layer(x) * self.scale
        return x


class Doubled(torch.Tensor):
    pass


def broken(x, n):
    y = x * n
    print(end="")
    if y.sum() < 0:
        return y
    return y + 1


def broken_in_a_loop(x):
    for _ in range(3):
        torch._dynamo.graph_break()
        x = x + 1
    return x


@torch.compiler.disable
def disabled(x):
    return x


def that_calls_what_is_disabled(x):
    return disabled(x) + 1


def sizes(x):
    return x * x.shape[0]


def untouched_by_tensors():
    return [number for number in range(3)]


def generator(x):
    yield x + 1


def breaks_and_recompiles():
    compiled = torch.compile(broken, backend="eager")
    for n in (1, 2, True, 0.5):
        compiled(torch.ones(3), n)
    compiled(torch.ones(3, 3), 1)
    compiled(torch.ones(3, requires_grad=True), 1)
    with torch.no_grad():
        compiled(torch.ones(3), 1)


def layers_and_sizes():
    model = torch.compile(Layers(), backend="aot_eager")
    model(torch.ones(2, 4)).sum().backward()
    model(torch.ones(1, 4))
    several = torch.compile(sizes, backend="eager")
    for size in (3, 4, 1):
        several(torch.ones(size))
    several(torch.ones(5, dtype=torch.float64))
    several(torch.ones(5).as_subclass(Doubled))


def frames_that_are_skipped():
    def failing(graph, inputs):
        raise ValueError("no such shape")

    for function in (broken_in_a_loop, that_calls_what_is_disabled):
        torch.compile(function, backend="eager")(torch.ones(3))
    torch.compile(untouched_by_tensors, backend="eager")()
    list(torch.compile(generator, backend="eager")(torch.ones(2)))
    with pytest.raises(Exception, match="no such shape"):
        torch.compile(sizes, backend=failing)(torch.ones(3))
    with torch._dynamo.config.patch(recompile_limit=1):
        limited = torch.compile(broken, backend="eager", dynamic=False)
        for size in (2, 3, 4):
            limited(torch.ones(size), 1)


PROGRAMS = (breaks_and_recompiles, layers_and_sizes, frames_that_are_skipped)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Return folder and record of each program, and one that was killed on a full disk."""
    found = {}
    for program in PROGRAMS:
        torch._dynamo.reset()
        folder = tmp_path_factory.mktemp("prose") / program.__name__
        with depyf.prepare_debug(folder) as context:
            program()
        found[program.__name__] = folder, context.record
    torch._dynamo.reset()
    folder, record = found[breaks_and_recompiles.__name__]
    frames = tuple(
        dataclasses.replace(frame, divergence="at line 3\nLOAD_FAST 1", grade="REFUTED") for frame in record.frames
    )
    found["killed"] = (
        folder,
        dataclasses.replace(
            record,
            frames=frames,
            complete=False,
            compiling=("broken (a.py:3) [7/0]",),
            problems=("writing a graph: ValueError",),
            lost_files=LostFiles(3, "No space left on device"),
        ),
    )
    return found


@pytest.fixture(scope="module")
def ranks(sessions):
    """Return the programs as the ranks of one job: they did nothing alike."""
    records = {rank: dataclasses.replace(record, rank=rank) for rank, (_, record) in enumerate(sessions.values())}
    texts = {
        rank: {path.name: path.read_text() for path in folder.glob("__compiled_fn*.py")}
        for rank, (folder, _) in enumerate(sessions.values())
    }
    return records, texts


# ---------------------------------------------------------------- views


def stories(record):
    return [full_code.render(record, function.key) for function in record.functions]


def summaries(record):
    return [summary.render(record, "folder"), summary.render(dataclasses.replace(record, rank=1), "folder")]


def overviews(record):
    return [overview.render(record), overview.whole_story(record, {})]


def of_ranks(records, texts):
    found = rank_differences.compare(records, texts, world_size=len(records) + 1)
    processes = ()
    return rank_differences.render(processes, found), rank_differences.summary(processes, found, "folder"), found


def same_words(texts):
    return [text.translate(SAME_WORDS) for text in texts]


@pytest.mark.parametrize("view", [stories, summaries, overviews])
def test_other_words_in_a_record_change_nothing_else_in_a_report(sessions, view):
    for _, record in sessions.values():
        expected, other = view(record), view(with_other_words(record))
        assert same_words(other) == expected
        assert other != expected, "this view has no words: nothing was tested"


def test_other_words_in_the_records_of_ranks_change_nothing_else(ranks):
    records, texts = ranks
    *expected, found = of_ranks(records, texts)
    *other, _ = of_ranks({rank: with_other_words(record) for rank, record in records.items()}, texts)
    assert same_words(other) == expected and other != expected
    marked = [with_other_words(difference) for difference in found]
    assert {one.kind for one in found} >= {"versions", "graph breaks", "ended"}
    assert same_words([rank_differences.render((), marked)]) == [rank_differences.render((), found)]


def test_the_manifest_holds_the_words_and_nothing_that_is_made_of_them(sessions):
    for _, record in sessions.values():
        other = json.loads(manifest.render(with_other_words(record)).translate(SAME_WORDS_IN_JSON))
        assert other == json.loads(manifest.render(record))


# In JSON a quotation mark and a backslash are escaped, which their stand-ins are not.
SAME_WORDS_IN_JSON = {**SAME_WORDS, 0x2800 + ord('"'): '\\"', 0x2800 + ord("\\"): "\\\\"}


def test_every_field_that_holds_words_is_tested(sessions, ranks):
    found = set()
    for _, record in sessions.values():
        with_other_words(record, found)
    for difference in of_ranks(*ranks)[2]:
        with_other_words(difference, found)
    declared = {
        (kind.__name__, one.name)
        for kind in all_records(SessionRecord)
        for one in dataclasses.fields(kind)
        if one.metadata.get("prose")
    }
    assert len(declared) > 20 and declared - found == {("ProcessRecord", "compiling")}, "printed nowhere"


def all_records(kind):
    """Return the classes of records that `kind` is made of, itself first."""
    import typing

    def classes_in(hint):
        if dataclasses.is_dataclass(hint):
            yield hint
        for argument in typing.get_args(hint):
            yield from classes_in(argument)

    found, waiting = [], [kind]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.append(one)
            waiting += [inner for hint in typing.get_type_hints(one).values() for inner in classes_in(hint)]
    return found


def test_a_report_that_reads_words_is_found(sessions):
    def wrong(record):
        reasons = [one.reason for frame in record.frames for one in frame.graph_breaks]
        return [f"{len(reasons)} breaks, {sum('branching' in reason for reason in reasons)} by branching"]

    _, record = sessions[breaks_and_recompiles.__name__]
    assert same_words(wrong(with_other_words(record))) != wrong(record)


# ---------------------------------------------------------------- the saved form


def test_a_session_that_was_saved_and_loaded_is_the_same_and_has_the_same_reports(sessions):
    for _, record in sessions.values():
        for compact in (False, True):
            loaded = from_json(to_json(record, compact))
            assert loaded == record
            assert to_json(loaded, compact) == to_json(record, compact)
        for view in (stories, summaries, overviews):
            assert view(loaded) == view(record)


def test_what_the_journal_holds_of_a_session_is_the_same_record(sessions):
    for _, record in sessions.values():
        lines = [journal.line(header={"rank": record.rank, "world_size": record.world_size})]
        lines += [journal.line(function=function) for function in record.functions]
        lines += [journal.line(frame=place, value=frame) for place, frame in enumerate(record.frames)]
        lines += [journal.line(graph=place, value=graph) for place, graph in enumerate(record.graphs)]
        replayed = journal.replay(SessionRecord(), "\n".join(lines) + "\n")
        assert (replayed.functions, replayed.frames, replayed.graphs) == (
            record.functions,
            record.frames,
            record.graphs,
        )


def test_ranks_that_were_saved_and_loaded_have_the_same_report(ranks):
    *expected, found = of_ranks(*ranks)
    loaded = from_json(to_json(SessionRecord(differences=found))).differences
    assert loaded == found and rank_differences.render((), loaded) == expected[0]
