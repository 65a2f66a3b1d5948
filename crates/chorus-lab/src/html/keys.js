// Bars that can be pointed at, and walked through with the arrow keys.

/** The keys that move from bar to bar, with the step that each makes. */
const STEPS_OF_KEYS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

/** Bars and points that something is drawn for. A dashed mean has no points of its own. */
const BARS = "[data-bar]:has(rect, path, text)";

/** The bars that are shown, from left to right. */
function shownBars(view) {
  const bars = [...view.chart.querySelectorAll(BARS)].filter((bar) => !bar.closest("[hidden]"));
  const rows = new Map(bars.map((bar) => [bar, bar.getBoundingClientRect()]));
  const frames = new Map(bars.map((bar) => [bar, bar.closest(".group")?.getCTM().f ?? 0]));
  return bars.sort((a, b) => frames.get(a) - frames.get(b) || rows.get(a).left - rows.get(b).left);
}

/** Moves the focus; only one bar of a chart is a stop of the Tab key. */
function focusBar(view, bar) {
  for (const other of view.chart.querySelectorAll('[data-bar][tabindex="0"]')) other.setAttribute("tabindex", "-1");
  bar.setAttribute("tabindex", "0");
  bar.focus();
}

function step(view, bar, by) {
  const bars = shownBars(view);
  const next = Math.max(0, Math.min(bars.length - 1, bars.indexOf(bar) + by));
  focusBar(view, bars[next]);
}

function onKey(view, bar, event) {
  if (event.key in STEPS_OF_KEYS) {
    event.preventDefault();
    step(view, bar, STEPS_OF_KEYS[event.key]);
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    pinCard(view, bar);
    card.querySelector("a, button")?.focus();
  }
}

/** Makes the bars of a chart answer to pointer and keyboard. */
function addBars(view) {
  // The drawing's own titles would show a second tooltip.
  for (const title of view.chart.querySelectorAll("title")) title.remove();
  view.chart.setAttribute("role", "group");
  view.chart.querySelectorAll(BARS).forEach((bar, index) => {
    bar.setAttribute("tabindex", index === 0 ? "0" : "-1");
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", spokenBar(view, bar));
    const show = () => pinned ?? showCard(view, bar);
    bar.addEventListener("pointerenter", show);
    bar.addEventListener("focus", show);
    bar.addEventListener("pointerleave", () => (card.hidden = !pinned));
    bar.addEventListener("blur", () => (card.hidden = !pinned));
    bar.addEventListener("click", () => pinCard(view, bar));
    bar.addEventListener("keydown", (event) => onKey(view, bar, event));
  });
}
