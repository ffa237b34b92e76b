// Screen 5: a program of b steps on 4×4 matrices; then its passes, costs and lines on large ones,
// and what two cards load.

sections.programs = (root, data, address) => new Programs(root, data, address);

const PROGRAMS_BLOCKS = [1, 2, 4]; // of those that the lesson plays, whose passes divide the sum

class Programs {
  constructor(root, { size, single, listing, oldest, limits }, address) {
    Object.assign(this, { rows: single, listing, oldest, limits, at: 0, block: 1 });
    this.small = labelledSelect("b", PROGRAMS_BLOCKS.map((block) => [block, block]), (block) => {
      this.block = Number(block);
      this.#open();
    });
    this.grids = { A: new ElementGrid("A"), B: new ElementGrid("B") };
    this.strip = element("div", { class: "stripes strip" });
    this.bars = new Bars();
    const marks = limits.map(({ chip, block }) => element("i", {
      style: `--at: ${single.findIndex((row) => row.block === block) / (single.length - 1)}`,
    }, `${chip}: ${block}`));
    this.slider = element("input", {
      type: "range", min: 0, max: single.length - 1, step: 1, value: 0, "aria-label": "Steps in a pass, b",
      input: () => { this.at = Number(this.slider.value); this.#show(); },
    });
    this.named = element("output");
    this.text = element("pre", { class: "listing", tabindex: 0, role: "region", "aria-label": "The program of b steps" });
    this.length = element("p", { class: "says" });
    this.question = new Question({
      asks: `The sum of a 4 × 4 product has ${SIDE} steps, which take ${SIDE} passes at b = 1. How many at b = 2?`,
      typed: true, hint: "A pass does b of the steps.",
      tell: (given) => [given === SIDE / 2,
        `${SIDE / 2}: a pass does 2 of the ${SIDE} steps. Change b; then move the slider, for ${size} × ${size}.`],
      shown: () => {
        this.small.select.value = this.block = 2;
        this.#open();
      },
    });
    this.large = element("div", {}, element("p", { class: "note" }, `Two ${size} × ${size} matrices:`),
      element("label", { class: "slide" }, "b ", element("span", { class: "marked" }, this.slider, ...marks), this.named),
      this.bars.root, this.text);
    screenOf(root, [this.question.root, this.length], [
      timesOf(this.grids, this.strip), this.small.root, this.large]);
    editedMatrices.follow(root, () => this.#open());
    this.#show();
    keepControls(root, address);
  }

  // The product of the small matrices at b.
  #open() {
    this.played = lessonProduct({ method: "hall-carr-hart-single", block: this.block });
    const { played } = this;
    const white = played.white(played.product);
    paintOperands(this.grids, played);
    this.strip.replaceChildren(...played.draws.map((k, n) => {
      const grid = new ElementGrid(`Pass ${n + 1}`);
      played.seek(k + 1);
      grid.paint(played.added(), white);
      const { A, B } = played.lookedUp();
      const panel = framed(`pass ${n + 1}: ${inWords("column", A)} × ${inWords("row", B)}`, grid);
      return n ? signOf("+", panel) : panel;
    }));
    this.small.select.disabled = this.large.hidden = this.length.hidden = !this.question.answered;
  }

  #show() {
    const { rows, at, oldest, listing, limits } = this;
    const { block, draws, arithmetic, lookup } = rows[at];
    this.slider.value = at;
    this.slider.setAttribute("aria-valuetext", `b = ${block}`);
    this.named.textContent = `b = ${block}`;
    const most = (name) => Math.max(oldest[name], ...rows.map((row) => row[name]));
    const bytes = "bytes requested", mostBytes = most(bytes);
    this.bars.show([
      ["draws", draws, most("draws")], ["arithmetic", arithmetic, most("arithmetic")], ["lookup", lookup, most("lookup")],
      [bytes, rows[at][bytes], mostBytes], [`${bytes} in 2001`, oldest[bytes], mostBytes],
      ["copy bytes", rows[at]["copy bytes"], mostBytes],
    ]);
    const { head, step, tail } = listing;
    const part = (lines, kind) => element("span", { class: kind }, `${lines.join("\n")}\n`);
    this.text.replaceChildren(part(head, ""),
      ...Array.from({ length: block }, () => part(step, "step")), part(tail, ""));
    const loads = limits.map((of) => `The ${of.chip} ${block > of.block ? "does not load it" : "loads it"}: ` +
      `b = ${of.block + 1} exceeds a limit, ${of.why}.`);
    this.length.textContent = `At b = ${block} the program has ${head.length + step.length * block + tail.length} lines: ` +
      `${step.length} for each step, and ${head.length + tail.length} others. ${loads.join(" ")}`;
  }
}
