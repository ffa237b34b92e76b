// The lineage: all methods on a chart, in the order of history; devices and sizes are chosen.

const LINEAGE_UNITS = {
  gflops: { label: "GFLOPS", axis: "GFLOPS (2n³ over the time of computing alone)" },
  ms: { label: "milliseconds", axis: "milliseconds of computing alone" },
  ratio: { label: "times as fast as the origin", axis: "times as fast as" },
};

// Three digits, or all before the point.
function lineageDigits(value) {
  return grouped(threeDigits(value));
}

sections.lineage = (root, data, address) => new LineageView(root, data, address);

class LineageView {
  constructor(root, data, address) {
    Object.assign(this, { root, data });
    const names = data.methods.map(({ name, year }) => [name, `${name} (${year})`]);
    this.choices = new Choices("lineage", {
      method: { label: "method", values: names, first: names.at(-1)[0] },
      device: {
        label: "device in colour",
        values: data.devices.map(({ id, title }) => [id, title]),
        first: data.devices[0].id,
      },
      n: { label: "size n", values: data.sizes.map((n) => [n, n]), first: data.size },
      unit: {
        label: "shown as",
        values: Object.entries(LINEAGE_UNITS).map(([unit, { label }]) => [unit, label]),
        first: "gflops",
      },
      origin: { label: "origin of ratios", values: names, first: names[0][0] },
    }, address, () => this.draw());
    this.sentence = element("p", { class: "lineage-sentence", "aria-live": "polite" });
    this.beside = element("p", { class: "soft" });
    this.chart = element("div", {
      class: "scroll", tabindex: "0", role: "region", "aria-label": "Chart of all methods",
    });
    this.table = root.querySelector(".lineage-table");
    root.querySelector(".lineage-live").replaceChildren(
      this.choices.element, this.sentence, this.beside, this.chart,
    );
    this.opened = null;
    this.choices.follow();
  }

  // What was recorded of a method on a device at the chosen size, or undefined.
  time(device, method) {
    const n = Number(this.choices.get("n"));
    return this.data.times.find((t) => t.device === device && t.method === method && t.n === n);
  }

  // A recorded time in the unit that is chosen; null where there is none, or no origin of ratios.
  value(device, method) {
    const time = this.time(device, method);
    if (!time) return null;
    const unit = this.choices.get("unit");
    if (unit === "ms") return 1000 * time.seconds;
    if (unit === "gflops") return (2e-9 * time.n ** 3) / time.seconds;
    const origin = this.time(device, this.choices.get("origin"));
    return origin ? origin.seconds / time.seconds : null;
  }

  draw() {
    const { choices } = this;
    const [device, n] = [choices.get("device"), Number(choices.get("n"))];
    this.sentence.textContent = this.#sentence(device, n);
    this.beside.textContent = this.#beside(device, n);
    this.chart.replaceChildren(this.#chart(device));
    this.#drawTable();
    this.#open(choices.get("method"));
  }

  // What the chart says of the method that is chosen.
  #sentence(device, n) {
    const { data, choices } = this;
    const [method, origin] = [choices.get("method"), choices.get("origin")];
    const title = choices.text("device");
    const time = this.time(device, method);
    if (!time) {
      const there = (t) => t.device === device && t.method === method;
      const sizes = data.times.filter(there).map((t) => t.n);
      const instead = sizes.length ? `; n = ${sizes.join(", ")} was` : ", nor at any other size";
      return `${method} was not recorded on ${title} at n = ${n}${instead}.`;
    }
    const gflops = lineageDigits((2e-9 * n ** 3) / time.seconds);
    const start = `At n = ${n} on ${title}, ${method} takes ` +
      `${lineageDigits(1000 * time.seconds)} ms (${gflops} GFLOPS, by ${time.executor})`;
    const from = this.time(device, origin);
    const ratio = from && from.seconds / time.seconds;
    const year = data.methods.find(({ name }) => name === origin).year;
    const times = !from || method === origin ? ""
      : `, ${lineageDigits(ratio)} times as fast as ${origin} of ${year} there`;
    return `${start}${times}.`;
  }

