/* The view of a function: what the user wrote, beside what runs; why each version was compiled; its guards. */

const ORIGINS = { decompiled: "decompiled: its source is not here", disassembly: "instructions: its source is not here", "trace log": "the lines that the log shows", missing: "its source is not here" };

function showFunction(main, key, query) {
  const row = functionOf(key);
  if (!row) { put(main, el("h1", {}, "No such function"), el("p", { class: "dim" }, key)); return Promise.resolve(); }
  return loadPart(row.part).then((part) => { if (main === coming.main) drawFunction(main, row, part, query); }, () => put(main, missingPart(row.part)));
}

function drawFunction(main, row, part, query) {
  const chosen = part.versions.find((one) => one.compile_id === query.v) || part.versions[0];
  put(main, 
    el("div", { class: "crumbs" }, link("#/", "Overview"), " / function"),
    el("div", { class: "title" }, el("h1", {}, el("code", {}, row.name)),
      chosen && !DATA.from_log ? gradeTag(chosen.grade) : null,
      row.breaks.length ? tag("bad", count(row.breaks.length, "graph break")) : null,
      row.recompiles ? tag("warn", count(row.recompiles, "recompile")) : null,
      row.from_cache ? tag("accent", `${row.from_cache} compiled before`) : null),
    el("div", { class: "dim small mono" }, `${fileOf(row.file).path}:${row.line}`, row.story ? ["   ", el("span", { class: "faint" }, `story: ${row.story}`)] : null),
    skipNotes(part));
  if (chosen) put(main, versionChips(row, part, chosen));
  const longest = Math.max(...[part.source.text, chosen ? chosen.text : ""].map((text) => text.split("\n").length));
  const code = el("div", { class: "panes", style: `height:clamp(200px, ${longest * LINE_HEIGHT + 56}px, min(56vh, 720px))` });
  put(main, code);
  enter(main);
  const keep = (line) => { Object.assign(query, { l: "", t: "" }, line); keepAddress(functionHash(row.key, query)); };
  const panes = functionPanes(part, chosen, code, Math.min(longest * LINE_HEIGHT, innerHeight * 0.56, 720), keep);
  put(main, stateLegend(part, chosen));
  if (chosen) put(main, functionTabs(row, part, chosen, query));
  const first = least(Object.keys((chosen && chosen.states) || {}).map(Number));
  if (!query.l && !query.t && first - part.source.line > 12) panes.left.toLine(first - part.source.line - 2); // below a long signature
  if (!query.l && !query.t && panes.right) { const call = least(chosen.calls.map(([line]) => line)); if (call > 16 && call < Infinity) panes.right.toLine(call - 6); }
  if (query.l) panes.pin(Number(query.l));
  else if (query.t && panes.right) panes.pinCode(Number(query.t));
}

function skipNotes(part) {
  return part.members.filter((one) => one.skips.length).map((member) => el("div", { class: "note" },
    el("b", {}, member.title), " runs in plain Python", part.versions.length ? " for some arguments" : "", ":",
    member.skips.map((skip) => el("div", {}, `${skip.meaning}${skip.compile_id ? ` (${skip.compile_id})` : ""}`,
      skip.reason && skip.reason !== skip.meaning ? el("div", { class: "dim small" }, skip.reason) : null,
      skip.at ? [" at ", placeNode(skip.at), " ", snippet(skip.at)] : null,
      skip.breaks.map((number) => [" ", link(functionHash(part.key, { tab: "breaks" }), `graph break ${number + 1}`)]),
      skip.hints.length ? el("ul", { class: "hints" }, skip.hints.map((hint) => el("li", {}, hint))) : null))));
}

function versionChips(row, part, chosen) {
  const box = el("div", { class: "chips", role: "toolbar", "aria-label": "versions" });
  part.members.forEach((member, number) => {
    const own = part.versions.filter((one) => one.member === number);
    if (!own.length) return;
    put(box, el("span", { class: "label" }, number ? member.title : "Version"));
    for (const one of own) {
      put(box, el("a", { class: "chip version", href: functionHash(row.key, { v: one.compile_id }), "aria-pressed": String(one === chosen) },
        one.compile_id, one.failed.length || one.reasons.length ? el("i", { class: "dot", title: "a recompile", style: "--c:var(--warn)" }) : null,
        one.breaks.length ? el("i", { class: "dot", title: "ends in a graph break", style: "--c:var(--bad)" }) : null));
    }
  });
  return box;
}

