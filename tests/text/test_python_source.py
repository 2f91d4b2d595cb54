"""Pieces of Python text: what a reader gets on lines that are too wide."""

from __future__ import annotations

from depyf.text import python_source


def test_an_address_stays_whole_and_within_the_width() -> None:
    address = "https://docs.example.org/" + "recompilation/" * 6
    lines = python_source.wrapped_comment(f"            hint: See {address} for more.", "    ")
    assert [line.split()[-1] for line in lines] == ["See", address, "more."]
    assert max(map(len, lines)) <= python_source.WIDTH


def test_a_word_wider_than_any_line_is_cut() -> None:
    lines = python_source.wrapped_comment("name: " + "x" * 300)
    assert max(map(len, lines)) <= python_source.WIDTH
    assert "".join(lines).count("x") == 300
