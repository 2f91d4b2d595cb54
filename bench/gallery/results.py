"""Result files: one for each trial, beside the folder that it wrote."""

from __future__ import annotations

import collections
import json
import os
from typing import Any, Dict, Iterable, List, Optional

from bench.gallery.catalogue import Exhibit
from bench.gallery.trial import DEPYF, GOOD, MODEL, TORCH

Result = Dict[str, Any]


def path_of(folder: str, exhibit: Exhibit) -> str:
    """Return the path of an exhibit's result."""
    return os.path.join(folder, exhibit.folder + ".json")


def read(folder: str, exhibit: Exhibit) -> Optional[Result]:
    """Return the result of an exhibit; None where there is none yet."""
    try:
        with open(path_of(folder, exhibit), encoding="utf-8") as file:
            return dict(json.load(file))
    except (FileNotFoundError, ValueError):  # ValueError: the write was cut off
        return None


def write(folder: str, result: Result) -> None:
    """Write a result."""
    family, _, name = result["model"].partition("/")
    path = path_of(folder, Exhibit(family, name, result["variant"]))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    os.replace(path + ".new", path)


def row(result: Result) -> str:
    """Return one line for the terminal."""
    numbers = ""
    if "frames" in result:
        numbers = f"{result['frames']:4} frames {result['graphs']:4} graphs {len(result['breaks']):3} breaks"
    why = {GOOD: "good", DEPYF: "DEPYF", TORCH: "torch", MODEL: "model"}[result["status"]]
    reason = f": {result['why']}"[:160] if result["why"] else ""
    return f"{result['model']:44} {result['variant']:16}{result['seconds']:7.1f} s {numbers:33} {why}{reason}"


def totals(results: Iterable[Result]) -> List[str]:
    """Return the totals of all results, for the terminal and the docs."""
    found = list(results)
    ran = [result for result in found if "frames" in result]
    status = collections.Counter(result["status"] for result in found)
    grades: Dict[str, int] = collections.Counter()
    for result in ran:
        grades.update(result["grades"])
    models = {result["model"] for result in found if result["status"] == GOOD}
    return [
        f"{len(found)} trials of {len({result['model'] for result in found})} models: {status[GOOD]} good, "
        f"{status[DEPYF]} failures of depyf, {status[TORCH]} of torch, {status[MODEL]} of the model itself",
        f"{len(models)} models are good in at least one variant",
        f"{sum(result['frames'] for result in ran)} frames: "
        + (", ".join(f"{count} {grade}" for grade, count in sorted(grades.items())) or "none"),
        f"{sum(result['graphs'] for result in ran)} graphs, {sum(result['operators'] for result in ran)} operators, "
        f"{sum(result['recompiles'] for result in ran)} recompiles, "
        f"{sum(count for result in ran for count, _ in result['breaks'])} graph breaks",
    ]
