/* The picture of a graph: layers from inputs to outputs, computed here and drawn on a canvas, only what is in sight.
   Nodes that stem from one line of the source have one colour. */

let stopPicture = () => {};

const NODE_LINE = /^ +([A-Za-z_]\w*)(?:: "([^"]*)"| ?: [^=]+?)? = ([^]*)$/;
const ROW = 56;
const WIDTH = 132;
const HEIGHT = 30;
const APART = 150;

/* Read the nodes of a graph from its text: those of the first class, with what each of them uses. */
function nodesOf(text) {
  const nodes = new Map();
  const aliases = new Map();
  const lines = text.split("\n");
  let isInside = false;
  for (let at = 0; at < lines.length; at++) {
    const first = at;
    let line = lines[at];
    if (/^ *#/.test(line) || !line.trim()) continue;
    if (/^ *class /.test(line)) { if (isInside && !/^class /.test(line)) break; continue; }
    let depth = balance(line);
    while ((depth > 0 || line.endsWith("\\")) && at + 1 < lines.length && at - first < 4000) { at++; line += "\n" + lines[at]; depth += balance(lines[at]); }
    if (/^ +def forward\(/.test(line)) {
      isInside = true;
      for (const found of line.slice(line.indexOf("(") + 1).matchAll(/(?:^|[,(\s])([A-Za-z_]\w*)\s*(?:: ?"([^"]*)")?(?=\s*[,)]|\s*:\s)/g)) {
        if (found[1] !== "self" && !nodes.has(found[1])) nodes.set(found[1], { name: found[1], type: found[2] || "", op: "input", line: first + 1, uses: [] });
      }
      continue;
    }
    if (!isInside) continue;
    if (/^ +return /.test(line)) { nodes.set("output", { name: "output", type: "", op: "output", line: first + 1, uses: usedIn(line, nodes, aliases) }); continue; }
    const found = NODE_LINE.exec(line.split(";  ")[0].replace(/\\\n\s*/g, ""));
    if (!found || /^(?:\w+ = )*None$/.test(found[3])) continue; // values that are released, on a line of their own
    const value = found[3].trim().replace(/^\(\s*(\w+)\s*\)$/, "$1");
    const target = aliases.get(value) || value;
    if (nodes.has(target) && !found[2]) { aliases.set(found[1], target); continue; }
    nodes.set(found[1], { name: found[1], type: found[2] || "", op: operationOf(value), line: first + 1, uses: usedIn(value, nodes, aliases) });
  }
  return [...nodes.values()];
}

function balance(line) {
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    const one = line.charCodeAt(at);
    if (one === 35) break; // a comment
    if (one === 40 || one === 91 || one === 123) depth++;
    else if (one === 41 || one === 93 || one === 125) depth--;
  }
  return depth;
}

function operationOf(value) {
  const call = /^([\w.]+)\(/.exec(value);
  if (/^\w+\[/.test(value)) return "getitem";
  if (!call) { const method = /\.(\w+)\(/.exec(value); return method ? method[1] : (/ ([-+*/@%<>=!&|^]+) /.exec(value) || ["", "="])[1]; }
  const names = call[1].split(".");
  const known = names.indexOf("ops");
  return known >= 0 && names[known + 2] ? names[known + 2] : names.at(-1);
}

function usedIn(text, nodes, aliases) {
  const found = new Set();
  for (const one of text.replace(/"[^"]*"|'[^']*'/g, "").matchAll(/(?<![.\w])([A-Za-z_]\w*)(?!\s*=(?!=))/g)) {
    const name = aliases.get(one[1]) || one[1];
    if (nodes.has(name)) found.add(name);
  }
  return [...found];
}

/* Place the nodes: a node is below all that it uses, an input just above what uses it first. */
function layoutOf(nodes) {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  for (const node of nodes) { node.users = []; node.layer = 0; }
  for (const node of nodes) node.from = node.uses.map((name) => byName.get(name));
  for (const node of nodes) {
    for (const one of node.from) one.users.push(node);
    node.layer = node.from.reduce((most, one) => Math.max(most, one.layer + 1), 0);
  }
  for (const node of nodes) if (node.op === "input" && node.users.length) node.layer = Math.max(0, least(node.users.map((one) => one.layer)) - 1);
  const layers = [];
  for (const node of nodes) (layers[node.layer] = layers[node.layer] || []).push(node);
  for (let at = 0; at < layers.length; at++) { layers[at] = layers[at] || []; layers[at].forEach((node, number) => { node.x = (number - (layers[at].length - 1) / 2) * APART; }); }
  for (let sweep = 0; sweep < 6; sweep++) {
    const isDown = sweep % 2 === 0;
    const order = isDown ? layers : [...layers].reverse();
    for (const layer of order) placeLayer(layer, (node) => isDown ? node.from : node.users);
  }
  for (const node of nodes) node.y = node.layer * ROW;
  const left = Math.min(0, least(nodes.map((node) => node.x)));
  const right = -Math.min(0, least(nodes.map((node) => -node.x)));
  const bounds = { left: left - WIDTH, right: right + WIDTH, bottom: layers.length * ROW };
  return { nodes, layers, byName, bounds };
}

function placeLayer(layer, beside) {
  for (const node of layer) {
    const all = beside(node);
    const inner = all.filter((one) => one.op !== "input");
    const near = inner.length ? inner : all; // inputs stand beside what uses them, and do not pull it away
    node.wanted = near.length ? near.reduce((sum, one) => sum + one.x, 0) / near.length : node.x;
  }
  layer.sort((a, b) => a.wanted - b.wanted);
  let sum = 0;
  layer.forEach((node, number) => { node.x = number ? Math.max(node.wanted, layer[number - 1].x + APART) : node.wanted; sum += node.x - node.wanted; });
  if (layer.length > 1) for (const node of layer) node.x -= sum / layer.length;
}

/* -- the view */

function drawPicture(view) {
  stopPicture();
  const stages = view.part.stages.filter((one) => one.stage !== "kernel");
  const stage = stages.find((one) => one.file === view.pictured) || stages[0];
  clear(view.body);
  if (!stage) { put(view.body, el("div", { class: "empty" }, "There is no graph to draw.")); return; }
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": `picture of ${stageName(stage.stage)}` });
  const picture = new Picture(view, stage, canvas);
  const tool = (text, title, action) => el("button", { title, onclick: action }, text);
  put(view.body, el("div", { class: "picture card" }, canvas,
    el("div", { class: "tools" }, tool("+", "closer", () => picture.zoom(1.4)), tool("−", "further away", () => picture.zoom(1 / 1.4)), tool("whole", "all of it (0)", () => picture.fit()), tool("top", "the inputs", () => picture.toTop()))));
  picture.begin();
  stopPicture = () => { picture.end(); stopPicture = () => {}; };
}

class Picture {
  constructor(view, stage, canvas) {
    this.view = view;
    this.stage = stage;
    this.canvas = canvas;
    this.graph = layoutOf(nodesOf(stage.text));
    this.rows = new Map(stage.rows.map((row) => [row[2], row]));
    this.lit = new Set();
    this.over = null;
    this.kept = null;
    this.colors = new Map();
    for (const node of this.graph.nodes) {
      const row = this.rows.get(node.name);
      const key = row && row[4].length ? view.part.chains[row[4][0]].at(-1) : null;
      if (key !== null && !this.colors.has(key)) this.colors.set(key, this.colors.size % 8);
      node.color = key === null ? null : this.colors.get(key);
    }
  }

  begin() {
    const { canvas } = this;
    this.watch = new ResizeObserver(() => { this.size(); this.draw(); });
    this.watch.observe(canvas.parentElement);
    this.onTheme = () => this.paint(); // at once: a printer does not wait
    window.addEventListener("themechange", this.onTheme);
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); if (event.ctrlKey || event.metaKey || !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX)) this.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY); else { this.x -= event.deltaX || event.deltaY; this.draw(); } }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => { this.drag = [event.offsetX, event.offsetY, this.x, this.y, false]; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    canvas.addEventListener("pointerup", (event) => { const drag = this.drag; this.drag = null; if (drag && !drag[4]) this.clicked(event); });
    canvas.addEventListener("keydown", (event) => this.pressed(event));
    this.size();
    this.toTop();
  }

  end() { this.watch.disconnect(); window.removeEventListener("themechange", this.onTheme); }

  size() {
    const box = this.canvas.parentElement.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.wide = box.width;
    this.high = box.height;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
  }

  toTop() {
    const { bounds, layers } = this.graph;
    this.scale = Math.max(0.5, Math.min(1, this.wide / Math.max(1, bounds.right - bounds.left)));
    const first = layers[0] || [];
    const mean = first.length ? first.reduce((sum, node) => sum + node.x, 0) / first.length : 0;
    const nearest = first.reduce((best, node) => Math.abs(node.x - mean) < Math.abs(best - mean) ? node.x : best, Infinity);
    const middle = Math.abs(nearest - mean) * this.scale > this.wide / 3 && first.length ? nearest : mean; // never where nothing is
    this.x = this.wide / 2 - middle * this.scale;
    this.y = 64;
    this.draw();
  }

  fit() {
    const { bounds } = this.graph;
    this.scale = Math.min(1, this.wide / (bounds.right - bounds.left), (this.high - 80) / Math.max(1, bounds.bottom));
    this.x = this.wide / 2 - (bounds.left + bounds.right) / 2 * this.scale;
    this.y = 60;
    this.draw();
  }

  zoom(by, x = this.wide / 2, y = this.high / 2) {
    const next = Math.min(3, Math.max(0.02, this.scale * by));
    this.x = x - (x - this.x) * next / this.scale;
    this.y = y - (y - this.y) * next / this.scale;
    this.scale = next;
    this.draw();
  }

  pressed(event) {
    const by = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] }[event.key];
    if (by) { this.x += by[0]; this.y += by[1]; this.draw(); event.preventDefault(); }
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") this.fit();
  }

  at(event) {
    const x = (event.offsetX - this.x) / this.scale;
    const y = (event.offsetY - this.y) / this.scale;
    const layer = this.graph.layers[Math.round(y / ROW)] || [];
    return layer.find((node) => Math.abs(node.x - x) <= WIDTH / 2 && Math.abs(node.y - y) <= HEIGHT / 2) || null;
  }

  moved(event) {
    if (this.drag) {
      const [x, y, left, top] = this.drag;
      if (Math.abs(event.offsetX - x) + Math.abs(event.offsetY - y) > 4) this.drag[4] = true;
      this.x = left + event.offsetX - x;
      this.y = top + event.offsetY - y;
      this.draw();
      return;
    }
    const node = this.at(event);
    if (node === this.over) return;
    this.over = node;
    this.canvas.style.cursor = node ? "pointer" : "";
    this.light(node || this.kept);
  }

  clicked(event) { this.kept = this.at(event); this.light(this.kept); }

  light(node) {
    this.lit = new Set();
    this.chosen = node;
    const row = node && this.rows.get(node.name);
    const { links, part } = this.view;
    if (row && row[4].length) {
      const chains = new Set(row[4]);
      for (const other of this.stage.rows) if (other[4].some((chain) => chains.has(chain))) this.lit.add(other[2]);
      status(this.view, [...links.describe(this.stage.file, row[0] - 1, chains), link(graphHash(part.name, { stage: this.stage.file, l: row[0] }), "open in the code")]);
    } else status(this.view, node ? [el("b", { class: "mono" }, node.name), el("span", { class: "mono dim" }, node.type), link(graphHash(part.name, { stage: this.stage.file, l: node.line }), "open in the code")] : null);
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  paint() {
    const context = this.canvas.getContext("2d");
    const { scale, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.wide, this.high);
    context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * this.x, ratio * this.y);
    const top = Math.max(0, Math.floor(-this.y / scale / ROW) - 1);
    const bottom = Math.min(this.graph.layers.length - 1, Math.ceil((this.high - this.y) / scale / ROW) + 1);
    this.paintEdges(context, top, bottom);
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let layer = top; layer <= bottom; layer++) for (const node of this.graph.layers[layer]) this.paintNode(context, node);
    this.painted = (this.painted || 0) + 1;
  }

  paintEdges(context, top, bottom) {
    const chosen = this.chosen;
    const plain = new Path2D();
    const strong = new Path2D();
    for (const node of this.graph.nodes) {
      for (const from of node.from) {
        if (node.layer < top || from.layer > bottom) continue;
        const path = node === chosen || from === chosen ? strong : plain;
        const middle = (node.y - HEIGHT / 2 + from.y + HEIGHT / 2) / 2;
        path.moveTo(from.x, from.y + HEIGHT / 2);
        path.bezierCurveTo(from.x, middle, node.x, middle, node.x, node.y - HEIGHT / 2);
      }
    }
    context.lineWidth = Math.max(1, 0.6 / this.scale);
    context.strokeStyle = css("--edge");
    context.stroke(plain);
    context.lineWidth = Math.max(2, 1.5 / this.scale);
    context.strokeStyle = css("--lit-edge");
    context.stroke(strong);
  }

  paintNode(context, node) {
    const left = node.x - WIDTH / 2;
    const color = node.color === null ? css("--faint") : css(`--g${node.color}`);
    const isLit = this.lit.has(node.name) || node === this.chosen;
    context.beginPath();
    context.roundRect(left, node.y - HEIGHT / 2, WIDTH, HEIGHT, node.op === "input" || node.op === "output" ? 15 : 6);
    context.fillStyle = isLit ? css("--lit") : css("--panel");
    context.fill();
    context.lineWidth = isLit ? 2.5 : 1.2;
    context.strokeStyle = isLit ? css("--lit-edge") : color;
    context.stroke();
    if (this.scale < 0.3) { context.globalAlpha = 0.35; context.fillStyle = color; context.fill(); context.globalAlpha = 1; return; }
    context.fillStyle = color;
    context.fillRect(left + 5, node.y - 9, 3, 18);
    context.fillStyle = css("--text");
    context.font = "600 11px " + css("--sans");
    context.fillText(visible(node.op === "input" ? cutStart(inputName(node.name), 16) : cut(node.op, 17)), node.x + 3, node.type ? node.y - 6 : node.y);
    if (node.type) { context.fillStyle = css("--dim"); context.font = "10px " + css("--mono"); context.fillText(visible(cut(node.type.replace(/\]\[.*$/, "]"), 19)), node.x + 3, node.y + 7); }
  }
}

/* L_self_modules_norm_parameters_weight_ is norm.weight to a reader. */
function inputName(name) { return name.replace(/^[lL]_(?:self_)?|_$/g, "").replace(/_?(?:modules|parameters|buffers)_/g, ".").replace(/^\./, ""); }
function cutStart(text, most) { return text.length > most ? "…" + text.slice(text.length - most + 1) : text; }
function cut(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }
