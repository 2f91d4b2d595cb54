/* The picture of a graph: layers from inputs to outputs, drawn on a canvas. */

let stopPicture = () => {};
function drawPicture(view) { clear(view.body); view.body.append(el("div", { class: "empty" }, "")); }
