// Screen 4: the same product in 8 bits, pass by pass, beside the one in float.

sections["eight-bits"] = (root, data, address) => new EightBits(root, address);

const BITS_CHART = { width: 460, height: 230, left: 36, bottom: 26, top: 14, right: 84 };

class EightBits {
  constructor(root, address) {
    this.transport = new Transport({
      label: "Pass", step: 1000, go: (at) => { this.at = at; this.#show(); },
      words: (at, last) => `pass ${at} of ${last}`,
    });
    const choose = (row, column) => {
      this.chosen = { row, column };
      if (this.question.answered) this.#show();
      else this.question.take(this.chosen);
    };
    this.grids = Object.fromEntries([["float", "In float"], ["bits", "In 8 bits"]].map(([name, label]) =>
      [name, new ElementGrid(label, { choose })]));
    this.error = new ElementGrid("8 bits less float");
    const hides = () => (this.question.answered || !this.first || this.at < this.first.pass ? null : "?");
    this.grids.bits.cover = this.error.cover = hides;
    const tell = (sentence) => say(this.question.root, sentence);
    this.operands = { A: operandGrid("A", tell), B: operandGrid("B", tell) };
    this.question = new Question({
      asks: "Where will it clip first? Click the pixel in the framebuffer of 8 bits.",
      hint: "8 bits end at 1: step through the passes, and see where float exceeds 1 first.",
      tell: (given) => this.#tell(given), shown: () => { this.transport.to(this.transport.last); this.#show(); },
    });
    this.words = element("p", { class: "says", role: "status" });
    this.chart = drawn("svg", { class: "staircase", role: "img", viewBox: `0 0 ${BITS_CHART.width} ${BITS_CHART.height}` });
    this.pictures = timesOf(this.operands, framed("float", this.grids.float), framed("8 bits", this.grids.bits),
      framed("8 bits − float, in 1/255", this.error));
    this.legend = element("div");
    screenOf(root, [this.question.root, this.words], [this.pictures, this.transport.root, this.chart, this.legend]);
    editedMatrices.follow(root, () => this.#open());
    keepControls(root, address);
  }

  #open() {
    this.float = lessonProduct({ method: "larson-mcallister", format: "r32f" });
    this.bits = lessonProduct({ method: "larson-mcallister", format: "unorm8" });
    this.first = this.#firstClipped();
    this.chosen = { row: 0, column: 0 };
    this.question.again();
    this.transport.shape(this.float.draws.length);
    this.at ??= 0;
    this.transport.show(this.at);
    this.#show();
  }

  // The pass that clips first, and the pixels that it clips.
  #firstClipped() {
    const { bits } = this;
    for (const [n, k] of bits.draws.entries()) {
      const clipped = bits.traces(k).filter(({ trace }) => isClamped(trace, 0, bits.ending(k)));
      if (clipped.length) return { pass: n + 1, places: clipped.map(({ x, y }) => ({ row: y, column: x })) };
    }
    return null;
  }

  #tell(given) {
    if (!this.first) return [false, "Nowhere: no sum of these matrices exceeds 1."];
    const { pass, places } = this.first;
    const right = places.some(({ row, column }) => row === given?.row && column === given?.column);
    [this.chosen] = right ? [given] : places;
    const where = places.map(({ row, column }) => `row ${row + 1}, column ${column + 1}`).join(" and ");
    const { values } = this.#steps(this.float);
    return [right, `${where[0].toUpperCase()}${where.slice(1)} clips first, in pass ${pass}: the sum would be ${cellText(values[pass])}, and 8 bits end at 1. What is cut off does not come back.`];
  }

  // The values of the chosen pixel after each pass, from before the first.
  #steps(played) {
    const { x, y } = this.chosen ? { x: this.chosen.column, y: this.chosen.row } : { x: 0, y: 0 };
    const traces = played.draws.map((k) => played.traces(k).find((each) => each.x === x && each.y === y).trace);
    return { values: [0, ...traces.map(({ after }) => after[0])], traces };
  }

  #show() {
    const { at, chosen, float, bits } = this;
    const elements = (played) => {
      played.seek(at ? played.draws[at - 1] + 1 : played.draws[0]);
      return played.elements(played.framebuffer);
    };
    const [exact, stored] = [elements(float), elements(bits)];
    const white = Math.max(...float.product, 1);
    paintOperands(this.operands, float);
    const clamped = bits.clamped();
    this.grids.float.paint(exact, white);
    this.grids.bits.paint(stored, white, (row, column) => clamped.has(`${column},${row}`));
    const error = Float32Array.from(stored, (value, n) => Number((255 * (value - exact[n])).toPrecision(2)));
    this.error.paint(error, Math.max(...error.map(Math.abs)) || 1);
    for (const grid of [...Object.values(this.grids), this.error]) grid.frame("own", this.question.answered ? [chosen] : []);
    this.legend.replaceChildren(greyLegend(white, "both framebuffers. Blue: below 0. A red edge: cut off."));
    this.#draw();
  }

  // The staircase of the chosen pixel.
  #draw() {
    const { width, height, left, bottom, top, right } = BITS_CHART;
    const lines = [["float", this.#steps(this.float)], ["8 bits", this.#steps(this.bits)]];
    const last = this.transport.last;
    const most = 1.15 * Math.max(1, ...lines[0][1].values);
    const x = (pass) => left + ((width - left - right) * pass) / (last + 0.5);
    const y = (value) => height - bottom - ((height - bottom - top) * value) / most;
    const text = (at, words, kind = "") => drawn("text", { x: at[0], y: at[1], class: kind }, words);
    const stairs = (values) => values.slice(0, this.at + 1).map((value, n) =>
      (n ? `H${x(n)}V${y(value)}` : `M${x(0)} ${y(value)}`)).join("") + `H${x(this.at + 0.5)}`;
    this.chart.replaceChildren(
      drawn("line", { x1: left, x2: width - right, y1: y(1), y2: y(1), class: "ends" }),
      drawn("line", { x1: left, x2: width - right, y1: y(0), y2: y(0), class: "rule" }),
      text([width - right + 6, y(1) + 4], "1, the end"), text([left - 16, y(0) + 4], "0"), text([left - 16, y(1) + 4], "1"),
      ...numbersFrom(0, last + 1).map((n) => text([x(Number(n)) - 4, height - 8], n, "soft")),
      text([width - right + 12, height - 8], "passes", "soft"),
      ...lines.map(([name, { values }]) => drawn("path", { d: stairs(values), class: name === "float" ? "float" : "bits" })),
    );
    this.chart.toggleAttribute("hidden", !this.question.answered);
    const [float, bits] = lines.map(([, { values }]) => values[this.at]);
    this.chart.setAttribute("aria-label", `The marked pixel after pass ${this.at}: ${traceNumber(float)} in float, ${traceNumber(bits)} in 8 bits`);
    this.words.replaceChildren(...(this.question.answered ? [
      `Row ${this.chosen.row + 1}, column ${this.chosen.column + 1} after pass ${this.at}: `, element("b", {}, traceNumber(float)),
      " in float; in 8 bits level ", element("b", {}, `${Math.round(255 * bits)} of 255`), `, which is ${traceNumber(bits)}. Click other pixels.`] : []));
  }
}
