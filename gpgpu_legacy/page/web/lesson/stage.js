// What the screens of the lesson share: questions that come before their answers, numbered edges
// and wires of pictures, and cells that fly from one picture to another.

const STAGE_STEP_MS = 400;

// For a class, `?class` shows one screen at a time, large: Page Down and Page Up go on and back, and
// answers are locked until the key A.
const IN_CLASS = new URLSearchParams(location.search).has("class");
document.documentElement.classList.toggle("class", IN_CLASS);
document.addEventListener("keydown", ({ key, target }) => {
  const stage = document.querySelector(".on-stage");
  if (!IN_CLASS || target.matches("input, select, textarea")) return;
  const next = { PageDown: stage.nextElementSibling, PageUp: stage.previousElementSibling }[key];
  if (next?.matches("section")) location.hash = next.id;
  if (/^a$/i.test(key)) stage.querySelector(".question")?.dispatchEvent(new Event("unlock"));
});

// A question that is asked before its answer is shown.
class Question {
  // asks: its sentence. choices: [value, text] of each button; typed: whether a number is typed;
  // with neither, a picture calls `take`. hint: the reply to the first wrong answer. tell(given):
  // whether the answer is right, and a sentence; given is null where the reader asks for the answer.
  // shown(): called once it is answered.
  constructor({ asks, choices = [], typed = false, hint, tell, shown = () => {} }) {
    Object.assign(this, { tell, shown, hint, hinted: false, answered: false, given: null });
    this.asks = element("p", { class: "asks" }, asks);
    this.told = element("p", { class: "told", role: "status" });
    this.controls = element("div", { class: "answers", role: "group", "aria-label": asks });
    if (typed) {
      this.input = element("input", {
        type: "text", inputmode: "decimal", autocomplete: "off", "aria-label": asks,
        keydown: (event) => event.key === "Enter" && this.#typed(),
      });
    }
    this.#offer(choices);
    this.rove = rove(this.controls, "button");
    const unlock = () => {
      this.hinted = this.unlocked = true;
      this.take(this.given);
    };
    this.root = element("div", { class: "question", unlock }, this.asks, this.controls, this.told);
  }

