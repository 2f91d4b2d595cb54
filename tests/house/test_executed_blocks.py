"""The tool that runs the blocks of the docs: an output that is no longer true must not pass."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import executed_blocks  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tool runs commands by bash")


def differences(tmp_path: Path, text: str) -> list[str]:
    page = tmp_path / "page.md"
    page.write_text(text)
    return [difference.message for difference in executed_blocks.run_page(page)]


GREETING = "```python file=hello.py\nprint('hello')\nprint('there')\n```\n"


def test_a_page_that_shows_what_is_printed_passes(tmp_path):
    assert differences(tmp_path, GREETING + "```console\n$ python hello.py\nhello\nthere\n```\n") == []


def test_an_output_that_differs_is_found(tmp_path):
    assert differences(tmp_path, GREETING + "```console\n$ python hello.py\nhello\n```\n") == ["prints something else"]


def test_a_command_that_fails_is_found_even_if_it_prints_what_is_shown(tmp_path):
    assert differences(tmp_path, "```console\n$ echo a; exit 3\na\n```\n") == ["prints something else"]


def test_a_command_that_slipped_into_the_first_line_of_its_block_is_found(tmp_path):
    assert differences(tmp_path, "```console$ echo a\na\n```\n") == [
        "does not begin with a command: `$ ` and what is run"
    ]


def test_three_dots_stand_for_lines_and_for_nothing_else(tmp_path):
    assert differences(tmp_path, GREETING + "```console\n$ python hello.py\nhello\n...\n```\n") == []
    assert differences(tmp_path, GREETING + "```console\n$ python hello.py\n...\nhello\n```\n")


def test_a_part_of_a_file_must_stand_there_and_an_empty_one_is_none(tmp_path):
    page = "```console\n$ printf 'a\\nb\\nc\\n' > x.txt\n```\n```text part=x.txt\n{}```\n"
    assert differences(tmp_path, page.format("b\nc\n")) == []
    assert differences(tmp_path, page.format("a\nc\n"))
    assert differences(tmp_path, page.format(""))


def test_a_file_that_no_command_wrote_is_found(tmp_path):
    assert differences(tmp_path, "```text show=x.txt\na\n```\n") == ["x.txt is 0 files"]


def test_python_that_does_not_parse_is_found(tmp_path):
    (message,) = differences(tmp_path, "```python\nif:\n```\n")
    assert message.startswith("Python cannot parse it")


def test_the_folder_of_a_page_has_one_name_on_every_machine(tmp_path):
    assert differences(tmp_path, "```console\n$ pwd\n/home/ada/page\n```\n") == []


def test_lines_are_typed_at_the_prompt_of_a_debugger(tmp_path):
    page = "```python file=p.py\nx = 41\nbreakpoint()\nx += 1\nprint(x)\n```\n```console\n$ python p.py\n{}```\n"
    shown = "> /home/ada/page/p.py(3)<module>()\n-> x += 1\n(Pdb) p x\n41\n(Pdb) c\n42\n"
    if sys.version_info >= (3, 13):
        shown = shown.replace("p.py(3)", "p.py(2)").replace("-> x += 1", "-> breakpoint()")
    assert differences(tmp_path, page.format(shown)) == []


def test_an_update_writes_what_was_printed_and_leaves_three_dots_alone(tmp_path):
    page = tmp_path / "page.md"
    text = GREETING + "```console\n$ python hello.py\nhi\n```\n```console\n$ python hello.py\n...\nhi\n```\n"
    page.write_text(text)
    found = executed_blocks.updated(text, executed_blocks.run_page(page))
    assert found == text.replace("hello.py\nhi", "hello.py\nhello\nthere")
