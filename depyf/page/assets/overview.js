/* The overview: what was compiled, what broke and what that costs, what was compiled again, what was left to Python. */

function showOverview(main) {
  const { counts } = DATA;
  const broken = DATA.breaks.length;
  put(main,
    DATA.above ? el("div", { class: "crumbs" }, el("a", { href: DATA.above, title: "the page of all processes of the program" }, "All processes"), " / ", DATA.rank === null ? "this one" : `rank ${DATA.rank}`) : null,
    el("h1", {}, headline()),
    el("div", { class: "dim" }, calledText()),
    DATA.from_log ? el("div", { class: "note plain" }, "Made of a trace log. What such a log lacks is listed ", el("a", { href: "#/", onclick: (event) => { event.preventDefault(); document.querySelector("#problems").scrollIntoView(); } }, "at the end"), ".") : null,
    DATA.complete ? null : el("div", { class: "note bad" }, `Not complete: the process was killed, or still ran${DATA.compiling.length ? `, while compiling ${DATA.compiling.join(", ")}` : ""}.`),
    el("div", { class: "tiles" },
      tile("#functions", counts.functions, counts.functions === 1 ? "function" : "functions"),
      tile("#functions", counts.versions, "compiled versions", "", "resume functions included: each graph break makes one"),
      tile("#graphs", counts.graphs, counts.graphs === 1 ? "graph" : "graphs"),
      tile("#breaks", broken, broken === 1 ? "graph break" : "graph breaks", broken ? "bad" : "good"),
      tile("#recompiles", counts.recompiles, counts.recompiles === 1 ? "recompile" : "recompiles", counts.recompiles ? "warn" : "good"),
      tile("#skipped", skippedFunctions().length, "left to Python", skippedFunctions().length ? "warn" : "good"),
      DATA.from_log || !counts.versions ? null : tile("#functions", `${counts.proved}/${counts.versions}`, "versions proved", counts.proved === counts.versions ? "good" : "warn", "the decompiled text is proved to be the program that runs"),
      timeTile(), cacheTile()),
    processesNote(),
    ...[breaksSection(), recompilesSection(), timeSection(), functionsSection(), graphsSection(), skippedSection(), librariesSection(), problemsSection()].filter(Boolean));
  loadPart("times").then(() => fillTimes(main), () => {});
}

function headline() {
  const { counts } = DATA;
  const rank = DATA.rank === null ? "" : `Rank ${DATA.rank}${DATA.world_size ? ` of ${DATA.world_size}` : ""}: `;
  const failed = DATA.functions.filter((one) => one.skip && ["failed", "interrupted"].includes(one.skip.kind)).length;
  if (!counts.versions && !counts.graphs && !failed) return `${rank}nothing was compiled`.replace(/^n/, "N");
  const trouble = failed ? [`${count(failed, "function")} that failed to compile`] : [];
  if (DATA.breaks.length) trouble.push(count(DATA.breaks.length, "graph break"));
  if (counts.recompiles) trouble.push(count(counts.recompiles, "recompile"));
  const last = trouble.pop();
  return `${rank}${count(counts.graphs, "graph")}, ${last ? [trouble.join(", "), last].filter(Boolean).join(" and ") : "no graph breaks, no recompiles"}`;
}

/* What the program called: in the context that wrote here last, and in those before it that had the same folder. */
function calledText() {
  const lists = [["Called", DATA.functions.filter((one) => one.called)], ["Called in earlier contexts", DATA.functions.filter((one) => one.called_earlier)]];
  return lists.filter(([, called]) => called.length).map(([title, called]) => el("div", {},
    called.slice(0, 4).map((one, number) => [number ? ", " : `${title}: `, link(functionHash(one.key), el("code", {}, one.name)), ` (${fileOf(one.file).short}:${one.line})`]),
    called.length > 4 ? ` and ${called.length - 4} more` : ""));
}

function tile(target, number, text, kind, title) {
  return el("a", { class: `tile card ${kind || ""}`, href: "#/", title, onclick: (event) => { event.preventDefault(); const to = document.querySelector(target); to && to.scrollIntoView({ block: "start" }); } },
    el("b", {}, typeof number === "number" ? NUMBERS.format(number) : number), el("span", {}, text));
}

function timeTile() { return el("a", { class: "tile card", id: "time-tile", href: "#/time", hidden: true }, el("b", {}, ""), el("span", {}, "compiling")); }
function cacheTile() { return el("a", { class: "tile card", id: "cache-tile", href: "#/time", hidden: true }, el("b", {}, ""), el("span", {}, "cache hits")); }

