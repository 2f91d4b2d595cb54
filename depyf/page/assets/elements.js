"use strict";
/* Elements: everything on the page is made here, from text nodes. No text of the program is ever read as HTML. */

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const name in attributes) {
    const value = attributes[name];
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") node.style.cssText = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(node, child);
    else node.append(child instanceof Node ? child : visible(String(child)));
  }
}

/* Control characters and those that change the direction of text are shown as such, so that no text can hide. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
function visible(text) {
  return text.replace(HIDDEN, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

function put(node, ...children) { add(node, children); return node; }

/* Append one node for each row: those of the first screen now, the others once the browser has drawn it. */
const FIRST_ROWS = 12;
function putRows(box, rows, nodeOf) {
  let at = 0;
  const upTo = (end) => { for (; at < Math.min(end, rows.length); at++) put(box, nodeOf(rows[at], at)); };
  const others = () => { if (!box.isConnected) return; upTo(at + 40); if (at < rows.length) setTimeout(others); };
  upTo(FIRST_ROWS);
  if (at < rows.length) afterDrawing(others);
  return box;
}

function afterDrawing(work) { requestAnimationFrame(() => setTimeout(work)); }
function whenIdle(work) { if (window.requestIdleCallback) requestIdleCallback(work, { timeout: 200 }); else setTimeout(work, 30); }

/* The least of numbers, Infinity for none: Math.min takes no more than some hundred thousand. */
function least(numbers) { let found = Infinity; for (const one of numbers) if (one < found) found = one; return found; }

function clear(node) { node.replaceChildren(); return node; }

const NUMBERS = new Intl.NumberFormat("en");
function count(number, noun, plural) {
  return `${NUMBERS.format(number)} ${number === 1 ? noun : plural || noun + "s"}`;
}

function seconds(microseconds) {
  const value = microseconds / 1e6;
  if (value >= 100) return `${Math.round(value)} s`;
  if (value >= 1) return `${value.toFixed(1)} s`;
  return microseconds >= 1000 ? `${Math.round(microseconds / 1000)} ms` : `${Math.round(microseconds)} µs`;
}

function tag(kind, ...children) { return el("span", { class: `tag ${kind}` }, ...children); }

function link(hash, ...children) { return el("a", { href: hash }, ...children); }

const functionHash = (key, options) => hashOf("f", key, options);
const graphHash = (name, options) => hashOf("g", name, options);

function hashOf(kind, name, options) {
  const query = Object.entries(options || {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = query.map(([key, value]) => `${key}=${encodeURIComponent(wellFormed(String(value)))}`).join("&");
  return `#/${kind}/${encodeURIComponent(wellFormed(name))}${text ? `?${text}` : ""}`;
}

/* Half of a pair of surrogates, which no address can hold, becomes the sign for what is no character. */
function wellFormed(text) { return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd"); }

/* A place is [file, line, code, function]. */
function placeText(place) {
  if (!place) return "an unknown place";
  return `${fileOf(place[0]).short}:${place[1]}`;
}
function fileOf(number) { return DATA.files[number] || { path: "?", short: "?", own: false }; }

function placeNode(place) {
  return el("span", { class: "mono", title: place ? `${fileOf(place[0]).path}:${place[1]}` : "" }, placeText(place));
}

function snippet(place) {
  return place && place[2] ? el("span", { class: "snippet" }, highlighted(place[2])) : null;
}

function section(id, title, extra, ...children) {
  return el("section", { class: "section", id },
    el("div", { class: "head" }, el("h2", {}, title), el("span", { class: "dim small" }, extra)), ...children);
}

function gradeTag(grade) {
  if (grade === "PROVED") return tag("good", "proved");
  if (grade === "PROVED_UNDER") return tag("good", "proved, under assumptions");
  if (grade === "REFUTED") return tag("bad", "refuted");
  return tag("warn", "not proved");
}

/* Stages of torch's, as a reader calls them. */
const STAGES = {
  Captured_Graph: "Captured by Dynamo",
  BEFORE_PRE_GRAD: "Before pre-grad",
  AFTER_PRE_GRAD: "After pre-grad",
  Joint_graph: "AOT joint",
  Forward_graph: "AOT forward",
  Backward_graph: "AOT backward",
  BEFORE_POST_GRAD: "Before post-grad",
  AFTER_POST_GRAD: "After post-grad",
  kernel: "Kernels",
};
function stageName(stage, madeFor) {
  const name = STAGES[stage] || stage.replace(/_/g, " ");
  return madeFor && madeFor !== "inference" ? `${name}, ${madeFor}` : name;
}

const graphColor = (number) => `var(--g${number % 8})`;
