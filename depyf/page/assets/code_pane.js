/* Code panes: text with line numbers, of which only the lines in sight are in the document. Lines can be lit. */

const LINE_HEIGHT = 20;
const PANES = new Set();

class CodePane {
  /* options: title, sub, tools, text or lines, first (number of the first line), numbers (of each line), indent (so much of it is drawn narrow),
     marks: line index -> {color, classes, end}, has(index), over(index), out(), click(index) */
  constructor(options) {
    this.options = options;
    this.lines = options.lines || options.text.replace(/\n$/, "").split("\n");
    this.states = options.plain ? null : lineStates(this.lines);
    this.lit = new Map();
    this.shown = new Map();
    this.space = el("div", { class: "space", style: `height:${this.lines.length * LINE_HEIGHT}px` });
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
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.code);
    this.at = -1;
    PANES.add(this);
  }

  lineAt(event) {
    const line = event.target.closest(".ln");
    return line ? Number(line.dataset.at) : -1;
  }

  over(event) {
    const at = this.lineAt(event);
    if (at === this.at) return;
    this.at = at;
    if (at >= 0) this.options.over && this.options.over(at);
    else this.options.out && this.options.out();
  }

  draw(all) {
    const top = all ? 0 : Math.max(0, Math.floor(this.code.scrollTop / LINE_HEIGHT) - 12);
    const end = all ? Math.min(this.lines.length, 3000) : Math.min(this.lines.length, Math.ceil((this.code.scrollTop + this.code.clientHeight) / LINE_HEIGHT) + 12);
    for (const [at, node] of this.shown) if (at < top || at >= end) { node.remove(); this.shown.delete(at); }
    const fresh = document.createDocumentFragment();
    for (let at = top; at < end; at++) {
      if (!this.shown.has(at)) { const node = this.line(at); this.shown.set(at, node); fresh.append(node); }
    }
    this.space.append(fresh);
    this.drawStrip();
  }

  line(at) {
    const mark = this.options.marks ? this.options.marks(at) : null;
    const text = this.lines[at];
    const deep = Math.min(this.options.indent || 0, Math.floor(/^ */.exec(text)[0].length / 4) * 4);
    const shown = text.slice(deep);
    const parts = this.states && !(mark && mark.plain) ? tokenNodes(tokensOf(shown, this.states[at]).tokens) : [visible(shown)];
    const number = this.options.numbers ? this.options.numbers[at] : at + (this.options.first || 1);
    const classes = ["ln", mark && mark.classes, /^ *# (?:.* )?File: /.test(text) && "origin", this.lit.get(at)];
    return el("div", { class: classes.filter(Boolean).join(" "), "data-at": at, "data-line": number, style: `top:${at * LINE_HEIGHT}px;${mark && mark.color ? `--c:${mark.color}` : ""}` },
      el("span", { class: "no" }, number === null || number === undefined ? "" : number),
      el("span", { class: "tx" }, deep ? el("span", { class: "in", style: `width:${deep / 4}ch` }, " ".repeat(deep)) : null, parts),
      mark && mark.end ? el("span", { class: "end" }, mark.end) : null);
  }

  /* Light lines: index -> "lit" or "pin". */
  light(lines) {
    for (const at of this.lit.keys()) if (!lines.has(at)) this.mark(at, "");
    for (const [at, kind] of lines) if (this.lit.get(at) !== kind) this.mark(at, kind);
    this.lit = lines;
    this.drawStrip();
  }

  mark(at, kind) {
    const node = this.shown.get(at);
    if (!node) return;
    node.classList.toggle("lit", kind === "lit");
    node.classList.toggle("pin", kind === "pin");
  }

  drawStrip() {
    const height = this.code.clientHeight;
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
    context.fillRect(2, this.code.scrollTop / LINE_HEIGHT / whole * height, 5, Math.max(6, height / LINE_HEIGHT / whole * height));
    context.globalAlpha = 1;
    context.fillStyle = css("--lit-edge");
    for (const at of this.lit.keys()) context.fillRect(1, at / whole * height, 7, Math.max(2, height / whole));
  }

  toLine(at, gently) {
    const top = at * LINE_HEIGHT;
    if (gently && top >= this.code.scrollTop && top < this.code.scrollTop + this.code.clientHeight - LINE_HEIGHT) return;
    this.code.scrollTop = Math.max(0, top - this.code.clientHeight / 3);
  }

  close() { this.watch.disconnect(); PANES.delete(this); }
}

function closePanes() { for (const pane of [...PANES]) pane.close(); }

let CSS_CACHE = new Map();
function css(name) {
  if (!CSS_CACHE.has(name)) CSS_CACHE.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return CSS_CACHE.get(name);
}

window.addEventListener("beforeprint", () => { for (const pane of PANES) pane.draw(true); });
window.addEventListener("afterprint", () => { for (const pane of PANES) pane.draw(); });
