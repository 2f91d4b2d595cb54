"""The listing of a frame's bytecode, which log_bytecode=True writes."""

from __future__ import annotations

import dis
import re

import pytest

torch = pytest.importorskip("torch")

import depyf  # noqa: E402
from depyf.torch_hooks.frames.bytecode_listing import listing  # noqa: E402


def function(x):
    y = torch.sin(x)
    return y + 1


def test_instructions_stand_below_the_lines_of_the_source_and_of_the_transformed_code(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path, log_bytecode=True, include_earlier=False):
        torch.compile(function, backend="eager")(torch.ones(2))
    (path,) = tmp_path.glob("*.bytecode.txt")
    frame = (tmp_path / path.name[: -len(".bytecode.txt")]).read_text().split("\n")
    original, transformed = path.read_text().split("Transformed code")
    first = function.__code__.co_firstlineno
    assert re.search(rf"{first + 1} \|     y = torch\.sin\(x\)\n.*LOAD_GLOBAL.*\(.*torch\)\n.*\(.*sin\b", original)
    assert re.search(rf"{first + 2} \|     return y \+ 1\n.*LOAD_FAST.*\(y\)", original)
    call = next(number for number, line in enumerate(frame, 1) if re.search(r"__compiled_fn_\d+\(", line))
    assert re.search(rf"{call} \| {re.escape(frame[call - 1])}\n(.*(LOAD|NULL).*\n)*.*(PRECALL|CALL)", transformed)
    assert "0x" not in path.read_text()
    assert path.name in (tmp_path / "manifest.json").read_text()


def test_every_instruction_is_listed_once():
    code = function.__code__
    text = listing("title", code, code, "def function(x):\n    ...", [(0, 1)], {})
    offsets = [int(one) for one in re.findall(r"^ {7}   (?:>>|  ) +(\d+) [A-Z]", text, re.MULTILINE)]
    assert offsets == 2 * [one.offset for one in dis.get_instructions(code)]