/* -- code */

function functionPanes(part, chosen, box, height, keep) {
  const source = part.source;
  const fromFile = source.origin === "file" || source.origin === "trace log";
  const graphs = chosen ? [...new Set(chosen.all_graphs)] : [];
  const colorOf = new Map(graphs.map((name, number) => [name, graphColor(number)]));
  const states = new Map(Object.entries((chosen && chosen.states) || {}).map(([line, state]) => [Number(line), state]));
  const links = linksOf(part, chosen, states);
  let right = null;
  const show = (lines, targets) => { left.light(lines); if (right) right.light(targets); };
  const fromSource = (line, kind) => {
    const targets = new Map([...(links.down.get(line) || [])].map((to) => [to - 1, kind]));
    show(targets.size ? new Map([[line - source.line, kind]]) : new Map(), targets);
  };
  const fromCode = (line, kind) => {
    const lines = new Map([...(links.up.get(line) || [])].map((to) => [to - source.line, kind]));
    show(lines, lines.size ? new Map([[line - 1, kind]]) : new Map());
  };
  let pinned = null;
  const back = () => pinned ? pinned() : show(new Map(), new Map());
  const left = new CodePane({
    title: "Your source", sub: source.origin === "file" ? fileOf(source.file).path : ORIGINS[source.origin] || source.origin, text: source.text || "# no source text was recorded",
    first: fromFile ? source.line : 1,
    marks: (at) => sourceMark(fromFile ? states.get(at + source.line) : null, chosen, colorOf, part),
    over: (at) => fromSource(at + source.line, "lit"), out: back,
    click: (at) => { pinned = () => fromSource(at + source.line, "pin"); pinned(); keep({ l: at + source.line }); const first = [...(links.down.get(at + source.line) || [])][0]; if (first && right) right.toLine(first - 1, true); },
  });
  put(box, left.node);
  if (chosen) {
    const calls = new Map(chosen.calls.map(([line, name]) => [line, name]));
    right = new CodePane({
      title: `Transformed code, ${chosen.compile_id}`, sub: chosen.file, text: chosen.text,
      marks: (at) => {
        const graph = calls.get(at + 1);
        if (graph) return { color: colorOf.get(graph), classes: "has tint", end: [el("a", { class: "tag", href: graphHash(graph) }, graphLabel(graph, graphs))] };
        return links.up.has(at + 1) ? { classes: "has" } : null;
      },
      over: (at) => fromCode(at + 1, "lit"), out: back,
      click: (at) => { pinned = () => fromCode(at + 1, "pin"); pinned(); keep({ t: at + 1 }); const first = [...(links.up.get(at + 1) || [])][0]; if (first) left.toLine(first - source.line, true); },
    });
    put(box, right.node);
  }
  CodePane.drawAll([left, right].filter(Boolean), height);
  return { left, right, pin: (line) => { left.toLine(line - source.line); pinned = () => fromSource(line, "pin"); pinned(); if (!left.lit.size) left.light(new Map([[line - source.line, "pin"]])); },
    pinCode: (line) => { right.toLine(line - 1); pinned = () => fromCode(line, "pin"); pinned(); if (!right.lit.size) right.light(new Map([[line - 1, "pin"]])); } };
}

function graphLabel(name, graphs) { const number = graphs.indexOf(name); return number < 0 ? name : `graph ${number + 1}`; }

/* Links between lines of the source and of the transformed code: both ways. */
function linksOf(part, chosen, states) {
  const down = new Map();
  const up = new Map();
  const join = (user, line) => {
    if (!down.has(user)) down.set(user, new Set());
    if (!up.has(line)) up.set(line, new Set());
    down.get(user).add(line);
    up.get(line).add(user);
  };
  if (!chosen) return { down, up };
  for (const [line, file, user] of chosen.links) if (file === part.source.file) join(user, line);
  for (const [line, graph] of chosen.calls) for (const [user, state] of states) if ((state.graphs || []).includes(graph)) join(user, line);
  return { down, up };
}

