"""On a torch without stances `debug()` compiles nothing, by the callback that compiled functions set."""

from __future__ import annotations

from torch._dynamo import eval_frame

from depyf.torch_hooks.internals.run_only import run_only_callbacks


def test_compiled_functions_run_what_is_cached_and_compile_nothing(monkeypatch):
    seen = []
    monkeypatch.setattr(eval_frame, "set_eval_frame", seen.append, raising=False)
    with run_only_callbacks():
        eval_frame.set_eval_frame(len)
        eval_frame.set_eval_frame(None)
    eval_frame.set_eval_frame(len)
    assert seen == [False, None, len], "a function lets Dynamo compile, False runs cached code, None switches it off"
