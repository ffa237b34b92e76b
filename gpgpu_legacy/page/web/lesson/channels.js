// Screen 6: quadrants fold into channels, and swizzles say which of them meet.

sections.channels = (root, data, address) => new Channels(root, data, address);

class Channels {
  constructor(root, data, address) {
    this.data = data;
    this.texel = { x: 0, y: 0 };
    this.folded = false;
    this.toggle = element("button", { click: () => { this.folded = !this.folded; this.#fold(); } });
    this.folding = element("div", { class: "folding" });
    this.transport = new Transport({
      label: "Instruction", step: 1600, go: (at) => { this.at = at; this.#show(); },
      words: (at, last) => `${at + 1} of ${last + 1}`,
    });
    this.lines = element("div", { class: "trace-scroll", tabindex: 0, role: "region", "aria-label": "The program" });
    this.meeting = element("div", { class: "meeting" });
    this.wires = new Wires(this.meeting);
    this.met = element("p", { class: "note", role: "status" });
    this.bars = new Bars();
    this.words = element("p", { class: "note" }, `Counted for ${data.size} × ${data.size} matrices at b = ${data.blocks.at(-1)}, beside the single-channel method.`);
    this.choices = CHANNELS.map((name, n) => [n, name]);
    this.question = new Question({
      asks: "", hint: "Its swizzle is behind the point in the second operand: channels r, g, b and a of the product take its letters in turn.", choices: this.choices, tell: (given) => this.#tell(given),
      shown: () => { this.folded = true; this.#fold(); this.#show(); },
    });
    this.aside = element("div", {}, element("div", { class: "answers" }, this.toggle), this.bars.root, this.words);
    screenOf(root, [this.question.root], [
      this.folding, this.transport.root, element("div", { class: "wired" }, this.lines, element("div", {}, this.meeting, this.met))]);
    this.#compare();
    editedMatrices.follow(root, () => this.#open());
    keepControls(root, address);
  }

  #compare() {
    const { single, multi, quantities } = this.data;
    this.bars.show(quantities.flatMap((name) => [
      [`${name}, single`, single.at(-1)[name], single.at(-1)[name]],
      [`${name}, multi`, multi.at(-1)[name], single.at(-1)[name]]]));
  }

  #open() {
    this.played = lessonProduct({ method: "hall-carr-hart-multi", block: 1 });
    const { passes, draws, plan } = this.played;
    this.program = plan.programs[passes[draws[0]].program];
    this.first = this.program.instructions.findIndex(({ op }) => op === "MAD");
    this.at ??= this.first;
    this.folding.replaceChildren(...["A", "B"].map((name) => this.#matrix(name)), this.aside);
    this.transport.shape(this.program.instructions.length - 1);
    const [x, y] = this.program.instructions[this.first].srcs.map(({ swizzle }) => swizzle);
    this.question.again(`In the first multiply-add, channel b of the product takes channel ${CHANNELS[x[2]]} of A. Which channel of B does it meet?`);
    this.partner = y[2];
    this.#fold();
    this.#show();
  }

  #tell(given) {
    const names = this.program.instructions[this.first].srcs.map(({ swizzle }) => swizzle.slice(0, 4).map((c) => CHANNELS[c]).join(""));
    return [given === this.partner, `Channel ${CHANNELS[this.partner]}: the swizzles are .${names[0]} and .${names[1]}, and b is the third letter. ` +
      "Row 2 of blocks times column 1 of blocks, as in any 2×2 product."];
  }

  // A matrix whose elements go from their places to their channels.
  #matrix(name) {
    const layout = this.played.layouts[name];
    const matrix = this.played.matrices[name];
    const white = this.played.white(matrix.values);
    const cells = Array.from(matrix.values, (value, n) => {
      const [row, column] = [Math.floor(n / SIDE), n % SIDE];
      const { x, y, channel } = layout.texel(row, column);
      const { background, color } = texelColours(value, white);
      const cell = element("span", { class: `channel-${CHANNELS[channel]}`, style: `background:${background}` },
        element("span", { style: `color:${color}` }, cellText(value)));
      cell.places = [[column, row], [2 * x + (channel % 2), 2 * y + Math.floor(channel / 2)]];
      return cell;
    });
    const texels = Array.from({ length: layout.width * layout.height }, (_, n) => element("b", {
      style: `left:calc(${2 * (n % layout.width)} * var(--cell));top:calc(${2 * Math.floor(n / layout.width)} * var(--cell));` +
        "width:calc(2 * var(--cell));height:calc(2 * var(--cell))",
    }));
    const fold = element("div", { class: "fold", role: "img",
      "aria-label": `${name}: its quadrants, in the channels r, g, b and a of ${layout.width} × ${layout.height} texels` }, ...cells, ...texels);
    return element("figure", { class: "framed" }, element("figcaption", {}, name), fold);
  }

  #fold() {
    this.toggle.textContent = this.folded ? "Unfold the quadrants" : "Fold the quadrants";
    for (const fold of this.folding.querySelectorAll(".fold")) {
      fold.classList.toggle("folded", this.folded);
      for (const cell of fold.children) {
        if (!cell.places) continue;
        const [x, y] = cell.places[Number(this.folded)];
        cell.style.setProperty("--x", x);
        cell.style.setProperty("--y", y);
      }
    }
  }

  #show() {
    const { played, texel, at } = this;
    const [k] = played.draws;
    const { trace } = played.traces(k).find(({ x, y }) => x === texel.x && y === texel.y);
    this.transport.show(at);
    this.lines.replaceChildren(traceList(trace, played.channels, {
      marked: at, choose: (line) => { this.at = line; this.#show(); },
    }));
    const marked = this.lines.querySelector("[aria-current]");
    this.lines.scrollTop = marked.parentElement.offsetTop - this.lines.clientHeight / 3;
    this.#meet(trace);
  }

  // The channels that meet in an instruction: its operands at both sides, and what it computes.
  #meet(trace) {
    const { at } = this;
    const { op, srcs, mask = "" } = this.program.instructions[at];
    const step = trace.steps[at];
    if (!this.question.answered) {
      this.meeting.replaceChildren();
      this.met.textContent = "Which channels meet is shown once you have answered.";
      return;
    }
    const sign = coordinateRegisters(trace).has(destinationOf(step)) ? null : { MUL: "×", MAD: "×", ADD: "+" }[op];
    if (!sign) {
      this.meeting.replaceChildren();
      this.met.textContent = "No colours meet in this instruction: it looks up, or prepares a register.";
      return;
    }
    const written = [...mask].map((letter) => COMPONENT_LETTERS.indexOf(letter));
    // The register behind an operand, before its swizzle.
    const register = (of) => {
      const name = srcs[of].text.replace(/^-|\.\w+$/g, "");
      return trace.steps.slice(0, at).findLast((before) => destinationOf(before) === name)?.result ?? step.operands[of].value;
    };
    const cell = (channel, text) =>
      element("span", { class: `channel-${CHANNELS[channel]}` }, element("b", {}, CHANNELS[channel]), element("span", {}, text));
    const [left, right] = [0, 1].map((of) => register(of).map((value, channel) => cell(channel, traceNumber(value))));
    const value = (of, channel) => traceNumber(step.operands[of].value[channel]);
    const middle = written.map((channel) => cell(channel, `${op === "MAD" ? `${value(2, channel)} + ` : ""}` +
      `${value(0, channel)} ${sign} ${value(1, channel)} = ${traceNumber(step.result[channel])}`));
    const column = (title, cells) => element("div", {}, element("code", {}, title), ...cells);
    const title = (of) => traceText(srcs[of].text, new Set());
    this.meeting.replaceChildren(column(title(0), left), column(destinationOf(step), middle), column(title(1), right), this.wires.picture);
    this.wires.draw(written.flatMap((channel, n) => [left, right].flatMap((cells, of) => {
      const from = cells[srcs[of].swizzle[channel]];
      return from ? [[from, middle[n], `channel-${CHANNELS[channel]}`]] : [];
    })));
    this.met.textContent = written.map((channel) =>
      `${CHANNELS[channel]}: ${[0, 1].map((of) => CHANNELS[srcs[of].swizzle[channel]] ?? "a constant").join(" with ")}`).join("; ");
  }
}
