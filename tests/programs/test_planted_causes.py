"""The summary names the line that was planted in a program, and the true cause, in words that nobody reads wrong."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from support.planted_programs import PROGRAMS, SOMELIB

torch = pytest.importorskip("torch")

import depyf  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def somelib(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library") / "site-packages"
    folder.mkdir()
    (folder / "somelib.py").write_text(SOMELIB)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))
    sys.modules.pop("somelib", None)


def summary_of(name, text, folder, capsys):
    """Run the program; return its path and the summary."""
    path = folder / f"planted_{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    torch._dynamo.reset()
    try:
        spec.loader.exec_module(module)
        capsys.readouterr()
        with depyf.prepare_debug(folder / "dump", include_earlier=False) as context:
            module.main(lambda function, **options: torch.compile(function, backend="eager", **options))
    finally:
        del sys.modules[path.stem]
    assert not context.record.problems
    return path, capsys.readouterr().err


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_summary_names_the_planted_line_and_the_true_cause(name, tmp_path, capsys):
    planted = PROGRAMS[name]
    path, summary = summary_of(name, planted.text, tmp_path, capsys)
    lines = [number for number, line in enumerate(planted.text.splitlines(), 1) if line.endswith("# planted")]
    for number in lines:
        assert f"{path}:{number}: " in summary, "the planted line"
    for words in planted.must:
        assert words.replace("{here}", str(path)) in summary
    for words in (*planted.must_not, "Encountered graph break when attempting", "Please open an issue", "did not fit"):
        assert words.replace("{here}", str(path)) not in summary
