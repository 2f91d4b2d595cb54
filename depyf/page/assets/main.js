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
  route();
}

function route() {
  const [path, query] = PLACE.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map(decoded);
  const options = Object.fromEntries((query || "").split("&").filter(Boolean).map((one) => one.split("=")).map(([key, value]) => [key, decoded(value || "")]));
  closePanes();
  stopPicture();
  const isWide = parts[0] === "g" && GRAPHS.has(parts.slice(1).join("/"));
  const main = el("main", { class: isWide ? "main wide" : "main", tabindex: "-1" });
  document.querySelector(".main").replaceWith(main); // a new one begins at its top, without a layout in between
  setSide(isWide);
  drawSide(parts);
  const name = parts.slice(1).join("/");
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
  Promise.resolve(shown).then(() => { document.documentElement.dataset.view = parts[0] || "overview"; document.documentElement.dataset.shown = PLACE.hash || "#/"; });
}

function decoded(text) { try { return decodeURIComponent(text); } catch (error) { return text; } }

/* -- the side */

let sideParts = [""];
function drawSide(parts) {
  sideParts = parts;
  if (document.documentElement.dataset.side === "off") return; // it is drawn when it is shown
  const side = document.querySelector(".side");
  const scrolled = side.scrollTop;
  clear(side);
  const here = parts[0] || "";
  const item = (hash, text, isHere, classes, extra) => el("a", { href: hash, class: classes, "aria-current": isHere ? "page" : null, title: text }, el("span", { class: "n" }, text), extra);
  put(side, item("#/", "Overview", here === ""), DATA.functions.length || DATA.graphs.length ? item("#/time", "Timeline", here === "time") : null);
  if (DATA.shapes && DATA.shapes.length) put(side, item("#/shapes", "Dynamic shapes", here === "shapes", "", el("span", { class: "faint small" }, DATA.shapes.length)));
  if (DATA.processes.length) put(side, item("#/ranks", "Processes", here === "ranks", "", DATA.differences.length ? tag("warn", DATA.differences.length) : null));
  const name = parts.slice(1).join("/");
  const lists = [
    ["Functions", DATA.functions.map((one) => ({ hash: functionHash(one.key), text: one.name, here: here === "f" && name === wellFormed(one.key), mark: one.breaks.length ? "bad" : one.recompiles ? "warn" : one.frames ? "good" : "faint" }))],
    ["Graphs", DATA.graphs.map((one) => ({ hash: graphHash(one.name), text: one.name, here: here === "g" && name === one.name, mark: null }))],
  ];
  for (const [title, rows] of lists) {
    if (!rows.length) continue;
    put(side, el("h3", {}, title, el("span", {}, rows.length)));
    const current = rows.findIndex((one) => one.here);
    const from = Math.max(0, Math.min(current - 20, rows.length - 40));
    const shown = rows.slice(from, from + 40);
    if (from) put(side, el("div", { class: "more" }, `${from} before`));
    for (const one of shown) put(side, item(one.hash, one.text, one.here, "ident", one.mark ? el("i", { class: "dot", style: `--c:var(--${one.mark})` }) : null));
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

const KEYS = [["/", "search"], ["j k", "next, previous function or graph"], ["[ ]", "previous, next version"], ["o", "overview"], ["p", "picture of the graph"], ["s", "show or hide the list"], ["t", "light or dark"], ["Esc", "let go of a line, close"], ["?", "this list"]];

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
    route();
    return;
  }
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
