"""What a folder of `prepare_debug` must fulfil for a person to read it: measured, and judged, for `model_zoo.py`."""

from __future__ import annotations

import ast
import glob
import json
import os
import re
from typing import Any, Dict, Iterator, List, Tuple

Result = Dict[str, Any]

LONGEST_LINE = 120
STORY_LINES = {"toys/blocks": 1200, "toys/generate": 900, "timm/maxvit_pico_rw_256": 4000}

_ANONYMOUS = re.compile(r"(?<![.\w])(?:[\w.]*<locals>\.)?(?:wrapper|inner|_fn|forward)(?![\w.])")
_OF_A_GRAPH = re.compile(r"\bforward (?:graph|pass|hook|first|and backward|kernel)|(?:forward|inner)_\w+")
_DIFFERENCE = re.compile(r"# +\d+ [-+] ")  # a line of code, between two versions
_SOURCE_LINE = re.compile(r"[\w/.<>]+:\d+(?:-\d+)?: .*")  # a line of the user's, behind its place
_STORY_NAME = re.compile(r"full_code_for_(.+)_\d+\.py$")


def measure(folder: str, summary: str, called: str) -> Result:
    """Return what the folder and the summary show of a model of which `called` was called."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    stories = {path: read(path) for path in sorted(glob.glob(os.path.join(folder, "full_code_for_*.py")))}
    lines = [text.count("\n") for text in stories.values()]
    first = _open_first(summary)
    return {
        **_frames(manifest),
        "unparsable": [name for name in manifest["files"] if not parses(os.path.join(folder, name))],
        "stories": len(stories),
        "story_lines": max(lines, default=0),
        "all_lines": sum(lines),
        "lines_before_code": max((_lines_before_code(text) for text in stories.values()), default=0),
        "longest_line": max(_long_lines(folder, stories, manifest), default=[0, ""]),
        "manifest_bytes": sum(os.path.getsize(path) for path in _data_files(folder)),
        "folder_bytes": sum(os.path.getsize(path) for path in glob.glob(os.path.join(folder, "**"), recursive=True)),
        "open_first": os.path.basename(first),
        "open_first_is_right": is_story_of(first, stories, called),
        "anonymous": sorted(set(anonymous_names(manifest, stories, summary))),
        "summary": summary,
    }


def complaints(name: str, result: Result) -> Iterator[str]:
    """Yield the reasons why a variant is not good: what is wrong first, then what is hard to read."""
    yield from _wrong(result)
    if result["anonymous"]:
        yield f"{len(result['anonymous'])} names that say nothing, such as {result['anonymous'][0]!r}"
    if not result["open_first_is_right"]:
        yield f"open first: {result['open_first']}"
    if result["longest_line"][0] > LONGEST_LINE:
        yield "a line of {} characters in {}".format(*result["longest_line"])
    if result["story_lines"] > STORY_LINES.get(name, result["story_lines"]):
        yield f"a story of more than {STORY_LINES[name]} lines"


def _wrong(result: Result) -> Iterator[str]:
    if not result["frames"]:
        yield "no frame was seen"
    if result["replaced"] != result["frames"]:
        yield f"{result['frames'] - result['replaced']} frames were not replaced"
    if result["frames"] != result["counts"]["frames"]:
        yield f"Dynamo compiled {result['counts']['frames']} frames, the manifest has {result['frames']}"
    if not result["equal"]:
        yield "the outputs differ"
    if result["counts"] != result["counts_without"]:
        yield f"Dynamo compiled {result['counts']} with depyf and {result['counts_without']} without"
    if result["problems"]:
        yield f"problems: {result['problems']}"
    if result["unparsable"]:
        yield f"not Python: {result['unparsable']}"
    if result["break_line"] and result["break_line"] not in result["summary"]:
        yield f"the summary does not name {result['break_line']}, where the graph breaks"


def _frames(manifest: Dict[str, Any]) -> Result:
    frames = manifest["frames"]
    return {
        "frames": len(frames),
        "replaced": [frame["installed"] for frame in frames].count("replaced"),
        "rungs": sorted({frame["rung"] for frame in frames}),
        "graphs": len(manifest["graphs"]),
        "breaks": sum(len(frame.get("graph_breaks", ())) for frame in frames),
        "problems": manifest["problems"],
    }


def read(path: str) -> str:
    """Return the text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def parses(path: str) -> bool:
    """Return whether a file is Python, or need not be."""
    if not path.endswith(".py"):
        return True
    try:
        ast.parse(read(path))
    except SyntaxError:
        return False
    return True


