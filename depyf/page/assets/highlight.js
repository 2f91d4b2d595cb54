/* Highlighting of Python, and of the C++ and Triton inside the modules that Inductor writes, line by line.
   A line begins in a state: "" code, a quote of three for a string, "cpp" or "cpp*" in a C++ kernel (the second in a
   comment), "triton" in a Triton kernel, which is Python in a string. */

const PY_KEYWORDS = new Set("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield".split(" "));
const CPP_KEYWORDS = new Set("auto bool break case catch char class const constexpr continue default delete do double else enum extern false float for if inline int int32_t int64_t long namespace new nullptr operator return short signed sizeof static static_cast struct switch template this true try typedef typename unsigned using void while".split(" "));
const PY_TOKEN = /(#.*)|([rbfuRBFU]{0,2}(?:'''|"""))|([rbfuRBFU]{0,2}(?:'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?))|(@[\w.]+)|((?:0[xXbBoO][\da-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?)[jJ]?)|([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)|(\s+)|([^])/y;
const CPP_TOKEN = /(\/\/.*)|(\/\*)|(#\w+)|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|((?:0[xX][\da-fA-F]+|(?:\d*\.)?\d+(?:[eE][+-]?\d+)?)[fFlLuU]*)|([A-Za-z_]\w*)|(\s+)|([^])/y;

/* The state in which each line begins, read as far as somebody asks. */
class LineStates {
  constructor(lines) { this.lines = lines; this.states = [""]; }

  at(number) {
    const { lines, states } = this;
    for (let line = states.length - 1; line < number; line++) {
      states.push(mayEnd(states[line], lines[line]) ? tokensOf(lines[line], states[line]).state : states[line]);
    }
    return states[number];
  }
}

/* Whether the next line may begin in another state: most lines are only read when they come in sight. */
function mayEnd(state, line) {
  if (state === "" || state === "triton") return line.includes("'''") || line.includes('"""');
  if (state === "cpp" || state === "cpp*") return line.startsWith("'''") || line.includes(state === "cpp" ? "/*" : "*/");
  return line.includes(state);
}

function tokensOf(line, state) {
  const tokens = [];
  if (state === "cpp" || state === "cpp*") return cppTokens(line, state, tokens);
  let at = 0;
  let current = state;
  if (current === "'''" || current === '"""') {
    const end = line.indexOf(current);
    if (end < 0) return { tokens: [["s", line]], state };
    tokens.push(["s", line.slice(0, end + 3)]);
    at = end + 3;
    current = "";
  }
  let before = "";
  while (at < line.length) {
    PY_TOKEN.lastIndex = at;
    const found = PY_TOKEN.exec(line);
    const text = found[0];
    at += text.length;
    if (found[1] !== undefined) tokens.push(["c", text]);
    else if (found[2] !== undefined) {
      const quote = text.slice(-3);
      if (current === "triton" && quote === "'''") { tokens.push(["s", text]); current = ""; continue; }
      const rest = line.slice(at);
      if (quote === "'''" && !rest.includes(quote) && /async_compile\.\w+\(/.test(line)) {
        tokens.push(["s", text]);
        if (rest) tokens.push(["", rest]);
        return { tokens, state: /async_compile\.(?:cpp|halide|cuda|rocm|metal)/.test(line) ? "cpp" : "triton" };
      }
      const end = rest.indexOf(quote);
      if (end < 0) { tokens.push(["s", text + rest]); return { tokens, state: current === "triton" ? "triton" : quote }; }
      tokens.push(["s", text + rest.slice(0, end + 3)]);
      at += end + 3;
    } else if (found[3] !== undefined) tokens.push(["s", text]);
    else if (found[4] !== undefined) tokens.push(before.trim() ? ["", text] : ["d", text]);
    else if (found[5] !== undefined) tokens.push(["n", text]);
    else if (found[6] !== undefined) {
      const previous = before.trim();
      let kind = "";
      if (PY_KEYWORDS.has(text)) kind = "k";
      else if (previous === "def" || previous === "class") kind = "d";
      else if (text === "self" || text === "cls") kind = "b";
      else if (line[at] === "(") kind = "f";
      tokens.push([kind, text]);
    } else tokens.push(["", text]);
    if (text.trim()) before = text;
  }
  return { tokens, state: current };
}

function cppTokens(line, state, tokens) {
  let at = 0;
  let current = state;
  if (line.startsWith("'''")) { tokens.push(["s", "'''"]); const rest = tokensOf(line.slice(3), ""); return { tokens: tokens.concat(rest.tokens), state: rest.state }; }
  while (at < line.length) {
    if (current === "cpp*") {
      const end = line.indexOf("*/", at);
      const stop = end < 0 ? line.length : end + 2;
      tokens.push(["c", line.slice(at, stop)]);
      at = stop;
      if (end >= 0) current = "cpp";
      continue;
    }
    CPP_TOKEN.lastIndex = at;
    const found = CPP_TOKEN.exec(line);
    const text = found[0];
    if (found[2] !== undefined) { current = "cpp*"; continue; }
    at += text.length;
    if (found[1] !== undefined) tokens.push(["c", text]);
    else if (found[3] !== undefined) tokens.push(["d", text]);
    else if (found[4] !== undefined) tokens.push(["s", text]);
    else if (found[5] !== undefined) tokens.push(["n", text]);
    else if (found[6] !== undefined) tokens.push([CPP_KEYWORDS.has(text) ? "k" : line[at] === "(" || line[at] === "<" ? "f" : "", text]);
    else tokens.push(["", text]);
  }
  return { tokens, state: current };
}

function tokenNodes(tokens) {
  const nodes = [];
  let plain = "";
  for (const [kind, text] of tokens) {
    if (!kind) { plain += text; continue; }
    if (plain) { nodes.push(visible(plain)); plain = ""; }
    const span = document.createElement("span"); // a page has thousands of them: no more than this
    span.className = kind;
    span.textContent = visible(text);
    nodes.push(span);
  }
  if (plain) nodes.push(visible(plain));
  return nodes;
}

/* One line of Python, or an expression. */
function highlighted(text) { return tokenNodes(tokensOf(text.replace(/\n/g, " "), "").tokens); }
