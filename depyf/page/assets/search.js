/* Search: names at once, then the text of every file, as its part is loaded. */

let typing = 0;
function typed(text) {
  clearTimeout(typing);
  typing = setTimeout(() => {
    const hash = text.trim() ? `#/search/${encodeURIComponent(text.trim())}` : "#/";
    setAddress(hash, !(PLACE.hash.startsWith("#/search") || hash === "#/"));
    route();
    document.getElementById("search").value = text;
  }, 90);
}

const MOST_FOUND = 60;

function showSearch(main, text) {
  const input = document.getElementById("search");
  if (document.activeElement !== input) input.value = text;
  const wanted = text.toLowerCase();
  const fits = (...texts) => texts.some((one) => one && String(one).toLowerCase().includes(wanted));
  put(main, el("h1", {}, `“${text}”`), el("p", { class: "dim", id: "search-state" }, ""));
  const groups = [
    ["Functions", DATA.functions.filter((one) => fits(one.name, one.key, fileOf(one.file).path, one.skip && one.skip.reason)).map((one) => [functionHash(one.key), one.name, `${fileOf(one.file).short}:${one.line}`])],
    ["Graph breaks", DATA.breaks.map((one, number) => [one, number]).filter(([one]) => fits(one.reason, one.at && one.at[2], placeText(one.at), ...one.hints)).map(([one, number]) => [functionHash((functionAround(one) || { key: "" }).key, { tab: "breaks", l: one.at ? one.at[1] : "" }), one.at ? one.at[2] || placeText(one.at) : "", `${number + 1}. ${one.reason}`])],
    ["Recompiles", DATA.recompiles.filter((one) => one.failed.some((failed) => fits(failed.condition, failed.now, failed.about)) || fits(one.compile_id)).map((one) => [functionHash(one.function || "", { v: one.compile_id, tab: "why" }), `${one.compile_id} ${one.title}`, one.failed.map((failed) => failed.need).join("; ")])],
    ["Graphs", DATA.graphs.filter((one) => fits(one.name, one.compile_id)).map((one) => [graphHash(one.name), one.name, `${count(one.nodes, "node")}, ${one.compile_id}`])],
    ["Kernels", DATA.graphs.flatMap((graph) => graph.kernels.filter((name) => fits(name)).map((name) => [graphHash(graph.name, { find: name }), name, graph.name]))],
    ["Left to Python", DATA.library_skips.filter((one) => fits(one.name, one.reason)).map((one) => ["#/", one.name, one.reason])],
  ];
  for (const [title, rows] of groups) if (rows.length) put(main, foundSection(title, rows, wanted));
  const box = el("div", { id: "found-text" });
  put(main, box);
  enter(main);
  return searchParts(box, wanted);
}

function foundSection(title, rows, wanted) {
  return section("", title, String(rows.length), el("div", { class: "card" }, rows.slice(0, MOST_FOUND).map(([hash, text, beside]) => el("a", { class: "item", style: "display:flex;gap:12px;color:inherit;padding:7px 14px", href: hash },
    el("code", { style: "overflow-wrap:anywhere" }, marked(text, wanted)), el("span", { class: "dim small", style: "margin-left:auto;text-align:right;overflow:hidden;text-overflow:ellipsis" }, marked(beside, wanted))))));
}

function marked(text, wanted) {
  const at = text.toLowerCase().indexOf(wanted);
  if (at < 0 || !wanted) return text;
  return [text.slice(0, at), el("span", { class: "found" }, text.slice(at, at + wanted.length)), text.slice(at + wanted.length)];
}

/* Load all parts, a few at a time, and search the text in them; a newer search ends this one. */
let searchNumber = 0;
async function searchParts(box, wanted) {
  const mine = ++searchNumber;
  if (wanted.length < 2) return;
  const rows = [...DATA.functions, ...DATA.graphs];
  let found = 0;
  let done = 0;
  let next = 0;
  const state = document.getElementById("search-state");
  const work = async () => {
    while (next < rows.length && mine === searchNumber && found < 300) {
      const row = rows[next++];
      const part = await loadPart(row.part).catch(() => null);
      if (mine !== searchNumber || !box.isConnected) return;
      done++;
      const hits = part ? hitsIn(row, part, wanted) : [];
      if (hits.length) { found += hits.length; put(box, foundSection(row.key ? `In ${row.name}` : `In graph ${row.name}`, hits, wanted)); }
      if (done % 20 === 0 || done === rows.length) state.textContent = done < rows.length ? `searched the text of ${done} of ${rows.length}` : `${count(found, "line")} of text in ${count(rows.length, "function or graph", "functions and graphs")}`;
    }
  };
  await Promise.all([work(), work(), work(), work()]);
}

function hitsIn(row, part, wanted) {
  const hits = [];
  const search = (text, name, hash, before = 0) => {
    const lower = text.toLowerCase();
    let at = lower.indexOf(wanted);
    let number = 0;
    let counted = 0;
    let line = 1;
    while (at >= 0 && number < 6) {
      for (; counted < at; counted++) if (text.charCodeAt(counted) === 10) line++;
      const begin = text.lastIndexOf("\n", at) + 1;
      const stop = text.indexOf("\n", at);
      const whole = text.slice(begin, stop < 0 ? undefined : stop).trim();
      hits.push([hash(line), whole.slice(0, 200), `${name}:${line + before}`]);
      number++;
      at = stop < 0 ? -1 : lower.indexOf(wanted, stop);
    }
  };
  if (part.versions) {
    search(part.source.text, fileOf(part.source.file).short, (line) => functionHash(part.key, { l: line + part.source.line - 1 }), part.source.line - 1);
    for (const one of part.versions) search(one.text, one.file, (line) => functionHash(part.key, { v: one.compile_id, t: line }));
    for (const one of part.guards.filter((guard) => guard[0].toLowerCase().includes(wanted)).slice(0, 6)) hits.push([functionHash(part.key, { tab: "guards" }), one[0], "guard"]);
  } else for (const stage of part.stages) search(stage.text, stage.file, (line) => graphHash(part.name, { stage: stage.file, l: line }));
  return hits;
}
