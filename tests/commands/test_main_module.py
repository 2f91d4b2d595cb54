"""A program finds under `depyf run` what it finds under `python`, and ends as it does there."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
import zipfile

import pytest
from repository import ROOT

PROBE = """
import os, pickle, sys
class Own:
    pass
print(sys.argv, sys.path[0], __name__, __file__, __package__, type(__loader__).__name__)
print(None if __spec__ is None else __spec__.name, sorted(name for name in globals()))
print(pickle.loads(pickle.dumps(Own())).__class__ is sys.modules["__main__"].Own, __builtins__)
"""
SPAWN = """
import multiprocessing
def double(x):
    return 2 * x, __name__
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [1, 2]))
"""
ENDINGS = {
    "exception": "def f():\n    raise ValueError('bad')\nf()\n",
    "exit status": "import sys\nsys.exit(7)\n",
    "exit message": "import sys\nsys.exit('no')\n",
    "syntax": "x = = 1\n",
    "interrupt": "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n",
    "hook": "import sys\nsys.excepthook = lambda *a: print('seen', a[0].__name__, a[2].tb_lineno)\n1 / 0\n",
    "cause": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e\n",
    "atexit": "import atexit\natexit.register(print, 'late')\nprint('early')\n",
    "stdin": "import sys\nprint(sys.stdin.read())\n",
}


def outcome(folder, *arguments, under=(), whole=False):
    """Return the status, stdout and stderr of a Python; without the line that depyf ends with, unless `whole`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *under, *arguments], cwd=folder, env=environment, input="in", capture_output=True, text=True
    )
    lines = done.stderr.splitlines()
    kept = [line for line in lines if whole or not line.startswith("depyf: the program compiled nothing")]
    return done.returncode, done.stdout, kept


def assert_alike(folder, *arguments):
    plain = outcome(folder, *arguments)
    assert outcome(folder, *arguments, under=("-m", "depyf", "run", "-o", str(folder / "dump"))) == plain
    return plain


@pytest.fixture
def program(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "probe.py").write_text(PROBE)
    (tmp_path / "inner" / "__init__.py").write_text("")
    (tmp_path / "inner" / "__main__.py").write_text(PROBE)
    (tmp_path / "probe.py").write_text(PROBE)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("probe.py", "a", "-o", "b", "--help", "-m"),
        ("inner/probe.py",),
        ("./inner/../probe.py",),
        ("inner", "x"),
        ("-m", "probe", "-c", "x"),
        ("-m", "inner"),
        ("-m", "inner.probe", "--"),
        ("-m", "no_such_module_here"),
    ],
)
def test_a_program_finds_the_same_surroundings(program, arguments):
    assert_alike(program, *arguments)


def test_a_link_to_a_script_imports_from_the_folder_of_the_script(program):
    (program / "link.py").symlink_to(program / "inner" / "probe.py")
    assert_alike(program, "link.py")


def test_compiled_files_and_archives_run(program):
    py_compile.compile(str(program / "probe.py"), str(program / "compiled.pyc"))
    assert_alike(program, "compiled.pyc")
    with zipfile.ZipFile(program / "packed.zip", "w") as archive:
        archive.writestr("__main__.py", PROBE)
    assert_alike(program, "packed.zip", "y")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_ends_as_it_does_without_depyf(tmp_path, ending):
    (tmp_path / "ends.py").write_text(ENDINGS[ending])
    assert_alike(tmp_path, "ends.py")


def test_children_that_multiprocessing_spawns_find_the_functions_of_the_script(tmp_path):
    (tmp_path / "spawns.py").write_text(SPAWN)
    status, out, _ = assert_alike(tmp_path, "spawns.py")
    assert (status, out) == (0, "[(2, '__mp_main__'), (4, '__mp_main__')]\n")


def test_wrong_arguments_get_one_line(tmp_path):
    for arguments in (["nowhere.py"], ["-o", __file__, __file__]):
        status, out, err = outcome(tmp_path, "-m", "depyf", "run", *arguments, whole=True)
        assert (status, out, len(err)) == (2, "", 1)
        assert err[0].startswith("depyf: ") and "compiled nothing" not in err[0]
