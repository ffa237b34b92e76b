// A plan that is played: its passes, its textures, a fragment, the program and the counts.

// The words of what passes and plans cost, by the names of Counts; others are not shown.
const PLAYED_COUNTS = {
  fragments: "fragments", lookup: "lookups", arithmetic: "arithmetic instructions",
  bytes_requested: "bytes requested", copy_bytes: "bytes copied", clear_bytes: "bytes cleared",
};


const PLAYED_TEXTURES = 8; // that are shown at a time

class PlayedPlan {
  // given: as page/one_plan.py makes it. step: milliseconds for a pass. moved({pass, texel}): called
  // when its reader goes elsewhere; a texel is written as "texture:x,y", or is null.
  static async open(given, step, moved) {
    const { operands } = given.scene.plan;
    const matrices = Object.fromEntries((operands ?? []).map(({ name, rows, columns }) => {
      const bytes = Uint8Array.from(atob(given.operands[name]), (c) => c.charCodeAt(0));
      return [name, { rows, columns, values: new Float32Array(bytes.buffer) }];
    }));
    return new PlayedPlan(await Player.open(given.scene, matrices), given, step, moved);
  }

  constructor(player, { views, stops }, step, moved) {
    Object.assign(this, { player, plan: player.plan, moved, at: 0, texel: null });
    this.transport = new Transport({
      label: "Pass", step, go: (at) => { this.show(at); this.tell(); },
    });
    this.transport.shape(this.plan.passes, stops);
    this.pictures = Object.fromEntries(this.plan.textures.map(({ name }) => [name,
      new TexelPicture(name, views[name], (x, y) => {
        this.choose({ texture: name, x, y });
        this.tell();
      })]));
    this.moment = element("p", { class: "plan-moment" });
    this.fragment = element("div", { class: "plan-fragment", role: "region", "aria-label": "Fragment" });
    this.program = element("div", { class: "plan-program" });
    this.counts = element("table", {});
    this.device = element("p", { class: "note" });
    this.root = element("div", { class: "plan" }, this.transport.root, this.moment,
      ...this.#textures(),
      this.device,
      element("div", { class: "plan-columns" }, this.fragment, this.program),
      element("div", { class: "scroll kept-table plan-counts", tabindex: 0, role: "region", "aria-label": "Counts" },
        this.counts));
    this.sums = this.#sums();
  }

