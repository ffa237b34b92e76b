// The three methods side by side: one slider moves all of them, and their costs are counted.

sections.methods = async (root, data, address) => {
  const methods = new MethodsSideBySide(data, address);
  root.append(methods.root);
  await methods.start();
};

// What is counted while the slider moves; bytes_requested is what the papers' tables count.
const METHODS_COUNTED = [
  ["passes", "Passes"],
  ["fragments", "Fragments"],
  ["lookup", "Lookups"],
  ["arithmetic", "Arithmetic"],
  ["bytes_requested", "Bytes requested"],
  ["copy_bytes", "Bytes copied"],
];
// What the slider stands for: what a pass costs, and how many places the slider has; none for one a
// step of the inner dimension.
const METHODS_CLOCKS = [
  ["product", "steps of the product: all end together", null, null],
  [
    "bytes",
    "time, if bytes took all of it",
    ({ bytes_requested = 0, copy_bytes = 0 }) => bytes_requested + copy_bytes,
    64,
  ],
  [
    "instructions",
    "time, if instructions took all of it",
    ({ arithmetic = 0, lookup = 0 }) => arithmetic + lookup,
    64,
  ],
];
const METHODS_STEP_MS = { product: 900, bytes: 120, instructions: 120 };
const METHODS_MODES = ["copy", "ping-pong", "blend"];

// n×n integers from −4 to 4, the same each time.
function methodsMatrix(n, seed) {
  let state = seed;
  return Matrices.made(n, n, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return ((state >>> 16) % 9) - 4;
  });
}

class MethodsSideBySide {
  constructor(data, address) {
    this.data = data;
    this.address = address;
    this.opened = 0;
    this.state = null;
    this.root = element("div", { class: "methods" });
    this.writer = new AddressWriter(address, this.root, () => this.#words());
    this.#build(data);
    editedMatrices.addEventListener("change", () => {
      if (this.state?.n === "figure-2") this.#open();
    });
  }

  async start() {
    let shown = null;
    this.address.follow(() => {
      shown = this.#fromAddress();
    });
    await shown;
  }

  #build(data) {
    const choosing =
      (name, read = (value) => value) =>
      (value) =>
        this.#choose({ [name]: read(value) });
    this.selects = {
      n: labelledSelect(
        "Matrices",
        [...data.sizes.map((n) => [n, `${n} × ${n}, integers`]), ["figure-2", "those of Figure 2"]],
        choosing("n"),
      ),
      block: labelledSelect(
        "Block b",
        data.blocks.map((b) => [b, b]),
        choosing("block", Number),
      ),
      mode: labelledSelect(
        "Sums from pass to pass",
        METHODS_MODES.map((mode) => [mode, mode]),
        choosing("mode"),
      ),
      clock: labelledSelect(
        "The slider counts",
        METHODS_CLOCKS.map(([name, text]) => [name, text]),
        choosing("clock"),
      ),
    };
    this.transport = new Transport({
      label: "Progress",
      step: METHODS_STEP_MS.product,
      go: (at) => this.#go(at),
      words: (at, last) =>
        this.state?.clock === "product"
          ? `step ${at} of ${last}`
          : `${Math.round((100 * at) / (last || 1))}% of the time`,
    });
    this.cards = PRODUCTS.methods.map((method) => {
      const choose = (texel) =>
        this.#choose({ program: method.name, texel, instruction: null }, false);
      return new MethodCard(method, choose);
    });
    this.verdict = element("p", { class: "methods-verdict" });
    this.program = new MethodProgram((state) => this.#choose(state, false));
    this.root.append(
      element("div", { class: "controls" }, ...Object.values(this.selects).map(({ root }) => root)),
      this.transport.root,
      element("div", { class: "methods-cards" }, ...this.cards.map(({ root }) => root)),
      this.verdict,
      this.program.root,
    );
  }

  // State ----------------------------------------------------------------------------------------

  // Takes a part of the state; opened anew, unless it only moves what is marked.
  async #choose(part, anew = true) {
    Object.assign(this.state, part);
    if (anew) await this.#open();
    else this.#show();
  }

