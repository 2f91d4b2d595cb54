/* The timeline of compilation: each compilation where it happened, by phase. Times are in page/times.js alone. */

function showTimeline(main) {
  put(main, el("h1", {}, "Timeline of compilation"));
  return loadPart("times").then((times) => drawTimeline(main, times.compilations || []), () => put(main, el("p", { class: "dim" }, "No times are recorded here: times.js is missing.")));
}

function drawTimeline(main, rows) {
  const total = rows.reduce((sum, one) => sum + one.took, 0);
  if (!total) { put(main, el("p", { class: "dim" }, "torch measured no compilation.")); return; }
  const end = -least(rows.map((one) => -one.start - one.took));
  const phases = {};
  for (const row of rows) for (const [name, took] of Object.entries(row.phases)) phases[name] = (phases[name] || 0) + took;
  const owners = new Map();
  for (const one of DATA.functions) for (const id of one.compile_ids) if (!owners.has(id)) owners.set(id, one);
  put(main, el("p", { class: "dim" }, `${seconds(total)} of compiling within ${seconds(end)}, in ${count(rows.length, "compilation")}. A compilation that runs inside another one is part of it, too.`),
    el("div", { class: "card", style: "padding:14px 16px;margin-bottom:16px" }, phaseBar(phases, total), phaseLegend(phases)),
    el("div", { class: "card timeline", style: "padding:8px 0" }, rows.slice(0, 2000).map((row) => timeRow(row, end, owners.get(row.id)))),
    el("details", { style: "margin-top:14px" }, el("summary", {}, "all that torch measured"), el("div", { class: "card scroll" }, table(["Compilation", "What", "Numbers"], rows, (row) => [row.id, row.kind, el("span", { class: "mono small dim" }, Object.entries(row.numbers).map(([name, value]) => `${name} ${value}`).join(", "))]))));
}

function timeRow(row, end, owner) {
  const bar = el("div", { class: "bar", style: `left:${row.start / end * 100}%;width:${row.took / end * 100}%` },
    PHASES.filter(([name]) => row.phases[name]).map(([name, text, color]) => el("i", { title: `${text}: ${seconds(row.phases[name])}`, style: `width:${row.phases[name] / row.took * 100}%;--c:var(${color})` })));
  const hits = Object.entries(row.caches).filter(([, pair]) => pair[0]).map(([name, pair]) => `${pair[0]} of ${name}`);
  if (row.spans && row.spans.length) return el("details", { class: "spans" }, el("summary", { class: "row" }, timeCells(row, owner, bar, hits)), spanRows(row, end));
  return el("div", { class: "row" }, timeCells(row, owner, bar, hits));
}

function timeCells(row, owner, bar, hits) {
  return [
    el("span", { class: "name", title: owner ? owner.name : "" }, el("b", {}, row.id), row.kind === "backward" ? " backward" : "", owner ? [" ", link(functionHash(owner.key, { v: row.id }), owner.name)] : ""),
    el("div", { class: "track" }, bar),
    el("span", { class: "small dim", style: "text-align:right", title: hits.length ? `cache hits: ${hits.join(", ")}` : "" }, seconds(row.took))];
}

/* Torch's own timers inside a compilation, each below the one that it is part of; drawn when somebody opens them. */
function spanRows(row, end) {
  const box = el("div", {});
  const draw = () => {
    if (box.children.length) return;
    for (const [name, start, took, depth] of row.spans.slice(0, 1000)) {
      put(box, el("div", { class: "row span" }, el("span", { class: "name", title: name, style: `padding-left:${16 + 10 * Math.min(depth, 12)}px` }, name),
        el("div", { class: "track" }, el("div", { class: "bar", style: `left:${start / end * 100}%;width:${took / end * 100}%` }, el("i", { style: `width:100%;--c:var(--g${depth % 8})` }))),
        el("span", { class: "small dim", style: "text-align:right" }, seconds(took))));
    }
    if (row.spans.length > 1000) put(box, el("div", { class: "row faint small" }, `and ${row.spans.length - 1000} more`));
  };
  setTimeout(() => box.parentElement && box.parentElement.addEventListener("toggle", draw));
  return box;
}
