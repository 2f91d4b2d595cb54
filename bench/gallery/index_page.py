"""The index of the gallery: one row for each trial, with its numbers, its reasons, and a link to its page."""

from __future__ import annotations

import html
import os
import pathlib
from typing import Dict, Iterable, List, Sequence

from bench.gallery.catalogue import FAMILIES, VARIANTS, Exhibit
from bench.gallery.results import Result, totals
from bench.gallery.trial import DEPYF, GOOD, MODEL, TORCH

ASSETS = pathlib.Path(__file__).resolve().parent / "assets"
COLUMNS = (
    "model", "variant", "frames", "graphs", "operators", "graph breaks", "recompiles", "compile time", "proof", "result"
)  # fmt: skip
STATUS = {GOOD: "good", DEPYF: "failure of depyf", TORCH: "failure of torch", MODEL: "model cannot run so"}
PROOF = {"PROVED": "proved", "PROVED_UNDER": "proved under assumptions", "UNPROVED": "NOT PROVED", "REFUTED": "REFUTED"}


def write_index(folder: str, results: Sequence[Result]) -> str:
    """Write the index into the gallery's folder; return its path."""
    path = os.path.join(folder, "index.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(results))
    return path


def page(results: Sequence[Result]) -> str:
    """Return the page; it refers to nothing but the pages of the trials."""
    heads = "".join(f"<th><button>{name}</button></th>" for name in COLUMNS)
    rows = "\n".join(_row(result) for result in results)
    versions = sorted({f"Python {one['python']}, torch {one['torch']}" for one in results if "torch" in one})
    first = "forward" if any(one["variant"] == "forward" for one in results) else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>depyf: gallery</title>
<style>
{_asset("index.css")}</style>
</head>
<body>
<main>
<h1><b>depyf</b> gallery</h1>
{"".join(f"<p>{html.escape(line)}</p>" for line in [*totals(results), *versions])}
<div class="tools">
<input id="words" type="search" placeholder="a model, an operator, a reason" aria-label="search">
{_select("variant", {name: name for name in VARIANTS}, "all variants", first)}
{_select("family", {name: name for name in FAMILIES}, "all families")}
{_select("status", STATUS, "all results")}
<span id="shown"></span>
</div>
<div class="wide">
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
</main>
<script>
{_asset("index.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _select(name: str, options: Dict[str, str], everything: str, first: str = "") -> str:
    found = [f'<option value="">{everything}</option>']
    found += [f'<option value="{key}"{" selected" * (key == first)}>{text}</option>' for key, text in options.items()]
    return f'<select id="{name}" aria-label="{name}">{"".join(found)}</select>'


def _row(result: Result) -> str:
    family = result["model"].partition("/")[0]
    status, why = result["status"], result["why"]
    cells = [_model(result), f"<td>{result['variant']}</td>"]
    if "frames" in result:
        cells += [
            _number(result["frames"]),
            _number(result["graphs"]),
            _listed(str(result["operators"]), [f"{count} {kind}" for kind, count in result["kinds"]], "number"),
            _listed(_breaks(result), [f"{count} times: {why}" for count, why in result["breaks"]]),
            _listed(str(result["recompiles"]), result["recompile_reasons"], "number"),
            f'<td class="number" data-value="{result["compile_seconds"]}">{result["compile_seconds"]:.2f} s</td>',
            f"<td>{_proof(result)}</td>",
        ]
    else:
        cells += ["<td></td>"] * 7
    reason = f'<span class="why">{html.escape(why)}</span>' if why else ""
    cells.append(f'<td><span class="mark {status}">{STATUS[status]}</span>{reason}</td>')
    return f'<tr data-variant="{result["variant"]}" data-family="{family}" data-status="{status}">{"".join(cells)}</tr>'


def _model(result: Result) -> str:
    family, _, name = result["model"].partition("/")
    title = html.escape(result["model"])
    if "frames" not in result:
        return f'<td data-value="{title}">{title}</td>'
    link = html.escape(Exhibit(family, name, result["variant"]).folder) + "/index.html"
    return f'<td data-value="{title}"><a href="{link}">{title}</a></td>'


def _number(value: int) -> str:
    return f'<td class="number">{value}</td>'


def _breaks(result: Result) -> str:
    return str(sum(count for count, _ in result["breaks"]))


def _listed(head: str, lines: Iterable[str], kind: str = "") -> str:
    """Return a cell that opens to a list, if there is anything to list."""
    items: List[str] = [f"<li>{html.escape(line)}</li>" for line in lines]
    start = f'<td{f" class={kind}" if kind and not items else ""} data-value="{head}">'
    if not items:
        return f"{start}{head}</td>"
    return f"{start}<details><summary>{head}</summary><ul>{''.join(items)}</ul></details></td>"


def _proof(result: Result) -> str:
    if not result["frames"]:
        return html.escape("; ".join(result["not_compiled"][:2]))
    return "<br>".join(f"{count} {PROOF.get(grade, grade)}" for grade, count in sorted(result["grades"].items()))
