"use strict";
// Every column sorts its table: a button in its heading, so that a keyboard reaches it. Without a script nothing is lost.
function makeSortable(table) {
  const rows = [...table.tBodies[0].rows];
  const headings = [...table.tHead.rows[0].cells];
  if (rows.length < 2) return;

  function sort(heading) {
    const place = headings.indexOf(heading);
    const cells = rows.map((row) => row.cells[place]);
    const numbers = cells.some((cell) => "value" in cell.dataset);
    const orders = numbers ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
    const order = orders[(orders.indexOf(heading.ariaSort) + 1) % orders.length];
    for (const other of headings) other.ariaSort = other === heading ? order : "none";
    const compare = numbers
      ? (a, b) => a.dataset.value - b.dataset.value
      : (a, b) => a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
    const sign = order === "descending" ? -1 : 1;
    // What has no number stays last, whichever way.
    const [last, sorted] = [true, false].map((none) => cells.filter((cell) => (numbers && !("value" in cell.dataset)) === none));
    if (order === "none") table.tBodies[0].append(...rows);
    else table.tBodies[0].append(...[...sorted.sort((a, b) => sign * compare(a, b)), ...last].map((cell) => cell.parentNode));
  }

  for (const heading of headings) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(heading));
    heading.append(button);
    heading.ariaSort = "none";
  }
}
document.querySelectorAll("table").forEach(makeSortable);

