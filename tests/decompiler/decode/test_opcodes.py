"""Every opcode of the running interpreter can be decoded."""

from __future__ import annotations


def test_every_opcode_that_a_compiler_writes_is_supported() -> None:
    import dis

    from depyf.decompiler import Decompiler

    # opcodes above 255 exist only inside the compiler; INSTRUMENTED ones only in code that is being traced
    written = {name for name, code in dis.opmap.items() if code < 256 and not name.startswith("INSTRUMENTED_")}
    assert written <= set(Decompiler.supported_opnames())
