"""The public names work, and those that need no torch work without it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import depyf


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_depyf_imports_no_torch():
    assert run("import sys, depyf; print('torch' in sys.modules)") == "False\n"


WITHOUT_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, NoTorch())
import depyf
"""


def test_decompile_works_where_torch_is_not_installed():
    assert "return a + 1" in run(WITHOUT_TORCH + "def f(a):\n    return a + 1\nprint(depyf.decompile(f))")


@pytest.mark.parametrize("call", ["depyf.debug().__enter__()", "depyf.install()"])
def test_functions_that_need_torch_report_that_it_is_missing(call):
    program = f"try:\n    {call}\nexcept depyf.errors.UserError as error:\n    print(error)"
    assert "torch" in run(WITHOUT_TORCH + "import depyf.errors\n" + program)


@pytest.mark.parametrize("name", depyf.__all__)
def test_public_names_are_there(name):
    assert getattr(depyf, name) is not None
    assert name in dir(depyf)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("depyf", "Decompiler"),
        ("depyf.code_transform", "ExceptionTableEntry"),
        ("depyf.code_transform", "Instruction"),
        ("depyf.code_transform", "add_indentation"),
        ("depyf.code_transform", "convert_instruction"),
        ("depyf.code_transform", "fix_irregular_code"),
        ("depyf.code_transform", "nop_instruction"),
        ("depyf.code_transform", "nop_unreachable_bytecode"),
        ("depyf.code_transform", "parse_exception_table"),
        ("depyf.code_transform", "propagate_line_nums"),
        ("depyf.code_transform", "remove_indentation"),
        ("depyf.decompiler", "Decompiler"),
        ("depyf.decompiler", "decompile"),
        ("depyf.decompiler", "DecompilationError"),
        ("depyf.optimization", "TorchCompileWrapperWithCustomDispatcher"),
        ("depyf.explain", "dump_src"),
        ("depyf.explain.enable_debugging", "prepare_debug"),
        ("depyf.explain.enable_debugging", "debug"),
        ("depyf.explain.global_variables", "data"),
        ("depyf.explain.utils", "get_current_compiled_fn_name"),
        ("depyf.explain.utils", "write_code_to_file_template"),
        ("depyf.explain.enhance_logging", "install"),
        ("depyf.explain.enhance_logging", "uninstall"),
        ("depyf.utils", "collect_all_code_objects"),
        ("depyf.utils", "get_function_signature"),
        ("depyf.utils", "decompile_ensure"),
        ("depyf.utils", "get_code_owner"),
        ("depyf.utils", "safe_create_directory"),
    ],
)
def test_names_of_the_drop_in_surface_are_there(module, name):
    assert hasattr(importlib.import_module(module), name)


def test_submodules_are_reachable_from_the_package_alone():
    program = "import depyf; depyf.decompiler; depyf.explain; depyf.optimization; depyf.utils; depyf.code_transform"
    assert run(program + "; depyf.explain.utils; depyf.explain.global_variables; print('ok')") == "ok\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        depyf.no_such_name


def test_decompile_ensure_gives_valid_python_under_the_requested_name():
    import ast

    def f(a):
        return a + 1

    (function,) = ast.parse(depyf.utils.decompile_ensure(f.__code__, "g")).body
    assert function.name == "g"


def test_code_is_written_once_and_numbered(tmp_path):
    from depyf.explain.utils import write_code_to_file_template

    template = str(tmp_path / "code_%s.py")
    assert [write_code_to_file_template(text, template)[-4:] for text in ("a", "b", "a")] == ["0.py", "1.py", "0.py"]


def test_safe_create_directory(tmp_path):
    depyf.utils.safe_create_directory(str(tmp_path / "a" / "b"))
    depyf.utils.safe_create_directory(str(tmp_path / "a" / "b"))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        depyf.utils.safe_create_directory(str(tmp_path / "file"))


def test_the_dictionary_of_the_session_is_a_live_view(tmp_path):
    pytest.importorskip("torch")
    from depyf.explain.global_variables import data

    assert dict(data) == {"dump_src_dir": None, "is_inside_prepare_debug": False}
    with depyf.prepare_debug(tmp_path):
        assert dict(data) == {"dump_src_dir": str(tmp_path), "is_inside_prepare_debug": True}
    assert not data["is_inside_prepare_debug"]


def test_debug_inside_prepare_debug_is_a_clear_error(tmp_path):
    pytest.importorskip("torch")
    from depyf.errors import UserError

    with depyf.prepare_debug(tmp_path), pytest.raises(UserError, match="Leave prepare_debug first"):
        with depyf.debug():
            pass


def test_a_compiled_function_is_decompiled_as_the_original_function():
    import functools

    torch = pytest.importorskip("torch")

    def f(x, y=2):
        return x + y

    compiled = torch.compile(f, backend="eager")

    @functools.wraps(compiled)
    def mine(*args):
        return compiled(*args)

    assert depyf.decompile(compiled) == depyf.decompile(f)
    assert "y=2" in depyf.decompile(compiled)
    assert "compiled(*args)" in depyf.decompile(mine)


def test_code_compiled_back_from_its_source_refers_to_the_file_with_that_source(tmp_path: Path) -> None:
    from depyf.decompiler import Decompiler

    def add(a, b):
        return a + b

    template = str(tmp_path / "code_%s.py")
    code = Decompiler.decompile_and_compile_like(add.__code__, add.__code__, filepath_template=template)
    assert code.co_filename == str(tmp_path / "code_0.py")
    assert "return a + b" in (tmp_path / "code_0.py").read_text()
    assert FunctionType(code, {})(1, 2) == 3


SCRIPT = """
import depyf

class Named:
    x = 1
    def method(self):
        return self.x

def around():
    class Inner:
        def method(self):
            return 2
    return Inner

print(depyf.decompile(Named, strict=True))
print(depyf.decompile(around(), strict=True))
"""


def test_classes_of_a_script_are_decompiled(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = os.path.dirname(os.path.dirname(os.path.abspath(depyf.__file__)))
    env = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "class Named:\n    x = 1\n" in done.stdout and "class Inner:\n    def method(self):" in done.stdout


def test_a_class_that_is_gone_from_its_file_is_refused_not_mistaken_for_another(tmp_path) -> None:
    file = tmp_path / "changed_since_import.py"
    file.write_text("class A:\n    def f(self):\n        return 1\n")
    module = tools_module(file)
    try:
        assert "return 1" in depyf.decompile(module.A)
        file.write_text("# another line\nclass A:\n    def f(self):\n        return 2\n")
        with pytest.raises(TypeError, match="was the file changed"):
            depyf.decompile(module.A)
        assert "return 1" in depyf.decompile(module.A.f)
    finally:
        del sys.modules["changed_since_import"]


def tools_module(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module
