"""Bytecode hooks of other libraries receive and return the same code as without depyf."""

from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch")

import depyf  # noqa: E402


def function(x):
    return {"a": x + 1, "b": x.sin()}


def hooked(hooks):
    """Register the hooks; return a function that removes them."""
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


def test_hooks_registered_later_receive_dynamos_own_code(tmp_path):
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
    # hooks of the module that entered the context receive depyf's code
    assert os.path.dirname(own[0].co_filename) == str(tmp_path / "d")


def test_the_code_returned_by_another_hook_is_decompiled_and_run(tmp_path):
    def other(x):
        return x - 1

    with depyf.prepare_debug(tmp_path / "d") as session:
        off = hooked([of_another_module([], other.__code__)])
        result = compile_it()
        off()
    assert torch.equal(result, torch.zeros(3))
    assert "return x - 1" in session.record.frames[0].source
    assert session.record.frames[0].installed == "replaced"


def test_a_hook_that_returns_the_original_code_runs_it_without_another_compilation(tmp_path):
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
