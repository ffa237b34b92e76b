// Screen 3: the framebuffer adds up the outer products.

sections.add = (root, data, address) => new Add(root, address);

class Add {
  constructor(root, address) {
    this.chosen = { row: 0, column: 0 };
    this.at = 0;
    const tell = (sentence) => say(this.question.root, sentence);
    this.grids = { A: operandGrid("A", tell), B: operandGrid("B", tell) };
    this.sum = new ElementGrid("The sum", { choose: (row, column) => this.#choose(row, column) });
    this.sum.cover = (n) => (n === SIDE * this.chosen.row + this.chosen.column && !this.question.answered && this.at ? "?" : null);
    this.transport = new Transport({
      label: "Pass", step: 1600, go: (at) => this.#go(at),
      words: (at, last) => `pass ${at} of ${last}`,
    });
    this.question = new Question({
      asks: "", hint: "A pass changes it unless what the pass adds there is 0: look at the marked places of the strip.",
      choices: numbersFrom(1, SIDE).map((text, n) => [n + 1, `pass ${text}`]), tell: (given) => this.#tell(given), shown: () => { this.transport.to(this.transport.last); this.#show(); } });
    this.terms = element("ol", { class: "terms" });
    this.panels = Array.from({ length: SIDE }, (_, n) => {
      const grid = new ElementGrid(`Outer product ${n + 1}`);
      return { grid, root: framed(`column ${n + 1} × row ${n + 1}`, grid) };
    });
    this.strip = element("div", { class: "stripes strip" },
      ...this.panels.map(({ root: panel }, n) => (n ? signOf("+", panel) : panel)));
    const operands = timesOf(this.grids, framed("the framebuffer", this.sum, BOOK_EDGES));
    this.legend = element("div");
    screenOf(root, [this.question.root, this.terms], [operands, this.transport.root, this.strip, this.legend]);
    editedMatrices.follow(root, () => this.#open());
    keepControls(root, address);
    this.transport.playWhenSeen(this.strip);
  }

  #open() {
    this.played = lessonProduct({ method: "larson-mcallister", format: "r32f" });
    this.#ask();
    this.transport.shape(SIDE);
    this.#show();
  }

  #ask() {
    const { row, column } = this.chosen;
    this.question.again(`After which pass is the marked pixel (row ${row + 1}, column ${column + 1}) right?`);
  }

  // Asks about another pixel. A reader who has answered once sees all of it.
  #choose(row, column) {
    const { answered } = this.question;
    this.chosen = { row, column };
    this.#ask();
    this.question.answered = answered;
    this.#show();
  }

  // Goes to a number of passes; a next pass is seen before the framebuffer adds it.
  async #go(at) {
    const forward = at === this.at + 1 && !calm();
    this.at = at;
    if (forward) {
      const beat = {};
      const pace = this.transport.pace / 3;
      this.#show(at - 1);
      this.beat = beat;
      fly(this.panels[at - 1].grid.cells, this.sum.root, pace);
      await new Promise((done) => setTimeout(done, pace));
      if (this.beat !== beat) return;
    }
    this.#show();
  }

  // What each pass adds to the chosen pixel, and what the framebuffer then holds.
  get #steps() {
    const { x, y } = this.played.layouts.C.texel(this.chosen.row, this.chosen.column);
    return this.played.draws.map((k) => {
      const { trace } = this.played.traces(k).find((each) => each.x === x && each.y === y);
      const [a, b] = trace.steps.filter(({ lookup }) => lookup).map(({ result }) => result[0]);
      return { a, b, before: trace.before[0], after: trace.after[0] };
    });
  }

  #tell(given) {
    const steps = this.#steps;
    const end = steps.at(-1).after;
    const first = steps.findIndex((_, n) => steps.slice(n).every(({ after }) => after === end)) + 1;
    const why = first === steps.length
      ? "every pass adds a term, so it is right only after the last."
      : `what the passes after ${first} add here is 0.`;
    return [given === first, given !== null && given !== first
      ? `After pass ${given} it holds ${traceNumber(steps[given - 1].after)}, and the product is ${traceNumber(end)}: ${why}`
      : `After pass ${first} it holds ${traceNumber(end)}: ${why}`];
  }

  // held: after how many passes the framebuffer is shown.
  #show(held = this.at) {
    this.beat = null;
    const { played, at, chosen } = this;
    const steps = this.#steps;
    const white = played.white(played.product);
    paintOperands(this.grids, played);
    this.panels.forEach(({ grid, root }, n) => {
      grid.paint(stripesOf(played, played.draws[n]).product, white);
      root.classList.toggle("ahead", n >= at);
      root.classList.toggle("now", n === at - 1);
      grid.frame("own", [chosen]);
    });
    played.seek(held ? played.draws[held - 1] + 1 : played.draws[0]);
    this.sum.paint(played.elements(played.framebuffer), white);
    played.seek(at ? played.draws[at - 1] + 1 : played.draws[0]);
    this.sum.frame("own", [chosen]);
    const looked = at ? played.lookedUp() : { A: [], B: [] };
    const own = at ? played.lookedUp(played.layouts.C.texel(chosen.row, chosen.column)) : looked;
    for (const name of ["A", "B"]) {
      this.grids[name].frame("pass", looked[name]);
      this.grids[name].frame("own", own[name]);
    }
    this.terms.replaceChildren(...steps.slice(0, this.question.answered ? held : 0).map(({ a, b, before, after }) => element("li", {},
      `${traceNumber(before)} + ${cellText(a)} × ${cellText(b)} = `, element("b", {}, traceNumber(after)))));
    this.legend.replaceChildren(greyLegend(white, "the scale of products and sums; A and B have their own"));
  }
}
