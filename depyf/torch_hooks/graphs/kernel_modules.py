"""The modules of kernels that Inductor generates: their text, and the graph of AOTAutograd's that each implements."""

from __future__ import annotations

import re
from typing import Tuple

from depyf.record.vocabulary import MADE_FOR_BACKWARD, MADE_FOR_FORWARD, MADE_FOR_INFERENCE
from depyf.torch_hooks.internals.code_owners import is_in_torch

# Inductor writes into each module which graph of AOTAutograd's it was made for.
_AOT_ID = re.compile(r"^# AOT ID: \['(?P<number>\w+)_(?P<made_for>forward|backward|inference)'\]", re.MULTILINE)
# Torch 2.2 does not; the names of the inputs are those that AOTAutograd gives them.
_HEAD = "\nasync_compile = AsyncCompile()\n"
_INPUTS = re.compile(r"^def call\(args\):\n    (?P<inputs>.*) = args$", re.MULTILINE)
_NAMED_FOR = (
    (re.compile(r"\btangents_\d"), MADE_FOR_BACKWARD),
    (re.compile(r"\bprimals_\d"), MADE_FOR_FORWARD),
    (re.compile(r"\barg\d+_\d"), MADE_FOR_INFERENCE),
)


def aot_id(text: str) -> Tuple[str, str]:
    """Return AOTAutograd's number of the graph, and "forward", "backward" or "inference"; empty where not known."""
    found = _AOT_ID.search(text) if "# AOT ID: [" in text else None
    return ("", _named_for(text)) if found is None else (found["number"], found["made_for"])


def _named_for(text: str) -> str:
    """Return what the inputs of a module without that line are named for; an empty text if that is not known."""
    found = _INPUTS.search(text) if _HEAD in text else None
    names = "" if found is None else found["inputs"]
    return next((made_for for pattern, made_for in _NAMED_FOR if pattern.search(names)), "")


def read_module(path: str) -> str:
    """Return the text of the file; empty when it cannot be read."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except (OSError, ValueError):
        return ""


def read_kernels(path: str) -> str:
    """Return the text of a module that Inductor generated; empty for any other file."""
    text = "" if is_in_torch(path) else read_module(path)  # most are torch's own, and long
    return text if any(aot_id(text)) else ""
