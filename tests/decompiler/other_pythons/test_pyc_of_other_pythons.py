"""`.pyc` files of other Pythons: the same text as there, proved by an interpreter that only compiles, or marked."""

from __future__ import annotations

import ast
import importlib.util
import marshal
import re
import stat
import subprocess
import sys
import textwrap

import pytest
from repository import ROOT

import depyf
from depyf.__main__ import main
from depyf.decompiler.bytecode.code_objects import ForeignCode, facts_of, is_foreign
from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION, facts_for, supported_versions
from depyf.decompiler.other_pythons import child_compiler, compiler_for
from depyf.decompiler.other_pythons.child_compiler import ChildCompiler
from depyf.decompiler.other_pythons.python_search import candidates
from depyf.decompiler.pipeline import decompile_frame
from depyf.decompiler.pyc import read_code, read_marshalled
from depyf.decompiler.pyc.file_header import magic_number
from depyf.decompiler.recompile import CannotRecompile
from depyf.errors import UserError

OTHERS = [version for version in supported_versions() if version != RUNNING_VERSION]
RUN_DEPYF = [version for version in OTHERS if facts_for(version).runs_depyf]
SAMPLE = textwrap.dedent(
    '''
    """A module."""
    import os

    class Outer:
        """A class."""

        class Inner(dict):
            x = y = 1

            def method(self, a, *rest, key=None, **more):
                def inner():
                    nonlocal a
                    a += 1
                    return super().__len__() + a
                return inner, [item for item in rest if item not in {'one', 'two', 'three'}]

    def generator(path):
        try:
            with open(path) as file:
                yield from file
        except (OSError, ValueError) as error:
            print(f'{path!r}: {error}')
        finally:
            os.close(0)
    '''
)


@pytest.fixture(scope="module")
def own_compiler():
    """Compile by a child that runs this very interpreter."""
    child = ChildCompiler(sys.executable, RUNNING_VERSION)
    assert child.starts()
    with child:
        yield child


def as_foreign(code):
    return read_marshalled(marshal.dumps(code), RUNNING_VERSION)


@pytest.mark.parametrize("module", ["textwrap", "json.decoder", "dataclasses", "bisect"])
def test_a_record_of_code_gives_the_text_and_the_verdict_that_the_code_gives(module, own_compiler):
    code = importlib.util.find_spec(module).loader.get_code(module)
    there = decompile_frame(code)
    here = decompile_frame(as_foreign(code), compiler=own_compiler)
    assert here.source == there.source
    assert (here.verdict.grade, here.rung, here.lines) == (there.verdict.grade, there.rung, there.lines)


def test_code_of_the_running_python_is_no_foreign_code_and_has_its_facts():
    code = compile("x = 1", "sample.py", "exec")
    assert not is_foreign(code) and facts_of(code) is RUNNING
    assert is_foreign(as_foreign(code)) and facts_of(as_foreign(code)) == RUNNING
    with pytest.raises(AttributeError):
        as_foreign(code).co_name = "other"


# ---------------------------------------------------------------- other versions


def interpreter_of(version):
    with compiler_for(version) as child:
        if child is None:
            pytest.skip(f"no CPython {version[0]}.{version[1]} found")
        return child.python


def pyc_of(interpreter, folder, text=SAMPLE):
    source, target = folder / "sample.py", folder / "sample.pyc"
    source.write_text(text)
    program = f"import py_compile; py_compile.compile({str(source)!r}, cfile={str(target)!r}, doraise=True)"
    subprocess.run([interpreter, "-c", program], check=True)
    return target


@pytest.mark.parametrize("version", RUN_DEPYF)
def test_a_file_of_another_version_has_the_text_that_this_version_itself_gives(version, tmp_path, capfd):
    interpreter = interpreter_of(version)
    file = pyc_of(interpreter, tmp_path)
    assert main(["decompile", str(file)]) == 0
    command = [interpreter, "-B", "-m", "depyf", "decompile", str(file)]
    there = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True, check=True)
    assert capfd.readouterr().out == there.stdout
    assert depyf.decompile(str(file), strict=True, python=interpreter) == there.stdout


@pytest.fixture
def nothing_found(monkeypatch, tmp_path):
    for name in ("PYENV_ROOT", "DEPYF_SID", "PATH"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))


@pytest.mark.parametrize("version", OTHERS[-1:])
def test_without_an_interpreter_the_text_is_marked_and_the_status_is_1(version, tmp_path, capfd, nothing_found):
    assert not list(candidates(version))
    file = tmp_path / "foreign.pyc"
    file.write_bytes(magic_number(version) + bytes(12) + b"N")
    assert main(["decompile", str(file)]) == 2
    assert "the file holds no code object" in capfd.readouterr().err
    foreign = as_foreign(compile(SAMPLE, "sample.py", "exec"))
    result = decompile_frame(foreign, compiler=None)
    first, rest = result.source.split("\n", 1)
    assert first == "# UNPROVED: no Python {}.{} to check it with".format(*RUNNING_VERSION)
    assert not result.proved and rest == decompile_frame(compile(SAMPLE, "sample.py", "exec")).source


