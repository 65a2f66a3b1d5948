// The vertical axis: round ticks on a linear or a logarithmic scale.

/** How many steps a linear axis has, about. */
const STEPS = 5;

/** A linear axis with round ticks from zero, or around a range. */
function linearScale(low, high) {
  const rough = (high - low || 1) / STEPS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough * (1 - 1e-9));
  const [bottom, top] = [Math.floor(low / step) * step, Math.ceil(high / step - 1e-9) * step];
  const ticks = [];
  for (let tick = 0; tick <= Math.round((top - bottom) / step); tick += 1) ticks.push(bottom + tick * step);
  const share = (value) => (value - bottom) / (top - bottom);
  return { ticks, share, label: (tick) => String(Number(tick.toPrecision(6))) };
}

/** A logarithmic axis from the round number below the least value to the one above the greatest. */
function logScale(low, high) {
  const round = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of [1, 2, 5]) round.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  const bottom = round.findLast((tick) => tick <= low) ?? low;
  const top = round.find((tick) => tick >= high && tick > bottom) ?? high;
  const within = round.filter((tick) => tick >= bottom && tick <= top);
  const ticks = within.length > 9 ? within.filter((tick) => /^0*\.?0*1/.test(String(tick))) : within;
  // A bar stands on the axis, and what is below it has no height.
  const share = (value) => (value <= bottom ? 0 : Math.log(value / bottom) / Math.log(top / bottom));
  return { ticks, share, label: String };
}

/** Draws the ticks of a frame anew. */
function drawTicks(frame, scale) {
  const { node, left, right } = frame;
  const marks = scale.ticks.flatMap((tick) => {
    const y = yOf(frame, scale, tick);
    const line = drawn(node, "line", { class: "grid", x1: left, y1: y, x2: right, y2: y });
    const place = { class: "small", x: left - 6, y: y + 4, "text-anchor": "end" };
    return [line, drawn(node, "text", place, scale.label(tick))];
  });
  node.querySelector(".ticks").replaceChildren(...marks);
}

/** The place of a value in a frame. */
function yOf(frame, scale, value) {
  return frame.bottom - scale.share(value) * (frame.bottom - frame.top);
}
