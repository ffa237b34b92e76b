// Figure 2, alive: two matrices, the stripes that a pass draws, and the framebuffer.

sections["figure-2"] = async (root, { heart }, address) => {
  const figure = new Figure2(address, heart);
  root.append(figure.root);
  await figure.start();
};

const FIGURE2_STEP_MS = 2400;
const FIGURE2_DONE = 3; // the parts of a step: sources move, the pass fills, the framebuffer changes

class Figure2 {
  constructor(address, heart) {
    Object.assign(this, { address, heart: new Heart(heart) });
    this.root = element("div", { class: "figure2" });
    this.writer = new AddressWriter(address, this.root, () => this.#words());
    this.#build();
  }

  async start() {
    const { A, B } = editedMatrices;
    this.played = await PlayedProduct.open(PRODUCTS.plans[0], { A, B });
    this.transport.shape(this.played.passes.length);
    this.address.follow(() => this.#fromAddress());
    editedMatrices.follow(this.root, () => this.#changed());
  }

  // Controls -------------------------------------------------------------------------------------

  #build() {
    this.transport = new Transport({
      label: "Step", step: FIGURE2_STEP_MS, go: (pass) => this.#go(pass),
      words: (at) => this.#count(at),
    });
    const tell = (sentence) => this.#say(sentence);
    const grids = this.grids = {
      A: operandGrid("A", tell),
      B: operandGrid("B", tell),
      framebuffer: new ElementGrid("Framebuffer", {
        choose: (row, column) => {
          this.fragmentBox.open = true;
          this.#choose(row, column);
        },
      }),
      column: new ElementGrid("The column of A, stretched across"),
      row: new ElementGrid("The row of B, stretched down"),
      adds: new ElementGrid("What the pass adds"),
    };
    this.moment = element("p", { class: "figure2-moment" });
    this.legend = element("p", { class: "legend" });
    this.device = element("p", { class: "note figure2-device" });
    this.fragment = element("div", { class: "figure2-fragment", role: "region", "aria-label": "Fragment of the framebuffer" });
    const picture = (name, title) => framed(title, grids[name]);
    this.cross = element("div", { class: "cross" }, this.heart.root, picture("B", "B"), picture("A", "A"),
      picture("framebuffer", "Framebuffer"));
    this.stage = element("div", { class: "figure2-stage" }, this.cross,
      element("div", { class: "figure2-side" },
        this.moment,
        element("div", { class: "stripes" }, picture("column", "column of A →"), signOf("×", picture("row", "row of B ↓")), signOf("=", picture("adds", "this pass"))),
        this.transport.root, this.legend));
    this.question = new Question({
      asks: "", typed: true, tell: (given) => this.#tell(given),
      hint: "Each pass adds column times row: there, row 1 of a column of A times column 1 of a row of B. Add two such products.",
      shown: () => {
        if (this.state.pass > this.#asked) this.#show();
        else this.transport.to(this.#asked + 1);
      },
    });
    grids.framebuffer.cover = (at) =>
      (at === 0 && !this.question.answered && this.state.pass > this.#asked ? "?" : null);
    this.fragmentBox = element("details", {},
      element("summary", {}, "The fragment behind a number of the framebuffer"), this.fragment);
    this.root.append(
      this.stage, this.question.root,
      element("p", { class: "note" }, "The method of Larsen (printed Larson) & McAllister, 2001, as Figure 2 of Hall, Carr & Hart 2003 " +
        "shows it. The matrices are ours, not the paper’s: type into A and B. The heart is such a product too, of 32 columns of waves and 32 rows: each pass makes it sharper."),
      this.fragmentBox,
      element("details", {},
        element("summary", {}, "More: other matrices"),
        element("div", { class: "controls" },
          ...["A", "B"].map((name) => this.#tools(name)),
          this.#button("Figure 2’s matrices", () => editedMatrices.take(figure2Matrices()))),
        this.device),
    );
  }

  #button(text, click) {
    return element("button", { click }, text);
  }

  #tools(name) {
    const fill = (text, make) => this.#button(text, () => editedMatrices.take({ [name]: make() }));
    const random = () => Matrices.made(() => Math.floor(19 * Math.random()) - 9);
    return element("span", { role: "group", "aria-label": `Fill ${name}` }, `${name}: `,
      fill("random", random), fill("identity", Matrices.identity));
  }

  #say(sentence) {
    say(this.root, sentence);
  }

  // State ----------------------------------------------------------------------------------------

  #changed() {
    const { A, B } = editedMatrices;
    const { matrices } = this.played;
    if (matrices.A === A && matrices.B === B) return;
    this.played.setMatrices({ A, B });
    this.#ask();
    this.#show();
  }

  #go(pass) {
    const forward = pass === this.state.pass + 1;
    this.state.pass = pass;
    if (forward && !calm() && this.played.draws.includes(pass - 1)) this.#draw();
    else this.#show();
  }

  // Shows a draw, cause before effect: the column and the row fly from A and B to where they are
  // stretched, their product fills the pass, and the pass flies to the framebuffer, which adds it.
  async #draw() {
    const { grids, state } = this;
    const beat = {};
    state.pass -= 1;
    this.#show();
    state.pass += 1;
    for (let part = 0; part < FIGURE2_DONE; part += 1) {
      this.#show(part);
      this.beat = beat;
      const looked = this.played.lookedUp();
      const cells = (name) => [...new Set(looked[name].map(({ row, column }) => grids[name].cell(row, column)))];
      const pace = this.transport.pace / 4;
      if (part === 0) {
        fly(cells("A"), grids.column.root, pace);
        fly(cells("B"), grids.row.root, pace);
      } else if (part === 1) grids.adds.fill(pace);
      else fly(grids.adds.cells, grids.framebuffer.root, pace);
      await new Promise((done) => setTimeout(done, pace));
      if (this.beat !== beat) return;
    }
    this.#show();
  }

  // Opens the fragment of an element of the framebuffer.
  #choose(row, column) {
    this.state.texel = { x: column, y: row };
    this.#show();
  }

