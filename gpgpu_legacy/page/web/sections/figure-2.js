// Figure 2, alive: two matrices, the framebuffer, and a slider over the passes that multiply them.

sections["figure-2"] = async (root, data, address) => {
  const figure = new Figure2(address);
  root.append(figure.root);
  await figure.start();
};

// What a family of plans is called where one is chosen, and what it is remembered by.
const FIGURE2_OPTIONS = [
  ["block", "Block b", (value) => String(value)],
  ["mode", "Sums from pass to pass", (value) => value],
  ["format", "Numbers", (value) => (value === "unorm8" ? "8 bits, from 0 to 1 (2001)" : "float32")],
];
const FIGURE2_STEP_MS = 900;
// How many columns of A and of the framebuffer together can be read side by side on a phone.
const FIGURE2_ABREAST = 10;

class Figure2 {
  constructor(address) {
    this.address = address;
    this.opened = 0; // counts the scenes that were asked for: the last of them is shown
    this.state = null;
    this.root = element("div", { class: "figure2" });
    this.writer = new AddressWriter(address, this.root, () => this.#words());
    this.#build();
  }

  async start() {
    let shown = null;
    this.address.follow(() => {
      shown = this.#fromAddress();
    });
    await shown;
  }

  // Controls -------------------------------------------------------------------------------------

  #build() {
    this.method = labelledSelect(
      "Method",
      PRODUCTS.methods.map(({ name, title, year }) => [name, `${title}, ${year}`]),
      (method) => this.#chooseFamily({ ...this.state.family, method }),
    );
    this.options = Object.fromEntries(
      FIGURE2_OPTIONS.map(([option, label]) => [
        option,
        labelledSelect(label, [], (value) =>
          this.#chooseFamily({ ...this.state.family, [option]: value }, option),
        ),
      ]),
    );
    this.sizes = Object.fromEntries(
      [
        ["m", "Rows"],
        ["l", "Inner"],
        ["n", "Columns"],
      ].map(([size, label]) => {
        const input = element("input", {
          type: "number",
          min: 1,
          max: Matrices.LARGEST,
          step: 1,
          change: () => this.#chooseSize(size, input.value),
        });
        return [size, { input, root: element("label", { class: "control" }, `${label} `, input) }];
      }),
    );
    this.transport = new Transport({
      label: "Step",
      step: FIGURE2_STEP_MS,
      go: (pass) => this.#go(pass),
    });
    this.grids = {
      A: new ElementGrid("A", this.#editing("A")),
      B: new ElementGrid("B", this.#editing("B")),
      framebuffer: new ElementGrid("Framebuffer", {
        choose: (row, column) => this.#choose(row, column),
      }),
      partial: new ElementGrid("F, the sum that the next pass reads"),
      adds: new ElementGrid("What the pass adds"),
    };
    this.moment = element("p", { class: "figure2-moment" });
    this.legend = element("p", { class: "note" });
    this.outcome = element("p", { class: "figure2-outcome" });
    this.device = element("p", { class: "note" });
    this.fragment = element("div", {
      class: "figure2-fragment",
      role: "region",
      "aria-label": "Fragment",
    });
    this.titles = {};
    const picture = (name, title, ...more) => {
      this.titles[name] = element("h3", {}, title);
      return element(
        "div",
        { class: `figure2-picture figure2-${name}` },
        element("div", { class: "figure2-head" }, this.titles[name], ...more),
        this.grids[name].root,
      );
    };
    this.partial = picture("partial", "F");
    this.stage = element(
      "div",
      {
        class: "figure2-stage",
        tabindex: 0,
        role: "region",
        "aria-label": "The matrices and the framebuffer",
      },
      element(
        "div",
        { class: "figure2-cross" },
        picture("B", "B", this.#tools("B")),
        picture("A", "A", this.#tools("A")),
        picture("framebuffer", "Framebuffer"),
      ),
      element("div", { class: "figure2-others" }, picture("adds", "This pass adds"), this.partial),
    );
    this.root.append(
      element(
        "div",
        { class: "controls" },
        this.method.root,
        ...Object.values(this.options).map(({ root }) => root),
        ...Object.values(this.sizes).map(({ root }) => root),
        this.#button("Figure 2’s matrices", () => this.#setMatrices(this.#given())),
      ),
      element(
        "div",
        { class: "controls" },
        this.transport.root,
        this.#button("Copy a link to this moment", () => this.#copyLink()),
      ),
      this.moment,
      element(
        "div",
        { class: "figure2-both" },
        element(
          "div",
          { class: "figure2-pictures" },
          this.stage,
          this.legend,
          this.outcome,
          this.device,
        ),
        this.fragment,
      ),
    );
  }

  #button(text, click) {
    return element("button", { type: "button", click }, text);
  }

  #tools(name) {
    const filled = (make) => () => {
      const { rows, columns } = this.state.matrices[name];
      this.#setMatrices({ ...this.state.matrices, [name]: make(rows, columns) });
    };
    return element(
      "div",
      { class: "figure2-tools", role: "group", "aria-label": `Fill ${name}` },
      this.#button(
        "random",
        filled((rows, columns) => this.#random(rows, columns)),
      ),
      this.#button("identity", filled(Matrices.identity)),
    );
  }

  // Random integers; where the numbers end at 1, random eighths.
  #random(rows, columns) {
    const eighths = this.played.ends;
    return Matrices.made(rows, columns, () =>
      eighths ? Math.floor(9 * Math.random()) / 8 : Math.floor(19 * Math.random()) - 9,
    );
  }

  #editing(name) {
    return {
      type: (row, column, text, done) => {
        const { value, fault } = readNumber(text);
        const matrix = this.state.matrices[name];
        const at = row * matrix.columns + column;
        if (fault) {
          const begun =
            /^\s*[+-−]?\d*\.?\d*(e[+-]?\d*)?(\/\d*)?\s*$/i.test(text) &&
            Math.abs(Number(text)) < 1e38;
          if (done || !begun) {
            this.#say(
              `${fault[0].toUpperCase()}${fault.slice(1)}: ${name} keeps ` +
                `${float32Text(matrix.values[at])} in row ${row + 1}, column ${column + 1}.`,
            );
          }
          return false;
        }
        this.#say("");
        if (!Object.is(matrix.values[at], value)) {
          const values = matrix.values.slice();
          values[at] = value;
          this.#setMatrices({ ...this.state.matrices, [name]: { ...matrix, values } });
        }
        return true;
      },
      paste: (text) => {
        const { matrix, fault } = Matrices.read(text);
        if (fault) {
          this.#say(`That was not pasted into ${name}: ${fault}. ${name} is as it was.`);
          return;
        }
        this.#say("");
        const { A, B } = this.state.matrices;
        this.#setMatrices(
          name === "A"
            ? { A: matrix, B: Matrices.resized(B, matrix.columns, B.columns) }
            : { A: Matrices.resized(A, A.rows, matrix.rows), B: matrix },
        );
      },
    };
  }

  #say(sentence) {
    say(this.root, sentence);
  }

  #chooseSize(size, text) {
    const { A, B } = this.state.matrices;
    const before = { m: A.rows, l: A.columns, n: B.columns };
    const number = Number(text);
    if (!Number.isInteger(number) || number < 1 || number > Matrices.LARGEST) {
      this.sizes[size].input.value = before[size];
      this.#say(
        `Matrices here have 1 to ${Matrices.LARGEST} rows and columns, so ${before[size]} stays.`,
      );
      return;
    }
    this.#say("");
    const { m, l, n } = { ...before, [size]: number };
    this.#setMatrices({ A: Matrices.resized(A, m, l), B: Matrices.resized(B, l, n) });
  }

  async #copyLink() {
    this.writer.now();
    try {
      await navigator.clipboard.writeText(location.href);
      this.#say("The link is copied: who opens it sees this moment.");
    } catch {
      this.#say("The browser does not let a page copy; the address of this page is the link.");
    }
  }

  // State ----------------------------------------------------------------------------------------

  #given() {
    const { A, B } = PRODUCTS.matrices;
    return { A: Matrices.of(A), B: Matrices.of(B) };
  }

  // The family nearest to a wish: of its method, with as many of its options as there are, the one
  // that was chosen last before the others.
  #nearest(wish, last = null) {
    const score = (family) =>
      FIGURE2_OPTIONS.reduce(
        (sum, [option]) =>
          sum + (String(family[option]) === String(wish[option]) ? (option === last ? 10 : 1) : 0),
        0,
      );
    const candidates = PRODUCTS.families.filter(({ method }) => method === wish.method);
    return candidates.reduce((best, family) => (score(family) > score(best) ? family : best));
  }

  async #chooseFamily(wish, last) {
    const atEnd = this.state.pass === this.played.passes.length;
    this.state.family = this.#nearest(wish, last);
    await this.#open(atEnd ? Infinity : this.state.pass);
  }

  async #setMatrices(matrices) {
    const before = this.state.matrices;
    const alike = ["A", "B"].every(
      (name) =>
        before[name].rows === matrices[name].rows &&
        before[name].columns === matrices[name].columns,
    );
    this.state.matrices = matrices;
    if (!alike) {
      await this.#open(this.state.pass === this.played.passes.length ? Infinity : this.state.pass);
      return;
    }
    this.played.setMatrices(matrices);
    editedMatrices.take(matrices);
    this.#show();
  }

  #go(pass) {
    this.state.pass = pass;
    this.#show();
  }

  // Opens the fragment of an element of the framebuffer.
  #choose(row, column) {
    const { x, y } = this.played.layouts.C.texel(row, column);
    this.state.texel = { x, y };
    this.#show();
  }

  // Opens the product of the family and shape that the state names, at a pass.
  async #open(pass) {
    const opened = ++this.opened;
    const { family, matrices } = this.state;
    const played = await PlayedProduct.open(family, matrices);
    if (opened !== this.opened) {
      played.release();
      return;
    }
    this.played?.release();
    this.played = played;
    editedMatrices.take(matrices);
    this.state.pass = Math.min(pass, played.passes.length);
    this.state.texel = played.nearest(this.state.texel);
    this.#showControls();
    this.#show();
  }

  // Address --------------------------------------------------------------------------------------

  // Takes the state from the address; what is wrong with it is said, and replaced.
  async #fromAddress() {
    this.writer.cancel();
    const word = (name) => this.address.get(`figure-2.${name}`);
    const pass = word("pass");
    const faults = [];
    const wish = { method: PRODUCTS.methods[0].name };
    for (const name of ["method", ...FIGURE2_OPTIONS.map(([option]) => option)]) {
      const value = word(name);
      if (value === null) continue;
      if (PRODUCTS.families.some((family) => String(family[name]) === value)) wish[name] = value;
      else faults.push(`${quoted(value)} is no ${name} here`);
    }
    const matrices = this.#given();
    for (const name of ["A", "B"]) {
      if (word(name) === null) continue;
      const { matrix, fault } = Matrices.read(word(name));
      if (fault) faults.push(`${name} cannot be read (${fault})`);
      else matrices[name] = matrix;
    }
    if (matrices.A.columns !== matrices.B.rows) {
      faults.push(`A has ${matrices.A.columns} columns and B has ${matrices.B.rows} rows`);
      Object.assign(matrices, this.#given());
    }
    const texel = /^(\d+)_(\d+)$/.exec(word("texel") ?? "0_0");
    if (!texel) faults.push(`${quoted(word("texel"))} is no texel`);
    const family = this.#nearest(wish);
    this.state = {
      family,
      matrices,
      pass: 0,
      texel: texel ? { x: Number(texel[1]), y: Number(texel[2]) } : { x: 0, y: 0 },
    };
    const wanted = { ...this.state.texel };
    // Unless the address asks for a moment, it plays once it is seen, or shows the end.
    const plays = pass === null && !calm();
    await this.#open(plays ? 0 : Infinity);
    if (plays) this.transport.playWhenSeen();
    const { x, y } = this.state.texel;
    if (x !== wanted.x || y !== wanted.y) faults.push(`there is no texel ${wanted.x}_${wanted.y}`);
    if (pass !== null) {
      if (/^\d+$/.test(pass) && Number(pass) <= this.played.passes.length)
        this.state.pass = Number(pass);
      else
        faults.push(
          `${quoted(pass)} is none of the ${this.played.passes.length + 1} places of the slider`,
        );
      this.#show();
    }
    const shown = faults.length > 1 ? "What can be read is shown, and" : "In its place";
    this.#say(
      faults.length
        ? `The address says what this figure does not understand: ${faults.join("; ")}. ` +
            `${shown} the usual is shown.`
        : "",
    );
  }

  #words() {
    const { family, matrices, pass, texel } = this.state;
    const options = Object.fromEntries(
      FIGURE2_OPTIONS.map(([option]) => [`figure-2.${option}`, family[option] ?? null]),
    );
    return {
      "figure-2.method": family.method,
      ...options,
      "figure-2.A": Matrices.text(matrices.A),
      "figure-2.B": Matrices.text(matrices.B),
      "figure-2.pass": pass,
      "figure-2.texel": `${texel.x}_${texel.y}`,
    };
  }

  // What is shown -------------------------------------------------------------------------------

  // The controls, as the family, the shape and the plan want them.
  #showControls() {
    const { played } = this;
    const {
      family,
      matrices: { A, B },
    } = this.state;
    this.method.select.value = family.method;
    for (const [option, , text] of FIGURE2_OPTIONS) {
      const { select, root } = this.options[option];
      const alike = PRODUCTS.families.filter(({ method }) => method === family.method);
      const values = [...new Set(alike.map((each) => each[option]))];
      root.hidden = values.length === 1 && values[0] === null;
      select.disabled = values.length === 1;
      select.replaceChildren(...values.map((value) => element("option", { value }, text(value))));
      select.value = String(family[option]);
    }
    const sizes = { m: A.rows, l: A.columns, n: B.columns };
    for (const [size, { input }] of Object.entries(this.sizes)) input.value = sizes[size];
    for (const [name, grid] of Object.entries(this.grids)) {
      const layout = played.layouts[name] ?? played.layouts.C;
      const held = figure2Held(this.state.matrices, name);
      grid.shape(layout.rows, layout.columns, held);
      grid.quadrants(layout);
    }
    const across = played.layouts.A.columns + played.layouts.C.columns;
    this.stage.classList.toggle("figure2-many", across > FIGURE2_ABREAST);
    const most = Math.max(played.layouts.A.columns, played.layouts.C.columns);
    this.stage.style.setProperty("--most", most);
    this.stage.style.setProperty("--across", across);
    this.stage.style.setProperty("--abreast", across + played.layouts.C.columns);
    this.transport.shape(played.passes.length);
  }

  #show() {
    this.played.seek(this.state.pass);
    this.#showOperands();
    this.#showFramebuffer();
    this.#showMoment();
    this.#showFragment();
    this.#showOutcome();
    this.transport.show(this.state.pass);
    this.writer.soon();
  }

  #showOperands() {
    const {
      played,
      state: { matrices, texel },
    } = this;
    const white = played.white([...matrices.A.values, ...matrices.B.values]);
    const [looked, own] = [played.lookedUp(), played.lookedUp(texel)];
    for (const name of ["A", "B"]) {
      const grid = this.grids[name];
      const { values } = Matrices.resized(matrices[name], grid.rows, grid.columns);
      grid.paint(values, white, (row, column) => {
        const value = values[row * grid.columns + column];
        return played.ends && (value > 1 || value < 0);
      });
      grid.frame("pass", looked[name]);
      grid.frame("own", own[name]);
    }
  }

  #showFramebuffer() {
    const { played, grids } = this;
    const { framebuffer, partial } = played.textures;
    const { C } = played.layouts;
    const white = played.white(played.product);
    const clamped = played.clamped();
    grids.framebuffer.paint(played.elements(framebuffer), white, (row, column) => {
      const { x, y } = C.texel(row, column);
      return clamped.has(`${x},${y}`);
    });
    grids.framebuffer.frame("own", C.elements(this.state.texel.x, this.state.texel.y));
    const takesTurns = played.family.mode === "ping-pong";
    this.titles.framebuffer.textContent = takesTurns
      ? `Framebuffer: ${framebuffer}`
      : "Framebuffer";
    this.partial.hidden = !partial;
    if (partial) {
      this.titles.partial.textContent = `${partial}, the sum before`;
      grids.partial.paint(played.elements(partial), white);
    }
    grids.adds.paint(played.added(), white);
    this.legend.replaceChildren(
      element("span", { class: "figure2-swatch" }),
      " What the pass looks up in A and B, and ",
      element("span", { class: "figure2-swatch own" }),
      " what the fragment chosen in the framebuffer does. ",
      white === 1
        ? "Black is 0, white is 1 or more."
        : `Black is 0, white is ${cellText(white)}, the largest ` +
            "number of the product; of A and B it is their own largest. Blue is below 0.",
      played.ends ? " Numbers with a red edge were clamped: 8 bits end there." : "",
    );
  }

  #showMoment() {
    this.moment.replaceChildren(...momentInWords(this.played));
  }

  #showFragment() {
    this.fragment.replaceChildren(...fragmentInWords(this.played, this.state.texel));
  }

  #showOutcome() {
    const { played } = this;
    const finished = played.at === played.passes.length;
    this.outcome.textContent = finished ? outcomeInWords(played) : "";
    this.device.textContent = playedOn(played.player);
  }
}

// The rows and columns that a matrix of the figure has, without padding.
function figure2Held({ A, B }, name) {
  return {
    rows: name === "B" ? B.rows : A.rows,
    columns: name === "A" ? A.columns : B.columns,
  };
}
