"""`python -m depyf`: the text of files, modules and functions, and the list of opcodes."""

from __future__ import annotations

import importlib.util
import io
import marshal
import os
import py_compile
import struct
import subprocess
import sys
import types
from opcode import opmap

import pytest
from repository import ROOT

import depyf
from depyf.__main__ import main
from depyf.decompiler import code_search
from depyf.errors import UserError


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


def test_the_summary_of_a_folder_is_shown_again(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path / "d") as context:
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    printed = capsys.readouterr().err.replace(f" in {tmp_path / 'd'}", "").replace(f"{tmp_path / 'd'}{os.sep}", "")
    whole = (tmp_path / "d" / "summary.txt").read_text()
    assert whole == printed or "see summary.txt\n" in printed
    assert run(capsys, "show", str(tmp_path / "d")) == (0, whole, "")
    assert "\n".join(context.record.summary) + "\n" == whole
    status, out, err = run(capsys, "show", str(tmp_path / "other"))
    assert (status, out) == (2, "") and "holds no record of depyf" in err and err.count("\n") == 1


def test_a_missing_target_is_one_line_on_stderr(tmp_path, capsys):
    stale = tmp_path / "stale.pyc"
    stale.write_bytes(b"\0" * 32)
    for target in ("no_such_module", "nowhere.py", "json:nothing", "math", str(stale), f"{__file__}:nothing"):
        status, out, err = run(capsys, "decompile", target)
        assert status == 2 and out == "" and err.startswith("depyf: ") and err.count("\n") == 1


def bytes_of_pyc(code) -> bytes:
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def one_line(capsys, target: str) -> str:
    """Return what stands on stderr for a target that cannot be read; also from `decompile`, as a documented error."""
    status, out, err = run(capsys, "decompile", target)
    assert status == 2 and out == "" and err.startswith("depyf: ") and err.count("\n") == 1
    if target.endswith((".py", ".pyc")):
        with pytest.raises(UserError):
            depyf.decompile(target)
    return err


def test_a_damaged_file_is_one_line_with_the_byte(tmp_path, capsys):
    data = bytes_of_pyc(compile("def f(a):\n    return a\n", "sample.py", "exec"))
    place = tmp_path / "damaged.pyc"
    place.write_bytes(data[:-7])
    assert "damaged.pyc is damaged, byte " in one_line(capsys, str(place))
    place.write_bytes(data[:16] + b"[\0\0\0\0")
    assert "byte 16: a list is no constant" in one_line(capsys, str(place))


def test_a_file_of_another_python_names_that_python(tmp_path, capsys):
    place = tmp_path / "old.pyc"
    place.write_bytes(struct.pack("<H", 3379) + b"\r\n" + bytes(12))
    assert "was made by Python 3.6: depyf reads files of Python " in one_line(capsys, str(place))


def test_what_is_no_readable_file_is_one_line(tmp_path, capsys, monkeypatch):
    (tmp_path / "folder.pyc").mkdir()
    os.mkfifo(tmp_path / "pipe.py")  # reading it would wait for a writer
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / "null.py").write_bytes(b"x = 1\0\n")
    (tmp_path / "deep.py").write_text("(" * 5000 + ")" * 5000)
    (tmp_path / "large.py").write_text("x = 1\n" * 10)
    assert "it is a directory" in one_line(capsys, str(tmp_path / "folder.pyc"))
    assert "it is a directory" in one_line(capsys, str(tmp_path))
    assert "no regular file" in one_line(capsys, str(tmp_path / "pipe.py"))
    assert "does not compile" in one_line(capsys, str(tmp_path / "latin.py"))
    assert "does not compile" in one_line(capsys, str(tmp_path / "null.py"))
    assert "does not compile" in one_line(capsys, str(tmp_path / "deep.py"))
    assert "No such file" in one_line(capsys, str(tmp_path / "missing.pyc"))
    assert "null" in one_line(capsys, "nul\0l.py")
    monkeypatch.setattr(code_search, "LARGEST_FILE", 50)
    assert "more than" in one_line(capsys, str(tmp_path / "large.py"))


