/* Code panes: text with line numbers, of which only the lines in sight are in the document. Lines can be lit. */

const LINE_HEIGHT = 20;
const BEYOND = 12;
const PANES = new Set();

class CodePane {
  /* options: title, sub, tools, text or lines, first (number of the first line), numbers (of each line), indent (so much of it is drawn narrow),
     marks: line index -> {color, classes, end}, has(index), over(index), out(), click(index) */
  constructor(options) {
    this.options = options;
    this.lines = options.lines || options.text.replace(/\n$/, "").split("\n");
    this.states = options.plain ? null : new LineStates(this.lines);
    this.lit = new Map();
    this.shown = new Map();
    this.gutter = el("div", { class: "gutter" }); // one element that stays in sight sideways is cheaper than one a line
    let longest = 0; // the width is given, so that no line has to be measured
    for (const line of this.lines) if (line.length > longest) longest = line.length;
    this.space = el("div", { class: "space", style: `height:${this.lines.length * LINE_HEIGHT}px;width:max(100%, calc(${Math.min(longest, 100000)}ch + 62px))` }, this.gutter);
    this.code = el("div", { class: "code", tabindex: "0", role: "region", "aria-label": options.title }, this.space);
    this.strip = el("canvas", { class: "strip", "aria-hidden": "true" });
    this.code.addEventListener("scroll", () => this.draw(), { passive: true });
    this.code.addEventListener("mousemove", (event) => this.over(event));
    this.code.addEventListener("mouseleave", () => { this.at = -1; options.out && options.out(); });
    this.code.addEventListener("click", (event) => { const at = this.lineAt(event); if (at >= 0 && options.click && !getSelection().toString()) options.click(at); });
    this.strip.addEventListener("click", (event) => this.toLine(Math.floor(event.offsetY / this.strip.clientHeight * this.lines.length)));
    this.node = el("section", { class: "pane card" },
      el("header", {}, el("b", {}, options.title), el("span", { class: "sub", title: options.sub }, options.sub), options.tools),
      el("div", { class: "body", style: options.height ? `height:${options.height}` : "" }, this.code, this.strip));
    this.watch = new ResizeObserver(() => { if (this.beyond) this.draw(); }); // the first time comes with the first lines
    this.watch.observe(this.code);
    this.at = -1;
    this.begins = 0; // the first line that is shown
    this.beyond = 0; // so many lines above and below those in sight are drawn, too; none before the first is seen
    PANES.add(this);
  }

  lineAt(event) {
    const line = event.target.closest("[data-at]");
    return line ? Number(line.dataset.at) : -1;
  }

  over(event) {
    const at = this.lineAt(event);
    if (at === this.at) return;
    this.at = at;
    if (at >= 0) this.options.over && this.options.over(at);
    else this.options.out && this.options.out();
  }

  /* Draw the lines in sight, or all of them for a printer. */
  draw(all) {
    if (all) { this.drawLines(0, 0); this.drawLines(0, Math.min(this.lines.length, 3000)); } // anew: paper has them in the order of the document
    else this.drawSeen(this.seen());
  }

  /* What is in sight. All panes are asked before one is changed: each change would have the page laid out again. */
  seen() { return [this.code.scrollTop, this.code.clientHeight]; }

  drawSeen([top, height]) {
    this.drawFrom(top, height);
    this.drawStrip(top, height);
  }

  drawFrom(top, height) {
    if (printing) return; // what is asked for in idle time may come between drawing all lines and the printer
    const { beyond } = this;
    this.drawLines(Math.max(0, Math.floor(top / LINE_HEIGHT) - beyond), Math.min(this.lines.length, Math.ceil((top + height) / LINE_HEIGHT) + beyond));
  }

  drawLines(top, end) {
    for (const [at, nodes] of this.shown) if (at < top || at >= end) { for (const node of nodes) node.remove(); this.shown.delete(at); }
    const lines = document.createDocumentFragment();
    const numbers = document.createDocumentFragment();
    for (let at = top; at < end; at++) {
      if (this.shown.has(at)) continue;
      const nodes = this.line(at);
      this.shown.set(at, nodes);
      lines.append(nodes[0]);
      numbers.append(nodes[1]);
    }
    this.space.append(lines);
    this.gutter.append(numbers);
  }

