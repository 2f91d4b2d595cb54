"""The texts of the page's files: `index.html`, and the scripts in `page/` that it loads when a view needs them.

A page from disk cannot fetch, so side files are scripts that hand their data over: `depyfPart("graph_3", {...})`.  What
a program may have made up stands in JSON alone, never in HTML or in code, and no character of that JSON can end a
script element or a line of JavaScript: `<`, `>`, `&` and everything outside of ASCII is written as an escape.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
from typing import Any, Dict, List

from depyf.page.page_data import PageData
from depyf.page.page_folder import INDEX, MARK, PART_START, TIMES

_ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "assets")
# In the order in which the browser reads them.
_SCRIPTS = (
    "elements.js",
    "parts.js",
    "highlight.js",
    "code_pane.js",
    "overview.js",
    "function_view.js",
    "graph_view.js",
    "graph_picture.js",
    "timeline.js",
    "shapes.js",
    "ranks.js",
    "search.js",
    "main.js",
)
_ENCODER = json.JSONEncoder(check_circular=False, separators=(",", ":"), allow_nan=False)  # no data has cycles
_ESCAPED = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\x7f", "\\u007f"))


def page_files(data: PageData, times: Dict[str, Any], side: str = "page", above: str = "") -> Dict[str, str]:
    """Return the files of the page, by their names in the folder; times are in one of them alone.

    `side` is the name of the folder of side files (`page_folder.side_name`), `above` the path of the page of all
    processes, from this one's folder; empty where this is the only one.
    """
    files = {f"{side}/{TIMES}.js": part_text(TIMES, times)}
    files.update({f"{side}/{name}.js": part_text(name, part) for name, part in data.parts.items()})
    files[INDEX] = index_text({**data.overview, "side": side, "above": above})
    return files


def part_text(name: str, part: Any) -> str:
    """Return the text of a side file."""
    return f"{PART_START}{script_json(name)},{script_json(part)});\n"


def script_json(value: Any) -> str:
    """Return JSON that means the same in a script and in a script element, whatever characters its texts have."""
    text = _ENCODER.encode(value)
    for character, escape in _ESCAPED:
        if character in text:  # ten times faster than to count it, which `replace` does first
            text = text.replace(character, escape)
    return text


def index_text(overview: Dict[str, Any]) -> str:
    """Return the text of index.html."""
    before, after = _frame()
    return f"{before}{script_json(overview)}{after}"


@functools.lru_cache(maxsize=None)
def _frame() -> List[str]:
    """Return the text of index.html before and after the data."""
    script = "".join(map(_asset, _SCRIPTS))
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    text = _asset("index.html").replace("@mark@", MARK).replace("@style@", _asset("style.css"))
    text = text.replace("@digest@", f"sha256-{digest}")
    before, after = text.split("@data@")
    return [before, after.replace("@script@", f"\n{script}")]


def _asset(name: str) -> str:
    with open(os.path.join(_ASSETS, name), encoding="utf-8") as stream:
        return stream.read()
