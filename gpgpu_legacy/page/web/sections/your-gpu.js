// On your GPU: products timed in the reader's browser when a button is pressed, and checked.

const YOURS_ROUNDING = 2 ** -24; // half a unit in the last place of a float32 near 1
const YOURS_CHECKED = 64; // elements of a product
const YOURS_TIMED = { runs: 9, ms: 3000 }; // the most runs of a product, and their time

sections["your-gpu"] = (root, data, address) => new YourGpu(root, data, address);

class YourGpu {
  constructor(root, data, address) {
    Object.assign(this, { root, data, running: false });
    const sizes = [...new Set(data.products.map(({ size }) => size))];
    const options = sizes.map((size) => element("option", { value: size }, size));
    this.most = element("select", { id: "yours-most" }, ...options);
    this.most.value = sizes.at(-1);
    this.start = element("button", { click: () => this.run() }, "Start");
    this.stop = element("button", { disabled: true, click: () => (this.running = false) }, "Stop");
    this.progress = element("p", { class: "yours-progress", role: "status" });
    this.rows = element("tbody");
    const heads = ["n", "method", "runs", "ms", "GFLOPS", "checked"].map((text) =>
      element("th", { scope: "col", class: /^(method|checked)$/.test(text) ? null : "number" }, text));
    this.table = element("div", {
      class: "kept-table scroll", tabindex: "0", role: "region", "aria-label": "Your GPU's times", hidden: true,
    }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), this.rows));
    const then = data.rates.find(({ id }) => id === data.then);
    this.then = then.gflops;
    this.axis = new RateAxis(data);
    this.guess = element("input", {
      type: "range", min: 0, max: 4, step: 0.05, value: 0, "aria-label": `Times the most of ${then.name}`,
      input: () => this.guessed(),
    });
    this.times = element("output");
    this.question = element("div", { class: "question" },
      element("p", { class: "asks" }, `The ${then.name} could do ${threeDigits(then.gflops)} GFLOPS at most, by its data. How many times that is your GPU? Guess, then start.`),
      element("label", { class: "slide" }, this.guess, this.times));
    this.told = element("p", { class: "told", role: "status" });
    this.question.append(element("div", { class: "yours-controls" }, this.start, this.stop,
      element("label", { for: "yours-most" }, "up to n ="), this.most), this.progress, this.told);
    screenOf(root, [this.question], [this.axis.root, this.table]);
    root.querySelector(".screen-picture").append(root.querySelector(".yours-from"));
    this.guessed();
    keepControls(root, address);
  }

  guessed() {
    const times = 10 ** Number(this.guess.value);
    this.times.textContent = `${threeDigits(times)} ×`;
    this.guess.setAttribute("aria-valuetext", this.times.textContent);
    this.axis.mark("guess", "your guess", this.then * times);
  }

  // Says where the reader's GPU is, once something has been timed.
  here(gflops) {
    this.best = Math.max(this.best ?? 0, gflops);
    this.axis.mark("here", "you are here", this.best);
    const [times, guess] = [this.best / this.then, 10 ** Number(this.guess.value)];
    const off = Math.max(times / guess, guess / times);
    this.told.textContent = `You guessed ${threeDigits(guess)} times; it is ${threeDigits(times)} times what that chip could do at most` +
      `${off < 2 ? ": well guessed" : `, ${threeDigits(off)} times ${times > guess ? "more" : "less"} than you thought`}.`;
  }

  tell(sentence) {
    this.progress.textContent = sentence;
  }

  async run() {
    if (this.running) return;
    this.running = true;
    this.start.disabled = true;
    this.stop.disabled = false;
    this.rows.replaceChildren();
    try {
      const gpu = await Gpu.open();
      this.table.hidden = false;
      this.tell(`Compiling for ${gpu.words}.`);
      const products = this.data.products.filter(({ size }) => size <= Number(this.most.value));
      for (const product of products) {
        if (this.running) await this.product(gpu, product);
      }
      this.tell(`${this.running ? "Done" : "Stopped"}. This is ${gpu.words}.`);
    } catch (error) {
      if (!(error instanceof GpuError)) throw error;
      this.tell(`${error.message} So nothing can be timed here; rates from elsewhere stand beside.`);
    } finally {
      this.running = false;
      this.start.disabled = false;
      this.stop.disabled = true;
    }
  }

  // Times and checks a product; what this GPU lacks for it is said in its row.
  async product(gpu, product) {
    const { size, method, scene } = product;
    this.tell(`n = ${size}: ${peopleName(method)} on ${gpu.words} …`);
    await new Promise((resolve) => setTimeout(resolve, 30)); // so that it is seen
    let run = null;
    try {
      const plan = new PlanOf(scene);
      run = gpu.prepare(plan);
      const matrices = yoursMatrices(size);
      run.load(matrices);
      const goes = () => this.running;
      const first = await run.time(1, goes); // it compiles
      const once = first && (await run.time(1, goes));
      if (!once) return;
      const count = Math.max(1, Math.min(YOURS_TIMED.runs, Math.floor(YOURS_TIMED.ms / once)));
      const median = count === 1 ? once : await run.time(count, goes);
      if (!median || !this.running) return;
      this.row(product, { count, median }, yoursCheck(matrices, run, size));
    } catch (error) {
      if (!(error instanceof GpuError) || gpu.gl.isContextLost()) throw error;
      this.row(product, null, error.message);
    } finally {
      run?.release();
    }
  }

  // A row of the table. timed: how many runs, and their median in milliseconds; or null.
  row({ size, method, block }, timed, checked) {
    const gflops = timed && (2e-6 * size ** 3) / timed.median;
    const title = peopleName(method);
    if (timed) this.here(gflops);
    const number = (text) => element("td", { class: "number" }, text);
    const times = timed ? [timed.count, threeDigits(timed.median), threeDigits(gflops)] : ["–", "–", "–"];
    this.rows.append(element("tr", {},
      number(size),
      element("td", {}, block ? `${title}, b = ${block}` : title),
      ...times.map(number),
      element("td", { class: "yours-said" }, checked),
    ));
  }
}

