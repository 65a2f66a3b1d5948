// The order of workloads, and bars that close up where others are hidden.

/** The orders that a reader can choose, besides one for each series. */
const ORDERS = [
  ["paper", data.entry ? "the paper's order" : "as they come"],
  ["name", "by name"],
];

/** A group of bars with the place at which it is drawn. */
function groupOf(view, node) {
  const index = Number(node.dataset.group);
  const frame = view.frames.find((frame) => frame.node.contains(node));
  return {
    node,
    frame,
    data: view.figure.groups[index],
    left: Number(node.dataset.left),
    barWidth: Number(node.dataset.barWidth),
    isMean: node.classList.contains("of-mean"),
  };
}

/** The workloads in the order that is chosen. A bar that is missing stands last. */
function inOrder(view, groups) {
  if (view.order === "paper") return groups;
  const height = (group) => {
    const bar = group.data.bars[Number(view.order)];
    return bar.parts.length > 0 ? view.extent(bar, bar.parts.length - 1)[1] : -Infinity;
  };
  const compare =
    view.order === "name"
      ? (a, b) => a.data.label.localeCompare(b.data.label)
      : (a, b) => height(b) - height(a);
  return [...groups].sort(compare);
}

/** Moves every group to the place of its rank, and the bars in it beside each other. Means stay where they are. */
function placeGroups(view) {
  const places = view.groups.filter((group) => !group.isMean);
  inOrder(view, places).forEach((group, rank) => {
    const place = places[rank];
    const [across, down] = [place.left - group.left, place.frame.bottom - group.frame.bottom];
    group.node.setAttribute("transform", `translate(${across} ${down})`);
  });
  view.groups.forEach((group) => closeUp(view, group));
}

function closeUp(view, group) {
  const bars = [...group.node.querySelectorAll(".bar")];
  const hidden = bars.filter((bar) => bar.hasAttribute("hidden")).length;
  let before = 0;
  for (const bar of bars) {
    bar.setAttribute("transform", `translate(${(hidden / 2 - before) * group.barWidth} 0)`);
    before += bar.hasAttribute("hidden") ? 1 : 0;
  }
}

/** A list from which the reader chooses an order, where the chart has groups. */
function orderChooser(view) {
  const chooser = element("select", { "aria-label": "Order of workloads" });
  const ofSeries = view.figure.series.map((series, index) => [String(index), `by ${series}, highest first`]);
  chooser.append(...[...ORDERS, ...ofSeries].map(([value, label]) => element("option", { value }, label)));
  chooser.addEventListener("change", () => {
    view.order = chooser.value;
    view.draw();
  });
  return chooser;
}
