// Screen 2: the stripes of two texture units are multiplied, fragment by fragment.

sections.multiply = (root, data, address) => new Multiply(root, address);

class Multiply {
  constructor(root, address) {
    this.pass = 0;
    this.transport = new Transport({
      label: "Fragment", step: STAGE_STEP_MS, go: (at) => { this.at = at; this.#show(); },
      words: (at) => ["nothing", "unit 0", "both units"][at] ?? `fragment ${at - 2}`,
    });
    this.grids = {
      A: new ElementGrid("Unit 0"), B: new ElementGrid("Unit 1"),
      product: new ElementGrid("The pass", { choose: (row, column) => this.#choose(row, column) }),
    };
    this.question = new Question({ asks: "", typed: true, hint: "Multiply the two numbers that are marked in the stripes.", tell: (given) => this.#tell(given), shown: () => { this.transport.to(this.transport.last); this.#show(); } });
    this.words = element("p", { class: "says", role: "status" });
    this.table = element("ol", { class: "state" });
    this.passes = labelledSelect("Pass", numbersFrom(1, SIDE).map((text, n) => [n, text]), (pass) => { this.pass = Number(pass); this.#show(); });
    this.pictures = element("div", { class: "stripes" },
      framed("unit 0: a column of A →", this.grids.A), signOf("×", framed("unit 1: a row of B ↓", this.grids.B)),
      signOf("=", framed("the pass", this.grids.product)));
    this.legend = element("div");
    screenOf(root, [this.question.root, this.words], [this.pictures, this.legend,
      element("div", { class: "controls" }, this.transport.root, this.passes.root),
      element("p", { class: "note" }, "In 2001 there was no program: two texture environments and blending were set."), this.table]);
    editedMatrices.follow(root, () => this.#open());
    keepControls(root, address);
    this.transport.playWhenSeen(this.pictures);
  }

  #open() {
    this.played = lessonProduct({ method: "larson-mcallister", format: "r32f" });
    this.state = lessonProduct({ method: "larson-mcallister", format: "unorm8" });
    this.chosen = { row: 1, column: 2 };
    this.transport.shape(2 + SIDE * SIDE);
    this.at ??= 2;
    this.transport.show(this.at);
    this.question.again(`What will the marked pixel of the pass be? (row ${this.chosen.row + 1}, column ${this.chosen.column + 1})`);
    this.#tabulate();
    this.#show();
  }

  #choose(row, column) {
    if (!this.question.answered) this.question.take(null);
    this.chosen = { row, column };
    this.#show();
  }

  get #factors() {
    const stripes = stripesOf(this.played, this.played.draws[this.pass]);
    const n = this.chosen.row * SIDE + this.chosen.column;
    return { stripes, n, a: stripes.A[n], b: stripes.B[n], value: stripes.product[n] };
  }

  #tell(given) {
    const { a, b, value } = this.#factors;
    const right = given !== null && Math.abs(given - value) <= 0.006 * Math.max(1, Math.abs(value));
    const yours = given !== null && !right ? `You wrote ${cellText(given)}. ` : "";
    return [right, `${yours}Unit 0 gives ${cellText(a)}, unit 1 gives ${cellText(b)}, and ${cellText(a)} × ${cellText(b)} = ${traceNumber(value)}.`];
  }

  // The state of 2001: what the units do with what they look up, and the framebuffer with the result.
  #tabulate() {
    const { plan, passes, draws } = this.state;
    const pass = passes[draws[0]];
    const states = plan.programs[pass.program].instructions.flatMap(({ text }) => text.split(/\s*#\s*/).slice(1));
    this.lines = [...states, `blending: framebuffer ${pass.blend === "add" ? "+ colour" : ""}`].map((text) =>
      element("li", {}, element("code", {}, text)));
    this.table.replaceChildren(...this.lines);
  }

  #show() {
    const { played, at, chosen } = this;
    const { A, B } = played.matrices;
    const { stripes, a, b, value } = this.#factors;
    this.passes.select.value = this.pass;
    const white = played.white([...A.values, ...B.values, ...stripes.product]);
    const names = ["A", "B", "product"];
    const asked = this.question.answered ? -1 : chosen.row * SIDE + chosen.column;
    names.forEach((name, n) => {
      const shown = n === 2 ? at - 2 : at > n ? Infinity : 0;
      this.grids[name].cover = (m) => (n === 2 && m === asked ? "?" : m >= shown ? "" : null);
      this.grids[name].paint(stripes[name], white);
      const last = n === 2 && at > 2 ? { row: Math.floor((at - 3) / SIDE), column: (at - 3) % SIDE } : null;
      this.grids[name].frame("pass", last ? [last] : []);
      this.grids[name].frame("own", [chosen]);
    });
    this.legend.replaceChildren(greyLegend(white, "the scale of all three"));
    this.lines.forEach((line, n) => line.classList.toggle("acts", at === 1 ? n === 0 : at > 1 && n > 0 && (n === 1 || at > 2)));
    this.words.textContent = this.question.answered
      ? `Row ${chosen.row + 1}, column ${chosen.column + 1}: ${cellText(a)} × ${cellText(b)} = ${traceNumber(value)}. Click another pixel.` : "";
  }
}