function processesNote() {
  if (!DATA.processes.length) return null;
  const number = DATA.differences.length;
  return el("div", { class: `note ${number ? "" : "plain"}` }, link("#/ranks", count(DATA.processes.length, "process", "processes")), number ? `, and ${count(number, "thing")} that they did not do alike` : ", which compiled the same");
}

/* -- breaks */

function breaksSection() {
  if (!DATA.breaks.length) return null;
  return section("breaks", "Graph breaks", "each once, the costliest first",
    putRows(el("div", { class: "card" }), DATA.breaks, breakItem));
}

function breakItem(one, number) {
  const costs = [];
  if (one.left_to_python.length) costs.push(tag("bad", `leaves ${one.left_to_python.slice(0, 2).join(", ")}${one.left_to_python.length > 2 ? ` and ${one.left_to_python.length - 2} more` : ""} to Python`));
  if (one.compile_ids.length) costs.push(tag("warn", `ends ${count(one.compile_ids.length, "compiled version")}`));
  if (one.resumes) costs.push(tag("", count(one.resumes, "continuation")));
  const owner = functionAround(one);
  return el("div", { class: "item", id: `break-${number}` },
    el("div", { class: "line" }, el("span", { class: "rank" }, `${number + 1}`), placeNode(one.at), snippet(one.at), ...costs),
    el("p", {}, one.reason),
    one.raised_at ? el("p", { class: "dim" }, "raised at ", placeNode(one.raised_at), " ", snippet(one.raised_at)) : null,
    one.ways.slice(0, 3).map((way) => el("p", { class: "dim small" }, "reached from ", way.slice(0, 6).map((place, step) => [step ? " → " : "", placeNode(place)]), way.length > 6 ? " → …" : "")),
    one.ways.length > 3 ? el("p", { class: "faint small" }, `and in ${one.ways.length - 3} more ways`) : null,
    one.hints.length ? el("ul", { class: "hints" }, one.hints.map((hint) => el("li", {}, hint))) : null,
    el("div", { class: "line", style: "margin-top:8px" },
      owner ? link(functionHash(owner.key, one.at ? { l: one.at[1] } : {}), `see it in ${owner.name}`) : null,
      one.explanation ? el("details", {}, el("summary", {}, "torch's explanation"), el("pre", { class: "block" }, one.explanation)) : null));
}

/* The function that has the line of a break, where it is among those that the break ended; else the first of them. */
function functionAround(one) {
  const all = one.functions.map(functionOf).filter(Boolean);
  const around = one.at ? all.filter((row) => row.file === one.at[0] && row.line <= one.at[1]) : [];
  return around.sort((a, b) => b.line - a.line)[0] || all[0];
}

/* -- recompiles */

function recompilesSection() {
  if (!DATA.recompiles.length) return null;
  const groups = new Map();
  for (const one of DATA.recompiles) { const key = one.title; if (!groups.has(key)) groups.set(key, []); groups.get(key).push(one); }
  const most = [...groups.values()].sort((a, b) => b.length - a.length);
  return section("recompiles", "Recompiles", "the guard that failed, and what came instead",
    el("div", { class: "card" }, most.slice(0, 30).map((group) => el("div", { class: "item" },
      el("div", { class: "line" }, link(functionHash(group[0].function || "", { v: group[0].compile_id, tab: "why" }), el("code", {}, group[0].title)), tag("warn", count(group.length, "recompile"))),
      group.slice(0, 4).map(recompileLines),
      group.length > 4 ? el("p", { class: "faint small" }, `and ${group.length - 4} more, in the function's view`) : null))));
}

function recompileLines(one) {
  if (!one.failed.length) return el("div", { class: "diff" }, one.reasons.flatMap((reason) => [el("span", { class: "who" }, one.compile_id), el("span", {}, reason)]));
  const rows = [];
  for (const failed of one.failed.slice(0, 3)) rows.push(...failedRows(one, failed));
  const advice = [...new Set(one.failed.map((failed) => failed.advice).filter(Boolean))];
  return [el("div", { class: "diff" }, rows),
    one.called_from ? el("p", { class: "dim small" }, "in the call at ", placeNode(one.called_from), " ", snippet(one.called_from)) : null,
    advice.length ? el("ul", { class: "hints" }, advice.map((text) => el("li", {}, text))) : null];
}

