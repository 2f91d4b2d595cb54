/* Parts: the data of the page. What the overview needs is in index.html; the rest comes from scripts beside it. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const FUNCTIONS = new Map(DATA.functions.map((one) => [wellFormed(one.key), one]));
const GRAPHS = new Map(DATA.graphs.map((one) => [one.name, one]));
const functionOf = (key) => FUNCTIONS.get(wellFormed(key || ""));
const PARTS = new Map(Object.entries(DATA.inline || {}).map(([name, value]) => [name, wholePart(value)]));
const WAITING = new Map();

/* The address. A page inside another one has none of its own: links would lead to the page around it. */
const PLACE = DATA.inline ? innerPlace(DATA.start) : location;
function innerPlace(start) {
  let hash = start;
  window.addEventListener("click", (event) => {
    const to = event.target.closest && event.target.closest("a[href^='#']");
    if (to && !event.defaultPrevented) { event.preventDefault(); place.hash = to.getAttribute("href"); }
  });
  const place = { get hash() { return hash; }, set hash(to) { hash = to; window.dispatchEvent(new Event("hashchange")); } };
  return place;
}
function setAddress(hash, isNew) {
  if (DATA.inline) PLACE.hash = hash;
  else if (isNew) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}

/* Have the address name what is kept in the view, so that it can be passed on; the view stays as it is. */
function keepAddress(hash) {
  if (DATA.inline) return;
  history.replaceState(null, "", hash);
  document.documentElement.dataset.shown = hash; // which is drawn already
}

window.depyfPart = (name, value) => { PARTS.set(name, wholePart(value)); };

/* The guards of repeated layers are written once, with a mark for the layer: have each layer's own. */
function wholePart(part) {
  if (!part || !part.forms || !part.forms.length) return part;
  const each = ([form, layer]) => part.forms[form].map(([condition, ...rest]) => [condition.split("\0").join(layer), ...rest]);
  return { ...part, guards: part.guards.flatMap((row) => row.length === 2 ? each(row) : [row]) };
}

function loadPart(name) {
  if (PARTS.has(name)) return Promise.resolve(PARTS.get(name));
  if (!WAITING.has(name)) {
    WAITING.set(name, new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = `${DATA.side}/${name}.js`;
      script.onload = () => { script.remove(); PARTS.has(name) ? done(PARTS.get(name)) : fail(new Error(name)); };
      script.onerror = () => { script.remove(); WAITING.delete(name); fail(new Error(name)); };
      document.head.append(script);
    }));
  }
  return WAITING.get(name);
}

/* Load what a link leads to when it is pointed at: it is there when it is clicked. */
const POINTED = 60; // milliseconds after which it is more than a way across
let foreseen = 0;
function foresee(event) {
  const to = event.target.closest && event.target.closest("a[href^='#/g/'], a[href^='#/f/']");
  clearTimeout(foreseen);
  if (to) foreseen = setTimeout(() => { for (const name of partsOf(to.getAttribute("href"))) loadPart(name).catch(() => {}); }, POINTED);
}

/* The side files that the view at an address needs. */
function partsOf(hash) {
  const [kind, ...rest] = hash.replace(/^#\/?/, "").split("?")[0].split("/").map(decoded);
  const row = kind === "g" ? GRAPHS.get(rest.join("/")) : functionOf(rest.join("/"));
  const owner = row && kind === "g" ? functionOf(row.function) : null;
  return [row, owner].filter(Boolean).map((one) => one.part);
}

function missingPart(name) {
  return el("div", { class: "note bad" }, `${DATA.side}/${name}.js cannot be read. Keep index.html beside its folder "${DATA.side}", or make both again: depyf report FOLDER`);
}
