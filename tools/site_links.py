"""Check the built site: every link, picture and anchor of its pages leads to something that is there.

    python tools/site_links.py [docs/_build]

Links to other hosts are not followed. Exit status: 0 if all lead somewhere, 1 otherwise.
"""

from __future__ import annotations

import html.parser
import sys
import urllib.parse
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Set, Tuple

ROOT = Path(__file__).resolve().parent.parent
Attributes = List[Tuple[str, Optional[str]]]


class _Page(html.parser.HTMLParser):
    """The links of a page, and the places in it that a link can name."""

    def __init__(self) -> None:
        super().__init__()
        self.links: List[str] = []
        self.anchors: Set[str] = set()

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")


def read(path: Path) -> _Page:
    """Return what a page links to and has anchors for."""
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken_links(site: Path) -> Iterator[str]:
    """Yield a line for each link of the site that leads nowhere."""
    pages: Dict[Path, _Page] = {path: read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                yield f"{path.relative_to(site)}: {link}: there is no such file"
            elif anchor and target.suffix == ".html" and anchor not in pages.get(target, page).anchors:
                yield f"{path.relative_to(site)}: {link}: the page has no such anchor"


def main() -> int:
    site = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "_build").resolve()
    if not any(site.rglob("*.html")):
        print(f"{site} has no pages: build it first (make docs)")
        return 1
    broken = sorted(set(broken_links(site)))
    print("\n".join(broken) or f"{site}: every link leads somewhere")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
