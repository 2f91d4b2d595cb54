"""Visits of a page in Chromium, and the fixtures for them; a test module names this one in `pytest_plugins`.

Skips where Chromium or playwright is missing: `apt-get install chromium`, `pip install playwright`.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Dict, List, Set
from urllib.parse import unquote, urlparse

import pytest
from page_runs import sample_folder

from depyf.commands.page_report import report

CHROMIUM = next((path for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if shutil.which(path)), None)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no /usr/bin/chromium")
    with playwright.sync_playwright() as manager:
        found = manager.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Visit:
    """A page that is open, with what it printed and asked for."""

    def __init__(self, browser, folder: Path, **options) -> None:
        self.folder = folder
        self.is_checked = True
        self.page = browser.new_page(**{"viewport": {"width": 1440, "height": 900}, **options})
        self.page.set_default_timeout(8000)
        self.printed: List[str] = []
        self.asked_for: List[str] = []
        self.page.on("console", lambda message: self.printed.append(message.text))
        self.page.on("pageerror", lambda error: self.printed.append(str(error)))
        self.page.on("request", lambda request: self.asked_for.append(request.url))
        self.page.goto((folder / "index.html").as_uri())
        self.arrived("#/")

    def arrived(self, address: str) -> None:
        self.page.wait_for_function("address => document.documentElement.dataset.shown === address", arg=address)

    def go(self, address: str) -> None:
        self.page.evaluate("address => { location.hash = address }", address)
        self.arrived(address)

    def lit(self) -> Dict[str, Set[int]]:
        """Return the lines that are lit, by the file of the pane, from 1."""
        found = self.page.evaluate("[...PANES].map((pane) => [pane.key, [...pane.lit.keys()]])")
        return {key: {at + 1 for at in lines} for key, lines in found}

    def links(self) -> Set[str]:
        return set(
            self.page.eval_on_selector_all('a[href^="#"]', "nodes => nodes.map((node) => node.getAttribute('href'))")
        )

    def walk(self) -> Set[str]:
        """Follow every link from view to view, check that each lands, and return the addresses."""
        seen: Set[str] = set()
        waiting = {"#/"}
        while waiting:
            address = min(waiting)
            seen.add(address)
            self.go(address)
            assert self.page.locator(".main h1").inner_text().strip(), address
            text = self.page.locator(".main").inner_text()
            assert "No such" not in text and "cannot be read" not in text, address
            waiting = (waiting | self.links()) - seen
        return seen

    def check(self) -> None:
        """Fail if the browser printed anything, or asked for anything outside of the folder."""
        assert not self.printed
        for url in self.asked_for:
            parts = urlparse(url)
            assert parts.scheme in ("file", "data"), url
            assert parts.scheme == "data" or Path(unquote(parts.path)).is_relative_to(self.folder), url


@pytest.fixture
def visit(browser, tmp_path):
    """Return a function that opens a page, of the kept run unless a folder is given; it is checked at the end."""
    open_ones: List[Visit] = []

    def open_page(folder=None, is_checked=True, **options) -> Visit:
        if folder is None:
            folder = sample_folder(tmp_path)
            report(str(folder))
        found = Visit(browser, folder, **options)
        found.is_checked = is_checked
        open_ones.append(found)
        return found

    yield open_page
    for one in open_ones:
        if one.is_checked:
            one.check()
        one.page.close()
