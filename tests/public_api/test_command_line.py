"""`python -m depyf`: the text of files, modules and functions, and the list of opcodes."""

from __future__ import annotations

import py_compile
import subprocess
import sys

from repository import ROOT

from depyf.__main__ import main


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def test_a_source_file_and_its_compiled_form_give_the_same_text(tmp_path, capsys):
    source = tmp_path / "sample.py"
    source.write_text('"""doc"""\nimport os as o\n\n\nclass C(o.PathLike):\n    x: int = 1\n')
    compiled = py_compile.compile(str(source), str(tmp_path / "sample.pyc"))
    assert run(capsys, "decompile", str(source)) == (0, source.read_text(), "")
    assert run(capsys, "decompile", compiled) == (0, source.read_text(), "")


def test_one_function_of_a_file_or_module_can_be_printed(tmp_path, capsys):
    source = tmp_path / "sample.py"
    source.write_text("class C:\n    def f(self):\n        return 1\n")
    assert run(capsys, "decompile", f"{source}:C.f") == (0, "def f(self):\n    return 1\n", "")
    status, out, _ = run(capsys, "decompile", "json.decoder:JSONDecoder.decode")
    assert status == 0 and "\ndef decode(self, s, _w=" in out


def test_a_missing_target_is_one_line_on_stderr(tmp_path, capsys):
    stale = tmp_path / "stale.pyc"
    stale.write_bytes(b"\0" * 32)
    for target in ("no_such_module", "nowhere.py", "json:nothing", "math", str(stale), f"{__file__}:nothing"):
        status, out, err = run(capsys, "decompile", target)
        assert status == 2 and out == "" and err.startswith("depyf: ") and err.count("\n") == 1


def test_all_opcodes_of_this_interpreter_are_supported(capsys):
    status, out, _ = run(capsys, "coverage")
    assert status == 0 and "NOT SUPPORTED" not in out and "LOAD_BUILD_CLASS" in out


def test_it_runs_as_a_program_without_torch():
    command = [sys.executable, "-c", "import sys; sys.modules['torch'] = None; import runpy; sys.argv[1:] = ['coverage'];"
               " runpy.run_module('depyf', run_name='__main__')"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "opcodes supported" in done.stdout, done.stderr