function failedRows(one, failed) {
  const rows = [el("span", { class: "who" }, failed.version), el("span", { class: "was" }, `− ${failed.condition || failed.need}`),
    el("span", { class: "who" }, one.compile_id), el("span", { class: "now" }, failed.now ? `+ ${failed.about ? `${failed.about} is ` : ""}${failed.now}` : "+ which does not hold now")];
  const beside = [];
  if (failed.at) beside.push(failed.first_used ? "first used at " : "asked for by ", placeText(failed.at), failed.at[2] ? `: ${failed.at[2]}` : "");
  if (failed.of_sizes) beside.push(" (torch compiles for sizes 0 and 1 apart)");
  if (failed.likewise) beside.push(beside.length ? "; " : "", failed.likewise);
  if (beside.length) rows.push(el("span", {}), el("span", { class: "faint" }, beside));
  for (const other of failed.also) rows.push(el("span", { class: "who" }, "also"), el("span", { class: "dim" }, other.text));
  if (failed.also_more) rows.push(el("span", {}), el("span", { class: "faint" }, `${failed.also_more} more`));
  return rows;
}

/* -- tables */

function functionsSection() {
  const compiled = DATA.functions.filter((one) => one.frames);
  if (!compiled.length) return null;
  return section("functions", "Functions", "resume functions belong to the function that they continue",
    el("div", { class: "card scroll" }, table(["Function", "File", "#Versions", "#Graphs", "#Breaks", "#Recompiles", DATA.from_log ? "" : "Proof", "#Compile time"], compiled, (one) => [
      link(functionHash(one.key), el("code", {}, one.name)),
      el("span", { class: "dim mono small" }, `${fileOf(one.file).short}:${one.line}`),
      [one.versions, one.frames > one.versions ? el("span", { class: "faint" }, ` + ${one.frames - one.versions}`) : ""],
      one.graphs.length, number(one.breaks.length, "bad"), number(one.recompiles, "warn"),
      DATA.from_log ? "" : one.proved === one.frames ? tag("good", "proved") : tag("warn", `${one.proved} of ${one.frames}`),
      timeCell(el("span", { "data-time": one.compile_ids.join(" ") }))])));
}

function graphsSection() {
  if (!DATA.graphs.length) return null;
  return section("graphs", "Graphs", "",
    el("div", { class: "card scroll" }, table(["Graph", "Function", "Version", "#Nodes", "Stages", "#Kernels", "What runs"], DATA.graphs, (one) => [
      link(graphHash(one.name), el("code", {}, one.name)),
      functionOf(one.function) ? link(functionHash(one.function, { v: one.version }), functionOf(one.function).name) : el("span", { class: "faint" }, "no frame"),
      one.compile_id, one.nodes, count(one.stages.length, "stage"), one.kernels_all || "",
      [one.runs.length ? el("span", { class: "mono small dim" }, one.runs.slice(0, 2).join(", ")) : el("span", { class: "faint" }, "nothing seen to run"), one.cached.length ? [" ", tag("accent", "from cache")] : ""]])));
}

const skippedFunctions = () => DATA.functions.filter((one) => one.skip && (one.skip.matters || !one.frames));

function skippedSection() {
  const skipped = skippedFunctions();
  if (!skipped.length) return null;
  return section("skipped", "Left to Python", "functions of the program that Dynamo met and did not compile, for some arguments at least",
    el("div", { class: "card scroll" }, table(["Function", "File", "Why"], skipped, (one) => [
      link(functionHash(one.key), el("code", {}, one.name)),
      el("span", { class: "dim mono small" }, `${fileOf(one.file).short}:${one.line}`), [one.skip.meaning, one.skip.reason && one.skip.reason !== one.skip.meaning ? el("div", { class: "faint small" }, one.skip.reason) : ""]])));
}

function librariesSection() {
  if (!DATA.library_skips.length) return null;
  return section("libraries", "Skipped frames of libraries", count(DATA.library_skips.length, "frame"),
    el("details", { class: "card", style: "padding:8px 14px" }, el("summary", {}, "show them"),
      table(["Function", "File", "Why"], DATA.library_skips.slice(0, 500), (one) => [el("code", {}, one.name), el("span", { class: "dim mono small" }, `${fileOf(one.file).short}:${one.line}`), one.reason])));
}

function problemsSection() {
  const lines = [...DATA.problems, ...DATA.not_offered.map((line) => DATA.from_log ? line : `torch ${DATA.versions.torch} does not give: ${line}`)];
  if (!lines.length) return null;
  return section("problems", "What is missing", DATA.from_log ? "a trace log has less than a run under depyf" : "inside depyf, or in this torch", el("div", { class: "card" }, lines.map((line) => el("div", { class: "item" }, line))));
}