  // The pictures; of many, those between inputs and outputs are folded.
  #textures() {
    const { inputs, outputs } = this.plan;
    const ends = new Set([...inputs, ...outputs].map(({ texture }) => texture));
    const names = Object.keys(this.pictures);
    const pictures = (shown) => element("div", { class: "plan-textures" }, ...shown.map((name) => this.pictures[name].root));
    if (names.length <= PLAYED_TEXTURES) return [pictures(names)];
    const between = names.filter((name) => !ends.has(name));
    return [pictures([...ends]), element("details", {},
      element("summary", {}, `${between.length} textures between its inputs and outputs`), pictures(between))];
  }

  // Shows the state after so many passes.
  show(at) {
    this.at = at;
    this.player.seek(at);
    this.transport.show(at);
    this.onshow?.(at);
    this.pass = at ? this.plan.pass(at - 1) : null;
    this.#sayMoment();
    this.#showProgram();
    this.#showCounts();
    this.#showFragment();
  }

  // Shows the fragment that wrote a texel: {texture, x, y}, or null.
  choose(texel) {
    this.texel = texel;
    this.#showFragment();
  }

  tell() {
    const { texel } = this;
    this.moved({ pass: this.at, texel: texel && `${texel.texture}:${texel.x},${texel.y}` });
  }

  // Goes to the pass and the texel of an address; returns a sentence on what is wrong with them, or "".
  follow(pass, texel) {
    const { at, fault = "" } = transportPlace(pass, this.plan.passes, "pass");
    const found = texel === null ? null : this.#texelOf(texel);
    this.texel = found;
    this.transport.pause();
    this.show(at);
    if (texel === null || found) return fault;
    const shown = texel.length > 24 ? `${texel.slice(0, 24)}…` : texel;
    return `${fault} The address asks for the texel “${shown}”, which no texture here has; none is chosen.`.trim();
  }

  #texelOf(text) {
    const [, texture, x, y] = /^(.+):(\d{1,6}),(\d{1,6})$/.exec(text) ?? [];
    const found = this.plan.textures.find(({ name }) => name === texture);
    if (!found || Number(x) >= found.width || Number(y) >= found.rows) return null;
    return { texture, x: Number(x), y: Number(y) };
  }

  release() {
    this.transport.pause();
    this.player.release();
  }

  // What is shown of a state --------------------------------------------------------------------------

  #sayMoment() {
    const { pass, plan } = this;
    if (!pass) {
      this.moment.textContent = "Before the first pass: the inputs are in their textures.";
      return;
    }
    const { width, height, x, y } = pass.rect;
    const where = `${width} × ${height} texels at (${x}, ${y})`;
    const targets = pass.targets.join(", ");
    const inputs = [...new Set((pass.bindings ?? []).map(({ texture }) => texture))].join(" and ");
    const adds = { add: ", adding to what is there", none: "" }[pass.blend] ?? ", blending with what is there";
    const words = {
      draw: () => `${pass.program} draws ${where} of ${targets}${adds}${inputs ? `, and reads ${inputs}` : ""}.`,
      copy: () => `copies ${where} of ${targets} from ${pass.source}.`,
      clear: () => `clears ${targets}.`,
    }[pass.kind]();
    this.moment.textContent = `Pass ${this.at} of ${plan.passes}: ${words}`;
  }

  #marks(name, looked) {
    const marks = this.pass?.targets.includes(name) ? [{ ...this.pass.rect, kind: "written" }] : [];
    return [...marks, ...looked.filter(({ texture }) => texture === name)];
  }

  #showPictures(looked) {
    for (const [name, picture] of Object.entries(this.pictures)) {
      picture.chosen = this.texel?.texture === name ? this.texel : null;
      picture.show(this.player.texture(name), this.#marks(name, looked));
    }
    this.device.textContent = `Row 0 is at the bottom. ${playedOn(this.player)}`;
  }

  #showFragment() {
    const { texel } = this;
    const found = texel && this.#tracedFrom(texel);
    const looked = (found?.pass === this.at - 1 ? found.trace.steps : [])
      .flatMap(({ lookup }) => (lookup ? [{ ...lookup, width: 1, height: 1, kind: "read" }] : []));
    this.#showPictures(looked);
    if (!texel) {
      this.fragment.replaceChildren(element("p", { class: "note" },
        "Choose a texel, by a click or with the arrow keys, to see the fragment that wrote it."));
      return;
    }
    const title = element("h3", {}, `The fragment of texel (${texel.x}, ${texel.y}) of ${texel.texture}`);
    if (!found) {
      this.fragment.replaceChildren(title, element("p", {}, "No pass up to here has drawn it."));
      return;
    }
    const { trace, pass } = found;
    const texture = this.plan.texture(texel.texture);
    const channels = Array.from({ length: texture.channels }, (_, channel) => channel);
    const words = pass === this.at - 1 ? "" : "It was drawn last ";
    const { before, after } = trace.targets.find(({ name }) => name === texel.texture);
    const ending = { blend: this.plan.pass(pass).blend, ends: texture.numeric === "unorm" };
    const end = trace.targets.length === 1 && !trace.discarded && drawnStep(trace)
      ? traceEnd(trace, channels, ending)
      : element("p", { class: "trace-end" },
        trace.discarded ? "The fragment is discarded: the texel holds " : "The texel held ",
        traceValue(before, channels), " → ", element("strong", {}, traceValue(after, channels)));
    this.fragment.replaceChildren(title,
      element("p", { class: "note" }, `${words}${words ? "in" : "In"} pass ${pass + 1}:`),
      element("div", { class: "plan-trace", tabindex: 0, role: "region", "aria-label": "Instructions" },
        traceList(trace, channels, { asWritten: true })),
      end);
  }

  // The trace of the last pass up to here that drew a texel, and its number.
  #tracedFrom({ texture, x, y }) {
    for (let k = this.at - 1; k >= 0; k -= 1) {
      const pass = this.plan.pass(k);
      if (pass.kind !== "draw" || !pass.targets.includes(texture) || !reaches(pass, x, y)) continue;
      const trace = this.player.trace(k, x, y);
      if (trace) return { trace, pass: k };
    }
    return null;
  }

  #showProgram() {
    const { pass, plan } = this;
    const name = pass?.program ?? (this.named || Object.keys(plan.programs)[0]);
    if (!name) return;
    if (name !== this.named) {
      this.named = name;
      this.text = element("pre", { tabindex: 0, role: "region", "aria-label": `Program ${name}` },
        ...plan.programs[name].text.flatMap((line, n) => [...this.#line(name, line, n + 1), "\n"]));
      this.parameters = element("p", { class: "plan-parameters" });
      this.program.replaceChildren(element("h3", {}, `The program ${name}`), this.text, this.parameters);
    }
    const vector = (kind) => ({ index, value }) =>
      `program.${kind}[${index}] = (${value.map((v) => float32Text(Math.fround(v))).join(", ")})`;
    const given = [...(pass?.locals ?? []).map(vector("local")), ...(pass?.env ?? []).map(vector("env"))];
    this.parameters.textContent = given.length ? `In this pass, ${given.join("; ")}.` : "";
  }

  // A line of a program, in which constants can be edited.
  #line(name, line, number) {
    const constants = constantsIn(this.plan.programs[name], number);
    return line.split(/(\{[^}]*\})/).map((part, n) => {
      const register = constants[(n - 1) / 2];
      if (register === undefined) return part;
      const take = () => this.#edit(name, register, field);
      const field = element("span", {
        class: "plan-constant", role: "textbox", tabindex: 0, contenteditable: "plaintext-only", spellcheck: "false",
        "aria-label": `Constant in line ${number}`, title: "Edit this constant, and press Enter to run again", blur: take,
        keydown: (event) => {
          event.stopPropagation();
          if (event.key === "Escape") field.textContent = part;
          else if (event.key !== "Enter") return;
          event.preventDefault();
          field.blur();
        },
      }, part);
      return field;
    });
  }

  // Takes an edited constant: one number for all components, or up to four; the rest are 0, 0, 0, 1.
  #edit(name, register, field) {
    const words = field.textContent.replace(/^\s*\{|\}\s*$/g, "").split(",").map((word) => word.trim());
    const value = words.map(Number);
    const fits = words.length <= 4 && !words.includes("") && value.every(Number.isFinite);
    say(this.program, fits ? "" : `“${field.textContent.slice(0, 24)}” is no constant: write a number, or up to four, as in {1, 0, 0, 1}.`);
    field.setAttribute("aria-invalid", !fits);
    if (!fits) return;
    const vector = words.length === 1 ? Array(4).fill(value[0]) : [0, 0, 0, 1].map((rest, n) => value[n] ?? rest);
    const { value: before } = this.plan.programs[name].registers[register];
    if (vector.every((number, n) => Math.fround(number) === Math.fround(Number(before[n])))) return;
    this.player.setConstant(name, register, vector);
    this.named = null;
    this.show(this.at);
    say(this.program, "All passes ran again with this constant. Reload the page for the program as it was.");
  }

  // Counts -------------------------------------------------------------------------------------------

  // After each number of passes, what they cost together.
  #sums() {
    const sums = [{}];
    for (let k = 0; k < this.plan.passes; k += 1) {
      const sum = { ...sums[k] };
      for (const [name, count] of Object.entries(this.plan.counts(k))) sum[name] = (sum[name] ?? 0) + count;
      sums.push(sum);
    }
    return sums;
  }

  #showCounts() {
    const { at, sums, pass } = this;
    const columns = { "this pass": pass ? this.plan.counts(at - 1) : {}, "so far": sums[at], "all passes": sums.at(-1) };
    const rows = Object.entries(PLAYED_COUNTS).filter(([name]) => sums.at(-1)[name]);
    const cell = (text) => element("td", { class: "number" }, text);
    this.counts.replaceChildren(
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "counted"),
        ...Object.keys(columns).map((title) => element("th", { scope: "col", class: "number" }, title)))),
      element("tbody", {}, ...rows.map(([name, words]) => element("tr", {},
        element("th", { scope: "row" }, words),
        ...Object.values(columns).map((counts) => cell(grouped(counts[name] ?? 0)))))));
  }
}
