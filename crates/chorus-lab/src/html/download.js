// A figure as a file: its data as CSV, or its chart as SVG that needs no page around it.

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  link.click();
  // The browser reads the file after this turn.
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function fileName(view, ending) {
  return `${data.paper}-figure-${view.figure.id}.${ending}`;
}

const COLUMNS = ["group", "series", "part", "value", "least_seed", "greatest_seed", "paper", "commands"];

/** A row for each bar, or for each part of a stacked one. */
function rowsOf(figure) {
  return figure.groups.flatMap((group) =>
    group.bars.flatMap((bar, index) => {
      const stated = bar.stated.filter((it) => it.beside === null).map((it) => it.value).join(" ");
      const seeds = bar.seeds.length > 0 ? [Math.min(...bar.seeds), Math.max(...bar.seeds)] : ["", ""];
      const commands = bar.runs.map((run) => data.runs[run].command).join("; ");
      const row = (part, value) => [group.label, figure.series[index], part, value, ...seeds, stated, commands];
      if (bar.parts.length === 0) return [row("", bar.missing)];
      return bar.parts.map((value, part) => row(figure.parts[part] ?? "", value));
    }),
  );
}

function csvOf(figure) {
  const field = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  return [COLUMNS, ...rowsOf(figure)].map((row) => row.map(field).join(",") + "\n").join("");
}

/** The rules of the page's style sheets that are about charts, and the inks that they name. */
function chartStyle() {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const inks = ["--ink", "--soft", "--paper", "--rule"];
  const computed = getComputedStyle(document.documentElement);
  const values = inks.map((ink) => `${ink}:${computed.getPropertyValue(ink)}`).join(";");
  const ofCharts = rules.filter((rule) => rule.selectorText?.startsWith(".chart")).map((rule) => rule.cssText);
  return `svg{${values};background:var(--paper)}\n${ofCharts.join("\n")}\n.chart{font-family:sans-serif}`;
}

const LEGEND_ROW = 20;
const LETTER_WIDTH = 7.2;

/** Adds the names of the legend above a copy of the chart, and returns their height. */
function drawLegend(view, copy, width) {
  let [x, row] = [0, 0];
  for (const entry of view.block.querySelectorAll(".names > li")) {
    if (entry.querySelector('[aria-pressed="false"]')) continue;
    const [sample, name] = [entry.querySelector("svg"), entry.querySelector("span").textContent];
    const sampleWidth = Number(sample.getAttribute("width"));
    const needed = sampleWidth + 22 + name.length * LETTER_WIDTH;
    if (x > 0 && x + needed > width) [x, row] = [0, row + 1];
    const place = drawn(copy, "g", { transform: `translate(${x + 8} ${row * LEGEND_ROW + 4})` });
    place.append(...sample.cloneNode(true).childNodes, drawn(copy, "text", { x: sampleWidth + 6, y: 11.5 }, name));
    copy.append(place);
    x += needed;
  }
  return (row + 1) * LEGEND_ROW;
}

function svgOf(view) {
  const copy = view.chart.cloneNode(true);
  const [, , width, height] = view.chart.getAttribute("viewBox").split(" ").map(Number);
  const chart = drawn(copy, "g", {});
  chart.append(...copy.childNodes);
  const top = drawLegend(view, copy, width);
  chart.setAttribute("transform", `translate(0 ${top})`);
  copy.prepend(drawn(copy, "style", {}, `${chartStyle()}\n[hidden]{display:none}`));
  copy.append(chart);
  copy.setAttribute("viewBox", `0 0 ${width} ${height + top}`);
  copy.removeAttribute("style");
  return new XMLSerializer().serializeToString(copy);
}

function saveCsv(view) {
  save(fileName(view, "csv"), "text/csv", csvOf(view.figure));
}

function saveSvg(view) {
  save(fileName(view, "svg"), "image/svg+xml", svgOf(view));
}
