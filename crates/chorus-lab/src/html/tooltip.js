// The card beside a bar: its value, its seeds, the paper's number, and the runs behind it with their commands.

const card = element("div", { class: "card", role: "group", "aria-label": "Bar", hidden: "" });
document.body.append(card);

/** The bar whose card stays open until it is closed. */
let pinned = null;

/** Shows the card of a bar. */
function showCard(view, node) {
  const bar = view.barOf(node);
  const title = titleOf(view, node);
  const lines = [element("b", {}, title), ...valueLines(view, bar)];
  const runs = bar.runs.map((run) => runLine(data.runs[run]));
  const base = bar.base.map((run) => runLine(data.runs[run], "relative to "));
  const end = pinned ? closer() : element("p", { class: "soft hint" }, "Click or press Enter to keep this card open.");
  card.replaceChildren(...lines, ...runs, ...base, end);
  card.hidden = false;
  placeCard(node);
}

function titleOf(view, node) {
  const [group, series] = node.dataset.bar.split(".").map(Number);
  return `${view.figure.groups[group].label}, ${view.figure.series[series]}`;
}

/** The text that a screen reader says for a bar. */
function spokenBar(view, node) {
  const words = valueLines(view, view.barOf(node)).map((line) => line.textContent);
  return `${titleOf(view, node)}: ${words.join("; ")}`;
}

function valueLines(view, bar) {
  if (bar.parts.length === 0) return [element("p", {}, `no bar: ${bar.missing}`)];
  const total = bar.parts.reduce((sum, value) => sum + value, 0);
  const lines = [element("p", {}, `${exact(total)} ${view.figure.axis}`)];
  if (view.parts > 0) {
    const parts = view.figure.parts.map((part, index) => `${part} ${exact(bar.parts[index])}`);
    lines.push(element("p", { class: "soft" }, parts.join(", ")));
  }
  if (bar.seeds.length > 1) {
    const [least, greatest] = [Math.min(...bar.seeds), Math.max(...bar.seeds)];
    lines.push(element("p", { class: "soft" }, `${bar.seeds.length} seeds: ${exact(least)} to ${exact(greatest)}`));
  }
  for (const stated of bar.stated) {
    const link = element("a", { href: `#claim-${stated.claim}` }, stated.claim);
    const words = stated.beside === null ? "in the paper" : `by the paper's quotient with ${stated.beside}`;
    lines.push(element("p", {}, `${exact(stated.value)} ${words}, claim `, link));
  }
  return lines;
}

function runLine(run, before = "") {
  const cycles = run.cycles === null ? run.status : `${run.cycles.toLocaleString("en")} cycles`;
  const link = element("a", { href: `#run-${run.index}` }, `${before}${run.protocol}, seed ${run.seed}`);
  const changes = run.changes ? `, ${run.changes}` : "";
  return element(
    "div",
    { class: "run" },
    link,
    `: ${cycles}${changes}, configuration ${run.config.slice(0, 8)}`,
    element("code", {}, run.command),
    button("Copy", { "aria-label": "Copy the command" }, () => copy(run.command)),
  );
}

/** Copies a text where the browser allows it; the text can be selected in any case. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("copied");
  } catch {
    say("the browser does not allow copying; select the text");
  }
}

function closer() {
  return button("×", { class: "close", "aria-label": "Close" }, hideCard);
}

/** Puts the card beside a bar, within the window. */
function placeCard(node) {
  const [bar, size] = [node.getBoundingClientRect(), card.getBoundingClientRect()];
  const right = bar.right + 8;
  const left = right + size.width < innerWidth ? right : Math.max(4, bar.left - size.width - 8);
  card.style.left = `${Math.max(4, Math.min(left, innerWidth - size.width - 4))}px`;
  card.style.top = `${Math.max(4, Math.min(bar.top, innerHeight - size.height - 4))}px`;
}

function hideCard() {
  const bar = pinned;
  pinned = null;
  // The focus goes back to the bar, which would show its card again.
  bar?.focus();
  card.hidden = true;
}

function pinCard(view, node) {
  pinned = node;
  showCard(view, node);
}

/** A number with as many digits as tell bars apart. */
function exact(value) {
  return String(Number(value.toPrecision(5)));
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideCard();
});
addEventListener("pointerdown", (event) => {
  if (pinned && !card.contains(event.target) && !event.target.closest?.("[data-bar]")) hideCard();
});
addEventListener("scroll", () => {
  if (!pinned) card.hidden = true;
});
