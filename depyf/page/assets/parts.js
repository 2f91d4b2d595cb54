/* Parts: the data of the page. What the overview needs is in index.html; the rest comes from scripts beside it. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const FUNCTIONS = new Map(DATA.functions.map((one) => [wellFormed(one.key), one]));
const GRAPHS = new Map(DATA.graphs.map((one) => [one.name, one]));
const functionOf = (key) => FUNCTIONS.get(wellFormed(key || ""));
const PARTS = new Map(Object.entries(DATA.inline || {}));
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

window.depyfPart = (name, value) => { PARTS.set(name, value); };

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

function missingPart(name) {
  return el("div", { class: "note bad" }, `${DATA.side}/${name}.js cannot be read. Keep index.html beside its folder "${DATA.side}", or make both again: depyf report FOLDER`);
}
