// Counters over time: one cursor goes through all charts at once, and each chart says what it shows there.

/** A chart of a counter, with the plot that its cursor moves in. */
function seriesOf(figure) {
  const chart = figure.querySelector("svg");
  const frame = frameOf(chart.querySelector(".frame"));
  const key = figure.dataset.counter;
  return { chart, frame, key, says: figure.querySelector("output"), cursor: chart.querySelector(".cursor") };
}

/** The sides of the plot of a chart. */
function frameOf(node) {
  const [left, right] = node.dataset.frame.split(" ").map(Number);
  return { left, right };
}

function setUpSeries({ ends, counters }) {
  const views = [...document.querySelectorAll("figure.series")].map(seriesOf);
  const [last, begins] = [ends.at(-1), [0, ...ends]];
  // The axis ends at a round number of cycles behind the last interval.
  const end = Number(views[0]?.chart.querySelector("[data-axis-end]").dataset.axisEnd);
  let at = 0;

  /** Puts the cursor of all charts into an interval. */
  const point = (interval) => {
    at = Math.max(0, Math.min(ends.length - 1, interval));
    const middle = (begins[at] + ends[at]) / 2;
    for (const { frame, cursor, says, key } of views) {
      const x = frame.left + (middle / end) * (frame.right - frame.left);
      for (const name of ["x1", "x2"]) cursor.setAttribute(name, x);
      cursor.classList.add("shown");
      const [from, until] = [begins[at], ends[at]].map((cycle) => cycle.toLocaleString("en"));
      says.textContent = `${counters[key][at].toLocaleString("en")} in cycles ${from} to ${until}`;
    }
  };

  /** The interval below a place on the screen. */
  const intervalAt = ({ chart, frame }, clientX) => {
    const box = chart.getBoundingClientRect();
    const x = ((clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    const cycle = ((x - frame.left) / (frame.right - frame.left)) * end;
    const found = ends.findIndex((interval) => cycle < interval);
    return found < 0 || cycle > last ? ends.length - 1 : found;
  };

  for (const view of views) {
    view.chart.setAttribute("tabindex", "0");
    view.chart.addEventListener("pointermove", (event) => point(intervalAt(view, event.clientX)));
    view.chart.addEventListener("focus", () => point(at));
    view.chart.addEventListener("keydown", (event) => {
      if (!(event.key in STEPS_OF_KEYS)) return;
      event.preventDefault();
      point(at + STEPS_OF_KEYS[event.key]);
      say(`${view.key}: ${view.says.textContent}`);
    });
  }
  addSeriesTools(ends, counters);
}

/** A button that saves all counters, and a field that finds some among them. */
function addSeriesTools(ends, counters) {
  const keys = Object.keys(counters);
  const rows = ends.map((end, at) => [end, ...keys.map((key) => counters[key][at])]);
  const asCsv = () => save(`${data.name}-over-time.csv`, "text/csv", csvText([["end", ...keys], ...rows]));
  const field = element("input", { type: "search", placeholder: "counter …", "aria-label": "Search counters" });
  field.addEventListener("input", () => {
    for (const figure of document.querySelectorAll("figure.series")) {
      figure.hidden = !figure.dataset.counter.includes(field.value.trim().toLowerCase());
    }
    const others = document.querySelector("figure.series")?.parentElement.querySelector("details:has(figure.series)");
    if (others && field.value) others.open = true;
  });
  const label = "Download all counters over time as CSV";
  const tools = element("div", { class: "tools search" }, field, button("CSV", { "aria-label": label }, asCsv));
  document.getElementById("over-time").after(tools);
}

if (data.series) setUpSeries(data.series);
