"""Programs that look at Dynamo's bytecode through hooks of their own find what they find without depyf."""

from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch")

import depyf  # noqa: E402


def function(x):
    return {"a": x + 1, "b": x.sin()}


def hooked(hooks):
    """Register the hooks; returns the function that takes them off."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    handles = [register_bytecode_hook(hook) for hook in hooks]
    return lambda: [handle.remove() for handle in handles]


def of_another_module(seen, answer=None):
    def hook(code, new_code):
        seen.append((code, new_code))
        return answer

    hook.__module__ = "somebody.elses"
    return hook


def compile_it():
    torch._dynamo.reset()
    return torch.compile(function, backend="eager")(torch.ones(3))


def opcodes(code):
    import dis

    return [(instruction.opname, instruction.arg) for instruction in dis.get_instructions(code)]


def test_hooks_registered_later_see_dynamos_own_code(tmp_path):
    without, with_depyf, own = [], [], []
    off = hooked([of_another_module(without)])
    compile_it()
    off()

    def mine(code, new_code):
        own.append(new_code)

    with depyf.prepare_debug(tmp_path / "d") as session:
        off = hooked([mine, of_another_module(with_depyf)])
        compile_it()
        off()
    assert opcodes(with_depyf[0][1]) == opcodes(without[0][1])
    assert [frame.installed for frame in session.record.frames] == ["replaced"]
    # the module that entered the context sees what depyf made of it
    assert os.path.dirname(own[0].co_filename) == str(tmp_path / "d")


def test_what_another_hook_gives_back_is_what_is_decompiled_and_run(tmp_path):
    def other(x):
        return x - 1

    with depyf.prepare_debug(tmp_path / "d") as session:
        off = hooked([of_another_module([], other.__code__)])
        result = compile_it()
        off()
    assert torch.equal(result, torch.zeros(3))
    assert "return x - 1" in session.record.frames[0].source
    assert session.record.frames[0].installed == "replaced"


def test_a_hook_that_gives_the_original_back_has_its_text_run_and_not_compiled_again(tmp_path):
    def compiled_as_often_as():
        seen = []

        def hook(code, new_code):
            seen.append(code)
            return code

        hook.__module__ = "somebody.elses"
        off = hooked([hook])
        torch._dynamo.reset()
        try:
            compiled = torch.compile(function, backend="eager")
            for size in range(2, 6):
                compiled(torch.ones(size))
        finally:
            off()
        return len(seen)

    without = compiled_as_often_as()
    with depyf.prepare_debug(tmp_path / "d") as session:
        assert compiled_as_often_as() == without
    assert {frame.installed for frame in session.record.frames} == {"replaced"}
