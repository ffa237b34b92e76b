// On your GPU: products timed in the reader's browser when a button is pressed, and checked.

const YOURS_ROUNDING = 2 ** -24; // half a unit in the last place of a float32 near 1
const YOURS_CHECKED = 64; // elements of a product
const YOURS_TIMED = { runs: 9, ms: 3000 }; // the most runs of a product, and their time

sections["your-gpu"] = (root, data) => new YourGpu(root, data);

class YourGpu {
  constructor(root, data) {
    Object.assign(this, { root, data, running: false });
    const sizes = [...new Set(data.products.map(({ size }) => size))];
    const options = sizes.map((size) => element("option", { value: size }, `${size}`));
    this.most = element("select", { id: "yours-most" }, ...options);
    this.most.value = sizes.at(-1);
    this.start = element("button", { type: "button", click: () => this.run() }, "Start");
    this.stop = element("button", { type: "button", disabled: true }, "Stop");
    this.stop.addEventListener("click", () => this.end());
    this.progress = element("p", { class: "yours-progress", role: "status" });
    this.rows = element("tbody");
    const heads = ["n", "method", "runs", "ms", "GFLOPS", "checked", "elsewhere, GFLOPS"].map(
      (text) => {
        const isNumber = /^(n|runs|ms|GFLOPS)$/.test(text);
        return element("th", { scope: "col", class: isNumber ? "number" : null }, text);
      },
    );
    const head = element("thead", {}, element("tr", {}, ...heads));
    this.table = element("div", {
      class: "kept-table scroll", tabindex: "0", role: "region", "aria-label": "Your GPU's times",
      hidden: true,
    }, element("table", {}, head, this.rows));
    const controls = element("div", { class: "yours-controls" }, this.start, this.stop,
      element("label", { for: "yours-most" }, "up to n ="), this.most);
    root.querySelector(".yours-live").replaceChildren(controls, this.progress, this.table);
  }

  end() {
    this.running = false;
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
      this.tell(`${error.message} So nothing can be timed here; times from elsewhere are below.`);
    } finally {
      this.running = false;
      this.start.disabled = false;
      this.stop.disabled = true;
    }
  }

  // Times and checks a product; what this GPU lacks for it is said in its row.
  async product(gpu, product) {
    const { size, method, scene } = product;
    this.tell(`n = ${size}: ${method} on ${gpu.words} …`);
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
    const others = this.data.beside.filter((one) => one.method === method && one.size === size);
    const beside = others.map((one) => `${one.device}: ${yoursDigits(one.gflops)}`).join("; ");
    const number = { class: "number" };
    this.rows.append(element("tr", {},
      element("td", number, `${size}`),
      element("td", {}, block ? `${method}, b = ${block}` : method),
      element("td", number, timed ? `${timed.count}` : "–"),
      element("td", number, timed ? yoursDigits(timed.median) : "–"),
      element("td", number, timed ? yoursDigits(gflops) : "–"),
      element("td", { class: "yours-said" }, checked),
      element("td", { class: "yours-said" }, beside || "–"),
    ));
  }
}

// Three digits, or all before the point.
function yoursDigits(value) {
  return String(threeDigits(value));
}

// Two matrices of random numbers between -1/2 and 1/2, the same each time.
function yoursMatrices(size) {
  let seed = size;
  const next = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; // Numerical Recipes' generator
    return seed / 2 ** 32 - 0.5;
  };
  const matrix = () => {
    return { rows: size, columns: size, values: Float32Array.from({ length: size * size }, next) };
  };
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
