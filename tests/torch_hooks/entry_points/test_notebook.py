"""In a notebook, what `inspect` returns and a cell under `%%depyf` show themselves as the page."""

from __future__ import annotations

import os
import sys

import pytest
import torch
from page_runs import EVIL

import depyf
from depyf.page.embedded import embedded_page
from depyf.page.page_data import PageData

CHROMIUM = "/usr/bin/chromium"


@torch.compile(backend="eager")
def doubled(x):
    return x * 2 + 1


@pytest.fixture
def shell(tmp_path, monkeypatch):
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    hook = sys.displayhook, sys.excepthook
    shell = interactive.InteractiveShell.instance()
    shell.run_line_magic("load_ext", "depyf")
    yield shell
    interactive.InteractiveShell.clear_instance()
    sys.displayhook, sys.excepthook = hook


def test_what_inspect_returns_is_the_view_of_the_function():
    doubled(torch.ones(3))
    shown = depyf.inspect(doubled)._repr_html_()
    assert shown.startswith("<iframe sandbox=") and "#/f/doubled_0" in shown and "x * 2 + 1" in shown


def test_a_context_shows_its_page_once_it_is_left(tmp_path):
    torch._dynamo.reset()
    context = depyf.prepare_debug(str(tmp_path / "dump"))
    assert context._repr_html_() is None
    with context:
        doubled(torch.ones(3))
    assert "#/f/doubled_0" in context._repr_html_()


def test_a_cell_under_the_magic_runs_as_it_is_and_shows_its_page(shell, tmp_path):
    torch._dynamo.reset()
    cell = "import torch\n@torch.compile(backend='eager')\ndef f(x):\n    return x.sin() * 3\ny = f(torch.ones(2))\n"
    context = shell.run_cell_magic("depyf", "out", cell)
    assert shell.user_ns["y"].shape == (2,)
    assert (tmp_path / "out" / "index.html").is_file()
    assert "x.sin() * 3" in context._repr_html_()
    labels = {one.label for one in context.record.user_files}
    assert labels == {f"In [{shell.execution_count}]"}
    assert f"In [{shell.execution_count}]" in context._repr_html_()


def test_a_cell_under_the_magic_has_its_own_number_and_the_summary_names_it(shell, tmp_path, capsys):
    torch._dynamo.reset()
    shell.run_cell("1 + 1", store_history=True)
    cell = "import torch\n@torch.compile(backend='eager')\ndef f(x):\n    return x.cos()\nf(torch.ones(2))\n"
    number = shell.execution_count
    shell.run_cell(f"%%depyf out\n{cell}", store_history=True)
    assert shell.execution_count == number + 1
    assert f"called: f (In [{number}]:2)" in (tmp_path / "out" / "summary.txt").read_text(encoding="utf-8")


def test_an_option_of_the_magic_is_no_folder(shell, tmp_path):
    shell.run_cell("%%depyf --open\n1", store_history=True)
    assert not (tmp_path / "--open").exists()


def test_no_text_of_the_program_can_end_the_element():
    shown = embedded_page(PageData({"functions": [], "name": EVIL}, {"function_0": {"text": EVIL}}), {})
    assert shown.count("<") == 2 and shown.count(">") == 2 and "hacked" in shown


def test_links_inside_of_a_cell_stay_inside(tmp_path):
    sync = pytest.importorskip("playwright.sync_api")
    if not os.path.exists(CHROMIUM):
        pytest.skip("no Chromium")
    doubled(torch.ones(3))
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><title>notebook</title>{depyf.inspect(doubled)._repr_html_()}", encoding="utf-8")
    with sync.sync_playwright() as manager:
        browser = manager.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(cell.as_uri())
        frame = page.frame_locator("iframe")
        frame.get_by_text("Your source").wait_for(timeout=5000)
        frame.get_by_role("link", name="Overview").first.click()
        frame.get_by_text("versions proved").wait_for(timeout=5000)
        frame.get_by_role("link", name="doubled").first.click()
        frame.get_by_text("Your source").wait_for(timeout=5000)
        assert page.title() == "notebook" and page.url == cell.as_uri() and errors == []
        browser.close()
