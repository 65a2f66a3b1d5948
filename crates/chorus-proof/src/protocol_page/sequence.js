// A sequence chart that grows: a lifeline for each agent, a row for each event.

const COLUMN = 118;
const ROW = 34;
const HEAD = 26;

class SequenceChart {
  constructor(columns) {
    this.columns = columns;
    const label = "Sequence of events";
    this.node = element("div", { class: "scroll sequence", tabindex: "0", role: "log", "aria-label": label });
    this.show([]);
  }

  /** Draws some rows; the last one is marked. */
  show(rows) {
    const [width, height] = [this.columns.length * COLUMN + 240, HEAD + rows.length * ROW + 12];
    const viewBox = `0 0 ${width} ${height}`;
    const svg = drawing({ class: "chart", role: "img", "aria-label": `${rows.length} events`, viewBox, width, height });
    svg.style.width = `${width}px`;
    this.columns.forEach((name, index) => {
      const x = this.centre(index);
      svg.append(
        drawn(svg, "text", { class: "strong", x, y: 14, "text-anchor": "middle" }, name),
        drawn(svg, "line", { class: "grid", x1: x, x2: x, y1: HEAD - 6, y2: height }),
      );
    });
    rows.forEach((row, index) => svg.append(this.event(svg, row, index, index === rows.length - 1)));
    this.node.replaceChildren(svg);
    this.node.scrollTop = this.node.scrollHeight;
  }

  centre(column) {
    return column * COLUMN + COLUMN / 2;
  }

  event(svg, row, index, isLast) {
    const y = HEAD + index * ROW + 20;
    const [from, to] = [row.from === null ? null : this.centre(row.from), this.centre(row.to)];
    const group = drawn(svg, "g", { class: isLast ? "event last" : "event" });
    if (from === null) {
      group.append(drawn(svg, "circle", { class: "own", cx: to, cy: y, r: 5 }));
    } else {
      const back = from < to ? -8 : 8;
      group.append(
        drawn(svg, "line", { class: "axis", x1: from, y1: y, x2: to, y2: y }),
        drawn(svg, "path", { class: "head", d: `M${to} ${y}l${back} -4v8z` }),
      );
    }
    const middle = from === null ? to : (from + to) / 2;
    group.append(drawn(svg, "text", { class: "value", x: middle, y: y - 6, "text-anchor": "middle" }, row.label));
    const effect = [...row.states.map((state) => `${this.columns[row.to]} ${state}`), ...row.follows].join(", ");
    group.append(drawn(svg, "text", { class: "small", x: this.columns.length * COLUMN, y: y + 4 }, effect));
    return group;
  }
}
