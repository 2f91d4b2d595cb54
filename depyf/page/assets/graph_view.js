/* The view of a graph: its stages side by side, and the user's lines that they stem from. A line that is pointed at
   lights what stems from the same line, reached by the same calls, in all other panes. */

function showGraph(main, name, query) {
  const row = GRAPHS.get(name);
  if (!row) { put(main, el("h1", {}, "No such graph"), el("p", { class: "dim" }, name)); return Promise.resolve(); }
  const owner = functionOf(row.function);
  const both = [loadPart(row.part), owner ? loadPart(owner.part).catch(() => null) : null];
  return Promise.all(both).then(([part, story]) => { if (main === coming.main) drawGraph(main, row, part, story, query); }, () => put(main, missingPart(row.part)));
}

function drawGraph(main, row, part, story, query) {
  const owner = functionOf(row.function);
  const place = DATA.graphs.indexOf(row);
  const beside = (step) => DATA.graphs[place + step] ? el("a", { class: "chip", href: graphHash(DATA.graphs[place + step].name), title: step < 0 ? "the graph before [" : "the next graph ]" }, step < 0 ? "‹" : "›") : null;
  put(main, el("div", { class: "crumbs" }, link("#/", "Overview"), owner ? [" / ", link(functionHash(owner.key, { v: row.version }), owner.name)] : "", " / graph"),
    el("div", { class: "title" }, el("h1", {}, el("code", {}, row.name)), tag("", row.compile_id), tag("", count(row.nodes, "node")),
      row.kernels_all ? tag("", count(row.kernels_all, "kernel")) : null,
      row.cached.length ? tag("accent", `from torch's cache: ${row.cached.map((stage) => stageName(stage)).join(", ")}`) : null,
      el("span", { style: "margin-left:auto;display:flex;gap:4px" }, beside(-1), beside(1))));
  const links = new GraphLinks(part, story);
  const view = { main, row, part, story, links, query, panes: [], chosen: defaultStages(part, query), picture: query.view === "picture", pictured: query.view === "picture" ? query.stage : "" };
  view.chips = el("div", { class: "chips" });
  view.body = el("div", { class: "panes" });
  view.status = el("div", { class: "status card" });
  put(main, view.chips, view.body, view.status);
  enter(main);
  drawStages(view);
  if (query.stage && query.l) {
    const pane = view.panes.find((one) => one.key === query.stage);
    if (pane) { pane.toLine(Number(query.l) - 1); pinFrom(view, pane, Number(query.l) - 1); }
  } else if (query.find) {
    findRow(view, query.find);
  } else if (query.s !== undefined) {
    const at = links.source.at.get(query.s);
    if (at !== undefined && view.panes[0]) { view.panes[0].toLine(at); pinFrom(view, view.panes[0], at); }
  }
}

/* Open the stage that has a node or kernel of that name, and keep its line. */
function findRow(view, name) {
  for (const stage of [...view.part.stages].reverse()) {
    const row = stage.rows.find((one) => one[2] === name);
    if (!row) continue;
    if (!view.chosen.includes(stage.file)) { view.chosen = view.part.stages.map((one) => one.file).filter((file) => file === stage.file || view.chosen.includes(file)); drawStages(view); }
    const pane = view.panes.find((one) => one.key === stage.file);
    pane.toLine(row[0] - 1);
    pinFrom(view, pane, row[0] - 1);
    return;
  }
}

/* The panes that open first: the captured graph, the last graph before the kernels, and the kernels. */
function defaultStages(part, query) {
  const files = part.stages.map((one) => one.file);
  if (query.stages) return files.filter((file) => query.stages.split(",").includes(file));
  const first = (...names) => names.map((name) => part.stages.find((one) => one.stage === name)).find(Boolean);
  const found = [first("Captured_Graph") || part.stages[0], first("Joint_graph", "Forward_graph"), first("kernel")].filter(Boolean).map((one) => one.file);
  if (query.stage && files.includes(query.stage) && !found.includes(query.stage)) found.push(query.stage);
  return files.filter((file) => found.includes(file));
}

