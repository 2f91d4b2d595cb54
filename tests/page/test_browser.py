"""The page in a real browser: views open, links land, lines light what stems from them, and nothing is fetched.

Skipped where Chromium or playwright is missing: `apt-get install chromium`, `pip install playwright`.
"""

from __future__ import annotations

import shutil

import pytest
from page_runs import EVIL, SAMPLE, hostile_record, sample_folder, write_run

from depyf.commands.page_report import report
from depyf.line_table.folders import read_file, read_records
from depyf.line_table.table import build
from depyf.page.page_data import known_lines
from depyf.record.records import FunctionRecord, ProcessRecord, RankDifference, RankView, SessionRecord, SkipRecord

pytest_plugins = ["page_visits"]

VIEWS = {
    "#/": ["Graph breaks", "half way", "Recompiles", "scale == 1.0", "Compile time by phase", "Left to Python"],
    "#/f/Net.forward_0": ["Your source", "Transformed code, 0/0", "broke here", "What sets the versions apart"],
    "#/f/Net.forward_0?v=0%2F1&tab=guards": [
        "Transformed code, 0/1",
        "Not all versions have these",
        "return hidden * scale",
    ],
    "#/f/skipped_0": ["runs in plain Python", "a graph break inside a loop"],
    "#/g/__compiled_fn_2": ["Captured by Dynamo", "AOT joint", "Kernels, forward", "from your source to all kernels"],
    "#/time": ["Timeline of compilation", "0/0", "backward"],
    "#/search/cpp_fused_sum": ["cpp_fused_sum_1", "Kernels", "In graph __compiled_fn_2"],
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_opens(visit, theme):
    page = visit(color_scheme=theme)
    for address, texts in VIEWS.items():
        page.go(address)
        for text in texts:
            page.page.get_by_text(text).first.wait_for(state="attached", timeout=3000)
    assert page.page.evaluate("document.documentElement.dataset.theme") == theme


def test_every_link_lands(visit):
    assert len(visit().walk()) > 12


def expected(source_line: int) -> dict[str, set[int]]:
    """Return the lines of each file that stem from a line of the program, by the table of lines."""
    ((path, record),) = read_records(str(SAMPLE))
    table = build(record, lambda name: read_file(path, name), known_lines(record))
    found: dict[str, set[int]] = {}
    for row in table.rows:
        if any(call.line == source_line for call in row.calls):
            found.setdefault(row.file, set()).update(range(row.line, row.reaches + 1))
    return found


@pytest.mark.parametrize("line", [12, 13, 19])
def test_a_line_of_the_source_lights_its_nodes_and_kernels(visit, line):
    page = visit()
    wanted = expected(line)
    for graph in ("__compiled_fn_2", "__compiled_fn_8"):
        kinds = ("Captured_Graph.0", "Joint_graph.0", "Backward_graph.0", "AFTER_POST_GRAD.1", "kernel_0", "kernel_1")
        files = [f"{graph}.{kind}.py" for kind in kinds]
        page.go(f"#/g/{graph}?stages={','.join(files)}")
        page.page.locator(".pane").first.locator(f'.ln[data-line="{line}"]').hover()
        lit = page.lit()
        assert {file: lit[file] for file in files} == {file: wanted.get(file, set()) for file in files}
        assert sum(map(bool, lit.values())) == len(files) + 1


def test_a_node_and_a_kernel_light_the_line_that_they_stem_from(visit):
    page = visit()
    page.go("#/g/__compiled_fn_5?stages=__compiled_fn_5.Captured_Graph.0.py,__compiled_fn_5.kernel_1.py")
    source, captured, kernel = (page.page.locator(".pane").nth(number) for number in range(3))
    captured.locator(".ln.has", has_text="torch.sin").click()
    assert source.locator(".ln.pin").get_attribute("data-line") == "15"
    assert kernel.locator(".ln.pin").count()
    page.page.mouse.move(5, 5)
    assert source.locator(".ln.pin").count() == 1  # a click keeps it
    kernel.locator(".ln.pin").first.hover()
    assert "provenance tracking" in page.page.locator(".status").inner_text()


def test_lines_of_a_function_light_its_transformed_code(visit):
    page = visit()
    page.go("#/f/Net.forward_0")
    source, code = page.page.locator(".pane").first, page.page.locator(".pane").nth(1)
    source.locator('.ln[data-line="12"]').hover()
    assert "__compiled_fn_2(" in code.locator(".ln.lit").inner_text()
    code.locator(".ln", has_text="print(").first.hover()
    assert source.locator(".ln.lit").get_attribute("data-line") == "14"


def test_the_picture_has_the_nodes_of_the_graph_and_leads_back_to_the_code(visit):
    page = visit()
    page.go("#/g/__compiled_fn_2?view=picture")
    graph = "layoutOf(nodesOf(PARTS.get(GRAPHS.get('__compiled_fn_2').part).stages[0].text))"
    nodes = page.page.evaluate(f"{graph}.nodes.map((node) => [node.name, node.op, node.uses])")
    assert [name for name, op, _ in nodes if op != "input"] == ["linear", "hidden", "mul", "hidden_1", "output"]
    assert dict((name, uses) for name, _, uses in nodes)["hidden"] == ["linear"]
    x, y = page.page.evaluate(f"(() => {{ const node = {graph}.byName.get('linear'); return [node.x, node.y] }})()")
    box = page.page.locator(".picture canvas").bounding_box()
    inputs = page.page.evaluate(
        f"(() => {{ const all = {graph}.layers[0]; return all.reduce((s, n) => s + n.x, 0) / all.length }})()"
    )
    page.page.mouse.click(box["x"] + box["width"] / 2 + x - inputs, box["y"] + 64 + y)
    assert "model.py:12" in page.page.locator(".status").inner_text()
    page.page.get_by_text("open in the code").click()
    page.page.locator(".ln.pin", has_text="linear").first.wait_for()


def test_without_provenance_the_page_states_how_far_links_go(visit, tmp_path):
    folder = sample_folder(tmp_path)
    manifest = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(manifest.replace('"sources": [{"kernel"', '"no_sources": [{"kernel"'))
    report(str(folder))
    page = visit(folder)
    page.go("#/g/__compiled_fn_2")
    assert "depyf run --provenance" in page.page.locator(".status").inner_text()


def test_search_finds_names_and_text_of_all_files(visit):
    page = visit()
    page.page.keyboard.press("/")
    page.page.keyboard.type("threshold_backward")
    page.page.get_by_text("“threshold_backward”").wait_for(timeout=10_000)  # the page draws while one types
    page.page.get_by_text("of text in").wait_for(timeout=10_000)
    page.page.get_by_text("kernel_1.py").first.wait_for(timeout=3000)
    page.page.locator("#found-text a").first.click()
    page.page.locator(".ln.pin").first.wait_for(timeout=3000)
    assert any("threshold_backward" in text for text in page.page.locator(".ln.pin").all_inner_texts())


def test_keys_step_through_versions_and_graphs(visit):
    page = visit()
    page.go("#/f/Net.forward_0")
    page.page.keyboard.press("]")
    page.arrived("#/f/Net.forward_0?v=0%2F1")
    page.go("#/g/__compiled_fn_2")
    page.page.keyboard.press("j")
    page.arrived("#/g/__compiled_fn_5")
    page.page.keyboard.press("t")
    assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.page.keyboard.press("?")
    assert page.page.get_by_role("dialog").is_visible()
    page.page.keyboard.press("Escape")
    assert not page.page.get_by_role("dialog").count()


def test_texts_of_a_hostile_program_are_shown_as_text(visit, tmp_path):
    record, texts = hostile_record()
    folder = write_run(tmp_path / EVIL.replace("/", "_").replace("\x00", "").replace("\ud800", "")[:60], record, texts)
    report(str(folder))
    page = visit(folder)
    for address in ["#/", *sorted(page.links()), "#/ranks", "#/shapes", "#/search/hacked"]:
        page.go(address)
        assert page.page.evaluate("window.hacked") is None
        assert page.page.locator("img").count() == 0
    page.go("#/")
    assert page.page.get_by_text("</script><script>window.hacked=1</script>").count()


def test_the_headline_of_a_program_of_which_nothing_could_be_compiled_names_the_failure(visit, tmp_path):
    skip = SkipRecord("failed", "BackendCompilerFailed: no", "0/0")
    function = FunctionRecord("step_0", "step", "step", "step.py", 3, "def step(): pass\n", "file", skips=(skip,))
    folder = write_run(tmp_path / "failed", SessionRecord(functions=(function,)))
    report(str(folder))
    page = visit(folder)
    assert page.page.locator("h1").inner_text() == "0 graphs, 1 function that failed to compile"
    assert page.page.locator("h2").all_inner_texts() == ["Left to Python"]
    assert page.walk() >= {"#/", "#/f/step_0"}


def test_ranks_stand_side_by_side_differences_first(visit, tmp_path):
    views = (RankView((0, 2, 3), "compiled it once"), RankView((1,), "compiled it twice", ("n == 1 failed",)))
    difference = RankDifference("versions", "step", "step.py:3", views, "Rank 1 compiled step twice")
    processes = tuple(ProcessRecord(f"rank_{rank}", rank, frames=1) for rank in range(4))
    folder = write_run(tmp_path / "ranks", SessionRecord(processes=processes, differences=(difference,)))
    function = FunctionRecord("step_0", "step", "step", "step.py", 3, "def step(): pass\n", "file")
    for rank in range(4):
        write_run(folder / f"rank_{rank}", SessionRecord(functions=(function,), rank=rank, world_size=4))
    report(str(folder))
    page = visit(folder)
    text = page.page.locator(".main").inner_text()
    assert text.index("compiled it twice") < text.index("rank_0")
    assert "ranks 0, 2, 3" in text
    page.page.get_by_role("link", name="rank_1").click()
    page.page.get_by_text("Rank 1 of 4").first.wait_for(timeout=3000)


def test_a_page_without_its_side_files_states_what_is_missing(visit, tmp_path):
    folder = sample_folder(tmp_path)
    report(str(folder))
    shutil.rmtree(folder / "page")
    page = visit(folder, is_checked=False)
    page.go("#/g/__compiled_fn_2")
    page.page.get_by_text("depyf report").first.wait_for(timeout=3000)


def test_the_page_prints_all_lines_of_its_code(visit):
    page = visit()
    page.go("#/g/__compiled_fn_2")
    lines = page.page.evaluate("[...PANES].reduce((sum, pane) => sum + pane.lines.length, 0)")
    assert page.page.locator(".ln").count() < lines
    page.page.evaluate("[...PANES].forEach((pane) => pane.toLine(60))")
    page.page.wait_for_function("() => [...PANES].some((pane) => pane.code.scrollTop && !pane.shown.has(0))")
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.page.locator(".ln").count() == lines
    for pane in page.page.locator(".pane").all():
        order = pane.locator(".ln").evaluate_all("nodes => nodes.map((node) => Number(node.dataset.at))")
        assert order == sorted(order)


def test_the_picture_has_no_node_for_values_that_are_released(visit):
    page = visit()
    page.go("#/g/__compiled_fn_2")
    text = "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        a = x.sin()\n        b = x.cos()\n"
    text += "        c = a + b\n        a = b = None\n        return (c,)\n"
    nodes = page.page.evaluate("(text) => nodesOf(text).map((one) => [one.name, one.op])", text)
    assert nodes == [["x", "input"], ["a", "sin"], ["b", "cos"], ["c", "+"], ["output", "output"]]
    broken = text.replace("a = b = None", "a = \\\n            b = None")
    assert page.page.evaluate("(text) => nodesOf(text).map((one) => [one.name, one.op])", broken) == nodes


def test_the_picture_begins_where_nodes_are_though_its_inputs_stand_far_apart(visit):
    page = visit()
    page.go("#/g/__compiled_fn_2?view=picture")
    shown = page.page.evaluate(
        """() => { const nodes = [-4000, -3900, 4000, 4100].map((x, number) => ({ x, y: 0, layer: 0, name: `${number}` }));
        const picture = { graph: { layers: [nodes], bounds: { left: -4100, right: 4200 } }, wide: 800, draw() {} };
        Picture.prototype.toTop.call(picture);
        return nodes.some((node) => Math.abs(picture.x + node.x * picture.scale - 400) < 400) }"""
    )
    assert shown


def test_a_narrow_window_has_the_whole_width_for_its_view_and_a_list_over_it(visit):
    page = visit(viewport={"width": 520, "height": 900})
    for address in VIEWS:
        page.go(address)
        assert page.page.locator(".main").bounding_box()["width"] == 520
    page.page.locator("#side-button").click()
    page.page.locator(".side").get_by_text("__compiled_fn_5").click()
    page.arrived("#/g/__compiled_fn_5")
    assert not page.page.locator(".side").is_visible()
    page.page.locator(".pane .ln").first.hover()


def test_search_names_the_lines_of_the_users_file(visit):
    page = visit()
    page.go("#/search/torch.sin")
    # Graphs, which may be loaded first, have comments that name the file as well.
    row = page.page.locator("#found-text a[href^='#/f/']", has_text="model.py:").first
    row.wait_for()
    line = int(row.inner_text().rsplit(":", 1)[1])
    row.click()
    page.page.locator(".ln.pin", has_text="torch.sin").first.wait_for()
    assert int(page.page.locator(".pane").first.locator(".ln.pin").get_attribute("data-line")) == line


def test_what_a_link_leads_to_is_loaded_when_it_is_pointed_at(visit):
    page = visit()
    assert not page.page.evaluate("PARTS.has('graph_1')")
    name = page.page.evaluate("DATA.graphs[1].name")
    page.page.locator(f".main a[href='#/g/{name}']").first.hover()
    page.page.wait_for_function("() => PARTS.has('graph_1')")
    assert page.page.evaluate("PARTS.has(functionOf(DATA.graphs[1].function).part)")


def test_a_view_that_was_left_while_it_loaded_does_not_come_back(visit):
    page = visit()
    page.page.evaluate("location.hash = '#/g/__compiled_fn_2'; setTimeout(() => { location.hash = '#/time' })")
    page.arrived("#/time")
    page.page.wait_for_function("() => PARTS.has(GRAPHS.get('__compiled_fn_2').part)")
    page.page.wait_for_timeout(300)
    assert page.page.locator(".main h1").inner_text() == "Timeline of compilation"
    assert page.page.evaluate("PANES.size") == 0


def test_the_next_view_is_drawn_before_the_last_one_goes(visit):
    page = visit()
    page.page.evaluate(
        """() => { window.empty = 0; new MutationObserver(() => { empty += !document.querySelector(".main").childElementCount })
        .observe(document.getElementById("app"), { childList: true }) }"""
    )
    for address in ("#/g/__compiled_fn_2", "#/", "#/f/Net.forward_0", "#/time"):
        page.go(address)
    assert page.page.evaluate("empty") == 0


def test_the_page_of_a_rank_leads_up_and_names_what_earlier_contexts_called(visit, tmp_path):
    folder = tmp_path / "rank_1"
    shutil.copytree(SAMPLE, folder)
    path = folder / "manifest.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"compiled_in_calls": 3', '"compiled_in_earlier_calls": 3'), encoding="utf-8")
    report(str(folder))
    page = visit(folder)
    assert page.page.locator(".main .crumbs a").get_attribute("href") == "../index.html"
    assert "Called in earlier contexts: Net.forward" in page.page.locator(".main").inner_text()


def test_a_narrow_window_shows_the_whole_place_of_a_difference_between_ranks(visit, tmp_path):
    views = (RankView((0,), "no break there"), RankView((1,), "a break"))
    different = RankDifference("graph breaks", "shift", f"/home/{'deep/' * 12}model.py:71", views, "Rank 1 alone")
    processes = tuple(ProcessRecord(f"rank_{rank}", rank) for rank in range(2))
    folder = write_run(tmp_path / "ranks", SessionRecord(processes=processes, differences=(different,)))
    report(str(folder))
    page = visit(folder, viewport={"width": 390, "height": 800})
    page.go("#/ranks")
    place = page.page.locator(".head", has_text="model.py:71").locator("span").bounding_box()
    assert place["x"] + place["width"] <= 390


def test_an_address_names_the_line_that_is_kept_and_the_stages_that_are_shown(visit):
    page = visit()
    page.go("#/g/__compiled_fn_2")
    page.page.locator(".pane").first.locator('.ln[data-line="12"]').click()
    lit, address = page.lit(), page.page.url
    assert sum(map(bool, lit.values())) > 2
    page.page.locator(".chip.stage", has_text="AOT backward").click()
    assert "Backward_graph" in page.page.url
    page.go("#/")
    page.page.goto(address)
    page.page.locator(".ln.pin").first.wait_for()
    assert page.lit() == lit
    page.page.keyboard.press("Escape")
    page.page.wait_for_function("() => !document.querySelector('.ln.pin')")
    assert page.page.url.endswith("#/g/__compiled_fn_2")


def test_an_address_names_the_tab_and_the_line_of_transformed_code_that_is_kept(visit):
    page = visit()
    page.go("#/f/Net.forward_0")
    page.page.locator(".pane").nth(1).locator(".ln", has_text="__compiled_fn_2(").click(position={"x": 90, "y": 8})
    page.page.get_by_role("tab", name="Guards").click()
    lit, address = page.lit(), page.page.url
    page.go("#/")
    page.page.goto(address)
    page.page.locator(".ln.pin").first.wait_for()
    assert page.lit() == lit and any(lit.values())
    assert "Guards" in page.page.locator("[aria-selected=true]").inner_text()


def test_a_printed_function_has_what_is_below_its_code_below_it_and_is_dark_on_white(visit):
    page = visit(color_scheme="dark")
    page.go("#/f/Net.forward_0")
    page.page.emulate_media(media="print", color_scheme="dark")
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.page.evaluate("document.documentElement.dataset.theme") == "light"
    code = [one.bounding_box() for one in page.page.locator(".pane .ln").all()]
    tabs = page.page.locator(".tabs").bounding_box()
    assert max(box["y"] + box["height"] for box in code) <= tabs["y"]
    page.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_enter_leads_from_the_search_to_what_was_found(visit):
    page = visit()
    page.go("#/")
    page.page.keyboard.press("/")
    page.page.keyboard.type("cpp_fused_sum")
    page.page.locator("a.item").first.wait_for()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Enter")
    page.page.wait_for_function("() => location.hash.startsWith('#/g/')")
