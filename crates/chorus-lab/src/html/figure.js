// A figure: its chart, its data, and what its reader has chosen to see.

class FigureView {
  constructor(block, figure) {
    this.block = block;
    this.figure = figure;
    this.chart = block.querySelector("svg.chart:not(.sample)");
    this.parts = figure.parts.length;
    this.frames = [...this.chart.querySelectorAll(".frame")].map(frameOf);
    this.hidden = new Set();
    this.order = "paper";
    this.isLogarithmic = false;
    this.marks = marksOf(this);
    this.groups = [...this.chart.querySelectorAll(".group")].map((node) => groupOf(this, node));
  }

  /** The data of the bar that an element of the chart belongs to. */
  barOf(node) {
    const place = node.closest("[data-bar]")?.dataset.bar;
    return place ? this.barAt(place) : undefined;
  }

  barAt(place) {
    const [group, series] = place.split(".").map(Number);
    return this.figure.groups[group].bars[series];
  }

  isHidden(kind, index) {
    return this.hidden.has(`${kind} ${index}`);
  }

  /** Where a part of a bar begins and ends, with the parts that are shown below it. */
  extent(bar, part) {
    const shown = bar.parts.map((value, index) => (this.isHidden("part", index) ? 0 : value));
    const below = shown.slice(0, part).reduce((sum, value) => sum + value, 0);
    return [below, below + shown[part]];
  }

  /** The greatest value that belongs to a bar: its height, or that of a seed. */
  top(bar) {
    const height = this.extent(bar, bar.parts.length - 1)[1];
    return Math.max(height, ...(this.parts > 0 ? [] : bar.seeds));
  }

  /** Every value that can be seen. */
  values() {
    const shown = [...this.chart.querySelectorAll("[data-bar]")].filter((node) => !node.closest("[hidden]"));
    const bars = shown.map((node) => this.barOf(node)).filter((bar) => bar.parts.length > 0);
    const stated = bars.flatMap((bar) => bar.stated);
    const marked = stated.filter((it) => !this.hidden.has(it.beside === null ? "stated" : "implied"));
    return [...bars.map((bar) => this.top(bar)), ...marked.map((it) => it.value)];
  }

  /** Hides or shows what a name in the legend stands for. */
  toggle(shows) {
    if (!this.hidden.delete(shows)) this.hidden.add(shows);
    const [kind, index] = shows.split(" ");
    for (const node of this.chart.querySelectorAll(SELECTORS[kind](index ?? 0))) {
      node.toggleAttribute("hidden", this.hidden.has(shows));
    }
    this.draw();
  }

  /** Draws the chart as it is chosen now. */
  draw() {
    placeGroups(this);
    const scale = this.scale();
    for (const frame of this.frames) drawTicks(frame, scale);
    for (const { frame, place } of this.marks) place((value) => yOf(frame, scale, value));
  }

  scale() {
    const values = this.values();
    const unity = this.figure.is_relative ? [1] : [];
    const highest = Math.max(...values, ...unity, this.isLogarithmic ? 0 : 1e-9);
    const positive = [...values, ...unity].filter((value) => value > 0);
    if (this.isLogarithmic && positive.length > 0) return logScale(Math.min(...positive) * 0.9, highest * 1.1);
    // Bars stand on zero; lines need none.
    const low = this.figure.chart === "lines" ? Math.min(...values, ...unity) * 0.95 : 0;
    return linearScale(low, highest * ROOM);
  }
}

/** The room above the highest bar, for its number. */
const ROOM = 1.14;

/** The elements that a name in the legend stands for. */
const SELECTORS = {
  series: (index) => `.bar[data-bar$=".${index}"]`,
  part: (index) => `.part[data-part="${index}"]`,
  line: (index) => `.line-of[data-line="${index}"]`,
  stated: () => "g:has(> .stated:not(.implied))",
  implied: () => "g:has(> .implied)",
};

/** Makes a button of each name of the legend that can be hidden. */
function addToggles(view) {
  for (const entry of view.block.querySelectorAll(".names > li[data-shows]")) {
    const toggle = button("", { "aria-pressed": "true", title: "Hide or show" }, () => {
      view.toggle(entry.dataset.shows);
      toggle.setAttribute("aria-pressed", String(!view.hidden.has(entry.dataset.shows)));
    });
    toggle.append(...entry.childNodes);
    entry.append(toggle);
  }
}
