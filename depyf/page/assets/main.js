/* The frame: the bar, the list at the side, which view the address names, and the keyboard. */

const VIEWS = { "": "Overview", time: "Timeline", shapes: "Dynamic shapes", ranks: "Processes", search: "Search" };

function start() {
  const stored = remembered("theme");
  document.documentElement.dataset.theme = stored || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => { if (!remembered("theme")) setTheme(event.matches ? "dark" : "light", false); });
  const app = document.getElementById("app");
  const made = [DATA.versions.depyf && `depyf ${DATA.versions.depyf}`, DATA.versions.torch && `torch ${DATA.versions.torch}`, DATA.versions.python && `Python ${DATA.versions.python}`].filter(Boolean).join(" · ");
  put(app, 
    el("header", { class: "top" },
      el("button", { class: "icon", id: "side-button", title: "show or hide the list (s)", "aria-label": "show or hide the list", onclick: toggleSide }, "☰"),
      el("a", { class: "brand", href: "#/" }, el("span", {}, el("b", {}, "de"), "pyf")),
      el("div", { class: "search" }, el("input", { id: "search", type: "search", placeholder: "Search functions, graphs, kernels, guards, code", "aria-label": "search", autocomplete: "off", spellcheck: "false", oninput: (event) => typed(event.target.value) }), el("kbd", {}, "/")),
      el("span", { class: "meta" }, made),
      el("button", { class: "icon", id: "theme", title: "light or dark (t)", "aria-label": "light or dark", onclick: toggleTheme }, "◐"),
      el("button", { class: "icon", title: "keys (?)", "aria-label": "keys", onclick: showKeys }, "?")),
    el("nav", { class: "side", "aria-label": "views" }), el("main", { class: "main", tabindex: "-1" }));
  window.addEventListener("hashchange", route);
  window.addEventListener("keydown", pressed);
  for (const kind of ["pointerover", "focusin"]) window.addEventListener(kind, foresee, { passive: true });
  route();
}

function route() {
  const [path, query] = PLACE.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map(decoded);
  const options = Object.fromEntries((query || "").split("&").filter(Boolean).map((one) => one.split("=")).map(([key, value]) => [key, decoded(value || "")]));
  const name = parts.slice(1).join("/");
  const isWide = parts[0] === "g" && GRAPHS.has(name);
  const main = el("main", { class: isWide ? "main wide" : "main", tabindex: "-1" });
  coming = { main, isWide, parts };
  let shown = Promise.resolve();
  if (parts[0] === "f") shown = showFunction(main, name, options);
  else if (parts[0] === "g") shown = showGraph(main, name, options);
  else if (parts[0] === "time") shown = showTimeline(main);
  else if (parts[0] === "shapes") shown = showShapes(main);
  else if (parts[0] === "ranks") shown = showRanks(main);
  else if (parts[0] === "search") showSearch(main, name); // names are there at once, text follows
  else if (!DATA.functions.length && !DATA.graphs.length && DATA.processes.length) shown = showRanks(main);
  else showOverview(main);
  const about = parts[0] === "f" ? (functionOf(name) || { name }).name : parts[0] === "g" ? name : VIEWS[parts[0]] || "Overview";
  document.title = `${about} · depyf`;
  if (parts[0] !== "search") document.getElementById("search").value = "";
  const { hash } = PLACE;
  setTimeout(() => enter(main), LONGEST_STILL);
  Promise.resolve(shown).then(() => {
    if (coming.main !== main) return;
    enter(main);
    document.documentElement.dataset.view = parts[0] || "overview";
    document.documentElement.dataset.shown = hash || "#/";
  });
}

/* The view that was there stays until the next one is drawn, so that nothing is laid out and painted in between; but
   not longer than this many milliseconds, should a side file come late. */
const LONGEST_STILL = 150;
let coming = { main: null, isWide: false, parts: [""] };