function sourceMark(state, chosen, colorOf, part) {
  if (!chosen) return part.members.some((one) => one.skips.length) ? { color: "var(--warn)", classes: "tint" } : null;
  if (!state) return null;
  if (state.unreached) return { classes: "unreached", end: [el("span", { class: "faint" }, "never reached")] };
  const end = [];
  const graphs = (state.graphs || []).filter((name) => colorOf.has(name));
  if (state.broke) end.push(el("span", { class: "tag", style: "--c:var(--bad)" }, "broke here"));
  for (const name of graphs.slice(0, 3)) end.push(el("a", { class: "tag", style: `--c:${colorOf.get(name)}`, href: graphHash(name) }, graphLabel(name, [...colorOf.keys()])));
  if (graphs.length > 3) end.push(el("span", { class: "faint" }, `+${graphs.length - 3}`));
  if (!graphs.length && state.in_python) end.push(el("span", { class: "tag", style: "--c:var(--dim)" }, "Python"));
  const color = state.broke ? "var(--bad)" : graphs.length ? colorOf.get(graphs[0]) : state.in_python ? "var(--dim)" : "var(--line-strong)";
  return { color, classes: `has${state.broke || graphs.length ? " tint" : ""}`, end };
}

function stateLegend(part, chosen) {
  const item = (color, text) => el("span", {}, el("i", { class: "dot", style: `--c:${color}` }), text);
  if (!chosen) return el("div", { class: "legend" }, item("var(--warn)", "skipped: plain Python runs it"));
  const graphs = [...new Set(chosen.all_graphs)];
  const unseen = part.versions.length && chosen.resumes.filter(([, to]) => !to).length;
  return el("div", { class: "legend" },
    graphs.slice(0, 8).map((name, number) => el("a", { href: graphHash(name), style: "color:inherit" }, item(graphColor(number), `graph ${number + 1}`))),
    graphs.length > 8 ? el("span", {}, `… ${graphs.length} graphs`) : null,
    item("var(--bad)", "broke here, or in what it calls"), item("var(--dim)", "Python runs it, in the transformed code"),
    item("var(--line-strong)", "evaluated while tracing: it asked for a guard"), el("span", {}, DATA.from_log ? "no mark: nothing is left of it; evaluated while tracing, or never reached" : "no mark: evaluated while tracing, nothing is left of it"),
    unseen ? el("span", {}, `${count(unseen, "continuation")} of this version never ran, so what only that reaches is not compiled`) : null);
}

/* -- tabs */

function functionTabs(row, part, chosen, query) {
  const member = part.members[chosen.member];
  const tabs = [["why", part.versions.length > 1 ? "Versions and recompiles" : "Why it was compiled"], ["guards", `Guards (${chosen.guards.length})`]];
  if (row.breaks.length) tabs.push(["breaks", `Graph breaks (${row.breaks.length})`]);
  if (!DATA.from_log) tabs.push(["proof", "Proof"]);
  const body = el("div", { class: "tab-body", style: "padding-top:14px" });
  const bar = el("div", { class: "tabs", role: "tablist" });
  const open = (name) => {
    for (const button of bar.children) button.setAttribute("aria-selected", String(button.dataset.tab === name));
    clear(body);
    put(body, ...[{ why: whyTab, guards: guardsTab, breaks: breaksTab, proof: proofTab }[name](part, chosen, member, row)].flat().filter(Boolean));
  };
  for (const [name, text] of tabs) bar.append(el("button", { role: "tab", "data-tab": name, onclick: () => { open(name); query.tab = name; keepAddress(functionHash(row.key, query)); } }, text));
  open(tabs.some(([name]) => name === query.tab) ? query.tab : tabs[0][0]);
  return el("div", {}, bar, body);
}