function drawStages(view) {
  const { part, links } = view;
  closePanes();
  stopPicture();
  clear(view.chips);
  clear(view.body);
  view.panes = [];
  view.pinned = null;
  view.pinnedAt = "";
  put(view.chips, el("span", { class: "label" }, "Show"));
  const drawn = part.stages.filter((one) => one.stage !== "kernel");
  if (view.picture && !view.pictured && drawn.length) view.pictured = drawn[0].file;
  for (const stage of view.picture ? drawn : part.stages) {
    const chosen = view.chosen.includes(stage.file);
    put(view.chips, el("button", { class: "chip stage", "data-file": stage.file, "aria-pressed": String(view.picture ? view.pictured === stage.file : chosen), title: stage.file, onclick: () => {
      if (view.picture) { view.pictured = stage.file; drawStages(view); keepView(view); return; }
      view.chosen = chosen && view.chosen.length > 1 ? view.chosen.filter((file) => file !== stage.file) : part.stages.map((one) => one.file).filter((file) => file === stage.file || view.chosen.includes(file));
      drawStages(view);
      keepView(view);
    } }, stageName(stage.stage, stage.made_for), stage.runs ? el("i", { class: "dot", title: "this code runs", style: "--c:var(--good)" }) : null));
  }
  put(view.chips, el("span", { style: "flex:1" }), el("button", { class: "chip", id: "picture-chip", onclick: () => { view.picture = !view.picture; drawStages(view); keepView(view); } }, view.picture ? "Code" : "Picture"));
  if (view.picture) { drawPicture(view); status(view, null); return; }
  const source = links.source;
  view.panes.push(paneOf(view, { key: "source", title: "Your source", sub: count(source.files, "file"), lines: source.lines, numbers: source.numbers, marks: source.mark }));
  for (const file of view.chosen) {
    const stage = part.stages.find((one) => one.file === file);
    const linked = linkedLines(stage);
    view.panes.push(paneOf(view, { key: file, title: stageName(stage.stage, stage.made_for), sub: file, text: stage.text, indent: stage.stage === "kernel" ? 0 : 8, marks: (at) => linked[at] ? { classes: "has" } : null,
      tools: stage.runs ? tag("good", "runs") : null }));
  }
  for (const pane of view.panes.slice(1)) pane.begins = firstOperation(part.stages.find((one) => one.file === pane.key));
  view.body.append(...view.panes.map((pane) => pane.node));
  status(view, null);
  CodePane.drawAll(view.panes, Math.max(320, innerHeight - 230)); // what the bars above and below leave of the window
}

/* The line to begin with: inputs and imports are above the operations. */
function firstOperation(stage) {
  const first = least(stage.rows.map((row) => row[0] - 1));
  return first > 10 && first < Infinity ? Math.max(0, first - (stage.stage === "kernel" ? 0 : 2)) : 0;
}

function paneOf(view, options) {
  const pane = new CodePane({ ...options,
    over: (at) => lightFrom(view, pane, at, "lit"),
    out: () => view.pinned ? view.pinned() : lightNothing(view),
    click: (at) => pinFrom(view, pane, at, true),
  });
  pane.key = options.key;
  return pane;
}

/* Have the address name the stages that are shown and the line that is kept. */
function keepView(view, line = {}) {
  const usual = defaultStages(view.part, {}).join();
  const stages = view.chosen.join() === usual ? {} : { stages: view.chosen.join() };
  keepAddress(graphHash(view.row.name, view.picture ? { view: "picture", stage: view.pictured } : { ...stages, ...line }));
}

function lightNothing(view) { for (const pane of view.panes) pane.light(new Map()); status(view, null); }