def _data_files(folder: str) -> List[str]:
    """Return the manifest and what lies beside it as data; the times of this run are none of it."""
    paths = glob.glob(os.path.join(folder, "**", "*.json*"), recursive=True)
    return [path for path in paths if os.path.basename(path) not in ("timings.json", "depyf_timings.json", "times.js")]


def _lines_before_code(story: str) -> int:
    """Return the number of lines before the first transformed code."""
    return re.split(r"\n *def __transformed_code_", story, maxsplit=1)[0].count("\n")


# -- names


def anonymous_names(manifest: Dict[str, Any], stories: Dict[str, str], summary: str) -> Iterator[str]:
    """Yield the lines and names in which a function goes by a name that many others have."""
    for function in manifest["functions"]:
        if function.get("resume_of") is None:
            for name in ("title", "key"):
                yield from _if_anonymous(f"manifest: {name} ", re.sub(r"_\d+$", "", function.get(name) or "forward"))
    for line in summary.splitlines():
        yield from _if_anonymous("summary: ", _SOURCE_LINE.sub("", line.partition("full_code_for_")[0]))
    for path, text in stories.items():
        match = _STORY_NAME.search(path)
        yield from _if_anonymous("file: ", match.group(1) if match else path)
        for line in text.splitlines():
            if line.startswith("# ") and not _DIFFERENCE.match(line):
                yield from _if_anonymous("story: ", _SOURCE_LINE.sub("", line))


def _if_anonymous(where: str, text: str) -> Iterator[str]:
    if _ANONYMOUS.search(_OF_A_GRAPH.sub("", text)):
        yield where + text.strip()[:100]


def _open_first(summary: str) -> str:
    match = re.search(r"open first: (.+)", summary)
    return match.group(1).strip() if match else ""


def is_story_of(path: str, stories: Dict[str, str], called: str) -> bool:
    """Return whether the file name and the first line of a story name what was called, and nothing else."""
    text = next((text for story, text in stories.items() if os.path.basename(story) == os.path.basename(path)), "")
    match = _STORY_NAME.search(path)
    return bool(match) and match.group(1) == called and bool(re.match(rf".* {re.escape(called)}\b", text))


# -- lengths of lines


def _long_lines(folder: str, stories: Dict[str, str], manifest: Dict[str, Any]) -> Iterator[Tuple[int, str]]:
    """Yield the lengths of lines in stories, transformed code and graphs, except the users' own, with the file."""
    own = {line.strip() for function in manifest["functions"] for line in _own_lines(function, manifest["lines"])}
    paths = [path for kind in ("transformed_code", "compiled_fn") for path in glob.glob(f"{folder}/__{kind}_*.py")]
    for path in [*stories, *(path for path in paths if ".kernel_" not in path)]:
        for line in read(path).splitlines():
            if line.strip() not in own:
                yield len(line), os.path.basename(path)


def _own_lines(function: Dict[str, Any], lines: List[str]) -> List[str]:
    """Return the lines of what was compiled and of the function inside its decorators, docstrings included."""
    sources = [function["source"], (function.get("original") or {}).get("source") or ()]
    return [line for source in sources for span in source for line in _lines(span, lines)]


def _lines(span: Any, lines: List[str]) -> List[str]:
    """Return the lines of a span; of a text whose last line has no end, that stands in place, nothing."""
    return lines[span[0] : span[0] + span[1]] if isinstance(span, list) else []