  #go(at) {
    this.state.at = at;
    this.state.instruction = null;
    this.#show();
  }

  #matrices() {
    const { n } = this.state;
    if (n === "figure-2") return { A: editedMatrices.A, B: editedMatrices.B };
    return { A: methodsMatrix(Number(n), 2001), B: methodsMatrix(Number(n), 2003) };
  }

  #family(method) {
    const { block, mode } = this.state;
    const alike = PRODUCTS.families.filter((family) => family.method === method);
    return alike.find((family) => family.block === block && family.mode === mode) ?? alike[0];
  }

  async #open() {
    const opened = ++this.opened;
    const matrices = this.#matrices();
    const played = await Promise.all(
      PRODUCTS.methods.map(({ name }) => PlayedProduct.open(this.#family(name), matrices)),
    );
    if (opened !== this.opened) {
      played.forEach((each) => each.release());
      return;
    }
    const clock = METHODS_CLOCKS.find(([name]) => name === this.state.clock);
    const most = Object.fromEntries(METHODS_COUNTED.map(([name]) => [name, 0]));
    this.cards.forEach((card, n) => {
      card.take(played[n], clock);
      for (const [name] of METHODS_COUNTED) most[name] = Math.max(most[name], card.total[name]);
    });
    this.slowest = Math.max(...this.cards.map(({ length }) => length));
    const before = this.places;
    this.places = clock[3] ?? matrices.A.columns;
    // Where the slider stands stays, as a part of its length.
    if (before) this.state.at = Math.round((this.state.at / before) * this.places);
    const forms = this.#forms(matrices);
    for (const card of this.cards) card.compare(most, forms[card.method.name]);
    this.state.at = Math.min(this.state.at, this.places);
    for (const [name, { select }] of Object.entries(this.selects))
      select.value = String(this.state[name]);
    this.transport.step = METHODS_STEP_MS[this.state.clock];
    this.transport.shape(this.places);
    this.#show();
  }

  // The closed forms by method and quantity, with their values where the matrices are square.
  #forms({ A, B }) {
    const square = A.rows === A.columns && A.columns === B.columns;
    return Object.fromEntries(
      PRODUCTS.methods.map(({ name }) => [
        name,
        Object.fromEntries(
          this.data.forms.map(({ quantity, source, methods }) => [
            quantity,
            {
              ...methods[name],
              source,
              value: square ? (methods[name].at[`${A.rows},${this.state.block}`] ?? null) : null,
            },
          ]),
        ),
      ]),
    );
  }

  // What is shown -------------------------------------------------------------------------------

  #show() {
    const { at } = this.state;
    const time = (at / this.places) * this.slowest;
    for (const card of this.cards) card.show(time, at === this.places);
    this.transport.show(at);
    this.#showVerdict();
    const card = this.cards.find(({ method }) => method.name === this.state.program);
    for (const each of this.cards) each.mark(each === card ? this.state.texel : null);
    this.program.show(card.played, this.state);
    this.writer.soon();
  }

  #showVerdict() {
    const ends = this.cards.map(({ finished }) => finished);
    const [first, ...others] = this.cards;
    if (!ends.every(Boolean)) {
      const done = this.cards.filter(({ finished }) => finished).map(({ method }) => method.title);
      this.verdict.textContent = done.length ? `${done.join(" and ")} ended already.` : "";
      return;
    }
    const values = this.cards.map(({ played }) => played.player.results().C.values);
    const same = values.every((each) => each.every((value, n) => value === values[0][n]));
    const percentOf = (counts, other) =>
      Math.round((100 * counts.bytes_requested) / other.bytes_requested);
    const shares = others.map(
      ({ method, total }) =>
        `${method.title} requested ${percentOf(total, first.total)}% of ` +
        `${first.method.title}’s bytes`,
    );
    this.verdict.textContent = `${
      same
        ? "The three products are equal, bit for bit."
        : "The products differ in their last bits, since the methods add in different orders."
    } ${shares.join("; ")}.`;
  }

  // Address --------------------------------------------------------------------------------------

  async #fromAddress() {
    this.writer.cancel();
    const given = {
      n: this.data.size,
      block: this.data.block,
      mode: "copy",
      clock: "product",
      program: PRODUCTS.methods.at(-1).name,
    };
    const choices = {
      n: [...this.data.sizes, "figure-2"],
      block: this.data.blocks,
      mode: METHODS_MODES,
      clock: METHODS_CLOCKS.map(([name]) => name),
      program: PRODUCTS.methods.map(({ name }) => name),
    };
    const faults = [];
    for (const [name, values] of Object.entries(choices)) {
      const text = this.address.get(`methods.${name}`);
      if (text === null) continue;
      const value = values.find((each) => String(each) === text);
      if (value === undefined) faults.push(`${quoted(text)} is no ${name} here`);
      else given[name] = value;
    }
    const number = (name, otherwise) => {
      const text = this.address.get(`methods.${name}`);
      if (text !== null && !/^\d+$/.test(text)) faults.push(`${quoted(text)} is no ${name}`);
      return text !== null && /^\d+$/.test(text) ? Number(text) : otherwise;
    };
    this.places = null;
    this.state = {
      ...given,
      at: number("at", Infinity),
      instruction: number("instruction", null),
      texel: { x: number("x", 0), y: number("y", 0) },
    };
    await this.#open();
    say(
      this.root,
      faults.length
        ? `The address says what this part does not understand: ${faults.join("; ")}. ` +
            "The usual is shown in its place."
        : "",
    );
  }

  #words() {
    const {
      texel: { x, y },
      ...state
    } = this.state;
    const words = Object.entries({ ...state, x, y });
    return Object.fromEntries(words.map(([name, value]) => [`methods.${name}`, value]));
  }
}

