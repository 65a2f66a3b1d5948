// The marks of a chart as values, so that they can be drawn again on another scale.
//
// A page carries finished drawings. Where a mark stands follows from its value and from the scale that the drawing was
// made with; this script turns places back into values once.

/** The plot of a chart, or one of its rows: its sides, and the values at its bottom and its top. */
function frameOf(node) {
  const [left, right, top, bottom, low, high] = node.dataset.frame.split(" ").map(Number);
  return { node, left, right, top, bottom, low, high };
}

function valueAt(frame, y) {
  return frame.low + ((frame.bottom - y) / (frame.bottom - frame.top)) * (frame.high - frame.low);
}

/** Every mark of a chart as a function that puts it where a scale wants it. */
function marksOf(view) {
  const marks = [];
  for (const frame of view.frames) {
    for (const node of frame.node.querySelectorAll(".values :is(rect, line, polyline, text, path)")) {
      const place = MARKS[node.localName](node, frame, view);
      if (place) marks.push({ frame, place });
    }
  }
  return marks;
}

/** For each kind of element, the function that places it; the function is given the height of any value. */
const MARKS = {
  rect: rectMark,
  line: lineMark,
  polyline: polylineMark,
  text: textMark,
  path: pathMark,
};

/** A part of a bar: the bars of the figure say where it begins and ends, whatever is hidden below it. */
function rectMark(node, _frame, view) {
  const bar = view.barOf(node);
  const part = Number(node.closest(".part")?.dataset.part ?? 0);
  return (y) => {
    const [from, to] = view.extent(bar, part);
    node.setAttribute("y", y(to));
    node.setAttribute("height", Math.max(0, y(from) - y(to)));
  };
}

function lineMark(node, frame) {
  const values = ["y1", "y2"].map((name) => [name, valueAt(frame, Number(node.getAttribute(name)))]);
  return (y) => values.forEach(([name, value]) => node.setAttribute(name, y(value)));
}

function polylineMark(node, frame) {
  const points = node.getAttribute("points").split(" ").filter(Boolean).map((point) => point.split(",").map(Number));
  const values = points.map(([x, y]) => [x, valueAt(frame, y)]);
  return (y) => node.setAttribute("points", values.map(([x, value]) => `${x},${y(value)}`).join(" "));
}

/** The number above a bar, or the name of a point: it keeps its distance. */
function textMark(node, frame, view) {
  const bar = view.barOf(node);
  const [x, before] = [node.getAttribute("x"), Number(node.getAttribute("y"))];
  const turn = node.getAttribute("transform")?.match(/-?\d+/)[0];
  const linear = linearPlace(frame);
  const distance = before - linear(view.top(bar));
  return (y) => {
    const after = y(view.top(bar)) + distance;
    node.setAttribute("y", after);
    if (turn) node.setAttribute("transform", `rotate(${turn} ${x} ${after})`);
    if (view.parts > 0) node.textContent = shortNumber(view.top(bar));
  };
}

function pathMark(node, frame) {
  const [, x, before, rest] = node.getAttribute("d").match(/^M(\S+) ([\d.-]+?)(m.*|l.*)$/);
  const value = valueAt(frame, Number(before));
  return (y) => node.setAttribute("d", `M${x} ${y(value)}${rest}`);
}

/** The places of values in the drawing as it was made. */
function linearPlace(frame) {
  return (value) => frame.bottom - ((value - frame.low) / (frame.high - frame.low)) * (frame.bottom - frame.top);
}

/** A number of few digits, as it stands above a bar. */
function shortNumber(value) {
  if (value >= 100) return value.toFixed(0);
  return value.toFixed(value >= 10 ? 1 : 2);
}