function pinFrom(view, pane, at, toggles) {
  if (toggles && view.pinnedAt === `${pane.key} ${at}`) { view.pinned = null; view.pinnedAt = ""; lightNothing(view); keepView(view); return; }
  view.pinnedAt = `${pane.key} ${at}`;
  view.pinned = () => lightFrom(view, pane, at, "pin");
  view.pinned();
  if (toggles) keepView(view, pane.key === "source" ? { s: view.links.source.keys[at] } : { stage: pane.key, l: at + 1 });
  for (const other of view.panes) {
    if (other !== pane && other.lit.size) other.toLine(least(other.lit.keys()), true);
  }
}

/* Light everything that stems from what is on a line. */
function lightFrom(view, pane, at, kind) {
  const { links } = view;
  const chains = links.chainsAt(pane.key, at);
  if (!chains.size) { if (kind === "lit") lightNothing(view); return; }
  for (const one of view.panes) {
    const lines = new Map();
    for (const number of links.linesOf(one.key, chains)) lines.set(number, kind);
    if (one === pane) lines.set(at, kind);
    one.light(lines);
  }
  status(view, links.describe(pane.key, at, chains));
}

function status(view, told) {
  clear(view.status);
  if (told) { view.status.append(...told); return; }
  view.status.append(el("span", {}, view.picture ? "Point at a node to see the line that it stems from; click to keep it. Nodes of one line have one colour." : reachText(view.row, view.part)));
}

/* How far links go, and why not further. */
function reachText(row, part) {
  if (!part.stages.some((one) => one.rows.length)) return "No lines are known of this graph.";
  if (!row.kernels_all) return "Point at a line to see what it became; click to keep it. Links go through all graphs of this backend.";
  if (row.kernels_linked === row.kernels_all) return "Point at a line to see what it became; click to keep it. Links go from your source to all kernels.";
  const tracked = part.stages.some((stage) => stage.rows.some((one) => one[3] === "torch's provenance tracking"));
  if (tracked) return `Links reach ${row.kernels_linked} of ${row.kernels_all} kernels: torch's provenance tracking has no line of the others, which do not compute what an operation of yours does.`;
  return `Links reach ${row.kernels_linked} of ${row.kernels_all} kernels: torch writes nothing beside fused C++ kernels unless its provenance tracking is on (depyf run --provenance). Of the others they end at the graph after post-grad passes.`;
}

/* Which lines of a stage have a link: 1 for those. */
function linkedLines(stage) {
  const linked = new Uint8Array(stage.rows.reduce((most, row) => Math.max(most, row[1]), 0));
  for (const row of stage.rows) linked.fill(1, row[0] - 1, row[1]);
  return linked;
}

class GraphLinks {
  constructor(part, story) {
    this.part = part;
    this.stages = new Map(); // file -> {rows: line index -> rows on it, lines: chain -> line indexes}, once asked for
    this.source = sourceOf(part, story);
    this.ofPlace = new Map(); // "file:line" -> chains that go through it
    part.chains.forEach((chain, number) => {
      for (const place of chain) { const key = placeKey(part.places[place]); if (!this.ofPlace.has(key)) this.ofPlace.set(key, new Set()); this.ofPlace.get(key).add(number); }
    });
  }

  stage(file) {
    if (!this.stages.has(file)) this.stages.set(file, this.linesOfStage(this.part.stages.find((one) => one.file === file)));
    return this.stages.get(file);
  }

  linesOfStage(stage) {
    const lines = new Map();
    const chains = new Map();
    for (const row of stage.rows) {
      for (let line = row[0]; line <= row[1]; line++) { if (!lines.has(line - 1)) lines.set(line - 1, []); lines.get(line - 1).push(row); }
      for (const chain of row[4]) {
        if (!chains.has(chain)) chains.set(chain, []);
        for (let line = row[0]; line <= row[1]; line++) chains.get(chain).push(line - 1);
      }
    }
    return { rows: lines, lines: chains };
  }

