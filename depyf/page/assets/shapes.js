/* The ledger of dynamic shapes: each symbol, which size it is, what is asked of it, and what it was compiled for before. */

function showShapes(main) {
  put(main, el("h1", {}, "Dynamic shapes"));
  if (!DATA.shapes.length) { put(main, el("p", { class: "dim" }, "All sizes are fixed: no input of a graph has a symbol, and none had one while torch traced.")); return; }
  put(main, el("p", { class: "dim" }, "Symbols in the inputs of graphs: one compiled version serves all sizes that fit its guards. A symbol that became a number while torch traced has the line that asked for it: the version serves that size alone."),
    el("div", { class: "card scroll" }, table(["Symbol", "Is", "Graph", "Guards", "Compiled before for"], DATA.shapes, (one) => [
      el("b", { class: "mono" }, one.symbol),
      one.uses.length ? one.uses.map((use) => el("div", {}, el("code", {}, highlighted(use)))) : el("span", { class: "faint" }, "a number that is passed in"),
      [one.graph ? link(graphHash(one.graph), el("code", {}, one.graph)) : "", functionOf(one.function) ? el("div", { class: "small" }, link(functionHash(one.function, { v: one.compile_id }), `${functionOf(one.function).name} ${one.compile_id}`)) : ""],
      one.value ? [tag("warn", `became ${one.value}`), " ", one.at ? [placeNode(one.at), " ", snippet(one.at)] : el("span", { class: "faint" }, "at no line of yours")] : one.guards.length ? one.guards.map(([condition, place]) => el("div", {}, el("code", {}, highlighted(condition)), place ? el("span", { class: "faint small" }, ` ${placeText(place)}`) : "")) : el("span", { class: "faint" }, "none"),
      one.before.map((before) => el("div", { class: "diff" }, el("span", { class: "who" }, before.version), el("span", { class: "was" }, `− ${before.condition}`), el("span", { class: "who" }, one.compile_id), el("span", { class: "now" }, `+ ${before.now || "another"}`)))])));
}
