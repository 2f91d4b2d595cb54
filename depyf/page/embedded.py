"""The page inside another one: an element for the output of a notebook's cell, with all of its data in it.

A cell's output has no files beside it, so the side files are in the page itself, and it starts at the view that is
asked for. The element is a frame without the rights of the notebook: the page can neither read nor change it.
"""

from __future__ import annotations

import html
import urllib.parse
from typing import Any, Dict

from depyf.page.page_data import PageData
from depyf.page.page_text import index_text

_HEIGHT = 620  # pixels


def embedded_page(data: PageData, times: Dict[str, Any], start: str = "#/") -> str:
    """Return the HTML of an element that shows a page, beginning with the view at the address `start`."""
    inline = {**data.parts, "times": times}
    text = index_text({**data.overview, "side": "page", "inline": inline, "start": start})
    style = f"width:100%;height:{_HEIGHT}px;border:1px solid #8884;border-radius:6px"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{html.escape(text)}"></iframe>'


def address_of(data: PageData) -> str:
    """Return the address of the view of the one function that data is about; that of the overview for several."""
    functions = data.overview["functions"]
    return f"#/f/{_quoted(functions[0]['key'])}" if len(functions) == 1 else "#/"


def _quoted(key: str) -> str:
    return urllib.parse.quote(key.encode("utf-8", "replace"), safe="")
