// The bars of a figure in the order in which arrow keys go from one to the next.

/** Bars and points that something is drawn for. A dashed mean has no points of its own. */
const BARS = "[data-bar]:has(rect, path, text)";

/** The bars that are shown, from left to right. */
function shownBars(view) {
  const bars = [...view.chart.querySelectorAll(BARS)].filter((bar) => !bar.closest("[hidden]"));
  const rows = new Map(bars.map((bar) => [bar, bar.getBoundingClientRect()]));
  const frames = new Map(bars.map((bar) => [bar, bar.closest(".group")?.getCTM().f ?? 0]));
  return bars.sort((a, b) => frames.get(a) - frames.get(b) || rows.get(a).left - rows.get(b).left);
}

/** Makes the bars of a chart answer to pointer and keyboard. */
function addBars(view) {
  // The drawing's own titles would show a second tooltip.
  for (const title of view.chart.querySelectorAll("title")) title.remove();
  view.chart.setAttribute("role", "group");
  const bars = [...view.chart.querySelectorAll(BARS)];
  for (const bar of bars) bar.setAttribute("role", "img");
  const lines = (bar) => barLines(view, bar);
  answer(bars, { lines, name: (bar) => spokenBar(view, bar), shown: () => shownBars(view) });
}