// A method with its textures, and its counts so far.
class MethodCard {
  // choose(texel): called with the fragment that the reader chooses.
  constructor(method, choose) {
    this.method = method;
    this.grids = {
      A: new ElementGrid("A"),
      B: new ElementGrid("B"),
      C: new ElementGrid(`Framebuffer of ${method.title}`, {
        choose: (row, column) => choose(this.played.layouts.C.texel(row, column)),
      }),
    };
    this.state = element("p", { class: "methods-state" });
    this.counters = element("dl", { class: "methods-counters" });
    this.root = element(
      "article",
      { class: "methods-card" },
      element("h3", {}, `${method.title}, ${method.year}`),
      element("p", { class: "soft" }, `${method.summary}.`),
      element(
        "div",
        { class: "methods-cross" },
        ...["B", "A", "C"].map((name) =>
          element("div", { class: `methods-${name}` }, this.grids[name].root),
        ),
      ),
      this.state,
      this.counters,
    );
  }

  // Takes a product, and counts it pass by pass. clock: of METHODS_CLOCKS.
  take(played, [, , cost]) {
    this.played?.release();
    this.played = played;
    const { plan, passes, draws, matrices, layouts } = played;
    const zero = Object.fromEntries(METHODS_COUNTED.map(([name]) => [name, 0]));
    this.counts = [zero];
    this.times = [0];
    const step = layouts.A.columns / draws.length;
    passes.forEach(({ kind }, k) => {
      const counts = plan.counts(k);
      const before = this.counts[k];
      this.counts.push(
        Object.fromEntries(
          METHODS_COUNTED.map(([name]) => [name, before[name] + (counts[name] ?? 0)]),
        ),
      );
      const took = cost ? cost(counts) : kind === "draw" ? step : 0;
      this.times.push(
        cost ? this.times[k] + took : Math.min(this.times[k] + took, matrices.A.columns),
      );
    });
    this.total = this.counts.at(-1);
    // When the last pass ends.
    this.length = this.times.at(-1);
    for (const [name, grid] of Object.entries(this.grids)) {
      const { A, B } = matrices;
      const held = { A, B, C: { rows: A.rows, columns: B.columns } }[name];
      grid.shape(layouts[name].rows, layouts[name].columns, held);
      grid.quadrants(layouts[name]);
    }
    this.root.style.setProperty("--across", layouts.A.columns + layouts.C.columns);
  }

  // Makes the counters. most: the most of each count among the methods. forms: by quantity.
  compare(most, forms) {
    this.bars = METHODS_COUNTED.map(([name, label]) => {
      const bar = element("span", { class: "methods-bar" }, element("span"), element("span"));
      const number = element("span", { class: "methods-count" });
      const form = forms[name === "fragments" ? "" : name];
      const value = element(
        "dd",
        {},
        bar,
        number,
        ...(form ? [this.#form(form, this.total[name])] : []),
      );
      this.counters.append(element("dt", {}, label), value);
      bar.firstChild.style.width = `${(100 * this.total[name]) / (most[name] || 1)}%`;
      return { name, bar, number, share: most[name] || 1 };
    });
    this.counters.replaceChildren(
      ...[...this.counters.children].slice(-2 * METHODS_COUNTED.length),
    );
  }

  // A closed form of a paper's table beside the count.
  #form({ published, counted, agrees, source, value }, total) {
    const end =
      value === null ? "" : value === total ? ` = ${total}` : ` = ${value}, before padding`;
    const words = agrees
      ? `${source}: ${published}${end}`
      : `${source}: ${published}; counted: ${counted}${end}`;
    return element("small", { class: agrees ? "soft" : "no" }, words);
  }

  // Frames a fragment, and what it looks up; none for null.
  mark(texel) {
    const { played, grids } = this;
    const nearest = texel && played.nearest(texel);
    const own = nearest ? played.lookedUp(nearest) : { A: [], B: [] };
    for (const name of ["A", "B"]) grids[name].frame("own", own[name]);
    grids.C.frame("own", nearest ? played.layouts.C.elements(nearest.x, nearest.y) : []);
  }

  // Shows what is done at a time.
  show(time, atEnd) {
    const { played, grids } = this;
    const done = atEnd
      ? this.times.length - 1
      : this.times.findLastIndex((end) => end <= time * (1 + 1e-9));
    played.seek(done);
    this.finished = done === played.passes.length;
    const { A, B } = played.matrices;
    const operandWhite = played.white([...A.values, ...B.values]);
    const looked = played.lookedUp();
    for (const name of ["A", "B"]) {
      grids[name].paint(
        Matrices.resized(played.matrices[name], grids[name].rows, grids[name].columns).values,
        operandWhite,
      );
      grids[name].frame("pass", looked[name]);
    }
    grids.C.paint(played.elements(played.textures.framebuffer), played.white(played.product));
    const drawn = played.draws.filter((k) => k < done).length;
    const all = played.draws.length;
    this.state.textContent = this.finished
      ? `${all === 1 ? "Its only pass is" : `All ${all} passes are`} drawn`
      : `Pass ${drawn} of ${all}`;
    for (const { name, bar, number, share } of this.bars) {
      const count = this.counts[done][name];
      bar.lastChild.style.width = `${(100 * count) / share}%`;
      const [now, end] = [count, this.total[name]].map(grouped);
      number.textContent = `${now} of ${end}`;
    }
  }
}
