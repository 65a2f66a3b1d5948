// A sequence that a reader steps through, event by event.

class Stepper {
  constructor(place) {
    this.shown = 1;
    this.chart = new SequenceChart(data.columns);
    this.position = element("output", {});
    this.end = element("p", { class: "bad", hidden: "" }, data.end);
    const tools = element(
      "div",
      { class: "tools", role: "toolbar", "aria-label": "Steps" },
      button("First", { "data-tool": "first" }, () => this.go(1)),
      button("Back", { "data-tool": "back" }, () => this.go(this.shown - 1)),
      button("Next", { "data-tool": "next" }, () => this.go(this.shown + 1)),
      button("Last", { "data-tool": "last" }, () => this.go(data.rows.length)),
      this.position,
    );
    place.replaceChildren(tools, this.chart.node, this.end);
    addEventListener("keydown", (event) => {
      if (event.key === "ArrowRight") this.go(this.shown + 1);
      if (event.key === "ArrowLeft") this.go(this.shown - 1);
    });
    this.go(1);
  }

  /** Shows so many events. */
  go(count) {
    this.shown = Math.max(Math.min(1, data.rows.length), Math.min(data.rows.length, count));
    const rows = data.rows.slice(0, this.shown);
    this.chart.show(rows);
    this.position.textContent = `${this.shown} of ${data.rows.length}`;
    this.end.hidden = this.shown < data.rows.length;
    if (rows.length > 0) say(rows.at(-1).label);
  }
}

new Stepper(document.getElementById("steps"));
