// The card beside a mark of a drawing or a cell of a table: what it stands for, in words.

const card = element("div", { class: "card", role: "group", "aria-label": "Details", hidden: "" });
document.body.append(card);

/** The mark whose card stays open until it is closed. */
let pinned = null;

/** Shows a card with some lines beside a mark. */
function openCard(mark, lines) {
  const hint = element("p", { class: "soft hint" }, "Click or press Enter to keep this card open.");
  card.replaceChildren(...lines, pinned ? closer() : hint);
  card.hidden = false;
  placeCard(mark);
}

/** Keeps the card of a mark open. */
function pinCard(mark, lines) {
  pinned = mark;
  openCard(mark, lines);
}

function closer() {
  return button("×", { class: "close", "aria-label": "Close" }, hideCard);
}

/** Puts the card beside a mark, within the window. */
function placeCard(mark) {
  const [place, size] = [mark.getBoundingClientRect(), card.getBoundingClientRect()];
  const right = place.right + 8;
  const left = right + size.width < innerWidth ? right : Math.max(4, place.left - size.width - 8);
  card.style.left = `${Math.max(4, Math.min(left, innerWidth - size.width - 4))}px`;
  card.style.top = `${Math.max(4, Math.min(place.top, innerHeight - size.height - 4))}px`;
}

function hideCard() {
  const mark = pinned;
  pinned = null;
  // The focus goes back to the mark, which would show its card again.
  mark?.focus();
  card.hidden = true;
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideCard();
});
addEventListener("pointerdown", (event) => {
  if (pinned && !card.contains(event.target) && !event.target.closest?.("[data-answers]")) hideCard();
});
addEventListener("scroll", () => {
  if (!pinned) card.hidden = true;
});