def test_the_command_line_marks_what_it_cannot_check(tmp_path, capfd, monkeypatch, nothing_found):
    file = tmp_path / "foreign.pyc"
    file.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(SAMPLE, "sample.py", "exec")))
    monkeypatch.setattr("depyf.decompiler.pyc.read_code", lambda data: as_foreign(read_code(data)))
    assert main(["decompile", str(file)]) == 1
    written = capfd.readouterr()
    assert written.out.startswith("# UNPROVED: no Python ")
    assert written.err.startswith("depyf: the text is not proved: no Python ") and written.err.count("\n") == 1
    assert main(["decompile", "--strict", str(file)]) == 1
    assert capfd.readouterr().out == ""


def test_an_interpreter_of_another_version_is_refused():
    version = next(version for version in OTHERS)
    with pytest.raises(UserError, match="is no CPython"), compiler_for(version, sys.executable):
        pass
    with pytest.raises(UserError, match="is no CPython"), compiler_for(version, "/no/such/python"):
        pass


def test_nothing_of_the_file_and_of_the_users_folders_runs_in_the_child(tmp_path, monkeypatch, own_compiler):
    mark = tmp_path / "mark"
    program = f"open({str(mark)!r}, 'w').close()\n"
    for name in ("sitecustomize.py", "usercustomize.py", "marshal.py", "struct.py"):
        (tmp_path / name).write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "marshal.py"))
    monkeypatch.chdir(tmp_path)
    child = ChildCompiler(sys.executable, RUNNING_VERSION)
    assert child.starts()
    with child:
        assert decompile_frame(as_foreign(compile(program, "sample.py", "exec")), compiler=child).proved
    assert not mark.exists()


# ---------------------------------------------------------------- children that fail


def test_a_text_that_does_not_compile_is_a_syntax_error_and_the_child_compiles_the_next(own_compiler):
    with pytest.raises(SyntaxError, match="sample.py"):
        own_compiler("x = = 1", "sample.py", "exec", 0)
    with pytest.raises(CannotRecompile, match="ValueError|SyntaxError"):
        own_compiler("x = 1", "sample.py", "no mode", 0)
    assert own_compiler("x = 1", "sample.py", "exec", 0).co_names == ("x",)


def fake_interpreter(folder, body):
    """Make a program that greets like this interpreter and then does something else."""
    path = folder / "python"
    greeting = repr(child_compiler.struct.pack("<BI", 0, 11) + magic_number(RUNNING_VERSION) + b"cpython")
    path.write_text(
        f"#!{sys.executable}\nimport sys, time\nsys.stdout.buffer.write({greeting})\nsys.stdout.flush()\n{body}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_child_that_does_not_answer_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(child_compiler, "SECONDS", 0.3)
    child = ChildCompiler(fake_interpreter(tmp_path, "time.sleep(60)"), RUNNING_VERSION)
    assert child.starts()
    process = child.process
    for _ in range(2):
        with pytest.raises(CannotRecompile):
            child("x = 1", "sample.py", "exec", 0)
    assert process.returncode is not None and child.process is None


@pytest.mark.parametrize(
    "body", ["sys.exit(1)", "sys.stdout.buffer.write(b'\\0\\5\\0\\0\\0hello')", "sys.stdout.buffer.write(b'\\0' * 5)"]
)
def test_a_child_that_dies_or_sends_anything_else_is_no_reason_to_fail(body, tmp_path):
    child = ChildCompiler(fake_interpreter(tmp_path, body), RUNNING_VERSION)
    assert child.starts()
    with child:
        result = decompile_frame(as_foreign(compile(SAMPLE, "sample.py", "exec")), compiler=child)
        assert not result.proved and result.source.startswith("# Not source: ") and not result.bugs


# ---------------------------------------------------------------- every stage


def test_every_attribute_of_code_that_the_stages_read_is_one_of_records():
    known = {name for name in dir(ForeignCode) if name.startswith("co_")}
    for path in (ROOT / "depyf" / "decompiler").rglob("*.py"):
        read = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        assert {name for name in read if name.startswith("co_")} <= known, path.name


def test_no_stage_takes_records_for_anything_else_than_code_or_asks_for_the_running_python():
    allowed = {"code_objects.py", "python_facts.py"}
    for path in (ROOT / "depyf" / "decompiler").rglob("*.py"):
        text = path.read_text()
        if path.name not in allowed:
            assert not re.search(r"isinstance\([^()]*, CodeType\)|(kind|\)) is (not )?CodeType", text), path.name
            is_file = path.parent.name == "pyc" or path.name in ("stage_order.py", "parsed_trees.py")  # defaults
            assert is_file or not re.search(r"\bRUNNING(_VERSION)?\b", text), path.name
