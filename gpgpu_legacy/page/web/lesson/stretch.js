// Screen 1: the corners of a rectangle say which texels its fragments read.

const STRETCH_CORNERS = ["bottom left", "bottom right", "top right", "top left"];

sections.stretch = (root, data, address) => new Stretch(root, address);

class Stretch {
  constructor(root, address) {
    this.asked = { x: 2, y: 1 };
    this.texture = new ElementGrid("The texture of A", { choose: (row, column) => this.#answer(row, column) }, true);
    this.rectangle = new ElementGrid("The rectangle", {
      choose: (row, column) => this.#choose(column, row),
    }, true);
    this.rectangle.root.addEventListener("pointerover", ({ target }) => {
      const [y, x] = target.dataset.place?.split(",").map(Number) ?? [];
      if (x >= 0 && this.question.answered) this.#choose(x, y);
    });
    this.path = drawn("polygon", { class: "corners-path" });
    this.outline = drawn("svg", { class: "corners-outline", preserveAspectRatio: "none", viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": "true" }, this.path);
    this.handles = STRETCH_CORNERS.map((name, n) => element("button", {
      class: `corner corner-${n}`, "data-corner": n,
      pointerdown: (event) => this.#drag(event, [n]),
      keydown: (event) => this.#key(event, [n]),
    }));
    this.all = element("button", {
      class: "corner corner-all", "aria-label": "All four corners", title: "Drag the column",
      pointerdown: (event) => this.#drag(event, [0, 1, 2, 3]),
      keydown: (event) => this.#key(event, [0, 1, 2, 3]),
    }, "↔");
    this.labels = STRETCH_CORNERS.map((name, n) => element("span", { class: `corner-label label-${n}` }));
    this.words = element("p", { class: "says", role: "status" });
    this.question = new Question({
      asks: "Which texel of A does the marked fragment read? Click it in the texture.",
      hint: "Its row is its own. Its column is where the corners stand: all have the same s.",
      tell: (given) => this.#tell(given),
      shown: () => this.#show(),
    });
    const boxes = { texture: element("div", { class: "edged-in" }, this.texture.root, this.outline, this.all, ...this.handles),
      rectangle: element("div", { class: "edged-in" }, this.rectangle.root, ...this.labels) };
    this.pictures = element("div", { class: "pair" });
    const ticks = (name) => ({ texts: numbersFrom(0, SIDE + 1), ticks: true, name });
    this.pictures.append(
      framed("A in its texture", boxes.texture, {
        bottom: ticks("s"), left: ticks("t"), top: { texts: numbersFrom(1, SIDE), name: "column" },
        right: { texts: numbersFrom(1, SIDE).reverse(), name: "row" },
      }),
      framed("The rectangle", boxes.rectangle, { bottom: ticks(""), left: ticks("") }));
    this.wires = new Wires(this.pictures);
    screenOf(root, [this.question.root, this.words, element("div", { class: "answers" },
      element("button", { click: () => this.#reset() }, "Corners as they were"))], [this.pictures]);
    editedMatrices.follow(root, () => this.#open());
    this.writer = new AddressWriter(address, root, () => ({ "stretch.corners": this.corners.flat().join("_") }));
    address.follow(() => {
      const asked = address.get("stretch.corners");
      const numbers = (asked ?? "").split("_").map(Number);
      const good = numbers.length === 8 && numbers.every((number) => number >= 0 && number <= SIDE);
      if (good) {
        this.corners = STRETCH_CORNERS.map((_, n) => numbers.slice(2 * n, 2 * n + 2));
        this.#show();
      }
      say(root, asked === null || good ? "" : `stretch.corners=${quoted(asked)} is not four corners in the texture.`);
    });
  }

  #open() {
    this.played = lessonProduct({ method: "larson-mcallister", format: "r32f" });
    const { A } = this.played.matrices;
    this.texture.paint(A.values, this.played.white(A.values));
    this.fragment = this.asked;
    this.question.again();
    if (this.corners) this.#show();
    else this.#reset();
  }

  // The corners as the method's own pass has them.
  #reset() {
    const { texcoords } = this.played.passes[this.played.draws[0]];
    this.corners = texcoords[0].corners.map(([s, t]) => [s, t]);
    this.#show();
  }

  // Where each fragment reads, from the machine that draws the pass with these corners.
  #lookups() {
    const { played, corners } = this;
    const pass = played.passes[played.draws[0]];
    const moved = {
      ...pass,
      texcoords: pass.texcoords.map((each) =>
        each.set === 0 ? { ...each, corners: corners.map(([s, t]) => [s, t, 0, 1]) } : each),
    };
    const { interpreter } = played.player;
    interpreter.seek(played.draws[0]);
    return Array.from({ length: SIDE * SIDE }, (_, n) => {
      const trace = interpreter.fragment(moved, interpreter.state, n % SIDE, Math.floor(n / SIDE));
      const step = trace.steps.find(({ lookup }) => lookup?.texture === played.inputs.A);
      return { ...step.lookup, value: step.result[0], s: step.operands[0].value[0], t: step.operands[0].value[1] };
    });
  }

  #choose(x, y) {
    this.fragment = { x, y };
    this.#show();
  }

  #answer(row, column) {
    if (!this.question.answered) this.question.take({ x: column, y: row });
  }

  #tell(given) {
    this.fragment = this.asked;
    const { x, y, s, t, value } = this.#lookups()[this.asked.y * SIDE + this.asked.x];
    const right = given?.x === x && given?.y === y;
    const yours = given && !right ? `You chose row ${given.y + 1}, column ${given.x + 1}. ` : "";
    return [right, `${yours}Its texture coordinate is (${cellText(s)}, ${cellText(t)}), in the middle of texel (${x}, ${y}): ` +
      `row ${y + 1}, column ${x + 1} of A, which is ${cellText(value)}. Its neighbours in the row read the same texel. Now drag the corners.`];
  }

  #drag(event, which) {
    event.preventDefault();
    event.target.setPointerCapture(event.pointerId);
    const box = this.texture.root.getBoundingClientRect();
    const begun = this.corners.map((corner) => [...corner]);
    const from = this.#place(event, box);
    const move = (moved) => {
      const [s, t] = this.#place(moved, box);
      this.#move(which, begun, s - from[0], t - from[1]);
    };
    const end = () => {
      event.target.removeEventListener("pointermove", move);
    };
    event.target.addEventListener("pointermove", move);
    event.target.addEventListener("pointerup", end, { once: true });
    event.target.addEventListener("pointercancel", end, { once: true });
  }

  #place({ clientX, clientY }, box) {
    return [((clientX - box.left) / box.width) * SIDE, ((box.bottom - clientY) / box.height) * SIDE];
  }

  // Moves corners by a way, to the nearest quarter and not out of the texture.
  #move(which, begun, ds, dt) {
    const to = (value) => Math.min(Math.max(Math.round(value * 4) / 4, 0), SIDE);
    for (const n of which) {
      this.corners[n] = [to(begun[n][0] + ds), to(begun[n][1] + dt)];
    }
    this.writer.soon();
    this.#show();
  }

  #key(event, which) {
    const way = { ArrowLeft: [-0.25, 0], ArrowRight: [0.25, 0], ArrowUp: [0, 0.25], ArrowDown: [0, -0.25] }[event.key];
    if (!way) return;
    event.preventDefault();
    this.#move(which, this.corners, ...way);
  }