// Rates on a logarithmic axis, a line for each: bounds of chips, measured rates, and the reader's.
class RateAxis {
  constructor({ rates }) {
    const powers = rates.map(({ gflops }) => Math.log10(gflops));
    [this.low, this.high] = [Math.floor(Math.min(...powers)), Math.ceil(Math.max(...powers))];
    this.marks = new Map();
    const ticks = Array.from({ length: this.high - this.low + 1 }, (_, n) => element("span",
      { style: `left:${(100 * n) / (this.high - this.low)}%` }, grouped(10 ** (this.low + n))));
    this.root = element("div", { class: "rates", style: `--powers: ${this.high - this.low}` },
      ...rates.map(({ name, gflops, at_most: bound }) => this.#line(name, gflops, bound ? "bound" : "measured")),
      element("div", { class: "rate-ticks", "aria-hidden": "true" }, ...ticks),
      element("p", { class: "legend" }, "GFLOPS, each line ten times the one before. Rings: at most, by the chip’s data. Dots: measured."));
  }

  #line(name, gflops, kind) {
    const share = (Math.log10(gflops) - this.low) / (this.high - this.low);
    const style = `left:${100 * Math.min(Math.max(share, 0), 1)}%`;
    return element("div", { class: `rate ${kind}` }, element("span", {}, name),
      element("span", { class: "rate-track" }, element("i", { style }),
        element("b", { style }, `${kind === "bound" ? "≤ " : ""}${threeDigits(gflops)}`)));
  }

  // Marks a rate of the reader's, once.
  mark(kind, name, gflops) {
    const line = this.#line(name, gflops, kind);
    const before = this.marks.get(kind);
    if (before) before.replaceWith(line);
    else this.root.querySelector(".rate-ticks").before(line);
    this.marks.set(kind, line);
  }
}

// Two matrices of random numbers between -1/2 and 1/2, the same each time.
function yoursMatrices(size) {
  let seed = size;
  const next = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; // Numerical Recipes' generator
    return seed / 2 ** 32 - 0.5;
  };
  const matrix = () =>
    ({ rows: size, columns: size, values: Float32Array.from({ length: size * size }, next) });
  return { A: matrix(), B: matrix() };
}

// Compares elements of the product, spread over it, with sums in float64: how many are beyond the
// bound (n + passes + 2)·2⁻²⁴·(|A||B|), which counts each rounding of a sum, in any order.
function yoursCheck({ A, B }, run, size) {
  const { values } = run.results().C;
  let [beyond, largest] = [0, 0];
  for (let n = 0; n < YOURS_CHECKED; n += 1) {
    const at = Math.floor(((n + 0.5) / YOURS_CHECKED) * size * size) + n;
    const [row, column] = [Math.floor(at / size), at % size];
    let [sum, sizes] = [0, 0];
    for (let k = 0; k < size; k += 1) {
      const term = A.values[row * size + k] * B.values[k * size + column];
      sum += term;
      sizes += Math.abs(term);
    }
    const bound = (size + run.plan.passes + 2) * YOURS_ROUNDING * sizes;
    const error = Math.abs(values[row * size + column] - sum);
    if (!(error <= bound)) beyond += 1;
    largest = Math.max(largest, error / bound);
  }
  if (beyond) return `${beyond} of ${YOURS_CHECKED} elements beyond the rounding bound`;
  const share = (100 * largest).toFixed(1);
  return `${YOURS_CHECKED} elements: none beyond the rounding bound, at most ${share} % of it`;
}
