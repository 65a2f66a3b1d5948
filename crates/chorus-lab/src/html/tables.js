// Tables whose rows a click on a header sorts, and the search over runs.

/** The value of a cell: a number where its text is one, so that 9 stands before 10. */
function cellValue(row, column) {
  const text = row.cells[column]?.textContent.trim() ?? "";
  const number = Number(text.replace(/[,%]| \(.*\)$/g, ""));
  return text !== "" && Number.isFinite(number) ? number : text;
}

function compareValues(a, b) {
  if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
  return typeof a === "number" ? -1 : 1;
}

function sortBy(table, column) {
  const header = table.tHead.rows[0].cells[column];
  const direction = header.ariaSort === "ascending" ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.ariaSort = direction === 1 ? "ascending" : "descending";
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => direction * compareValues(cellValue(a, column), cellValue(b, column)));
  table.tBodies[0].append(...rows);
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const words = [...header.childNodes];
    const sorter = button("", { class: "sorter" }, () => sortBy(table, column));
    sorter.append(...words);
    header.append(sorter);
  });
}

/** A field that shows the rows of a table which have all of its words. */
function addSearch(section) {
  const table = section.querySelector("table");
  const found = element("output", { class: "soft" });
  const hint = "workload, protocol, result …";
  const field = element("input", { type: "search", placeholder: hint, "aria-label": "Search runs" });
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      shown += row.hidden ? 0 : 1;
    }
    section.open = true;
    found.textContent = words.length > 0 ? `${shown} of ${table.tBodies[0].rows.length} runs` : "";
  });
  section.before(element("p", { class: "search" }, field, " ", found));
}

/** Opens what hides the target of a link, so that the browser can go there. */
function revealTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const closed = target?.closest("details:not([open])");
  if (!closed) return;
  closed.open = true;
  target.scrollIntoView();
}

document.querySelectorAll("table:has(> thead)").forEach(makeSortable);
document.querySelectorAll("details.runs").forEach(addSearch);
addEventListener("hashchange", revealTarget);
revealTarget();