function number(value, kind) { return value ? el("b", { style: `color:var(--${kind})` }, value) : el("span", { class: "faint" }, "0"); }

/* A title that begins with # is a column of numbers. Rows beyond the first 100 come when asked for. */
function table(titles, rows, cells) {
  const body = el("tbody", {});
  const more = (from) => {
    const to = Math.min(rows.length, from + (from ? 400 : 100));
    const button = to < rows.length ? el("button", { class: "chip", onclick: () => { button.closest("tr").remove(); more(to); } }, `${rows.length - to} more`) : null;
    const rowOf = (row) => row === null ? el("tr", {}, el("td", { colspan: titles.length }, button))
      : el("tr", { class: "row" }, cells(row).map((cell, column) => el("td", { class: titles[column].startsWith("#") ? "num" : "" }, cell)));
    putRows(body, button ? [...rows.slice(from, to), null] : rows.slice(from, to), rowOf);
  };
  more(0);
  return el("table", {}, el("thead", {}, el("tr", {}, titles.map((title) => el("th", { class: title.startsWith("#") ? "num" : "" }, title.replace("#", ""))))), body);
}

/* -- times, which come from a file of their own */

const PHASES = [
  ["dynamo", "Dynamo: trace, guards, bytecode", "--g0"],
  ["aot_autograd", "Backend, AOTAutograd", "--g2"],
  ["backward", "Backward, around Inductor", "--g4"],
  ["inductor", "Inductor: passes, lowering, scheduling", "--g1"],
  ["code_generation", "Generating code", "--g3"],
  ["kernels", "Compiling kernels", "--g7"],
];

function timeSection() {
  return el("section", { class: "section", id: "phases", hidden: true });
}

let TIMES_BY_ID = null;
function timesById() {
  const times = PARTS.get("times");
  if (!times) return new Map();
  if (!TIMES_BY_ID) {
    TIMES_BY_ID = new Map();
    for (const one of times.compilations || []) TIMES_BY_ID.set(one.id, (TIMES_BY_ID.get(one.id) || 0) + one.took);
  }
  return TIMES_BY_ID;
}

function fillTimes(main) {
  const times = PARTS.get("times");
  const rows = (times && times.compilations) || [];
  const total = rows.reduce((sum, one) => sum + one.took, 0);
  if (!total) return;
  const box = main.querySelector("#phases");
  box.hidden = false;
  const phases = {};
  for (const row of rows) for (const [name, took] of Object.entries(row.phases)) phases[name] = (phases[name] || 0) + took;
  put(box, el("div", { class: "head" }, el("h2", {}, "Compile time by phase"), link("#/time", "timeline")),
    el("div", { class: "card", style: "padding:14px 16px" }, phaseBar(phases, total), phaseLegend(phases)));
  const tileNode = main.querySelector("#time-tile");
  tileNode.hidden = false;
  tileNode.querySelector("b").textContent = seconds(total);
  const hits = rows.flatMap((row) => Object.values(row.caches || {}));
  const hit = hits.reduce((sum, one) => sum + one[0], 0);
  const all = hits.reduce((sum, one) => sum + one[0] + one[1], 0);
  if (all) {
    const cache = main.querySelector("#cache-tile");
    cache.hidden = false;
    cache.querySelector("b").textContent = `${hit}/${all}`;
  }
  for (const cell of main.querySelectorAll("[data-time]")) timeCell(cell);
}

/* Fill a cell with the time of the compilations that it names, where times are loaded. */
function timeCell(cell) {
  const byId = timesById();
  const took = cell.dataset.time.split(" ").reduce((sum, id) => sum + (byId.get(id) || 0), 0);
  cell.textContent = took ? seconds(took) : "";
  return cell;
}

function phaseBar(phases, total) {
  return el("div", { class: "bar" }, PHASES.filter(([name]) => phases[name]).map(([name, text, color]) => el("i", { title: `${text}: ${seconds(phases[name])}`, style: `width:${phases[name] / total * 100}%;--c:var(${color})` })));
}

function phaseLegend(phases) {
  return el("div", { class: "legend" }, PHASES.filter(([name]) => phases[name]).map(([name, text, color]) => el("span", {}, el("i", { class: "dot", style: `--c:var(${color})` }), `${text} ${seconds(phases[name])}`)));
}
