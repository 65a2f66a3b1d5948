// Marks that carry a title: drawings without a figure's tools, and cells of tables whose colours stand for numbers.

/** What a title says, below what the mark is about. */
function titleLines(title) {
  const [first, ...rest] = title.split("\n");
  return [element("b", {}, first), ...rest.map((line) => element("p", {}, line))];
}

/** Lets the titled marks of a drawing answer. The browser's own tooltips would stand beside the cards. */
function answerTitles(chart) {
  const marks = [...chart.querySelectorAll("title")].map((title) => {
    const mark = title.parentElement;
    mark.dataset.title = title.textContent;
    title.remove();
    return mark;
  });
  if (marks.length === 0) return;
  chart.setAttribute("role", "group");
  for (const mark of marks) mark.setAttribute("role", "img");
  answer(marks, { lines: (mark) => titleLines(mark.dataset.title), name: (mark) => mark.dataset.title });
}

/** Lets the titled cells of a table answer. */
function answerCells(table) {
  const cells = [...table.querySelectorAll("td[title]")];
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
  for (const cell of cells) {
    const row = cell.parentElement.cells[0].firstChild.textContent.trim();
    cell.dataset.title = `${row}, ${heads[cell.cellIndex]}: ${cell.textContent.trim()}\n${cell.title}`;
    cell.removeAttribute("title");
  }
  answer(cells, { lines: (cell) => titleLines(cell.dataset.title), name: (cell) => cell.dataset.title });
}

document.querySelectorAll("svg:not(.sample)").forEach((chart) => {
  if (!chart.closest(".block")) answerTitles(chart);
});
document.querySelectorAll("table.heat").forEach(answerCells);
