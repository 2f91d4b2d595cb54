"""Reports print the words of a record and decide nothing by them: other words in it change those words alone.

Words of a record are the fields that are marked as such (`PROSE`), and what records compute: sentences (`SENTENCES`)
and the expressions of guards (`EXPRESSIONS`), which are not torch's own.  All of them are replaced, twice:

- Each character by one that occurs nowhere else.  Lines break at the same places, so a view of such a record, replaced
  back, must be the view of the original, byte for byte.  Stories fold expressions that differ in numbers only, so
  there the expressions stay.
- Each character of the fields and sentences by two of them.  Lines break elsewhere, and nothing else may differ.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import re
import typing

import pytest

torch = pytest.importorskip("torch")

from torch_probes import EXPLAINS_BREAKS, NAMES_FIRST_BREAK, RECOMPILE_LIMIT, needs  # noqa: E402

import depyf  # noqa: E402
from depyf.record import journal, records  # noqa: E402
from depyf.record.guard_conditions import (  # noqa: E402
    Lazy,
    NoDimensionMarks,
    SameBody,
    SameObject,
    TensorTest,
    TorchState,
    TypeTest,
    ValueTest,
)
from depyf.record.records import ChangedValue, FailedGuard, GraphBreak, LostFiles, SessionRecord, SkipRecord  # noqa: E402
from depyf.record.saved_form import from_json, to_json  # noqa: E402
from depyf.report import closing_summary, full_code, inspection_overview, rank_differences  # noqa: E402

MARKED = {code: 0x2800 + code for code in range(33, 127)}
SAME_LENGTH = {code: chr(mark) for code, mark in MARKED.items()}
TWICE_AS_LONG = {code: 2 * chr(mark) for code, mark in MARKED.items()}
UNMARKED = {mark: code for code, mark in MARKED.items()}
# In JSON a quotation mark and a backslash are escaped, which their stand-ins are not.
UNMARKED_IN_JSON = {**UNMARKED, 0x2800 + ord('"'): '\\"', 0x2800 + ord("\\"): "\\\\"}

# What records compute for people to read.
SENTENCES = (
    (SameObject, "text"),
    (SameBody, "text"),
    (FailedGuard, "__str__"),
    (FailedGuard, "need"),
    (FailedGuard, "instead"),
    (FailedGuard, "likewise"),
    (FailedGuard, "beside"),
    (ChangedValue, "__str__"),
    (GraphBreak, "reason"),
    (SkipRecord, "reason"),
    (LostFiles, "__str__"),
)
# Tests that records spell in Python; PythonTest holds torch's own text, which has to be parsed.
EXPRESSIONS = tuple(
    (kind, name)
    for kind in (TypeTest, ValueTest, TensorTest, NoDimensionMarks, TorchState)
    for name in ("text", "parts")
)
# Properties that hand on what others hold: names, files, and texts that are replaced where they are made.
HANDED_ON = (
    ("FunctionRecord", "display_name"),
    ("FunctionRecord", "shown_file"),
    ("FunctionRecord", "shown_place"),
    ("GuardRecord", "condition"),
    ("PythonTest", "parts"),
    ("TensorProperties", "form"),
    ("TensorProperties", "parts"),
    ("TensorTest", "type_name"),
    ("TypeTest", "form"),
    ("ValueTest", "_type_test"),
    ("GraphRecord", "running_files"),
    ("GraphRecord", "linked_files"),
    ("SessionRecord", "problem_lines"),
)


def with_other_words(record, marks=SAME_LENGTH, found=None):
    """Return the record with each prose text replaced; `found`: gathers the fields that had one."""
    changes = {}
    for one in dataclasses.fields(record):
        value = getattr(record, one.name)
        if one.metadata.get("prose"):
            if value and found is not None:
                found.add((type(record).__name__, one.name))
            changes[one.name] = replaced(value, marks)
        elif dataclasses.is_dataclass(value):
            changes[one.name] = with_other_words(value, marks, found)
        elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
            changes[one.name] = tuple(with_other_words(item, marks, found) for item in value)
    return dataclasses.replace(record, **changes)


def replaced(text, marks):
    if text is None:
        return None
    return text.translate(marks) if isinstance(text, str) else tuple(replaced(one, marks) for one in text)


@contextlib.contextmanager
def other_sentences(marks, computed=SENTENCES):
    """While this is entered, records compute other words; views are made inside, of records that have no texts yet."""
    with pytest.MonkeyPatch.context() as patch:
        for kind, name in computed:
            member = vars(kind)[name]
            if isinstance(member, Lazy):
                patch.setattr(member, "make", with_marks(member.make, marks))
            elif isinstance(member, property):
                patch.setattr(kind, name, property(with_marks(member.fget, marks)))
            else:
                patch.setattr(kind, name, with_marks(member, marks))
        for kind, meaning in records.SKIP_KINDS.items():
            patch.setitem(records.SKIP_KINDS, kind, replaced(meaning, marks))
        yield


def with_marks(compute, marks):
    return lambda record: replaced(compute(record), marks)


def view_with_other_words(view, record, marks, computed):
    with other_sentences(marks, computed):
        return view(with_other_words(record, marks))


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


def applied(x, function):
    return x + 1 if function is None else function(x)


def scaled(x, weight):
    return x * weight


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
    either = torch.compile(applied, backend="eager")
    for function in (None, torch.sin, sizes):
        either(torch.ones(3), function)
    scales = torch.compile(scaled, backend="eager")
    for size in (2, 3):
        scales(torch.ones(1), torch.nn.Parameter(torch.ones(size)))


def frames_that_are_skipped():
    def failing(graph, inputs):
        raise ValueError("no such shape")

    for function in (broken_in_a_loop, that_calls_what_is_disabled):
        torch.compile(function, backend="eager")(torch.ones(3))
    torch.compile(untouched_by_tensors, backend="eager")()
    list(torch.compile(generator, backend="eager")(torch.ones(2)))
    with pytest.raises(Exception, match="no such shape"):
        torch.compile(sizes, backend=failing)(torch.ones(3))
    with torch._dynamo.config.patch({RECOMPILE_LIMIT: 1}):
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
    frames = tuple(map(refuted_and_broken_twice, record.frames))
    found["killed"] = (
        folder,
        dataclasses.replace(
            record,
            frames=frames,
            complete=False,
            compiling=("broken (a.py:3) [7/0]",),
            problems=("writing a graph: ValueError",),
            not_offered=("reasons of recompiles",),
            lost_files=LostFiles(3, "No space left on device"),
        ),
    )
    return found


def refuted_and_broken_twice(frame):
    cause = "inlining failed in PyCodegen.pop_null"  # a name that is explained where it occurs in code
    breaks = [dataclasses.replace(one, causes=(*one.causes, cause)) for one in frame.graph_breaks]
    return dataclasses.replace(frame, divergence="at line 3\nLOAD_FAST 1", grade="REFUTED", graph_breaks=tuple(breaks))


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
    return [full_code.StoryWriter(record).text_of(function.key) for function in record.functions]


def summaries(record):
    of_rank_1 = dataclasses.replace(record, rank=1)
    return [closing_summary.render(record, "folder"), closing_summary.render(of_rank_1, "folder")]


def overviews(record):
    return [inspection_overview.render(record), inspection_overview.whole_story(record, {})]


def in_place(record):
    """Return the manifest without its tables, in which strings are sorted."""
    return to_json(record, compact=True)


def of_ranks(records, texts):
    found = rank_differences.compare(records, texts, world_size=len(records) + 1)
    processes = ()
    return rank_differences.render(processes, found), rank_differences.summary(processes, found, "folder"), found


def same_words(texts):
    return [text.translate(UNMARKED) for text in texts]


def only_words(texts):
    """Return texts in which each marked character stands twice, without where lines begin and break."""
    return ["".join(_TWICE.sub(r"\1", text).translate(UNMARKED).replace("#", "").split()) for text in texts]


_TWICE = re.compile(r"([\u2800-\u28ff])\1")


@pytest.mark.parametrize("view", [stories, summaries, overviews])
def test_other_words_in_a_record_change_nothing_else_in_a_report(sessions, view):
    for _, record in sessions.values():
        expected = view(record)
        computed = SENTENCES + (EXPRESSIONS if view is summaries else ())
        other = view_with_other_words(view, record, SAME_LENGTH, computed)
        assert same_words(other) == expected
        assert other != expected, "this view has no words: nothing was tested"


@pytest.mark.parametrize("view", [stories, summaries, overviews])
def test_longer_words_in_a_record_break_lines_elsewhere_and_change_nothing_else(sessions, view):
    for _, record in sessions.values():
        expected = view(record)
        other = view_with_other_words(view, record, TWICE_AS_LONG, SENTENCES)
        assert only_words(other) == only_words(expected)
        assert sum(map(len, other)) > sum(map(len, expected)), "nothing was tested"


@pytest.mark.parametrize(
    ("marks", "computed", "texts_of"),
    [(SAME_LENGTH, SENTENCES + EXPRESSIONS, same_words), (TWICE_AS_LONG, SENTENCES, only_words)],
)
def test_other_words_in_the_records_of_ranks_change_nothing_else(ranks, marks, computed, texts_of):
    records_of, texts = ranks
    *expected, found = of_ranks(records_of, texts)
    with other_sentences(marks, computed):
        *other, _ = of_ranks({rank: with_other_words(record, marks) for rank, record in records_of.items()}, texts)
    assert texts_of(other) == texts_of(expected) and other != expected
    marked = [with_other_words(difference, marks) for difference in found]
    assert {one.kind for one in found} >= {"versions", "graph breaks", "ended"}
    assert texts_of([rank_differences.render((), marked)]) == texts_of([rank_differences.render((), found)])


def test_the_manifest_holds_the_words_and_nothing_that_is_made_of_them(sessions):
    for _, record in sessions.values():
        text = view_with_other_words(in_place, record, SAME_LENGTH, SENTENCES + EXPRESSIONS)
        assert json.loads(text.translate(UNMARKED_IN_JSON)) == json.loads(in_place(record))


@needs(EXPLAINS_BREAKS, "hints")
def test_every_field_that_holds_words_is_tested(sessions, ranks):
    found = set()
    for _, record in sessions.values():
        with_other_words(record, found=found)
    for difference in of_ranks(*ranks)[2]:
        with_other_words(difference, found=found)
    declared = {
        (kind.__name__, one.name)
        for kind in all_records(SessionRecord)
        for one in dataclasses.fields(kind)
        if one.metadata.get("prose")
    }
    assert len(declared) > 20 and declared - found == {("ProcessRecord", "compiling")}, "printed nowhere"


def test_every_text_that_a_record_computes_is_replaced():
    computed = {
        (kind.__name__, name)
        for kind in all_records(SessionRecord)
        for name, member in vars(kind).items()
        if gives_text(name, member)
    }
    replaced_here = {(kind.__name__, name) for kind, name in SENTENCES + EXPRESSIONS}
    assert computed == replaced_here | set(HANDED_ON), "new here, or gone: is it a sentence, or an expression?"


def gives_text(name, member):
    """Return whether a member of a record computes a text, or several."""
    if isinstance(member, (Lazy, property)):
        made = member.make if isinstance(member, Lazy) else member.fget
        return typing.get_type_hints(made)["return"] in (str, typing.Tuple[str, ...])
    return name == "__str__" and inspect.isfunction(member)


def all_records(kind):
    """Return the classes of records that `kind` is made of, itself first."""

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


def guards_in(record):
    return [guard for frame in record.frames for guard in frame.guards]


def skips_in(record):
    return [skip for function in record.functions for skip in function.skips]


@pytest.mark.parametrize(
    ("program", "wrong"),
    [
        pytest.param(
            "breaks",
            lambda record: ["branching" in one.reason for frame in record.frames for one in frame.graph_breaks],
            marks=needs(EXPLAINS_BREAKS, "explanation of graph breaks"),
        ),
        (
            "breaks",
            lambda record: [" needs " in str(one) for frame in record.frames for one in frame.failed_guards],
        ),
        ("layers", lambda record: [" is still the object it was" in guard.condition for guard in guards_in(record)]),
        ("layers", lambda record: [guard.condition.split(" and ")[-1] for guard in guards_in(record)]),
        ("layers", lambda record: ["type(" in part for guard in guards_in(record) for part in guard.test.parts[:1]]),
        ("frames", lambda record: ["there is no" in skip.reason for skip in skips_in(record)]),
        pytest.param(
            "frames",
            lambda record: [one.reason.split(", and then ")[0] for one in record.lone_breaks],
            marks=needs(NAMES_FIRST_BREAK, "second reason of a graph break"),
        ),
    ],
)
@pytest.mark.parametrize(("marks", "texts_of"), [(SAME_LENGTH, same_words), (TWICE_AS_LONG, only_words)])
def test_a_report_that_reads_words_is_found(sessions, program, wrong, marks, texts_of):
    record = next(record for name, (_, record) in sessions.items() if name.startswith(program))

    def view(record):
        return [" ".join(map(str, wrong(record)))]

    expected, other = view(record), view_with_other_words(view, record, marks, SENTENCES + EXPRESSIONS)
    assert any(expected) and texts_of(other) != texts_of(expected)


def test_a_report_that_decides_by_the_length_of_words_is_found(sessions):
    def view(record):
        return ["\n".join(str(one)[:20] for frame in record.frames for one in frame.failed_guards)]

    _, record = sessions[breaks_and_recompiles.__name__]
    assert only_words(view_with_other_words(view, record, TWICE_AS_LONG, SENTENCES)) != only_words(view(record))


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