def test_a_module_that_fails_or_exits_when_imported_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "raises_here.py").write_text("raise KeyError('in the module')\n")
    (tmp_path / "exits_here.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "package_here").mkdir()
    (tmp_path / "package_here" / "__init__.py").write_text("1 / 0\n")
    assert "in the module" in one_line(capsys, "raises_here:f")
    assert "SystemExit: 3" in one_line(capsys, "exits_here:f")
    assert "ZeroDivisionError" in one_line(capsys, "package_here.module")


def test_a_path_is_decompiled_as_the_command_line_does(tmp_path):
    source = tmp_path / "sample.py"
    source.write_text("x = 1\n")
    compiled = tmp_path / "sample.pyc"
    py_compile.compile(str(source), str(compiled))
    assert depyf.decompile(str(source)) == depyf.decompile(compiled) == depyf.decompile(str(compiled)) == "x = 1\n"


def test_a_text_that_is_not_proved_is_shown_with_exit_status_1(tmp_path, capsys):
    place = tmp_path / "odd.pyc"
    code = compile("x = y\n", "odd.py", "exec")
    place.write_bytes(bytes_of_pyc(code.replace(co_names=())))  # instructions that read names that are not there
    status, out, err = run(capsys, "decompile", str(place))
    assert status == 1 and out.startswith("# Not source: ") and "RETURN" in out
    assert err.startswith("depyf: no source was proved") and err.count("\n") == 1
    status, out, err = run(capsys, "decompile", "--strict", str(place))
    assert status == 1 and out == "" and err.count("\n") == 1


def test_a_function_inside_that_is_not_well_formed_gives_exit_status_1_and_the_reason(tmp_path, capsys):
    module = compile("def f():\n    return (y, z)\n", "odd.py", "exec")
    f = next(const for const in module.co_consts if hasattr(const, "co_code"))
    wrong = "MATCH_CLASS" if "MATCH_CLASS" in opmap else "CALL_FUNCTION_KW"  # both want names in a constant
    odd = f.replace(co_code=f.co_code.replace(bytes([opmap["BUILD_TUPLE"]]), bytes([opmap[wrong]])))
    consts = tuple(odd if const is f else const for const in module.co_consts)
    place = tmp_path / "odd.pyc"
    place.write_bytes(bytes_of_pyc(module.replace(co_consts=consts)))
    status, out, err = run(capsys, "decompile", str(place))
    assert status == 1 and out.startswith("# Not source: ") and f"not well formed: {wrong} at " in out
    assert err.startswith("depyf: ") and err.count("\n") == 1


class RaisesInAttributes:
    def __getattribute__(self, name):
        raise KeyError(name)


class RaisesAsPath:
    def __fspath__(self):
        raise KeyError("path")


NO_CODE = [RaisesInAttributes, RaisesAsPath, lambda: types.ModuleType("none"), lambda: "no path", int]


@pytest.mark.parametrize("make", NO_CODE)
def test_what_has_no_code_is_a_type_error_whatever_its_own_attributes_do(make):
    for strict in (False, True):
        with pytest.raises(TypeError, match="depyf can"):
            depyf.decompile(make(), strict=strict)


def test_a_reader_that_stops_early_sees_no_traceback(tmp_path):
    source = tmp_path / "long.py"
    source.write_text("x = 1\n" * 50_000)
    command = f"{sys.executable} -m depyf decompile {source} | head -1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "x = 1\n" and done.stderr == ""


def test_a_terminal_that_cannot_show_the_text_is_one_line(tmp_path, capsys, monkeypatch):
    source = tmp_path / "sample.py"
    source.write_text("\u00e9 = 1\n", encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert main(["decompile", str(source)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_names_from_a_file_cannot_control_the_terminal(capsys):
    assert "\x1b" not in one_line(capsys, "\x1b[31mred.py")


def test_all_opcodes_of_this_interpreter_are_supported(capsys):
    status, out, _ = run(capsys, "coverage")
    assert status == 0 and "NOT SUPPORTED" not in out and "LOAD_BUILD_CLASS" in out


def test_it_runs_as_a_program_without_torch():
    command = [sys.executable, "-c", "import sys; sys.modules['torch'] = None; import runpy; sys.argv[1:] = ['coverage'];"
               " runpy.run_module('depyf', run_name='__main__')"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "opcodes supported" in done.stdout, done.stderr