  // The second pass that draws; the question is what its first pixel will hold.
  get #asked() {
    return this.played.draws[1];
  }

  #ask() {
    this.question.again("What will row 1, column 1 of the framebuffer hold after pass 2?");
  }

  #tell(given) {
    const { played } = this;
    const held = played.draws.slice(0, 2).map((k) => played.traces(k)[0].trace.after[0]);
    const value = held.at(-1);
    return [given !== null && Math.abs(given - value) <= 0.006 * Math.max(1, Math.abs(value)),
      held.map((after, n) => `after pass ${n + 1} it holds ${traceNumber(after)}`).join(", ").replace("a", "A") + "."];
  }

  // Address --------------------------------------------------------------------------------------

  // Takes the state from the address; what is wrong with it is reported and replaced.
  #fromAddress() {
    this.writer.cancel();
    const word = (name) => this.address.get(`figure-2.${name}`);
    const pass = word("pass");
    const faults = [];
    const matrices = figure2Matrices();
    for (const name of ["A", "B"]) {
      if (word(name) === null) continue;
      const { matrix, fault } = Matrices.read(word(name));
      if (fault) faults.push(`${name} cannot be read (${fault})`);
      else matrices[name] = matrix;
    }
    const texel = /^([0-3])_([0-3])$/.exec(word("texel") ?? "0_0");
    if (!texel) faults.push(`${quoted(word("texel"))} is no texel`);
    const [x, y] = texel ? [Number(texel[1]), Number(texel[2])] : [0, 0];
    const last = this.played.passes.length;
    this.state = { pass: last, texel: { x, y } };
    editedMatrices.take(matrices);
    this.played.setMatrices(matrices);
    this.#ask();
    if (word("texel")) this.fragmentBox.open = true;
    // Unless the address asks for a moment, it plays once it is seen, or shows the end.
    if (pass === null && !calm()) {
      this.state.pass = this.played.draws[0] + 1;
      this.#draw();
      this.transport.playWhenSeen(this.cross);
    } else {
      this.question.answered = pass !== null; // a link to a moment shows all of it
      if (pass !== null && /^\d+$/.test(pass) && Number(pass) <= last) this.state.pass = Number(pass);
      else if (pass !== null) faults.push(`${quoted(pass)} is none of the ${last + 1} places of the slider`);
      this.#show();
    }
    const shown = faults.length > 1 ? "What can be read is shown, and" : "In its place";
    this.#say(faults.length
      ? `The address says what this figure does not understand: ${faults.join("; ")}. ${shown} the usual is shown.`
      : "");
  }

  #words() {
    const { pass, texel } = this.state;
    return {
      "figure-2.A": Matrices.text(editedMatrices.A),
      "figure-2.B": Matrices.text(editedMatrices.B),
      "figure-2.pass": pass,
      "figure-2.texel": `${texel.x}_${texel.y}`,
    };
  }

  // What is shown -------------------------------------------------------------------------------

  #count(at) {
    const { draws = [] } = this.played ?? {};
    return `pass ${draws.filter((draw) => draw < at).length} of ${draws.length}`;
  }

  // part: the part of the draw that is shown.
  #show(part = FIGURE2_DONE) {
    this.beat = null;
    const { played, grids, state: { pass, texel } } = this;
    played.seek(pass);
    const operandWhite = paintOperands(grids, played);
    const [looked, own] = [played.lookedUp(), played.lookedUp(texel)];
    for (const name of ["A", "B"]) {
      grids[name].frame("pass", looked[name]);
      grids[name].frame("own", this.fragmentBox.open ? own[name] : []);
    }
    const white = played.white(played.product);
    if (part === FIGURE2_DONE) this.#showFramebuffer(white);
    for (const name of ["column", "row", "adds"]) {
      grids[name].cover = () => (played.last === null || part === 0 ? "" : null);
    }
    const stripes = stripesOf(played, played.last ?? played.draws[0]);
    grids.column.paint(stripes.A, operandWhite);
    grids.row.paint(stripes.B, operandWhite);
    grids.adds.paint(played.added(), white);
    this.legend.replaceChildren(
      greyLegend(operandWhite, operandWhite === white ? "the scale of all numbers" : "the scale of A, B and stripes"),
      ...(operandWhite === white ? [] : [greyLegend(white, "the scale of products and sums")]),
    );
    this.moment.replaceChildren(...momentInWords(played));
    this.fragment.replaceChildren(...fragmentInWords(played, texel));
    this.device.textContent = playedOn(played.player);
    this.transport.show(pass);
    this.writer.soon();
  }

  #showFramebuffer(white) {
    const { played, grids, state: { texel } } = this;
    grids.framebuffer.paint(played.elements(played.framebuffer), white);
    grids.framebuffer.frame("own", this.fragmentBox.open ? [{ row: texel.y, column: texel.x }] : []);
  }
}

