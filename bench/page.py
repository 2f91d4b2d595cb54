"""Measure the page of a large run in Chromium: 300 graphs, three of them with 2,000 nodes.

    python bench/page.py [--graphs 300] [--keep FOLDER]

The folder is made up: graphs in torch's own form, each with its captured, AOT and post-grad text and a module of
kernels. Prints how long the report takes, the size of index.html, how long the page takes until its overview is there,
and each interaction: pointing at lines, opening a graph and its picture, moving the picture, typing in the search.
Of each, the time until it is drawn, and the CPU time of the page's main thread, which other programs on the machine do
not lengthen; "first" is the first time in a page that was just opened, with nothing cached. Before a graph is opened
its link is pointed at for a third of a second, as by hand; by its address it is opened with nothing loaded before.
Needs playwright and /usr/bin/chromium.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from depyf.record.records import (
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    GraphRecord,
    Location,
    NodeSource,
    SessionRecord,
    StageRecord,
)
from depyf.record.saved_form import to_json

CHROMIUM = "/usr/bin/chromium"
FILE = "/home/me/model.py"
NODES_OF_A_LINE = 5
OPERATIONS = ("mm", "add", "relu", "mul", "sin")


def place(line: int) -> Location:
    """Return a line of the made-up program."""
    return Location(FILE, line, "forward", f"x = self.layer_{line}(x) * x + {line}")


def graph_text(nodes: int, first_line: int, head: str) -> str:
    """Return the text of a graph in torch's form: a chain of blocks, each with a way around it."""
    lines = [f"# {head}", "class GraphModule(torch.nn.Module):", '    def forward(self, L_x_: "f32[8, 64][64, 1]cpu"):']
    before, around = "L_x_", "L_x_"
    for number in range(nodes):
        step = number % NODES_OF_A_LINE
        if step == 0:
            at = place(first_line + number // NODES_OF_A_LINE)
            lines += ["", f"        # File: {at.file}:{at.line} in {at.function}, code: {at.code}"]
            around = before
        operation = f"torch.ops.aten.{OPERATIONS[step]}.default({before}, {around})"
        lines.append(f'        node_{number}: "f32[8, 64][64, 1]cpu" = {operation};  {before} = None')
        before = f"node_{number}"
    return "\n".join([*lines, f"        return ({before},)", ""])


def kernel_text(nodes: int) -> str:
    """Return a module of kernels, one for each line of the program, with the comments that Inductor writes."""
    lines = ["# kernel: this code runs.", "async_compile = AsyncCompile()", ""]
    calls = ["def call(args):"]
    for kernel in range(0, nodes, NODES_OF_A_LINE):
        named = ", ".join(f"node_{number}" for number in range(kernel, min(nodes, kernel + NODES_OF_A_LINE)))
        name = f"triton_poi_fused_{kernel}"
        comment = f"# Topologically Sorted Source Nodes: [{named}], Original ATen: [aten.mm]"
        lines += [comment, f"{name} = async_compile.triton('{name}', '''", "import triton", "@triton.jit"]
        lines += [f"def {name}(in_ptr0, out_ptr0, xnumel):", "    xnumel = 512"]
        lines += [f"    tmp{number} = tl.load(in_ptr0 + (x0), xmask)" for number in range(12)]
        lines += ["''', device_str='cuda')", ""]
        calls += [f"    {comment}", f"    {name}.run(buf0, buf1, 512, stream=stream0)"]
    return "\n".join([*lines, *calls, ""])


def made_up_run(graphs: int) -> Tuple[SessionRecord, Dict[str, str]]:
    """Return the record of the run, and the texts of its files."""
    texts: Dict[str, str] = {}
    functions: List[FunctionRecord] = []
    frames: List[FrameRecord] = []
    records: List[GraphRecord] = []
    for number in range(graphs):
        nodes = 2000 if number % (graphs // 3 or 1) == 1 and number < graphs else 20 + number * 7 % 175
        name, compile_id, first = f"__compiled_fn_{number}", f"{number}/0", 10 + 500 * number
        lines = range(first, first + -(-nodes // NODES_OF_A_LINE))
        stages = []
        for stage in ("Captured_Graph", "Forward_graph", "AFTER_POST_GRAD"):
            stages.append(StageRecord(stage, 0, f"{name}.{stage}.0.py", made_for="inference" * (stage[0] == "A")))
            texts[stages[-1].file] = graph_text(nodes, first, f"{name}, {stage}")
        kernel = StageRecord("kernel", 0, f"{name}.kernel_0.py", runs=True, made_for="inference", execution="ran")
        texts[kernel.file] = kernel_text(nodes)
        sources = [
            NodeSource((place(line),), tuple(f"node_{at * NODES_OF_A_LINE + step}" for step in range(NODES_OF_A_LINE)))
            for at, line in enumerate(lines)
        ]
        records.append(GraphRecord(name, compile_id, tuple(stages), (kernel,), sources=tuple(sources)))
        source = "def forward(self, x):\n" + "".join(f"    {place(line).code}\n" for line in lines) + "    return x\n"
        key = f"Block_{number}.forward_0"
        functions.append(
            FunctionRecord(key, "forward", f"Block_{number}.forward", FILE, first - 1, source, "file", title=key[:-2])
        )
        file = f"__transformed_code_{number}_for_forward.py"
        texts[file] = f"def forward(self, x):\n    graph_out_0 = {name}(x)\n    return graph_out_0[0]\n"
        broken = (GraphBreak((f"Call to print, number {number}",), place(lines[-1])),) if number % 10 == 0 else ()
        frames.append(
            FrameRecord(compile_id, key, number, file, "", "replaced", "PROVED", graphs=(name,), graph_breaks=broken)
        )
    record = SessionRecord(
        functions=tuple(functions), frames=tuple(frames), graphs=tuple(records), import_folders=("/home/me",)
    )
    return record, texts


def timed(action: Callable[[], Any]) -> float:
    """Return how many seconds a call takes."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


# Each waits for the frame after the change is drawn, and returns milliseconds.
AFTER_DRAWING = (
    "new Promise((done) => { const look = () => document.documentElement.dataset.shown === (location.hash || '#/')"
    " ? requestAnimationFrame(() => { const after = new MessageChannel(); after.port1.onmessage = () =>"
    " { performance.mark('drawn'); done(performance.now() - begin) }; after.port2.postMessage(0) })"
    " : setTimeout(look); look(); })"
)
POINT_AT_ITS_LINK = (
    "document.querySelector(\"a[href='#/g/__compiled_fn_1']\").dispatchEvent("
    "new PointerEvent('pointerover', {bubbles: true}))"
)
INTERACTIONS = {
    "open the graph of 2,000 nodes": "location.hash = '#/g/__compiled_fn_1'",
    "open another by its address": "location.hash = AT % 2 ? '#/g/__compiled_fn_1' : '#/g/__compiled_fn_101'",
    "point at a line": "{ const pane = [...PANES][AT % 2]; pane.options.over(30 + AT * 40) }",
    "keep a line": "{ const pane = [...PANES][1]; pane.options.click(30 + AT * 40) }",
    "scroll a pane": "{ for (const pane of PANES) pane.code.scrollTop = 400 * AT }",
    "open its picture": "{ const chip = document.getElementById('picture-chip');"
    " chip.textContent === 'Picture' && chip.click() }",
    "move and zoom the picture": "document.querySelector('.picture canvas').dispatchEvent("
    "new WheelEvent('wheel', {deltaY: AT % 2 ? 300 : -300, cancelable: true}))",
    "see the whole picture": "document.querySelectorAll('.picture .tools button')[2].click()",
    "open a function": "location.hash = `#/f/${encodeURIComponent(DATA.functions[AT + 3].key)}`",
    "back to the overview": "location.hash = '#/'",
    "light or dark": "toggleTheme()",
    "names in the search": "location.hash = `#/search/Block_${AT + 10}`",
}


def visit(folder: Path) -> None:
    """Open the page in Chromium, and print what takes how long."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as manager:
        browser = manager.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = []
        for _ in range(3):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto((folder / "index.html").as_uri())
            page.wait_for_function("() => document.documentElement.dataset.shown === '#/'")
            opened.append(page.evaluate("performance.now()"))
        print(f"usable after opening     {statistics.median(opened):8.0f} ms (three times: {_list(opened)})")
        print(f"{'':32} {'first':>9} {'CPU':>9} {'median':>9} {'slowest':>9} {'CPU':>9}")
        for name, action in INTERACTIONS.items():
            if name == "open the graph of 2,000 nodes":
                page.evaluate(POINT_AT_ITS_LINK)
                page.wait_for_timeout(300)
            took = [_drawn(browser, page, action, at) for at in range(6)]
            walls, later = [wall for wall, _ in took], [cpu for _, cpu in took[1:]]
            figures = (*took[0], statistics.median(walls[1:]), max(walls[1:]), max(later))
            print(f"{name:32} {' '.join(f'{figure:6.0f} ms' for figure in figures)}")
        begin = time.perf_counter()
        page.evaluate("location.hash = '#/search/node_1999'")
        page.wait_for_function(
            "() => /lines? of text in/.test(document.getElementById('search-state')?.textContent || '')"
        )
        print(f"search the text of all files    {1000 * (time.perf_counter() - begin):6.0f} ms, all side files loaded")
        browser.close()


def _drawn(browser: Any, page: Any, action: str, at: int) -> Tuple[float, float]:
    """Take an action, and return milliseconds until it is drawn, and how many of CPU on the page's main thread."""
    page.wait_for_timeout(200)
    browser.start_tracing(page=page, categories=["toplevel", "blink.user_timing"])
    wall = page.evaluate(_timed(action, at))
    events = json.loads(browser.stop_tracing())["traceEvents"]
    names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    drawn = max((one["ts"] for one in events if one["name"] == "drawn"), default=float("inf"))
    spent: Dict[Tuple[int, int], float] = {}
    for one in events:
        thread = (one["pid"], one["tid"])
        is_before = one["name"] == "ThreadControllerImpl::RunTask" and one["ts"] < drawn
        if is_before and names.get(thread) == "CrRendererMain":
            spent[thread] = spent.get(thread, 0) + one.get("tdur", 0) / 1000
    return wall, max(spent.values(), default=0)


def _timed(action: str, at: int) -> str:
    """Return JavaScript that takes an action for the time `at`, and returns how long it takes until it is drawn."""
    action = re.sub(r"\bAT\b", str(at), action)
    return f"async () => {{ const begin = performance.now(); {action}; return await {AFTER_DRAWING} }}"


def _list(values: List[float]) -> str:
    return ", ".join(f"{value:.0f}" for value in values)


def main() -> int:
    """Make the run, its page, and look at it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--keep", help="make the run in this folder, and leave it there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        record, texts = made_up_run(options.graphs)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "manifest.json").write_text(to_json(record), encoding="utf-8")
        command = [sys.executable, "-m", "depyf", "report", str(folder)]
        took = timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
        size = sum(path.stat().st_size for path in (folder / "page").iterdir())
        large = sum(len(graph.sources) >= 400 for graph in record.graphs)
        print(f"{len(record.graphs)} graphs, {large} of them with 2,000 nodes; {len(texts)} files")
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"depyf report             {took:8.2f} s, of CPU {spent.ru_utime + spent.ru_stime:.2f} s")
        print(f"index.html               {(folder / 'index.html').stat().st_size / 1e6:8.2f} MB")
        print(f"side files               {size / 1e6:8.2f} MB")
        visit(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