  #show() {
    const { played, corners, fragment } = this;
    const { A } = played.matrices;
    const lookups = this.#lookups();
    const known = this.question.answered;
    this.rectangle.cover = () => (known ? null : "");
    this.rectangle.paint(Float32Array.from(lookups, ({ value }) => value), played.white(A.values));
    const own = lookups[fragment.y * SIDE + fragment.x];
    this.rectangle.frame("pass", [{ row: fragment.y, column: fragment.x }]);
    this.texture.frame("pass", known ? [{ row: own.y, column: own.x }] : []);
    const at = ([s, t]) => `left:${(100 * s) / SIDE}%;bottom:${(100 * t) / SIDE}%`;
    corners.forEach((corner, n) => {
      this.handles[n].style.cssText = at(corner);
      const text = `(${corner.map(cellText).join(", ")})`;
      this.handles[n].setAttribute("aria-label", `The ${STRETCH_CORNERS[n]} corner reads at ${text}; arrow keys move it`);
      this.labels[n].textContent = text;
    });
    const middle = [0, 1].map((c) => corners.reduce((sum, corner) => sum + corner[c], 0) / 4);
    this.all.style.cssText = at(middle);
    this.path.setAttribute("points", corners.map(([s, t]) => `${s},${SIDE - t}`).join(" "));
    this.words.textContent = known
      ? `Fragment (${fragment.x}, ${fragment.y}) reads at (${cellText(own.s)}, ${cellText(own.t)}): texel (${own.x}, ${own.y}), ` +
        `A in row ${own.y + 1}, column ${own.x + 1} = ${cellText(own.value)}.`
      : "";
    this.wires.draw(known
      ? [[this.rectangle.cell(fragment.y, fragment.x), this.texture.cell(own.y, own.x)]] : []);
  }
}
