// Tables whose rows a click on a header sorts, and the search over runs.

/** A table with fewer rows is read at once. */
const ROWS_WORTH_SAVING = 4;

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
  // Means stay below what they are taken over.
  const [means, rows] = [true, false].map((mean) =>
    [...table.tBodies[0].rows].filter((row) => row.classList.contains("mean") === mean),
  );
  rows.sort((a, b) => direction * compareValues(cellValue(a, column), cellValue(b, column)));
  table.tBodies[0].append(...rows, ...means);
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const words = [...header.childNodes];
    const sorter = button("", { class: "sorter" }, () => sortBy(table, column));
    sorter.append(...words);
    header.append(sorter);
  });
}

/** The rows of a table as texts, its headers first. */
function textsOf(table) {
  const rows = [...table.tHead.rows, ...table.tBodies[0].rows];
  return rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim().replaceAll("\n", " ")));
}

/** The heading that a table stands below. */
function headingOf(table) {
  const before = [...document.querySelectorAll("h1, h2, h3")].filter(
    (heading) => heading.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING,
  );
  return before.at(-1)?.firstChild?.textContent ?? document.title;
}

/** A button that saves a table, unless it belongs to a figure, which has its own. */
function addSaving(table) {
  if (table.closest(".block") || table.tBodies[0].rows.length < ROWS_WORTH_SAVING) return;
  const name = `${headingOf(table).trim().replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase()}.csv`;
  const label = `Download the table as CSV: ${name}`;
  const tool = button("CSV", { "aria-label": label }, () => save(name, "text/csv", csvText(textsOf(table))));
  (table.closest(".scroll") ?? table).before(element("div", { class: "tools" }, tool));
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

document.querySelectorAll("table:has(> thead)").forEach((table) => {
  makeSortable(table);
  addSaving(table);
});
document.querySelectorAll("details.runs").forEach(addSearch);
addEventListener("hashchange", revealTarget);
revealTarget();