function whyTab(part, chosen, member) {
  const own = part.versions.filter((one) => one.member === chosen.member);
  const found = [];
  if (member.earlier_versions) found.push(el("div", { class: "note plain" }, `${count(member.earlier_versions, "version")} compiled before the context may still be used.`));
  if (member.apart.length && member.versions.length > 1) {
    found.push(el("h3", { style: "margin-bottom:8px" }, "What sets the versions apart"),
      el("div", { class: "card scroll" }, table(["Value", ...member.versions], member.apart.slice(0, 40), (one) => [el("code", {}, one.about), ...one.cells.map((cell) => cell ? el("code", {}, highlighted(cell)) : el("span", { class: "faint" }, "not tested"))])),
      member.apart.length > 40 ? el("p", { class: "faint small" }, `and ${member.apart.length - 40} more values`) : null);
  }
  const again = own.filter((one) => one.failed.length || one.reasons.length);
  if (again.length) found.push(el("h3", { style: "margin:18px 0 8px" }, "Why each was compiled"), el("div", { class: "card" }, again.map((one) => el("div", { class: "item" }, el("div", { class: "line" }, el("b", {}, one.compile_id), one === chosen ? tag("accent", "shown above") : null), recompileLines(one)))));
  if (!again.length && !found.length) found.push(el("p", { class: "dim" }, `Compiled once: ${part.called_at.length ? "called at " : "no guard of an earlier version failed."}`, part.called_at.slice(0, 3).map((place, number) => [number ? ", " : "", placeNode(place), " ", snippet(place)])));
  return found;
}

function guardsTab(part, chosen) {
  const rows = chosen.guards.map((number) => part.guards[number]);
  const apart = rows.filter((one) => one[3] & 8);
  const others = rows.filter((one) => !(one[3] & 8));
  const box = el("div", {});
  const draw = (filter) => {
    const fits = (one) => !filter || one[0].toLowerCase().includes(filter) || one[1].toLowerCase().includes(filter) || (one[2] && `${placeText(one[2])} ${one[2][2]}`.toLowerCase().includes(filter));
    clear(box);
    for (const [title, list] of [["Not all versions have these", apart.filter(fits)], [apart.length ? "All versions have these" : "", others.filter(fits)]]) {
      if (!list.length) continue;
      if (title) put(box, el("h3", { style: "margin:12px 0 8px" }, `${title} (${list.length})`));
      put(box, el("div", { class: "card scroll" }, table(["Condition", "Kind", "Asked for by"], list, (one) => [
        one[3] & 1 ? el("code", {}, highlighted(one[0])) : one[0], el("span", { class: "faint small mono" }, one[1]),
        one[2] ? [placeNode(one[2]), " ", snippet(one[2]), one[3] & 2 ? el("span", { class: "faint small" }, " torch's own code") : "", one[3] & 4 ? el("span", { class: "faint small" }, " first use; torch keeps sizes 0 and 1 apart") : ""] : el("span", { class: "faint" }, "nobody in particular")])));
    }
    if (!box.children.length) put(box, el("div", { class: "empty" }, "no guard"));
  };
  draw("");
  return [rows.length > 12 ? el("input", { class: "chip", style: "width:260px", placeholder: "filter guards", "aria-label": "filter guards", oninput: (event) => draw(event.target.value.toLowerCase()) }) : null, box];
}

function breaksTab(part, chosen, member, row) {
  return el("div", { class: "card" }, row.breaks.map((number) => breakItem(DATA.breaks[number], number)));
}

const INSTALLED = {
  replaced: "The text above, compiled again, runs in place of Dynamo's bytecode.",
  relabelled: "Dynamo's own bytecode runs, with the file name and the lines of the text above.",
  untouched: "Dynamo's own bytecode runs; it is not linked to the text above.",
};

function proofTab(part, chosen) {
  return [el("p", { class: "line" }, gradeTag(chosen.grade), " ", chosen.rung === "disassembly" ? "No source text was found: these are the instructions." : ""),
    el("p", {}, INSTALLED[chosen.installed] || chosen.installed),
    chosen.assumptions.length ? [el("h3", {}, "Assuming that"), el("ul", { class: "hints" }, chosen.assumptions.map((one) => el("li", {}, one)))] : null,
    chosen.divergence ? el("pre", { class: "block" }, chosen.divergence) : null].flat();
}