/* Put the view that the address names into the page, unless it is there, or another one is wanted by now. */
function enter(main) {
  if (main !== coming.main || main.isConnected) return;
  closePanes();
  stopPicture();
  document.querySelector(".main").replaceWith(main); // a new one begins at its top, without a layout in between
  setSide(coming.isWide);
  drawSide(coming.parts);
}

function decoded(text) { try { return decodeURIComponent(text); } catch (error) { return text; } }

/* -- the side */

let sideParts = [""];
function drawSide(parts) {
  sideParts = parts;
  if (document.documentElement.dataset.side === "off") return; // it is drawn when it is shown
  const side = document.querySelector(".side");
  const name = parts.slice(1).join("/");
  const here = hashOf(parts[0] || "", name).replace(/\/$/, "") || "#/";
  const firstOf = (rows, kind) => Math.max(0, Math.min((parts[0] === kind ? rows.findIndex((one) => wellFormed(one.key || one.name) === name) : -1) - 20, rows.length - 40));
  const from = [firstOf(DATA.functions, "f"), firstOf(DATA.graphs, "g")];
  if (side.dataset.from !== from.join()) { side.dataset.from = from.join(); fillSide(side, from); }
  for (const one of side.querySelectorAll("a:not(.more)")) {
    if (one.getAttribute("href") === here) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
}

function fillSide(side, firsts) {
  const scrolled = side.scrollTop;
  clear(side);
  const item = (hash, text, classes, extra) => el("a", { href: hash, class: classes, title: text }, el("span", { class: "n" }, text), extra);
  if (DATA.above) put(side, item(DATA.above, "All processes", "", el("span", { class: "faint" }, "↑")));
  put(side, item("#/", "Overview"), DATA.functions.length || DATA.graphs.length ? item("#/time", "Timeline") : null);
  if (DATA.shapes && DATA.shapes.length) put(side, item("#/shapes", "Dynamic shapes", "", el("span", { class: "faint small" }, DATA.shapes.length)));
  if (DATA.processes.length) put(side, item("#/ranks", "Processes", "", el("span", { class: "faint small" }, DATA.differences.length ? `${count(DATA.differences.length, "difference")}` : DATA.processes.length)));
  const lists = [
    ["Functions", DATA.functions, (one) => ({ hash: functionHash(one.key), text: one.name, mark: one.breaks.length ? "bad" : one.recompiles ? "warn" : one.frames ? "good" : "faint" }), firsts[0]],
    ["Graphs", DATA.graphs, (one) => ({ hash: graphHash(one.name), text: one.name, mark: null }), firsts[1]],
  ];
  for (const [title, rows, rowOf, from] of lists) {
    if (!rows.length) continue;
    put(side, el("h3", {}, title, el("span", {}, rows.length)));
    if (from) put(side, el("div", { class: "more" }, `${from} before`));
    for (const one of rows.slice(from, from + 40).map(rowOf)) put(side, item(one.hash, one.text, "ident", one.mark ? el("i", { class: "dot", style: `--c:var(--${one.mark})` }) : null));
    if (from + 40 < rows.length) put(side, el("a", { class: "more", href: "#/", onclick: () => setTimeout(() => { const to = document.getElementById(title.toLowerCase()); to && to.scrollIntoView(); }) }, `${rows.length - from - 40} more`));
  }
  if (scrolled) side.scrollTop = scrolled;
}

/* The list gives way to code that stands side by side, unless the user wants it. */
function setSide(isWide) {
  const isNarrow = matchMedia("(max-width: 860px)").matches; // there the list lies over the view until one is chosen
  const wanted = isNarrow ? "off" : remembered(isWide ? "side-wide" : "side");
  document.documentElement.dataset.side = wanted || (DATA.inline || (isWide && !matchMedia("(min-width: 1900px)").matches) ? "off" : "on");
}
function toggleSide() {
  const isWide = document.querySelector(".main").classList.contains("wide");
  const next = document.documentElement.dataset.side === "off" ? "on" : "off";
  document.documentElement.dataset.side = next;
  drawSide(sideParts);
  if (matchMedia("(max-width: 860px)").matches) return;
  try { localStorage.setItem(isWide ? "depyf.side-wide" : "depyf.side", next); } catch (error) { /* a page from disk may have no storage */ }
}

/* -- themes */

function remembered(name) { try { return localStorage.getItem(`depyf.${name}`); } catch (error) { return null; } }
function setTheme(theme, keep) {
  document.documentElement.dataset.theme = theme;
  CSS_CACHE = new Map();
  if (keep) { try { localStorage.setItem("depyf.theme", theme); } catch (error) { /* a page from disk may have no storage */ } }
  for (const pane of PANES) pane.drawStrip();
  window.dispatchEvent(new Event("themechange"));
}
function toggleTheme() { setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark", true); }

/* -- keys */

const KEYS = [["/", "search"], ["j k", "next, previous function or graph"], ["[ ]", "previous, next version"], ["o", "overview"], ["p", "picture of the graph"], ["s", "show or hide the list"], ["t", "light or dark"], ["Esc", "let go of a line, close"], ["Enter", "from the search to what was found"], ["?", "this list"]];

function showKeys() {
  if (document.querySelector(".dialog")) return;
  const close = () => box.remove();
  const box = el("div", { class: "dialog", role: "dialog", "aria-label": "keys", onclick: (event) => { if (event.target === box) close(); } },
    el("div", { class: "card" }, el("h2", {}, "Keys"), el("dl", {}, KEYS.map(([key, text]) => [el("dt", {}, key.split(" ").map((one) => el("kbd", {}, one))), el("dd", {}, text)]))));
  document.body.append(box);
}

function pressed(event) {
  const typing = event.target.closest && event.target.closest("input, textarea");
  if (event.key === "Escape") {
    const box = document.querySelector(".dialog");
    if (box) { box.remove(); return; }
    if (typing) { event.target.blur(); if (PLACE.hash.startsWith("#/search")) DATA.inline ? PLACE.hash = "#/" : history.back(); return; }
    letGo();
    return;
  }
  if (event.key === "Enter" && event.target.id === "search") { openFirst(); return; }
  if (typing || event.metaKey || event.altKey || (event.ctrlKey && event.key !== "k")) return;
  if (event.key === "/" || (event.ctrlKey && event.key === "k")) { event.preventDefault(); document.getElementById("search").focus(); }
  else if (event.key === "t") toggleTheme();
  else if (event.key === "s") toggleSide();
  else if (event.key === "?") showKeys();
  else if (event.key === "o") PLACE.hash = "#/";
  else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if (event.key === "[" || event.key === "]") stepVersion(event.key === "]" ? 1 : -1);
  else if (event.key === "p") { const chip = document.getElementById("picture-chip"); chip && chip.click(); }
}

/* Draw the view anew, without the line that was kept in it. */
function letGo() {
  const [path, query] = PLACE.hash.split("?");
  const rest = (query || "").split("&").filter((one) => one && !/^(?:l|s|t|stage|find)=/.test(one)).join("&");
  const next = rest ? `${path}?${rest}` : path || "#/";
  if (DATA.inline) { PLACE.hash = next; return; }
  keepAddress(next);
  route();
}

/* From the field of the search to the first thing that was found. */
function openFirst() {
  const first = document.querySelector(".main a.item");
  if (first && PLACE.hash.startsWith("#/search")) first.focus();
}

function step(by) {
  const [kind, name] = PLACE.hash.replace(/^#\/?/, "").split("?")[0].split("/").map(decoded);
  const names = kind === "g" ? DATA.graphs.map((one) => one.name) : DATA.functions.map((one) => one.key);
  const next = names[kind === "g" || kind === "f" ? names.indexOf(name) + by : 0];
  if (next !== undefined) PLACE.hash = kind === "g" ? graphHash(next) : functionHash(next);
}

function stepVersion(by) {
  if (PLACE.hash.startsWith("#/g/")) { step(by); return; }
  const chips = [...document.querySelectorAll(".chip.version")];
  const next = chips[chips.findIndex((one) => one.getAttribute("aria-pressed") === "true") + by];
  if (next) next.click();
}

start();
