// What the card of a bar says: its value, its seeds, the paper's number, and the runs behind it with their commands.

/** What the card of a bar says. */
function barLines(view, node) {
  const bar = view.barOf(node);
  const runs = bar.runs.map((run) => runLine(data.runs[run]));
  const base = bar.base.map((run) => runLine(data.runs[run], "relative to "));
  return [element("b", {}, titleOf(view, node)), ...valueLines(view, bar), ...runs, ...base];
}

function titleOf(view, node) {
  const [group, series] = node.dataset.bar.split(".").map(Number);
  return `${view.figure.groups[group].label}, ${view.figure.series[series]}`;
}

/** The text that a screen reader says for a bar. */
function spokenBar(view, node) {
  const words = valueLines(view, view.barOf(node)).map((line) => line.textContent);
  return `${titleOf(view, node)}: ${words.join("; ")}`;
}

function valueLines(view, bar) {
  if (bar.parts.length === 0) return [element("p", {}, `no bar: ${bar.missing}`)];
  const total = bar.parts.reduce((sum, value) => sum + value, 0);
  const lines = [element("p", {}, `${exact(total)} ${view.figure.axis}`)];
  if (view.parts > 0) {
    const error = (index) => (index in bar.part_errors ? ` ± ${exact(bar.part_errors[index])}` : "");
    const parts = view.figure.parts.map((part, index) => `${part} ${exact(bar.parts[index])}${error(index)}`);
    lines.push(element("p", { class: "soft" }, parts.join(", ")));
  }
  if (bar.seeds.length > 1) {
    const [least, greatest] = [Math.min(...bar.seeds), Math.max(...bar.seeds)];
    lines.push(element("p", { class: "soft" }, `${bar.seeds.length} seeds: ${exact(least)} to ${exact(greatest)}`));
  }
  for (const stated of bar.stated) {
    const link = element("a", { href: `#claim-${stated.claim}` }, stated.claim);
    const words = stated.beside === null ? "in the paper" : `by the paper's quotient with ${stated.beside}`;
    lines.push(element("p", {}, `${exact(stated.value)} ${words}, claim `, link));
  }
  return lines;
}

function runLine(run, before = "") {
  const cycles = run.cycles === null ? run.status : `${run.cycles.toLocaleString("en")} cycles`;
  const link = element("a", { href: `#run-${run.index}` }, `${before}${run.protocol}, seed ${run.seed}`);
  const changes = run.changes ? `, ${run.changes}` : "";
  return element(
    "div",
    { class: "run" },
    link,
    `: ${cycles}${changes}, configuration ${run.config.slice(0, 8)}`,
    commandLine(run.command),
    ...whyLines(run),
  );
}

/** A command with a button that copies it. */
function commandLine(command) {
  return element(
    "div",
    {},
    element("code", {}, command),
    button("Copy", { "aria-label": "Copy the command" }, () => copy(command)),
  );
}

/** The bar that shows what the accesses of a run waited for, or the command that shows it. */
function whyLines(run) {
  if (run.why) {
    const [figure, group, series] = run.why;
    const link = element("a", { href: `#figure-${figure}` }, "what its accesses waited for");
    link.addEventListener("click", () => showBar(figure, `${group}.${series}`));
    return [link];
  }
  if (!run.command.startsWith("chorus run ")) return [];
  const command = `${run.command.replace("chorus run ", "chorus why ")} --aggregate`;
  return [element("details", {}, element("summary", {}, "what its accesses waited for"), commandLine(command))];
}

/** Moves to a bar of another figure, and shows its card. */
function showBar(figure, bar) {
  pinned = null;
  const chart = document.getElementById(`figure-${figure}`).closest(".block").querySelector("svg.chart:not(.sample)");
  // The browser follows the link first.
  setTimeout(() => chart.querySelector(`[data-bar="${bar}"]`)?.focus());
}

/** Copies a text where the browser allows it; the text can be selected in any case. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("copied");
  } catch {
    say("the browser does not allow copying; select the text");
  }
}

/** A number with as many digits as tell bars apart. */
function exact(value) {
  return String(Number(value.toPrecision(5)));
}
