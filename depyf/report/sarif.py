"""SARIF 2.1.0, the form in which editors and code review show findings: breaks, recompiles and what was not compiled.

Made of the summary's data (`summary_data`) for each process; what several processes have in common is one result, with
the names of the processes. Paths below the root are relative to it, as code review wants them.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import PurePath
from typing import Any, Dict, Iterator, List, Sequence, Tuple
from urllib.parse import quote

Data = Dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"
_HOME = "https://github.com/thuml/depyf"
BREAK, RECOMPILE, NOT_COMPILED = "graph-break", "recompile", "not-compiled"
# id, name, what it is, level
_RULES = (
    (
        BREAK,
        "GraphBreak",
        "torch.compile could not trace on: the graph ends here, and Python runs the statement.",
        "warning",
    ),
    (RECOMPILE, "Recompile", "A compiled version did not fit a call, so the function was compiled again.", "warning"),
    (NOT_COMPILED, "NotCompiled", "torch.compile left this function to plain Python.", "note"),
)


def render(processes: Sequence[Data], root: str, version: str) -> Data:
    """Return the log of a run: one result for each finding, in the order in which the summary has them."""
    found: Dict[str, Tuple[Data, List[str]]] = {}
    for process in processes:
        for result in [*_breaks(process, root), *_recompiles(process, root), *_left_out(process, root)]:
            key = result["partialFingerprints"]["depyf/v1"]
            found.setdefault(key, (result, []))[1].append(process["process"] or ".")
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(version)},
                "columnKind": "utf16CodeUnits",
                "originalUriBaseIds": {_ROOT: {"uri": _uri(root).rstrip("/") + "/"}},
                "results": [{**result, "properties": {"processes": names}} for result, names in found.values()],
            }
        ],
    }


def _driver(version: str) -> Data:
    rules = [
        {
            "id": identity,
            "name": name,
            "shortDescription": {"text": text},
            "helpUri": _HOME,
            "defaultConfiguration": {"level": level},
        }
        for identity, name, text, level in _RULES
    ]
    return {"name": "depyf", "version": version, "informationUri": _HOME, "rules": rules}


def _breaks(process: Data, root: str) -> Iterator[Data]:
    for one in process["breaks"]:
        hints = "".join(f"\n{hint}" for hint in one["hints"])
        text = f"Graph break: {one['reason']}{hints}"
        calls = [call for way in one["ways"][:1] for call in way]
        yield _result(BREAK, text, one["at"], root, calls, one["story"])


def _recompiles(process: Data, root: str) -> Iterator[Data]:
    for one in process["recompiles"]:
        first = one["because"][0]
        now = f", now {first['now']}" if first["now"] else ""
        text = (
            f"{one['function']} was compiled again ({one['version']}): {first['version']} needs {first['needs']}{now}"
        )
        calls = [call for call in (one["called_from"],) if call is not None]
        yield _result(RECOMPILE, text, first["at"] or one["called_from"], root, calls, one["story"])


def _left_out(process: Data, root: str) -> Iterator[Data]:
    for one in process["functions"]:
        for reason in one["not_compiled"]:
            place = {"file": one["file"], "line": one["line"], "code": "", "function": one["name"]}
            text = f"{one['name']} is not compiled: {reason}"
            yield _result(NOT_COMPILED, text, place, root, [], one["story"])


def _result(rule: str, text: str, place: Data | None, root: str, calls: Sequence[Data], story: str | None) -> Data:
    index, level = next((number, one[3]) for number, one in enumerate(_RULES) if one[0] == rule)
    if story:
        text += f"\nThe whole story: {story}"
    result: Data = {
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": {"text": text},
        "locations": [] if place is None else [_location(place, root)],
        "partialFingerprints": {"depyf/v1": _fingerprint(rule, text, place, root)},
    }
    related = [{**_location(call, root), "id": number} for number, call in enumerate(calls, 1)]
    for one in related:
        one["message"] = {"text": "reached from here"}
    return {**result, "relatedLocations": related} if related else result


def _location(place: Data, root: str) -> Data:
    """Return a place; one that is in no file (`<string>`, a cell) by the name of its function alone."""
    function = {"logicalLocations": [{"name": place["function"], "kind": "function"}]} if place["function"] else {}
    if place["file"].startswith("<") or place["line"] < 1:
        return {**function, "message": {"text": f"{place['file']}:{place['line']}"}}
    region: Data = {"startLine": place["line"]}
    if place["code"]:
        region["snippet"] = {"text": place["code"]}
    return {"physicalLocation": {"artifactLocation": _artifact(place["file"], root), "region": region}, **function}


def _artifact(file: str, root: str) -> Data:
    relative = _below(file, root)
    return {"uri": _uri(file)} if relative is None else {"uri": _quoted(relative), "uriBaseId": _ROOT}


def _below(file: str, root: str) -> str | None:
    """Return the path of a file from the root, with slashes; None where it is not below it."""
    if not os.path.isabs(file):
        return PurePath(file).as_posix()
    try:
        return PurePath(os.path.normpath(file)).relative_to(os.path.normpath(root)).as_posix()
    except ValueError:
        return None


def _uri(path: str) -> str:
    return "file://" + _quoted(PurePath(path).as_posix())


def _quoted(path: str) -> str:
    return quote(path, errors="replace")


def _fingerprint(rule: str, text: str, place: Data | None, root: str) -> str:
    """Return what is the same for a finding when lines above it move: the code, not the number of its line."""
    where = "" if place is None else f"{_below(place['file'], root) or place['file']}\n{place['code'] or place['line']}"
    return hashlib.sha256(f"{rule}\n{text}\n{where}".encode("utf-8", "replace")).hexdigest()[:32]