  // What the libraries reached in the same run, and where it was recorded.
  #beside(device, n) {
    const at = (recorded) => recorded.device === device && recorded.n === n;
    const peers = this.data.peers.find(at);
    const times = this.data.times.filter(at);
    if (!peers) return "";
    const rates = Object.entries(peers.gflops).map(
      ([name, gflops]) => `${name} ${lineageDigits(gflops)} GFLOPS`,
    );
    return `The libraries in the same run: ${rates.join("; ")}. ` +
      `Recorded on ${[...new Set(times.map((t) => t.on))].join(" and on ")} ` +
      `(benchmarks/${times[0].file}).`;
  }

  // A row for each method, a mark for each device; names stand left of the marks, values right.
  #chart(device) {
    const { data, choices } = this;
    const unit = choices.get("unit");
    const shown = choices.get("method");
    const [left, right, top, step, width] = [230, 195, 58, 26, 845];
    const bottom = top + step * data.methods.length;
    const svg = drawn("svg", {
      viewBox: `0 0 ${width} ${bottom + 12}`, class: "chart", role: "img",
      "aria-label": `${this.#axis()}, by method: ${this.sentence.textContent}`,
    });
    const text = (x, y, words, more = {}) => svg.append(drawn("text", { x, y, ...more }, words));
    const all = data.devices.flatMap(({ id }) => data.methods.map(({ name }) => this.value(id, name)));
    const known = all.filter((value) => value !== null);
    text(left, 18, this.#axis());
    if (!known.length) return svg;
    const low = Math.log10(Math.min(...known)) - 0.1;
    const high = Math.log10(Math.max(...known)) + 0.1;
    const x = (v) => left + ((Math.log10(v) - low) / (high - low)) * (width - left - right);
    for (let power = Math.ceil(low); power <= high; power++) {
      const at = x(10 ** power);
      const kind = unit === "ratio" && power === 0 ? "origin" : "rule";
      svg.append(drawn("path", { class: kind, d: `M${at},${top - 8}V${bottom}` }));
      const words = lineageDigits(10 ** power);
      text(at, top - 16, words, { class: "soft", "text-anchor": "middle" });
    }
    data.methods.forEach(({ name, year }, i) => {
      const y = top + step * (i + 0.5);
      const row = drawn("g", { class: name === shown ? "lineage-row shown" : "lineage-row" });
      row.append(drawn("rect", { x: 0, y: y - step / 2, width, height: step }));
      row.addEventListener("click", () => choices.choose({ method: name }));
      row.append(drawn("text", { x: 8, y: y + 4 }, `${year}  ${name}`));
      for (const { id, title } of data.devices.filter((d) => d.id !== device)) {
        const value = this.value(id, name);
        if (value === null) continue;
        const mark = drawn("circle", { class: "other", cx: x(value), cy: y, r: 4 });
        mark.append(drawn("title", {}, `${title}: ${lineageDigits(value)}`));
        row.append(mark);
      }
      const own = this.value(device, name);
      const executor = this.time(device, name)?.executor;
      if (own !== null) row.append(drawn("circle", { class: "chosen", cx: x(own), cy: y, r: 6 }));
      row.append(drawn("text", { class: own === null ? "soft" : "chosen", x: width - right + 16, y: y + 4 },
        own === null ? "not recorded" : `${lineageDigits(own)}  by ${executor}`));
      svg.append(row);
    });
    return svg;
  }

  #axis() {
    const unit = this.choices.get("unit");
    const { axis } = LINEAGE_UNITS[unit];
    const origin = unit === "ratio"
      ? ` ${this.choices.text("origin")} on the same device at the same n` : "";
    return `${axis}${origin}, logarithmic`;
  }

  // All devices side by side, in the unit and at the size that are chosen.
  #drawTable() {
    const { data, choices } = this;
    const head = (words) => element("th", { scope: "col", class: "number" }, words);
    const rows = data.methods.map(({ name, year }) => element("tr", {},
      element("td", { "data-label": "year" }, year),
      element("td", { "data-label": "method" }, name),
      ...data.devices.map(({ id, title }) => {
        const value = this.value(id, name);
        const words = value === null ? "–" : lineageDigits(value);
        return element("td", { class: "number", "data-label": title }, words);
      })));
    const caption = `${this.#axis().replace(", logarithmic", "")}, at n = ${choices.get("n")}.`;
    this.table.replaceChildren(element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {},
        element("th", { scope: "col" }, "year"), element("th", { scope: "col" }, "method"),
        ...data.devices.map(({ title }) => head(title)))),
      element("tbody", {}, ...rows)));
  }

  // Unfolds the method that is chosen, and folds the one before.
  #open(name) {
    if (this.opened === name) return;
    const unfold = (method, open) => {
      this.root.querySelector(`[id="lineage-${method}"]`).open = open;
    };
    if (this.opened) {
      unfold(this.opened, false);
      unfold(name, true);
    }
    this.opened = name;
  }
}
