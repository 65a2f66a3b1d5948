// Marks that answer to pointer and keyboard: each shows its card, and arrow keys go from one to the next.

/** The keys that move from mark to mark, with the step that each makes. */
const STEPS_OF_KEYS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

/** The keys that move from row to row of a table, with the step that each makes. */
const ROWS_OF_KEYS = { ArrowDown: 1, ArrowUp: -1 };

/**
 * Makes marks answer. `lines` makes the content of a mark's card, `name` is what a screen reader says, and `shown`
 * lists the marks that can be seen, in their order.
 */
function answer(marks, { lines, name, shown = () => marks }) {
  marks.forEach((mark, index) => {
    mark.dataset.answers = "";
    mark.setAttribute("tabindex", index === 0 ? "0" : "-1");
    mark.setAttribute("aria-label", name(mark));
    const show = () => pinned ?? openCard(mark, lines(mark));
    const leave = () => (card.hidden = !pinned);
    mark.addEventListener("pointerenter", show);
    mark.addEventListener("focus", show);
    mark.addEventListener("pointerleave", leave);
    mark.addEventListener("blur", leave);
    mark.addEventListener("click", () => pinCard(mark, lines(mark)));
    mark.addEventListener("keydown", (event) => {
      const next = marksAfter(mark, event.key, shown);
      if (next) {
        event.preventDefault();
        focusMark(marks, next);
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        pinCard(mark, lines(mark));
        card.querySelector("a, button")?.focus();
      }
    });
  });
}

/** The mark that a key leads to. */
function marksAfter(mark, key, shown) {
  if (key in STEPS_OF_KEYS) {
    const order = shown();
    return order[Math.max(0, Math.min(order.length - 1, order.indexOf(mark) + STEPS_OF_KEYS[key]))];
  }
  if (!(key in ROWS_OF_KEYS) || mark.localName !== "td") return undefined;
  const rows = [...mark.closest("tbody").rows];
  for (let at = rows.indexOf(mark.parentElement) + ROWS_OF_KEYS[key]; rows[at]; at += ROWS_OF_KEYS[key]) {
    const cell = rows[at].cells[mark.cellIndex];
    if (cell && "answers" in cell.dataset) return cell;
  }
  return undefined;
}

/** Moves the focus; only one of the marks is a stop of the Tab key. */
function focusMark(marks, mark) {
  for (const other of marks) other.setAttribute("tabindex", other === mark ? "0" : "-1");
  mark.focus();
}
