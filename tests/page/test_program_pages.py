"""The pages of whole programs in a real browser: a toy, a transformer that is trained, a model of Hugging Face, two ranks.

Each is run by `depyf run`. Every link of its page is followed; then the mouse is moved over lines of the source, and
what lights up is compared with the table of lines, which is made anew from the folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

from depyf.line_table.folders import read_file, read_records
from depyf.line_table.table import build
from depyf.page.page_data import known_lines

pytest_plugins = ["page_visits"]
pytest.importorskip("torch", reason="torch is not installed")
from torch_probes import EXPLAINS_BREAKS, HAS_PROVENANCE, HAS_TRACE, TYPES_GRAPHS  # noqa: E402

PROGRAMS = ROOT / "tests" / "support" / "page_programs.py"
MOST_LINES = 8  # of a graph, over which the mouse is moved


def run(folder: Path, *command: str) -> Path:
    """Run `depyf run` on one of the programs, and return the folder that it wrote."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(folder.parent / "inductor")}
    done = subprocess.run(
        [sys.executable, "-m", *command], env=environment, cwd=ROOT, timeout=900, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


VIEWS = {
    "toy": {
        "#/": [
            *["Data-dependent branching"][:EXPLAINS_BREAKS],
            "if b.sum() < 0:",
            *["Compile time by phase"] * HAS_TRACE,
        ],
        "#/f/toy_example_0": ["Your source", "Transformed code, 0/0", "broke here"],
        **({"#/time": ["Timeline of compilation"]} if HAS_TRACE else {}),
    },
    "transformer": {
        "#/": ["half way", "x.size(1) == 4", "see it in Block.forward"],
        "#/f/Block.forward_0?v=1%2F1": ["Transformed code, 1/1", "broke here", "What sets the versions apart"],
        "#/shapes": ["Dynamic shapes", *["x.size(1)"] * TYPES_GRAPHS],
        **({"#/time": ["backward"]} if HAS_TRACE else {}),
    },
    "hugging_face": {
        "#/": ["BertModel.forward", "no graph breaks"],
        "#/f/BertModel.forward_0": ["Your source", "Guards", "proved"],
        "#/g/__compiled_fn_1": ["Captured by Dynamo", "AOT forward", "Kernels", "modeling_bert.py"],
    },
}


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_the_page_of_a_program_opens_leads_lights_and_finds(visit, tmp_path, name):
    if name == "hugging_face":
        library = pytest.importorskip("transformers", reason="transformers is not installed")
        if not library.is_torch_available():
            pytest.skip("this transformers needs a newer torch")
    folder = tmp_path / "dump"
    run(folder, "depyf", "run", "--provenance", "-o", str(folder), str(PROGRAMS), name)
    for theme in ("light", "dark"):
        page = visit(folder, color_scheme=theme)
        check_views(page, VIEWS[name])
    assert {address.split("/")[1][:1] for address in page.walk()} >= {"", "f", "g", "t"}
    assert check_lines(page, folder) > 0 or not HAS_PROVENANCE  # lines of C++ kernels
    check_pictures(page)
    check_search(page)


def check_views(page, views):
    """Open views, and find texts in each."""
    for address, texts in views.items():
        page.go(address)
        for text in texts:
            page.page.get_by_text(text).first.wait_for(state="attached")


def linked_lines(page, graph: str):
    """Return the lines of the source pane that have links: where each is in the pane, its file and its number."""
    page.go(f"#/g/{graph}?stages={','.join(stage_files(page, graph))}")
    return page.page.evaluate(
        """() => { const source = [...PANES].find((pane) => pane.key === "source");
        const found = [];
        let file = "";
        source.lines.forEach((text, at) => {
          const { classes } = source.options.marks(at);
          if (classes === "heading") file = DATA.files.find((one) => one.short === text).path;
          if (classes === "has") found.push([at, file, source.options.numbers[at]]);
        });
        return found }"""
    )


def stage_files(page, graph: str):
    return page.page.evaluate(
        "(name) => loadPart(GRAPHS.get(name).part).then((part) => part.stages.map((stage) => stage.file))", graph
    )


def stems_from(folder: Path, file: str, line: int):
    """Return the lines of each file of the folder that stem from a line of the program, by the table of lines."""
    ((path, record),) = read_records(str(folder))
    found: dict = {}
    for row in build(record, lambda name: read_file(path, name), known_lines(record)).rows:
        if any(call.file == file and call.line == line for call in row.calls):
            found.setdefault(row.file, set()).update(range(row.line, row.reaches + 1))
    return found


def hover(page, at: int) -> None:
    """Move the mouse to a line of the source pane."""
    page.page.evaluate("(at) => [...PANES].find((pane) => pane.key === 'source').toLine(at)", at)
    page.page.locator(".pane").first.locator(f'.ln[data-at="{at}"]').hover(position={"x": 60, "y": 10})


def check_lines(page, folder: Path) -> int:
    """Move the mouse over lines of the source of each graph; return how often lines of kernels were lit, too."""
    lit_kernels = 0
    for graph in page.page.evaluate("DATA.graphs.map((one) => one.name)"):
        lines = linked_lines(page, graph)
        assert lines, graph
        for at, file, line in lines[:: -(-len(lines) // MOST_LINES)]:
            hover(page, at)
            wanted, lit = stems_from(folder, file, line), page.lit()
            files = set(lit) - {"source"}
            assert {one: lit[one] for one in files} == {one: wanted.get(one, set()) for one in files}, (graph, line)
            assert any(lit[one] for one in files), (graph, line)
            lit_kernels += any(lit[one] for one in files if ".kernel_" in one)
    return lit_kernels


def check_pictures(page) -> None:
    """Check that each picture has its operations with what they use, and begins where some of them are in sight."""
    for graph in page.page.evaluate("DATA.graphs.map((one) => one.name)"):
        page.go(f"#/g/{graph}?view=picture")
        stages = page.page.evaluate(
            """(name) => loadPart(GRAPHS.get(name).part).then((part) => part.stages.filter((one) => one.stage !== "kernel")
            .map((one) => [one.rows.map((row) => row[2]), nodesOf(one.text)]))""",
            graph,
        )
        for names, nodes in stages:
            assert set(map(str.lower, names)) <= {node["name"].lower() for node in nodes}, graph  # l_x_ is L_x_
            assert not [node for node in nodes if node["op"] == "="], graph
        page.page.wait_for_function(
            """() => { const canvas = document.querySelector(".picture canvas");
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
            let drawn = 0;
            for (let at = 3; at < data.length; at += 4) if (data[at]) drawn++;
            return drawn > 2000 }"""
        )


def check_search(page) -> None:
    """Search the name of a kernel, that of a function, and a word of the code, and open the first that is found."""
    kernels = page.page.evaluate("DATA.graphs.flatMap((one) => one.kernels)")
    functions = page.page.evaluate("DATA.functions.map((one) => one.name)")
    assert kernels and functions
    for text in (kernels[-1], functions[-1], "return"):
        page.page.keyboard.press("/")
        page.page.locator("#search").fill(text)
        page.page.get_by_text(f"“{text}”").wait_for()
        page.page.locator("#search-state", has_text="text").wait_for()
        hit = page.page.locator(".main a.item", has_text=text).first
        hit.wait_for()
        hit.click()
        page.page.wait_for_function("() => !location.hash.startsWith('#/search')")
        page.arrived(page.page.evaluate("location.hash"))
        assert text in page.page.locator(".main").inner_text()


def test_the_page_of_two_ranks_has_their_differences_first_and_leads_to_both(visit, tmp_path):
    folder = tmp_path / "dump"
    launch = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run(folder, *launch, "-m", "depyf", "run", "-o", str(folder), str(PROGRAMS), "ranks")
    page = visit(folder)
    assert {"#/", "#/ranks"} <= page.walk()
    page.go("#/ranks")
    text = page.page.locator(".main").inner_text()
    assert "not do alike" in text.splitlines()[0]
    assert 0 < text.index("Rank 1 alone: shift breaks the graph") < text.index("rank_0")
    for rank, breaks in ((0, 0), (1, 1)):
        page = visit(folder)
        page.go("#/ranks")
        page.page.get_by_role("link", name=f"rank_{rank}").click()
        page.page.get_by_text(f"Rank {rank} of 2").first.wait_for()
        assert page.page.evaluate("DATA.breaks.length") == breaks
        page = visit(folder / f"rank_{rank}")
        assert any(address.startswith("#/g/") for address in page.walk())
        assert check_lines(page, folder / f"rank_{rank}") == 0  # aot_eager has no kernels