  chainsAt(key, at) {
    if (key === "source") return this.ofPlace.get(this.source.keys[at]) || new Set();
    return new Set((this.stage(key).rows.get(at) || []).flatMap((row) => row[4]));
  }

  linesOf(key, chains) {
    const found = new Set();
    for (const chain of chains) {
      if (key === "source") { const last = this.part.chains[chain].at(-1); for (const place of this.part.chains[chain]) { const at = this.source.at.get(placeKey(this.part.places[place])); if (at !== undefined && place === last) found.add(at); } }
      else for (const line of this.stage(key).lines.get(chain) || []) found.add(line);
    }
    return found;
  }

  describe(key, at, chains) {
    const rows = key === "source" ? [] : this.stage(key).rows.get(at) || [];
    const names = [...new Set(rows.map((row) => row[2]).filter(Boolean))];
    const first = this.part.chains[[...chains][0]];
    const way = first.map((place) => placeText(this.part.places[place]));
    const found = [names.length ? el("b", { class: "mono" }, names.slice(0, 3).join(", ")) : null,
      el("span", { class: "mono" }, way.slice(-5).join(" → ")),
      el("span", { class: "mono dim" }, this.part.places[first.at(-1)][2])];
    if (chains.size > 1) found.push(el("span", { class: "faint" }, `and ${chains.size - 1} more`));
    if (rows.length) found.push(el("span", { class: "faint", style: "margin-left:auto" }, `by ${rows[0][3]}${rows[0][5] ? "" : "; or from another call of it"}`));
    return found.filter(Boolean);
  }
}

const placeKey = (place) => `${place[0]}:${place[1]}`;

/* The user's lines that a graph stems from, file by file; the function itself whole. */
function sourceOf(part, story) {
  const files = new Map();
  const put = (file, line, code, name) => { if (!files.has(file)) files.set(file, new Map()); const lines = files.get(file); if (!lines.has(line) || code) lines.set(line, { code, name: name || (lines.get(line) || {}).name }); };
  for (const place of part.places) put(place[0], place[1], place[2] || "", place[3]);
  const linked = new Set(part.places.map(placeKey));
  let whole = 0;
  if (story && ["file", "trace log"].includes(story.source.origin) && [...files.keys()].includes(story.source.file)) {
    const texts = story.source.text.replace(/\n$/, "").split("\n");
    whole = texts.length;
    texts.forEach((text, number) => { const line = number + story.source.line; put(story.source.file, line, text, (files.get(story.source.file).get(line) || {}).name); });
  }
  const lines = [], numbers = [], keys = [], kinds = [];
  const at = new Map();
  const push = (text, number, key, kind) => { lines.push(text); numbers.push(number); keys.push(key); kinds.push(kind); };
  const isWhole = (file, line) => story && file === story.source.file && line >= story.source.line && line < story.source.line + whole;
  const first = (file) => (fileOf(file).own ? 2 : 0) + (story && file === story.source.file ? 1 : 0);
  const order = [...files.keys()].sort((a, b) => first(b) - first(a) || a - b);
  for (const file of order) {
    push(fileOf(file).short, null, "", "heading");
    let before = 0;
    let name = "";
    for (const line of [...files.get(file).keys()].sort((a, b) => a - b)) {
      const { code, name: own } = files.get(file).get(line);
      if (own && own !== name && !isWhole(file, line)) push(own, null, "", "name");
      else if (before && line > before + 1) push("⋯", null, "", "gap");
      const key = `${file}:${line}`;
      at.set(key, lines.length);
      push(code, line, key, linked.has(key) ? "has" : "");
      if (own) name = own;
      before = line;
    }
  }
  return { lines, numbers, keys, at, files: files.size, mark: (number) => ({ classes: kinds[number], plain: ["heading", "gap", "name"].includes(kinds[number]) }) };
}
