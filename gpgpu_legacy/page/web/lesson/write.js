// Screen 10: a program of one's own, drawn at each key beside its target.

sections.write = (root, data, address) => new Write(root, data, address);

const WRITE_GREYS = { anchors: [[0, 0, 0], [255, 255, 255]], low: 0, high: 1, far: [], not_finite: [214, 40, 160] };
const HIDDEN_INPUTS = 3; // on which a program must be right, too

class Write {
  constructor(root, { tasks, cards, resources, scene, box }, address) {
    Object.assign(this, {  tasks, cards, resources, plan: new PlanOf(scene), reader: new ProgramReader(box) });
    this.task = labelledSelect("Task", tasks.map(({ title }, n) => [n, title]), () => this.#open());
    this.card = labelledSelect("Card", cards.map(({ chip }, n) => [n, chip]), () => this.#show());
    this.box = element("textarea", {
      "aria-label": "Program", spellcheck: "false", autocapitalize: "off", input: () => this.#show(),
      placeholder: "TEX R0, fragment.texcoord[0], texture[0], RECT;\nMOV result.color, R0;",
    });
    this.marks = element("pre", { "aria-hidden": "true" });
    this.asks = element("p", { class: "asks" });
    this.words = element("p", { class: "says", role: "status" });
    this.bars = new Bars();
    this.loads = element("p", { class: "note", role: "status" });
    this.pictures = element("div", { class: "stripes" });
    screenOf(root, [element("div", { class: "question" }, this.task.root, this.asks)], [
      element("div", { class: "editor" }, this.marks, this.box), this.words, this.pictures, this.card.root, this.bars.root, this.loads, root.querySelector("details")]);
    this.#open();
    keepControls(root, address);
  }

  // Shows a task, whose target its solution draws.
  #open() {
    this.of = this.tasks[this.task.select.value];
    const { asks, solution, inputs, scale, par } = this.of;
    this.asks.textContent = `${asks} Par: ${par} instruction${par > 1 ? "s" : ""}.`;
    this.inputs = inputs.map((channels) => this.#texels((n, c) => parseInt(channels[c]?.[n] ?? 0, 16) / scale));
    this.solution = this.reader.read(solution);
    this.target = this.#drawn(this.solution, this.inputs);
    const any = (digits) => Math.floor(Math.random() * (1 + Math.max(...[...digits].map((digit) => parseInt(digit, 16)))));
    this.hidden = Array.from({ length: HIDDEN_INPUTS }, () => {
      const given = inputs.map((channels) => this.#texels((n, c) => any(channels[c] ?? "0") / scale));
      return { given, target: this.#drawn(this.solution, given) };
    });
    this.#show();
  }

  #texels(value) {
    const { width, height } = this.plan.textures[0];
    return Float32Array.from({ length: 4 * width * height }, (_, n) => value(n >> 2, n & 3));
  }

  // What a program draws from textures, and how many fragments it discards.
  #drawn(program, inputs) {
    const run = new Interpreter(this.plan, {});
    const { program: name, targets, bindings } = this.plan.pass(0);
    const machine = new FragmentMachine(program);
    const runs = () => FragmentMachine.prototype.run.call(machine);
    let discarded = 0;
    machine.run = () => runs() || (discarded += 1, false);
    run.programs[name] = machine;
    inputs.forEach((texels, n) => run.state[bindings[n].texture].data.set(texels));
    run.seek(1);
    return { texels: run.texture(targets[0]).data, discarded };
  }

  // NaN where a texel differs in a channel that is compared, in its first number.
  #wrong({ texels }, { texels: target }) {
    const differs = (n) => !Object.is(texels[n] + 0, target[n] + 0); // -0 is 0
    return texels.map((_, n) => (n % 4 === 0 && [0, 1, 2, 3].slice(0, this.of.channels).some((c) => differs(n + c)) ? NaN : 0));
  }

  #show() {
    const text = this.box.value;
    const program = this.reader.read(text);
    const { faults, instructions } = program;
    let from = 0;
    this.marks.replaceChildren(...faults.flatMap(({ at, end, message }) => {
      const before = text.slice(from, at);
      from = end;
      return [before, element("u", { "data-says": message }, text.slice(at, end) || " ")];
    }), `${text.slice(from)}\n`);
    this.box.setAttribute("aria-invalid", faults.length > 0);
    const used = resourcesOf(program), { chip, most } = this.cards[this.card.select.value];
    this.bars.show(this.resources.map((name, n) => [name, used[n], most[n] ?? Infinity, `${used[n]} of ${most[n] ?? "any number"}`]));
    const beyond = this.resources.filter((_, n) => most[n] !== null && used[n] > most[n]);
    this.loads.textContent = `The ${chip} ${beyond.length ? `does not load it: too many ${beyond.join(" and ")}` : "loads it"}.`;
    const mine = faults.length || !instructions.length ? null : this.#drawn(program, this.inputs);
    const wrong = mine && this.#wrong(mine, this.target);
    this.words.textContent = this.#says(program, mine, wrong);
    const panels = [...this.inputs.map((texels, n) => [`texture[${n}]`, texels]), ["the target", this.target.texels], ["yours", mine?.texels], ["what differs", wrong]];
    this.pictures.replaceChildren(...panels.map(([title, data]) => {
      const canvas = element("canvas", { role: "img", "aria-label": title });
      if (data?.length) new TexelColours(WRITE_GREYS).paint(canvas, { width: this.plan.textures[0].width, data }, this.of.channels > 1 && data !== wrong ? null : 0);
      return framed(title, canvas);
    }));
  }

  #says(program, mine, wrong) {
    const { faults, instructions } = program;
    const { par } = this.of;
    if (faults.length) return faults[0].message + (faults.length > 1 ? ` (and ${faults.length - 1} more)` : "");
    if (!mine) return "The box is empty: write an instruction.";
    const count = (texels) => texels.filter((value, n) => n % 4 === 0 && Number.isNaN(value)).length;
    const notes = [[mine.discarded, "discarded"], [count(mine.texels), "NaN"]].filter(([n]) => n).map(([n, what]) => ` ${n} ${n > 1 ? "are" : "is"} ${what}.`);
    if (count(wrong)) return `${count(wrong)} of ${wrong.length / 4} texels differ.${notes.join("")}`;
    if (this.hidden.some(({ given, target }) => this.#wrong(this.#drawn(program, given), target).some(Number.isNaN))) {
      return "Right on this picture, but not on others, which you do not see.";
    }
    const over = instructions.length - par;
    return `Right, bit for bit, on ${HIDDEN_INPUTS} other pictures, too: ${instructions.length} instructions, ${over > 0 ? `${over} above par` : over ? "below par!" : "at par"}.`;
  }
}
