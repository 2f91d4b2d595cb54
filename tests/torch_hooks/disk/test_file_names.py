"""File names: valid on every file system, short, stable and unique."""

from __future__ import annotations

import unicodedata

import pytest

from depyf.problems import Problems
from depyf.torch_hooks.disk.file_names import file_stem
from depyf.torch_hooks.disk.folder import OutputFolder

HOSTILE = ["<lambda>", "größe", "a/b", "..", "../../etc/passwd", "con", "nul.txt", ".hidden", "a b", "a\nb", "", "_",
           "\ud800", "größe\ud800", "name?", "-rf", "f" * 300, "日本", "本" * 200, "a\u202eb", "gro\u0308ße", "f\u00a0g",
           "e\u0301", "क्षेत्र"]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_give_file_names_that_are_valid_on_every_file_system(name, tmp_path):
    stem = file_stem(name)
    assert stem == file_stem(name) and 0 < len(stem.encode()) <= 130
    assert not set(stem) & set('<>:"/\\|?* \n') and not stem.endswith(".") and stem.isprintable()
    assert unicodedata.is_normalized("NFC", stem)
    folder = OutputFolder(str(tmp_path), Problems())
    folder.write(f"__transformed_code_0_for_{stem}.py", "")
    folder.close(is_complete=True)
    assert [path.name for path in tmp_path.iterdir()] == [f"__transformed_code_0_for_{stem}.py"]


def test_different_names_never_share_a_file():
    long = "f" * 200
    names = [*HOSTILE, long + "a", long + "b", "gr_e", "a_b", "function", "hidden", "etc_passwd"]
    assert len({file_stem(name).lower() for name in names}) == len(names)
    assert file_stem("forward") == "forward" and file_stem("__call__") == "__call__"


@pytest.mark.parametrize("name", ["größe", "日本", "計算_2", "क्षेत्र", "ñandú"])
def test_a_function_with_a_name_in_another_script_is_found_by_its_name(name):
    assert name.isidentifier() and file_stem(name) == name
    assert file_stem(name + "<locals>").startswith(name)


def test_file_names_are_ascii_where_the_file_system_requires_it(monkeypatch):
    def encode(name):
        return name.encode("ascii")

    monkeypatch.setattr("os.fsencode", encode)
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "ascii")
    assert file_stem("größe").startswith("gr_e_") and file_stem("größe").isascii()
    assert file_stem("forward") == "forward"


def test_names_that_differ_only_in_case_do_not_collide_on_case_insensitive_file_systems(tmp_path):
    folder = OutputFolder(str(tmp_path), Problems())
    names = [
        f"full_code_for_{name}_{folder.number(f'full_code_for_{name}_{{}}.py')}.py" for name in ("Net", "net", "Net")
    ]
    assert len({name.lower() for name in names}) == 3
    for name in ("größe", "GRÖSSE", "Größe", "gro\u0308ße"):
        names.append(f"full_code_for_{name}_{folder.number(f'full_code_for_{name}_{{}}.py')}.py")
    assert len({unicodedata.normalize("NFC", name.casefold()) for name in names}) == 7
