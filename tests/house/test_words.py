"""Docstrings, comments and messages use plain words, or a newcomer has to read each sentence twice.

- A function's docstring is imperative: "Return the elements ...", not "The elements ...".
- Say, tell, know, look, hear, mind, go on: only where a person does it. Code emits, spells, records, reports, reads and
  continues. ALLOWED lists the sentences that keep such a word, each with its reason.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from typing import Dict, Iterator, Tuple

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

DIALECT = re.compile(
    r"\b(?:say|says|said|saying|tell|tells|told|telling|know|knows|knew|hear|hears|heard|mind|minds"
    r"|look|looks|looked|looking|go on|goes on|went on|going on|gone on|let go|lets go|letting go)\b(?! up\b)",
    re.IGNORECASE,
)
# Part of a sentence -> why it keeps its word.
SAVED = "saved in dumps: a verdict's text is part of manifest.json and of the files"
PRINTED = "printed in stories and overviews, which other tools and people compare between runs"
ALLOWED: Dict[str, str] = {
    "what a loop goes on with is an iterator, and its `__iter__` gives itself": SAVED,
    "the frame looks at its local names, and they are": SAVED,
    "has let go of": SAVED,
    "compiled before anyone looked": PRINTED,
    "torch tells it only while it compiles": PRINTED,
    "goes on in": PRINTED,
}
# First words of a docstring that describes instead of telling what the function does.
NOT_IMPERATIVE = re.compile(
    r"(?:The|An?|Whether|What|Which|How|Where|When|Who|Whose|Why|All|Both|Every|Each|Those|These|This|That|It|Its|One|Two"
    r"|Some|Other|If|For|As|At|In|On|From|By|Of|To|With|Without|Before|After|No|Not|Text|Names|Source|Blocks|Locals|Tests"
    r"|Returns|Yields|Makes|Gives|Finds|Takes|Reads|Writes|Adds|Puts|Gets|Sets|Runs)\b|[^A-Z]|[A-Z][A-Z_]+\b"
)


def texts(source: str) -> Iterator[Tuple[int, str]]:
    """Yield (line, text) of every comment, docstring and string that is prose."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def dialect_in(source: str) -> Iterator[Tuple[int, str]]:
    """Yield (line, sentence around it) for each word that only a person can do."""
    for line, text in texts(source):
        for match in DIALECT.finditer(text):
            before, after = text[: match.start()].rpartition("\n"), text[match.end() :].partition("\n")
            sentence = (before[2] + match.group() + after[0]).strip()
            if not any(allowed in sentence for allowed in ALLOWED):
                yield line + before[0].count("\n") + bool(before[1]), sentence


def descriptions_in(source: str) -> Iterator[Tuple[int, str]]:
    """Yield (line, first line) of each function's docstring that is not imperative; properties describe a value."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            is_property = any("property" in ast.dump(decorator) for decorator in node.decorator_list)
            if text and not is_property and NOT_IMPERATIVE.match(text):
                yield node.lineno, text.split("\n")[0]


MODULES = house.modules()


@pytest.mark.parametrize("name", MODULES)
def test_no_sentence_makes_a_person_of_the_code(name: str) -> None:
    found = [f"line {line}: {text}" for line, text in dialect_in(MODULES[name].read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_of_functions_are_imperative(name: str) -> None:
    found = [f"line {line}: {text}" for line, text in descriptions_in(MODULES[name].read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_the_rules_find_what_they_are_for() -> None:
    source = (
        'def f():\n    """The value.\n\n    Says more."""\n    # it knows\n    raise ValueError("nobody told us")\n'
    )
    assert [text for _, text in dialect_in(source)] == ["# it knows", "Says more.", "nobody told us"]
    assert [line for line, _ in descriptions_in(source)] == [1]


def test_every_sentence_that_is_allowed_still_stands_somewhere() -> None:
    everything = "\n".join(text for path in MODULES.values() for _, text in texts(path.read_text(encoding="utf-8")))
    assert [allowed for allowed in ALLOWED if allowed not in everything] == []