  #button(text, click, kind = "") {
    return element("button", { class: kind, tabindex: -1, click }, text);
  }

  #offer(choices) {
    this.controls.replaceChildren(...(this.input ? [this.input, this.#button("Answer", () => this.#typed())] : []),
      ...choices.map(([value, text]) => this.#button(text, () => this.take(value))),
      this.#button("Show me", () => this.take(null), "plain"));
  }

  #typed() {
    const { value, fault } = readNumber(this.input.value);
    if (fault) this.told.textContent = `${fault[0].toUpperCase()}${fault.slice(1)}.`;
    else this.take(value);
  }

  // Takes an answer.
  take(given) {
    if (IN_CLASS && !this.unlocked) {
      this.given = given;
      this.told.textContent = "Noted. The answer comes with the key A.";
      return;
    }
    const [right, ...sentence] = this.tell(given);
    if (given !== null && !right && !this.hinted) {
      this.hinted = true;
      this.told.replaceChildren(element("b", {}, "Not yet. "), this.hint);
      return;
    }
    this.answered = true;
    this.root.classList.toggle("right", given !== null && right);
    const start = given === null ? "" : right ? "Yes. " : "Not quite. ";
    this.told.replaceChildren(element("b", {}, start), ...sentence);
    this.shown();
  }

  // Asks again, as after another matrix.
  again(asks = this.asks.textContent, choices = null) {
    if (choices) {
      this.#offer(choices);
      this.rove();
    }
    this.asks.textContent = asks;
    for (const named of [this.controls, this.input]) named?.setAttribute("aria-label", asks);
    this.answered = this.hinted = false;
    this.root.classList.remove("right");
    this.told.replaceChildren();
  }
}

// A picture with a title and numbers at its edges. edges: by side, the texts; `ticks` stand at the
// borders between cells, and others at their middles.
function framed(title, grid, edges = {}) {
  const sides = Object.entries(edges).map(([side, { texts, ticks = false, name = "" }]) =>
    element("div", { class: `edge ${side}${ticks ? " ticks" : ""}`, "aria-hidden": "true" },
      ...texts.map((text) => element("span", {}, text)), element("i", {}, name)));
  return element("figure", { class: "framed" },
    element("figcaption", {}, title), element("div", { class: "edged" }, grid.root ?? grid, ...sides));
}

const numbersFrom = (first, count) => Array.from({ length: count }, (_, n) => String(first + n));

// The numbers of rows and columns, as books have them.
const BOOK_EDGES = { top: { texts: numbersFrom(1, SIDE) }, left: { texts: numbersFrom(1, SIDE) } };

// A screen: its sentences and questions at one side, its pictures at the other.
function screenOf(root, texts, pictures) {
  root.append(element("div", { class: "screen" },
    element("div", { class: "screen-text" }, root.querySelector(":scope > p"), ...texts),
    element("div", { class: "screen-picture" }, ...pictures)));
}

// Keeps the sliders and choices of a screen in the address, each by the first word of its label; and
// `fixed` words with them.
function keepControls(root, address, fixed = {}) {
  const controls = [...root.querySelectorAll("[type=range], textarea, select:not(.transport select)")];
  const word = (control) => `${root.id}.${/\w+/.exec(control.ariaLabel ?? control.labels[0].textContent)[0].toLowerCase()}`;
  const writer = new AddressWriter(address, root, () => ({
    ...fixed,
    ...Object.fromEntries(controls.map((control) => [word(control), control.value])),
    "figure-2.A": Matrices.text(editedMatrices.A), "figure-2.B": Matrices.text(editedMatrices.B),
  }));
  for (const event of ["input", "click", "keydown"]) root.addEventListener(event, () => writer.soon());
  address.follow(() => {
    const faults = controls.flatMap((control) => {
      const asked = address.get(word(control));
      if (asked === null) return [];
      const before = control.value;
      control.value = asked;
      if (control.value !== asked) {
        control.value = before;
        return [`${word(control)}=${quoted(asked)} is not here. `];
      }
      // As if the reader had moved it, which also stops it from playing.
      for (const type of ["pointerdown", "input", "change"]) control.dispatchEvent(new Event(type, { bubbles: type === "pointerdown" }));
      return [];
    });
    say(root, faults.join(""));
  });
}

// A sign between pictures, which stays with the one after it.
const signOf = (text, ...after) => element("span", { class: "signed" },
  element("span", { class: "sign", "aria-hidden": "true" }, text), ...after);

// A times B, and the results.
const timesOf = ({ A, B }, ...results) => element("div", { class: "stripes" },
  framed("A", A, BOOK_EDGES), signOf("×", framed("B", B, BOOK_EDGES)), signOf("=", ...results));

// Bars of counts, each quantity with a scale of its own.
class Bars {
  constructor() {
    this.root = element("dl", { class: "bars-of" });
    this.rows = new Map();
  }

  // rows: [label, value, the most that it can be, and perhaps its text].
  show(rows) {
    for (const [label, value, most, text] of rows) {
      if (!this.rows.has(label)) {
        const [bar, number] = [element("span"), element("b")];
        this.root.append(element("dt", {}, label), element("dd", {}, element("span", { class: "track" }, bar), number));
        this.rows.set(label, { bar, number });
      }
      const { bar, number } = this.rows.get(label);
      bar.style.width = `${Math.min(100, (100 * value) / most)}%`;
      number.textContent = text ?? inThousands(value);
    }
  }
}

// A count for people: millions and billions in three digits.
function inThousands(value) {
  const power = Math.min(3, Math.floor(Math.log10(value || 1) / 3));
  if (power < 2) return grouped(value);
  return `${(value / 1000 ** power).toPrecision(3)} ${power > 2 ? "billion" : "million"}`;
}

// A scale of greys, from black to the number that is white.
function greyLegend(white, what) {
  return element("p", { class: "legend" }, "0 ",
    element("span", { class: "grey-ramp", role: "img", "aria-label": "from black to white" }),
    ` ${cellText(white)}: ${what}`);
}

// Lines over a stage, from the middles of elements to those of others.
class Wires {
  constructor(stage) {
    this.stage = stage;
    this.lines = [];
    this.picture = drawn("svg", { class: "wires", "aria-hidden": "true" });
    stage.append(this.picture);
    new ResizeObserver(() => this.draw()).observe(stage);
  }

  // lines: [from, to, kind], from element to element: arcs from middle to middle; lines of a kind
  // go from side to side.
  draw(lines = this.lines) {
    this.lines = lines;
    const { left, top } = this.stage.getBoundingClientRect();
    this.picture.replaceChildren(...lines.flatMap(([from, to, kind]) => {
      const [one, other] = [from, to].map((end) => end.getBoundingClientRect());
      const ahead = one.left < other.left ? 1 : -1;
      const x = (box, way) => box.left + box.width / 2 - left + (kind ? (way * box.width) / 2 : 0);
      const y = (box) => box.top + box.height / 2 - top;
      const [x1, y1, x2, y2] = [x(one, ahead), y(one), x(other, -ahead), y(other)];
      const [across, up] = kind ? [(x2 - x1) / 2, 0] : [(x2 - x1) / 4, Math.abs(x2 - x1) / 5];
      return [
        drawn("path", { d: `M${x1} ${y1} C${x1 + across} ${y1 - up} ${x2 - across} ${y2 - up} ${x2} ${y2}`, class: kind ?? "" }),
        drawn("circle", { cx: x2, cy: y2, r: 4, class: kind ?? "" }),
      ];
    }));
  }
}

// Copies of cells fly to an element and stretch to its size.
function fly(cells, target, duration = STAGE_STEP_MS) {
  if (calm() || !cells.length || document.hidden) return;
  const boxes = cells.map((cell) => cell.getBoundingClientRect());
  const to = target.getBoundingClientRect();
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  const width = Math.max(...boxes.map((box) => box.right)) - left;
  const height = Math.max(...boxes.map((box) => box.bottom)) - top;
  if (!width || !to.width) return;
  const ghost = element("div", { class: "flying", "aria-hidden": "true" },
    ...boxes.map((box, n) => element("span", {
      style: `left:${box.left - left}px;top:${box.top - top}px;width:${box.width}px;` +
        `height:${box.height}px;background:${cells[n].style.background}`,
    })));
  ghost.style.cssText = `left:${left + scrollX}px;top:${top + scrollY}px;width:${width}px;height:${height}px`;
  document.body.append(ghost);
  ghost.animate(
    [{ transform: "none" }, {
      transform: `translate(${to.left - left}px, ${to.top - top}px) ` +
        `scale(${to.width / width}, ${to.height / height})`,
    }],
    { duration, easing: "ease-in-out" },
  ).finished.finally(() => ghost.remove());
}

const lessonProducts = new Map(); // the last of each family

// A product that the lesson plays on the machine in the page, which traces every fragment; screens
// share it, and each goes to its own state before it reads anything.
function lessonProduct(wanted) {
  const { A, B } = editedMatrices;
  const key = JSON.stringify(wanted);
  const known = lessonProducts.get(key);
  if (known?.matrices.A === A && known.matrices.B === B) return known;
  const given = PRODUCTS.plans.find((each) =>
    Object.entries(wanted).every(([name, value]) => each[name] === value));
  const played = new PlayedProduct(given, new Player(given.scene, { A, B }), { A, B });
  lessonProducts.set(key, played);
  return played;
}

// What the two texture units and the multiplication give in each fragment of a draw, row by row.
function stripesOf(played, k) {
  const stripes = { A: [], B: [], product: [] };
  for (const { x, y, trace } of played.traces(k)) {
    const at = y * SIDE + x;
    for (const name of ["A", "B"]) {
      const step = trace.steps.find(({ lookup }) => lookup?.texture === played.inputs[name]);
      stripes[name][at] = step.result[0];
    }
    stripes.product[at] = drawnStep(trace).result[0];
  }
  return stripes;
}