  /* Return the elements of a line: its text, and its number in the gutter. */
  line(at) {
    const mark = this.options.marks ? this.options.marks(at) : null;
    const text = this.lines[at];
    const deep = Math.min(this.options.indent || 0, Math.floor(/^ */.exec(text)[0].length / 4) * 4);
    const shown = text.slice(deep);
    const parts = this.states && !(mark && mark.plain) ? tokenNodes(tokensOf(shown, this.states.at(at)).tokens) : [visible(shown)];
    const number = this.options.numbers ? this.options.numbers[at] : at + (this.options.first || 1);
    const classes = ["ln", mark && mark.classes, /^ *# (?:.* )?File: /.test(text) && "origin", this.lit.get(at)];
    const kinds = classes.filter(Boolean).join(" ");
    const style = `top:${at * LINE_HEIGHT}px;${mark && mark.color ? `--c:${mark.color}` : ""}`;
    const inner = [deep ? el("span", { class: "in", style: `width:${deep / 4}ch` }, " ".repeat(deep)) : null, parts];
    const line = mark && mark.end ? el("div", { class: `${kinds} ended` }, el("span", {}, inner), el("span", { class: "end" }, mark.end)) : el("div", { class: kinds }, inner);
    const gutter = el("div", { class: `no ${kinds.slice(3)}` }, number === null || number === undefined ? "" : number);
    for (const node of [line, gutter]) { node.dataset.at = at; node.style.cssText = style; }
    if (number !== null && number !== undefined) line.dataset.line = number;
    return [line, gutter];
  }

  /* Light lines: index -> "lit" or "pin". */
  light(lines) {
    for (const at of this.lit.keys()) if (!lines.has(at)) this.mark(at, "");
    for (const [at, kind] of lines) if (this.lit.get(at) !== kind) this.mark(at, kind);
    this.lit = lines;
    this.drawStrip();
  }

  mark(at, kind) {
    for (const node of this.shown.get(at) || []) {
      node.classList.toggle("lit", kind === "lit");
      node.classList.toggle("pin", kind === "pin");
    }
  }

  drawStrip(top = this.code.scrollTop, height = this.code.clientHeight) {
    if (!height) return;
    const scale = window.devicePixelRatio || 1;
    const { strip } = this;
    if (strip.height !== Math.round(height * scale)) { strip.height = Math.round(height * scale); strip.width = Math.round(9 * scale); strip.style.height = `${height}px`; }
    const context = strip.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, 9, height);
    const whole = Math.max(this.lines.length, height / LINE_HEIGHT);
    context.fillStyle = css("--line-strong");
    context.globalAlpha = 0.45;
    context.fillRect(2, top / LINE_HEIGHT / whole * height, 5, Math.max(6, height / LINE_HEIGHT / whole * height));
    context.globalAlpha = 1;
    context.fillStyle = css("--lit-edge");
    for (const at of this.lit.keys()) context.fillRect(1, at / whole * height, 7, Math.max(2, height / whole));
  }

  toLine(at, gently) {
    const top = at * LINE_HEIGHT;
    if (gently && top >= this.code.scrollTop && top < this.code.scrollTop + this.code.clientHeight - LINE_HEIGHT) return;
    this.code.scrollTop = Math.max(0, top - this.code.clientHeight / 3);
  }

  /* Draw panes that were just put into the page, each from its line `begins` on, for a height that they have at most:
     so that all is laid out once. Lines out of sight and the strips follow. */
  static drawAll(panes, height) {
    const tops = panes.map((pane) => Math.max(0, Math.min(pane.begins * LINE_HEIGHT, pane.lines.length * LINE_HEIGHT - height)));
    panes.forEach((pane, at) => pane.drawFrom(tops[at], height));
    panes.forEach((pane, at) => { if (tops[at]) pane.code.scrollTop = tops[at]; });
    afterDrawing(() => whenIdle(() => {
      const open = panes.filter((pane) => PANES.has(pane));
      const seen = open.map((pane) => pane.seen());
      open.forEach((pane, at) => { pane.beyond = BEYOND; pane.drawSeen(seen[at]); });
    }));
  }

  close() { this.watch.disconnect(); PANES.delete(this); }
}

function closePanes() { for (const pane of [...PANES]) pane.close(); }

let CSS_CACHE = new Map();
function css(name) {
  if (!CSS_CACHE.has(name)) CSS_CACHE.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return CSS_CACHE.get(name);
}

let printing = false;
let themeOnScreen = "";
window.addEventListener("beforeprint", () => { themeOnScreen = document.documentElement.dataset.theme; setTheme("light", false); }); // paper is white
window.addEventListener("afterprint", () => setTheme(themeOnScreen, false));
window.addEventListener("beforeprint", () => { for (const pane of PANES) pane.draw(true); printing = true; });
window.addEventListener("afterprint", () => { printing = false; for (const pane of PANES) pane.draw(); });
