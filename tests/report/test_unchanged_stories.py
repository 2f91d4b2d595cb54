"""One folder for many contexts: a story that a later context does not write again is as it would be written."""

from __future__ import annotations

import json
import os

import pytest

torch = pytest.importorskip("torch")

import depyf  # noqa: E402
from depyf.record import saved_form  # noqa: E402
from depyf.record.records import FrameRecord, FunctionRecord  # noqa: E402
from depyf.record.saved_form import from_json  # noqa: E402
from depyf.report import full_code, unchanged_stories  # noqa: E402
from depyf.torch_hooks.disk import known_manifests  # noqa: E402
from depyf.torch_hooks.disk.folder import OutputFolder  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_is_compiled(monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr(unchanged_stories, "MOST_STORIES", 1)
    monkeypatch.setattr(full_code, "MOST_STORIES", 1)
    yield
    torch._dynamo.reset()


def plain(x):
    return x + 1


def other(x):
    return x * 3


def late(x):
    torch._dynamo.graph_break()
    return x.cos()


def breaks(x):
    y = late(x.sin())
    return y.cos()


def sized(x, n):
    return x * n


ONES = torch.ones(3)
CONTEXTS = [
    [(plain, ONES), (sized, ONES, 2)],
    [(other, ONES), (breaks, ONES)],
    [(sized, ONES, 3)],  # one more version
    [(late, ONES)],  # a story that the break of another may name
    [(plain, torch.ones(4)), (sized, ONES, 5)],
    [],
]


def run(folder, calls):
    with depyf.prepare_debug(folder) as context:
        for function, *arguments in calls:
            torch.compile(function, backend="eager")(*arguments)
    return context.record


def stories(folder):
    return {path.name: path.read_text() for path in folder.glob("full_code_for_*")}


def test_stories_that_are_kept_are_as_they_would_be_written(tmp_path, monkeypatch):
    for calls in CONTEXTS:
        record = run(tmp_path, calls)
        assert stories(tmp_path) == {
            one.full_code_file: full_code.StoryWriter(record).text_of(one.key) for one in record.stories
        }
    assert len(record.stories) >= 5
    assert from_json((tmp_path / "manifest.json").read_text()) == record


def test_a_context_writes_the_stories_alone_that_it_changes(tmp_path, monkeypatch):
    for calls in CONTEXTS[:2]:
        run(tmp_path, calls)
    written = []
    write = OutputFolder.write
    monkeypatch.setattr(OutputFolder, "write", lambda self, name, text: written.append(name) or write(self, name, text))
    run(tmp_path, CONTEXTS[2])
    assert [name for name in written if name.startswith("full_code")] == ["full_code_for_sized_0.py"]


def test_a_story_that_was_removed_is_written_again(tmp_path):
    for calls in CONTEXTS[:2]:
        run(tmp_path, calls)
    before = stories(tmp_path)
    os.remove(tmp_path / "full_code_for_plain_0.py")
    run(tmp_path, [])
    assert stories(tmp_path) == before


def test_the_manifest_of_an_earlier_context_is_not_parsed_again(tmp_path, monkeypatch):
    for calls in CONTEXTS[:2]:
        run(tmp_path, calls)
    loads = json.loads
    parsed = []
    monkeypatch.setattr(json, "loads", lambda text, **options: parsed.append(str(text)) or loads(text, **options))
    run(tmp_path, CONTEXTS[2])
    assert not [text for text in parsed if '"frames"' in text]


def test_a_context_writes_the_part_of_the_manifest_alone_that_it_changes(tmp_path, monkeypatch):
    for calls in CONTEXTS[:2]:
        run(tmp_path, calls)
    written = []
    spread = saved_form._spread
    monkeypatch.setattr(saved_form, "_spread", lambda item, writer: written.append(item) or spread(item, writer))
    record = run(tmp_path, CONTEXTS[2])
    assert {item.key for item in written if isinstance(item, FunctionRecord)} < {item.key for item in record.functions}
    assert [item.function for item in written if isinstance(item, FrameRecord)] == ["sized_0"]
    assert from_json((tmp_path / "manifest.json").read_text()) == record


def test_a_manifest_that_someone_changed_is_parsed(tmp_path):
    for calls in CONTEXTS[:2]:
        run(tmp_path, calls)
    path = tmp_path / "manifest.json"
    text = path.read_text()
    path.write_text(text.replace("other", "others"))
    assert known_manifests.read(path.read_text()) == from_json(path.read_text()) != from_json(text)
    assert known_manifests.contents(text.replace('"schema"', '"scheme"')).is_ours is False
