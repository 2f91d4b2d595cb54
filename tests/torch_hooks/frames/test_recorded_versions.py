"""A context does not write again what earlier contexts of the process have written, once that is much."""

from __future__ import annotations

import gc

import pytest
import torch

import depyf
from depyf.torch_hooks.frames import cached_functions
from depyf.torch_hooks.frames.recorded_versions import RecordedVersions


@pytest.fixture(autouse=True)
def nothing_is_compiled(monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr(cached_functions, "_LITTLE", 0)
    yield
    torch._dynamo.reset()


def first(x):
    return x + 1


def breaks(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


def names(context):
    return [frame.function for frame in context.record.frames]


def test_what_another_context_recorded_is_counted_and_not_written_again(tmp_path, capsys):
    with depyf.prepare_debug(tmp_path / "one"):
        torch.compile(first, backend="eager")(torch.ones(2))
    with depyf.prepare_debug(tmp_path / "two") as context:
        pass
    assert names(context) == [] and context.record.recorded_elsewhere == 1
    assert "1 version compiled earlier: in the folders of the contexts before this one" in capsys.readouterr().err


def test_a_few_versions_are_written_again(tmp_path, monkeypatch):
    monkeypatch.setattr(cached_functions, "_LITTLE", 1)
    with depyf.prepare_debug(tmp_path / "one"):
        torch.compile(first, backend="eager")(torch.ones(2))
    with depyf.prepare_debug(tmp_path / "two") as context:
        pass
    assert names(context) == ["first_0"] and context.record.recorded_elsewhere == 0


def test_what_no_context_recorded_is_added_once(tmp_path):
    torch.compile(first, backend="eager")(torch.ones(2))
    with depyf.prepare_debug(tmp_path / "one") as one:
        pass
    with depyf.prepare_debug(tmp_path / "two") as two:
        pass
    assert names(one) == ["first_0"] and names(two) == []


def test_a_function_that_is_compiled_again_has_all_its_versions(tmp_path):
    compiled = torch.compile(first, backend="eager")
    with depyf.prepare_debug(tmp_path / "one"):
        compiled(torch.ones(2))
    with depyf.prepare_debug(tmp_path / "two") as context:
        compiled(torch.ones(2, 2))
    assert [frame.from_cache for frame in context.record.frames] == [True, False]


def test_a_resume_function_that_is_compiled_again_has_its_function(tmp_path):
    compiled = torch.compile(breaks, backend="eager", dynamic=False)
    with depyf.prepare_debug(tmp_path / "one"):
        compiled(torch.ones(2))
    resume = next(iter(torch._dynamo.resume_execution.ContinueExecutionCache.cache[breaks.__code__].values()))
    torch._dynamo.reset_code(resume)  # its versions are dropped, those of the function stay
    with depyf.prepare_debug(tmp_path / "two") as context:
        compiled(torch.ones(2))
    functions = {function.key: function for function in context.record.functions}
    assert [functions[key].resume_of for key in names(context)] == [None, "breaks_0"]


def test_everything_compiled_before_can_be_left_out(tmp_path):
    torch.compile(first, backend="eager")(torch.ones(2))
    with depyf.prepare_debug(tmp_path / "one", include_earlier=False) as one:
        pass
    with depyf.prepare_debug(tmp_path / "two") as two:
        pass
    assert names(one) == [] and names(two) == ["first_0"]


def test_versions_are_forgotten_when_they_die():
    known, code = RecordedVersions(), compile("1", "a file", "eval")
    known.add(code)
    assert code in known and compile("1", "a file", "eval") not in known
    del code
    gc.collect()
    assert not known._known


def test_the_objects_of_the_process_are_searched_for_wrappers_alone(tmp_path, monkeypatch):
    passed = []

    def wrap(function):
        def wrapper(*args):
            return function(*args)

        return wrapper

    monkeypatch.setattr(cached_functions.identities, "of_living", lambda codes: passed.append(1) or {})
    wrapped = wrap(first)
    torch.compile(breaks, backend="eager")(torch.ones(2))
    with depyf.prepare_debug(tmp_path / "one"):
        pass
    assert not passed
    torch.compile(wrapped, backend="eager")(torch.ones(2))
    with depyf.prepare_debug(tmp_path / "two"):
        pass
    assert passed == [1]
