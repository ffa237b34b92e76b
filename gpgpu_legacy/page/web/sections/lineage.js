// The lineage: the methods by year, and what each does with a byte from memory, or how fast it was.

sections.lineage = (root, data, address) => new LineageView(root, data, address);

class LineageView {
  constructor(root, data, address) {
    Object.assign(this, { root, data });
    const names = data.methods.map(({ name }) => [name, peopleName(name)]);
    const titles = Object.fromEntries(data.devices.map(({ id, title }) => [id, title]));
    const timed = new Map(data.times.map(({ device, n }) =>
      [`${device}/${n}`, `GFLOPS at n = ${n}: ${titles[device]}`]));
    this.choices = new Choices("lineage", {
      shown: { label: "shown", values: [["memory", LINEAGE_MEMORY], ...timed], first: "memory" },
      method: { label: "method", values: names, first: data.first },
    }, address, () => this.draw());
    this.sentence = element("p", { class: "lineage-sentence", "aria-live": "polite" });
    this.beside = element("p", { class: "soft" });
    this.chart = new Chart((svg, width) => this.#chart(svg, width));
    root.querySelector(".lineage-live").replaceChildren(
      this.choices.element, this.sentence, this.chart.root, this.beside);
    this.opened = null;
    this.choices.follow();
  }

  draw() {
    const [device, n] = this.choices.get("shown").split("/");
    const here = (all) => all.filter((one) => one.n === Number(n) && (one.device ?? device) === device);
    const { methods, perByte } = this.data;
    const rate = (time) => ({ ...time, value: (2e-9 * time.n ** 3) / time.seconds });
    this.points = device === "memory"
      ? methods.map(({ name }) => ({ method: name, value: perByte[name] }))
      : [...here(this.data.times), ...here(this.data.printed)].map(rate);
    this.beside.textContent = device === "memory" ? this.data.memory : this.#beside(here);
    const method = this.choices.get("method");
    this.sentence.textContent = this.#sentence(this.#of(method), this.#of(methods[0].name));
    this.chart.redraw();
    this.#open(method);
  }

  #of(method) {
    return this.points.find((point) => point.method === method && !point.paper);
  }

  // What the chart says of the method that is chosen, beside the oldest.
  #sentence(own, origin) {
    const title = this.choices.text("method");
    const where = this.choices.text("shown");
    if (!own) return `${title} was not recorded there (${where}).`;
    const much = `${lineageDigits(own.value)} ${own.seconds ? "GFLOPS" : LINEAGE_MEMORY}`;
    const took = own.seconds ? ` (${lineageDigits(1000 * own.seconds)} ms, by ${own.executor})` : "";
    const times = own === origin || !origin ? ""
      : `, ${lineageDigits(own.value / origin.value)} times those of ${peopleName(origin.method)}`;
    return `${title}: ${much}${took}${times}.`;
  }

  // Beside the times: where they were recorded, what libraries reached in the same run, what is printed.
  #beside(here) {
    const [times, [peers], printed] = [here(this.data.times), here(this.data.peers), here(this.data.printed)];
    const rates = Object.entries(peers.gflops).map(
      ([name, gflops]) => `${name} ${lineageDigits(gflops)} GFLOPS`);
    const papers = [...new Set(printed.map(({ paper }) => paper))];
    return `GFLOPS are 2n³ over the time of computing alone, on ${[...new Set(times.map((t) => t.on))].join(" and on ")} `
      + `(benchmarks/${times[0].file}). The libraries in the same run: ${rates.join("; ")}.`
      + (papers.length ? ` Rings: times at this n that are printed (${papers.join("; ")}).` : "");
  }

  #chart(svg, width) {
    const [height, top, bottom] = [width < 600 ? 470 : 400, 34, 366 + 70 * (width < 600)];
    const text = (x, y, words, more = {}) => svg.append(drawn("text", { x, y, ...more }, words));
    const axis = this.points[0].seconds ? "GFLOPS" : LINEAGE_MEMORY;
    text(0, 14, axis);
    const { at, ticks } = logAxis(this.points.map(({ value }) => value), bottom, top, 1.8);
    const left = 12 + Math.max(...ticks.map((tick) => chartWidth(lineageDigits(tick))));
    const { methods } = this.data;
    const [first, last] = [methods[0].year, methods.at(-1).year];
    const x = (year) => left + 14 + ((year - first) / (last - first)) * (width - left - 34);
    const lines = ticks.map((tick) => {
      svg.append(drawn("path", { class: "rule", d: `M${left},${at(tick)}H${width}` }));
      text(left - 8, at(tick) + 4, lineageDigits(tick), { class: "soft", "text-anchor": "end" });
      return [left, at(tick) - 1, width, at(tick) + 1];
    });
    const years = [...new Set(methods.map(({ year }) => year))].filter(
      (year, n, all) => year === last || x(all[n + 1]) - x(year) > 38);
    for (const year of years) text(x(year), height - 8, year, { class: "soft", "text-anchor": "middle" });
    const chosen = this.choices.get("method");
    const points = this.points.map(({ method, value, paper }) => {
      const { year } = methods.find(({ name }) => name === method);
      const name = peopleName(method).replace(`, ${year}`, "");
      return { method, paper, name, x: x(year), y: at(value), bold: method === chosen && !paper };
    });
    const names = nameEach(points, width, lines);
    points.forEach((point, i) => {
      const kind = point.bold ? "chosen" : point.paper ? "printed" : "other";
      const { x: cx, y: cy } = point;
      svg.append(drawn("g", {
        class: "lineage-dot", click: () => this.choices.choose({ method: point.method }),
      }, drawn("circle", { class: kind, cx, cy, r: point.bold ? 6 : 4.5 }),
      drawn("text", { class: kind, ...names[i].place }, point.name), ...names[i].leader));
    });
    return { height, label: `${axis}, by year: ${this.sentence.textContent}` };
  }

  // Unfolds the method that is chosen, and folds the one before.
  #open(name) {
    if (this.opened && this.opened !== name) {
      for (const method of [this.opened, name]) {
        this.root.querySelector(`[id="lineage-${method}"]`).open = method === name;
      }
    }
    this.opened = name;
  }
}

const LINEAGE_MEMORY = "multiply-adds per byte from memory";
const lineageDigits = (value) => grouped(threeDigits(value));
