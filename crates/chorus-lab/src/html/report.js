// The figures of a page: each gets its toggles, its cards and a row of tools.

function addTools(view) {
  const figure = view.block.querySelector("figure");
  const details = view.block.querySelector("details");
  const pressable = (text, apply) => {
    const made = button(text, { "aria-pressed": "false" }, () => {
      const isPressed = made.getAttribute("aria-pressed") !== "true";
      made.setAttribute("aria-pressed", String(isPressed));
      apply(isPressed);
    });
    return made;
  };
  const logarithmic = pressable("Log scale", (isPressed) => {
    view.isLogarithmic = isPressed;
    view.draw();
  });
  const asTable = pressable("Table", (isPressed) => {
    figure.hidden = isPressed;
    details.open = isPressed;
  });
  const tools = element("div", { class: "tools", role: "toolbar", "aria-label": `Tools of figure ${view.figure.id}` });
  if (view.groups.some((group) => !group.isMean)) tools.append(orderChooser(view));
  // The parts of a sum are no longer comparable on a logarithmic scale.
  if (view.parts === 0) tools.append(logarithmic);
  tools.append(
    asTable,
    button("CSV", { "aria-label": "Download the data as CSV" }, () => saveCsv(view)),
    button("SVG", { "aria-label": "Download the chart as SVG" }, () => saveSvg(view)),
  );
  figure.before(tools);
}

for (const figure of data.figures) {
  const block = document.getElementById(`figure-${figure.id}`).closest(".block");
  const view = new FigureView(block, figure);
  addToggles(view);
  addBars(view);
  addTools(view);
}
