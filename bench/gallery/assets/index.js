// Filters and sorts the rows of the table; the rows themselves are in the page.
"use strict";
const rows = [...document.querySelectorAll("tbody tr")];
const chosen = { variant: document.getElementById("variant"), family: document.getElementById("family"), status: document.getElementById("status") };
const words = document.getElementById("words");
const shown = document.getElementById("shown");

function filter() {
  const text = words.value.trim().toLowerCase();
  let count = 0;
  for (const row of rows) {
    const fits = Object.entries(chosen).every(([key, select]) => !select.value || row.dataset[key] === select.value);
    row.hidden = !(fits && (!text || row.textContent.toLowerCase().includes(text)));
    count += !row.hidden;
  }
  shown.textContent = `${count} of ${rows.length} trials`;
}

function sort(head) {
  const place = [...head.parentNode.children].indexOf(head);
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => row.children[place].dataset.value ?? row.children[place].textContent;
  const compare = (one, other) => value(one).localeCompare(value(other), undefined, { numeric: true });
  rows.sort((one, other) => (down ? compare(other, one) : compare(one, other)));
  document.querySelector("tbody").append(...rows);
}

for (const control of [words, ...Object.values(chosen)]) control.addEventListener("input", filter);
for (const head of document.querySelectorAll("th")) head.firstChild.addEventListener("click", () => sort(head));
filter();