function figure2Matrices() {
  const { A, B } = PRODUCTS.matrices;
  return { A: Matrices.of(A), B: Matrices.of(B) };
}

// A larger product, which becomes a picture: each pass adds a column of waves times a row.
class Heart {
  static STEP_MS = 160;

  constructor({ scene, A, B }) {
    const operand = (rows) => ({ rows: rows.length, columns: rows.length, values: Float32Array.from(rows.flat()) });
    this.player = new Player(scene, { A: operand(A), B: operand(B) });
    this.draws = Array.from({ length: this.player.plan.passes }, (_, k) => k)
      .filter((k) => this.player.plan.pass(k).kind === "draw");
    this.canvas = element("canvas", { width: A.length, height: A.length });
    this.said = element("span");
    this.root = element("button", {
      class: "heart", title: "Play again", click: () => this.play(),
    }, this.canvas, this.said);
    if (calm()) this.show(this.draws.length);
    else this.play();
  }

  play() {
    clearInterval(this.timer);
    let at = 0;
    this.timer = setInterval(() => {
      this.show(++at);
      if (at === this.draws.length) clearInterval(this.timer);
    }, Heart.STEP_MS);
  }

  show(passes) {
    this.player.seek(this.draws[passes - 1] + 1);
    const { data } = this.player.texture(this.player.plan.outputs[0].texture);
    const { canvas: { width } } = this;
    const picture = this.canvas.getContext("2d");
    for (let n = 0; n < data.length / 4; n += 1) {
      picture.fillStyle = texelColours(data[4 * n], 1).background;
      picture.fillRect(n % width, Math.floor(n / width), 1, 1);
    }
    this.said.textContent = `${width} × ${width}: pass ${passes} of ${this.draws.length}`;
  }
}
