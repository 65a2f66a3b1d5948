// A figure as a file: its data as CSV, or its chart with its legend as SVG.

function fileName(view, ending) {
  return `${data.paper}-figure-${view.figure.id}.${ending}`;
}

const COLUMNS = ["group", "series", "part", "value", "error", "least_seed", "greatest_seed", "paper", "commands"];

/** A row for each bar, or for each part of a stacked one with what stands behind ±. */
function rowsOf(figure) {
  return figure.groups.flatMap((group) =>
    group.bars.flatMap((bar, index) => {
      const stated = bar.stated.filter((it) => it.beside === null).map((it) => it.value).join(" ");
      const seeds = bar.seeds.length > 0 ? [Math.min(...bar.seeds), Math.max(...bar.seeds)] : ["", ""];
      const commands = bar.runs.map((run) => data.runs[run].command).join("; ");
      const row = (part, value, error = "") =>
        [group.label, figure.series[index], part, value, error, ...seeds, stated, commands];
      if (bar.parts.length === 0) return [row("", bar.missing)];
      return bar.parts.map((value, part) => row(figure.parts[part] ?? "", value, bar.part_errors[part]));
    }),
  );
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
  copy.append(chart);
  copy.setAttribute("viewBox", `0 0 ${width} ${height + top}`);
  return svgText(copy);
}

function saveCsv(view) {
  save(fileName(view, "csv"), "text/csv", csvText([COLUMNS, ...rowsOf(view.figure)]));
}

function saveSvg(view) {
  save(fileName(view, "svg"), "image/svg+xml", svgOf(view));
}
