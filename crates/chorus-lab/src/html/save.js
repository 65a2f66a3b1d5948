// What a reader takes along: tables as CSV, charts as SVG that need no page around them.

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  link.click();
  // The browser reads the file after this turn.
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Rows of values as CSV. */
function csvText(rows) {
  const field = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  return rows.map((row) => row.map(field).join(",") + "\n").join("");
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

/** A copy of a chart as a document of its own. */
function svgText(copy) {
  copy.prepend(drawn(copy, "style", {}, `${chartStyle()}\n[hidden]{display:none}`));
  copy.removeAttribute("style");
  return new XMLSerializer().serializeToString(copy);
}
