"""`depyf doctor`: what of this Python and this torch is supported, and what is lost where something is not.

The names of torch that depyf uses are searched for; then a small program with a graph break is compiled:
what is missing comes of the first, whether what is there works of the second.
"""

from __future__ import annotations

import importlib
import json
import platform
from dataclasses import asdict, dataclass
from typing import Dict, List, Tuple

from depyf.decompiler.decode.coverage import coverage
from depyf.decompiler.other_pythons.python_search import candidates
from depyf.version import __version__

_VERSIONS = tuple((3, minor) for minor in range(7, 16))


@dataclass(frozen=True)
class Diagnosis:
    """What was found; `problems` is empty where all is supported."""

    depyf: str
    python: str
    opcodes: int
    torch: str  # its version; empty where there is none
    names: int  # of torch's, that depyf uses and that are there
    trial: str  # what became of the small program
    pythons: Dict[str, str]  # version -> an interpreter that can check .pyc files of it
    problems: Tuple[str, ...]


def examine() -> Diagnosis:
    """Return what was found."""
    opcodes = coverage()
    problems = [f"Python {platform.python_version()}: the opcode {name} is not supported" for name in _missing(opcodes)]
    torch, names, trial = "", 0, ""
    try:
        torch = str(importlib.import_module("torch").__version__)
    except ImportError as error:
        problems.append(f"torch cannot be imported ({error}): `decompile` works, `prepare_debug` and `run` do not")
    if torch:
        from depyf.torch_hooks.entry_points import trial as trials

        names, lost = trials.names()
        problems += lost
        trial, failure = trials.attempt()
        problems += [f"a small program was tried: {failure}"] if failure else []
    return Diagnosis(
        __version__, platform.python_version(), sum(opcodes.values()), torch, names, trial, _pythons(), tuple(problems)
    )


def render(found: Diagnosis) -> str:
    """Return the lines of the diagnosis."""
    lines = [
        f"depyf {found.depyf}",
        f"Python {found.python}: {found.opcodes} opcodes supported",
        f"torch {found.torch}: {found.names} names of torch's own found" if found.torch else "torch: none",
    ]
    if found.trial:
        lines.append(f"a small program: {found.trial}")
    at_hand = ", ".join(found.pythons) or "none"
    lines.append(f".pyc files of other versions are checked with the Pythons found here: {at_hand}")
    lines += [f"NOT SUPPORTED: {problem}" for problem in found.problems] or ["all is supported"]
    return "".join([line + "\n" for line in lines])


def render_json(found: Diagnosis) -> str:
    """Return the diagnosis as data."""
    return json.dumps(asdict(found), indent=1) + "\n"


def _missing(opcodes: Dict[str, bool]) -> List[str]:
    return [name for name, is_supported in opcodes.items() if not is_supported]


def _pythons() -> Dict[str, str]:
    found = {}
    for version in _VERSIONS:
        path = next(iter(candidates(version)), None)
        if path is not None:
            found[f"{version[0]}.{version[1]}"] = path
    return found
