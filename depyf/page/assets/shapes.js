/* The ledger of dynamic shapes. */

function showShapes(main) {
  put(main, el("h1", {}, "Dynamic shapes"));
  if (!DATA.shapes || !DATA.shapes.length) put(main, el("p", { class: "dim" }, "All sizes are fixed: no graph has a symbol."));
}
