// Charts in SVG, drawn at the width that they have, and again when it changes.

class Chart {
  // draw: fills an empty SVG of a width, to which it gives a height and a label.
  constructor(draw) {
    this.root = element("div", { class: "chart-place" });
    this.draw = draw;
    new ResizeObserver(() => this.root.clientWidth !== this.width && this.redraw()).observe(this.root);
    addEventListener("beforeprint", () => this.redraw(Math.min(this.width, CHART_PAPER)));
    addEventListener("afterprint", () => this.redraw());
  }

  redraw(width = this.root.clientWidth) {
    this.width = width;
    if (!this.width || !this.draw) return;
    const svg = drawn("svg", { class: "chart", role: "img" });
    this.root.replaceChildren(svg);
    const { height, label } = this.draw(svg, this.width);
    assign(svg, { viewBox: `0 0 ${this.width} ${height}`, "aria-label": label });
  }
}

const CHART_PAPER = 700; // pixels that a printed page has, about
const CHART_PEN = document.createElement("canvas").getContext("2d");
const CHART_FONT = getComputedStyle(document.body).fontFamily;

// The width of a text in a chart.
function chartWidth(words, bold) {
  CHART_PEN.font = `${bold ? 600 : 400} 13px ${CHART_FONT}`;
  return CHART_PEN.measureText(words).width;
}

// A logarithmic axis for values, from one place to another: where a value stands, and its ticks.
function logAxis(values, from, to, room = 1.3) {
  const [low, high] = [Math.min(...values) / room, Math.max(...values) * room];
  const at = (value) => from + (Math.log(value / low) / Math.log(high / low)) * (to - from);
  const few = high / low > 100 ? [1] : high / low > 8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const powers = Array.from({ length: Math.ceil(Math.log10(high / low)) + 2 },
    (_, n) => 10 ** (Math.floor(Math.log10(low)) + n));
  const ticks = powers.flatMap((power) => few.map((digit) => digit * power));
  return { at, ticks: ticks.filter((tick) => tick >= low && tick <= high) };
}

// Names points beside them: each name at the nearest place that is free and within the width, with
// a line to it if it is not beside.
// points: {x, y, name, bold}. taken: boxes [left, top, right, bottom] to keep away from.
function nameEach(points, width, taken) {
  const boxes = [...taken, ...points.map(({ x, y }) => [x - 6, y - 6, x + 6, y + 6])];
  const free = ([l, t, r, b]) => l >= 0 && r <= width
    && boxes.every(([left, top, right, bottom]) => r <= left || l >= right || b <= top || t >= bottom);
  const shifts = Array.from({ length: 40 }, (_, n) => (n % 2 ? 1 : -1) * Math.ceil(n / 2) * 6);
  return points.map(({ x, y, name, bold }) => {
    const wide = chartWidth(name, bold);
    const places = shifts.flatMap((dy) => [x + 9, x - 9 - wide, x - wide / 2]
      .map((left) => [left - 3, y + dy - 7, left + wide + 3, y + dy + 7]));
    const box = places.find(free) ?? places[0];
    boxes.push(box);
    const [left, , right, bottom] = box;
    const d = `M${x},${y}L${Math.min(Math.max(x, left), right)},${bottom - 7}`;
    const leader = Math.abs(bottom - 7 - y) > 9 ? [drawn("path", { class: "leader", d })] : [];
    return { place: { x: left + 3, y: bottom - 3 }, leader };
  });
}
