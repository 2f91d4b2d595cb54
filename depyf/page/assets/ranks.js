/* The processes of a program, side by side; what ranks did not do alike comes first. */

function showRanks(main) {
  put(main, el("h1", {}, DATA.differences.length ? `${count(DATA.differences.length, "thing")} that the ranks did not do alike` : "All processes compiled the same"));
  for (const one of DATA.differences) put(main, differenceCard(one));
  const rows = DATA.processes;
  put(main, section("processes", "Processes", count(rows.length, "process", "processes"), el("div", { class: "card scroll" },
    table(["Folder", "#Rank", "#Functions", "#Versions", "#Graphs", "#Breaks", "#Problems", "Ended"], rows, (one) => [
      one.folder === "." ? link("#/", "this one") : one.page ? el("a", { href: one.page.split("/").map(encodeURIComponent).join("/") }, one.folder) : el("span", { title: "no page: depyf report makes it of this folder" }, one.folder),
      one.rank === null ? "" : one.rank, one.functions, one.versions, one.graphs, number(one.breaks, "bad"), number(one.problems, "warn"),
      [one.complete ? "yes" : tag("bad", "no: killed, or still running"), one.alike ? el("span", { class: "faint small" }, ` and ${one.alike} more like it`) : ""]]))));
}

function differenceCard(one) {
  const title = one.function ? `${one.kind}: ${one.function}${one.version === null ? "" : `, version ${one.version}`}` : one.kind;
  return el("section", { class: "section" }, el("div", { class: "head" }, el("h2", {}, title), el("span", { class: "dim small mono" }, one.place)),
    el("p", {}, one.text),
    el("div", { style: "display:grid;grid-template-columns:repeat(auto-fit,minmax(260px,1fr));gap:10px" }, one.views.map((view) => el("div", { class: "card", style: "padding:12px 14px" },
      el("b", {}, rankNames(view.ranks)), el("pre", { class: "block" }, view.what), view.why.map((reason) => el("p", { class: "dim small" }, reason))))));
}

function rankNames(ranks) {
  if (ranks.length === 1) return `rank ${ranks[0]}`;
  const parts = [];
  let from = 0;
  for (let at = 1; at <= ranks.length; at++) {
    if (at === ranks.length || ranks[at] !== ranks[at - 1] + 1) { parts.push(at - from > 2 ? `${ranks[from]}–${ranks[at - 1]}` : ranks.slice(from, at).join(", ")); from = at; }
  }
  return `ranks ${parts.join(", ")}`;
}
