"""The check of the built site finds links that lead nowhere, or a reader would."""

from __future__ import annotations

import sys

from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import site_links  # noqa: E402


def site(folder, **pages):
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    return [line.partition(": ")[2] for line in site_links.broken_links(folder)]


def test_links_that_lead_somewhere_are_none_to_report(tmp_path):
    (tmp_path / "picture.svg").write_text("")
    text = '<h1 id="top"></h1><a href="b.html#there">b</a><a href="#top">a</a><img src="picture.svg">'
    assert site(tmp_path, a=text + '<a href="https://pytorch.org/x">torch</a>', b='<p id="there">') == []


def test_a_missing_file_is_reported(tmp_path):
    assert site(tmp_path, a='<a href="c.html">', b='<img src="no.png">') == [
        "c.html: there is no such file",
        "no.png: there is no such file",
    ]


def test_a_missing_anchor_is_reported(tmp_path):
    assert site(tmp_path, a='<a href="b.html#gone">', b='<a href="#gone">') == [
        "b.html#gone: the page has no such anchor",
        "#gone: the page has no such anchor",
    ]


def test_make_docs_checks_the_links():
    recipe = (ROOT / "Makefile").read_text().partition("\ndocs:")[2].partition("\n\n")[0]
    assert recipe.index("-b html") < recipe.index("tools/site_links.py")
